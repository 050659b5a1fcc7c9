import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { pino } from 'pino';
import { errorCatalogue } from '../core/errors.ts';
import { faultTexts } from './reference/problem-texts.ts';
import { addReference } from './reference.ts';
import { createServer } from './server.ts';

const { app } = createServer({
  environments: {},
  defaultEnvironment: 'staging',
  log: pino({ level: 'silent' }),
  logEvery: 1,
  trustedProxies: [],
});
addReference(app);
after(() => app.close());

const get = (url: string, headers: Record<string, string> = {}) =>
  app.inject({ method: 'GET', url, headers });

test('/openapi.json names the requested host', async () => {
  for (const host of ['staging-api.pay.test:8443', 'api.pay.test']) {
    const answer = await get('/openapi.json', { host });
    assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
    const { openapi, servers } = answer.json<{ openapi: string; servers: { url: string }[] }>();
    assert.match(openapi, /^3\.1\./);
    assert.deepEqual(servers, [{ url: `http://${host}` }]);
  }
});

test('a malformed host cannot inject into the JSON', async () => {
  const answer = await get('/openapi.json', { host: 'a"],"paths":{},"x":["' });
  assert.equal(answer.statusCode < 500, true);
  if (answer.statusCode === 200) assert.ok('paths' in answer.json<object>());
});

test('the page loads only files of the service, and its policy enforces it', async () => {
  const page = await get('/docs');
  const policy = String(page.headers['content-security-policy']);
  assert.match(policy, /default-src 'none'; script-src 'self';/);
  assert.doesNotMatch(policy, /https?:|\*|unsafe-eval/);
  const files = [...page.body.matchAll(/(?:src|href)="(\/docs\/[^"]+)"/g)].map(
    ([, url = '']) => url,
  );
  assert.equal(files.length, 3);
  for (const url of files) assert.equal((await get(url)).statusCode, 200, url);
  assert.equal((await get('/docs/other.js')).statusCode, 404);
  assert.equal((await get('/docs/constructor')).statusCode, 404);
});

test('the viewer is compressed for clients that accept gzip', async () => {
  const packed = await get('/docs/viewer.js', { 'accept-encoding': 'gzip, br' });
  assert.equal(packed.headers['content-encoding'], 'gzip');
  const plain = await get('/docs/viewer.js', { 'accept-encoding': 'identity' });
  assert.equal(plain.headers['content-encoding'], undefined);
  assert.equal(gunzipSync(packed.rawPayload).toString(), plain.body);
  assert.match(plain.body, /createApiReference/);
});

test('every problem and every fault has a page', async () => {
  for (const code of [...Object.keys(errorCatalogue), ...Object.keys(faultTexts)]) {
    const page = await get(`/problems/${code}`);
    assert.equal(page.statusCode, 200, code);
    assert.ok(page.body.includes(`<p><code>${code}</code></p>`), code);
  }
  const unknown = await get('/problems/%3Cscript%3E');
  assert.equal(unknown.statusCode, 404);
  assert.equal(unknown.headers['content-type'], 'application/problem+json; charset=utf-8');
});

test('every fault code in the sources is explained', () => {
  const sources = join(import.meta.dirname, '..');
  const codes = new Set<string>();
  for (const file of readdirSync(sources, { recursive: true, encoding: 'utf8' })) {
    if (!/^(attributes|destinations|http|kyc|ledger|payouts|users)\/.*\.ts$/.test(file)) continue;
    if (/test|openapi|reference/.test(file)) continue;
    const text = readFileSync(join(sources, file), 'utf8');
    for (const [, code = ''] of text.matchAll(
      /(?:\bcode: |\b(?:refuse|fault)\(|\bcode = .*: )'([a-z_]+)'/g,
    )) {
      codes.add(code);
    }
  }
  assert.ok(codes.size > 30, String(codes.size));
  const ofZod = ['custom'];
  for (const code of codes) {
    const isKnown = code in faultTexts || code in errorCatalogue || ofZod.includes(code);
    assert.ok(isKnown, code);
  }
});
