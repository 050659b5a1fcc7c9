import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { pino } from 'pino';
import { missingCodes } from '../attributes/missing.ts';
import { batchRefusals } from '../batches/batches.ts';
import { codes } from '../core/errors.ts';
import { exclusionRules } from '../destinations/route-candidate.ts';
import { shownKinds } from '../exceptions/decisions.routes.ts';
import { obstacleCodes } from '../payouts/obstacles.ts';
import { payoutReasonCodes } from '../payouts/payout-reason.ts';
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

const documentedCodes: readonly string[] = [
  ...codes,
  ...payoutReasonCodes.filter((code) => code !== ''),
  ...obstacleCodes,
  ...missingCodes,
  ...batchRefusals,
  ...exclusionRules,
  ...shownKinds,
];

const get = (url: string, headers: Record<string, string> = {}) =>
  app.inject({ method: 'GET', url, headers });

test('/openapi.json names the requested host', async () => {
  for (const host of ['staging-api.pay.test:8443', 'api.pay.test']) {
    const answer = await get('/openapi.json', { host });
    assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
    const { openapi, servers } = answer.json<{ openapi: string; servers: { url: string }[] }>();
    assert.match(openapi, /^3\.1\./);
    assert.deepEqual(
      servers.map(({ url }) => url),
      [`http://${host}/{version}`],
    );
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

test('the front page tells what this is and where to begin, in JSON or for a browser', async () => {
  const host = 'staging-api.pay.test';
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
  const page = await get('/', { host, accept: browser });
  assert.match(String(page.headers['content-type']), /^text\/html/);
  assert.match(
    page.body,
    /curl http:\/\/staging-api\.pay\.test\/v0\.1\.4\/account\/balance -H &quot;/,
  );
  const said = (await get('/', { host })).json<Record<string, string>>();
  assert.equal(said['environment'], 'staging');
  const links = [...page.body.matchAll(/<a href="([^"]+)"/g)].map(([, url = '']) => url);
  assert.ok(links.length > 7, String(links));
  for (const url of links) {
    // Health and the console are not served here.
    if (url.endsWith('/health/ready') || url === '/console') continue;
    assert.equal((await get(new URL(url, 'http://host').pathname)).statusCode, 200, url);
  }
  assert.equal((await get('/guides/%2e%2e%2fREADME')).statusCode, 404);
});

const readText = (html: string): string =>
  html
    .replaceAll(/<[^>]+>/g, '')
    .replace(/^(?:an?|the) |\.$/gi, '')
    .toLowerCase();

test('every code has a page with its cause, its remedy and an example', async () => {
  for (const code of documentedCodes) {
    const page = await get(`/problems/${code}`);
    assert.equal(page.statusCode, 200, code);
    assert.ok(page.body.includes(`<p><code>${code}</code></p>`), code);
    assert.match(page.body, /<h1>.+<b>Remedy\.<\/b> .+<pre [^>]+>\{/s, code);
    // A cause says more than the heading, or is the heading itself.
    const pairs = page.body.matchAll(
      /<h1>(.+)<\/h1>\n.+\n<p class="text"><b>Cause\.<\/b> (.+)<\/p>/g,
    );
    for (const [, heading = '', cause = ''] of pairs) {
      assert.notEqual(readText(cause), readText(heading), code);
    }
  }
  const unknown = await get('/problems/%3Cscript%3E');
  assert.equal(unknown.statusCode, 404);
  assert.equal(unknown.headers['content-type'], 'application/problem+json; charset=utf-8');
  const shown = await get('/problems/%3Cscript%3E', { accept: 'text/html' });
  assert.equal(shown.statusCode, 404);
  assert.match(shown.body, /<code>&lt;script&gt;<\/code>/);
  assert.doesNotMatch(shown.body, /<script/);
});

test('an example of a problem has the code and the address of its page', async () => {
  const page = await get('/problems/below_minimum');
  assert.match(page.body, /&quot;type&quot;: &quot;\/problems\/below_minimum&quot;/);
  assert.match(page.body, /&quot;code&quot;: &quot;below_minimum&quot;/);
});

test('a code of a problem, a fault and a reason at once has all of them on its page', async () => {
  const { body } = await get('/problems/amount_refused');
  assert.match(body, /Fault<\/p>.*Reason of a payout<\/p>/s);
});

test('every code that the sources name in a schema is in the catalog', () => {
  const sources = join(import.meta.dirname, '..');
  const named = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [
      ...readFileSync(join(sources, file), 'utf8').matchAll(/params: \{ code: '([a-z_]+)'/g),
    ]);
  assert.ok(named.length > 3, String(named.length));
  for (const [, code = ''] of named)
    assert.ok(
      codes.some((known) => known === code),
      code,
    );
});

test('every code that a document names is in the catalog or in the description', () => {
  const folder = join(import.meta.dirname, '../../../docs');
  const words = readFileSync(join(folder, 'openapi.json'), 'utf8');
  const documents = ['interface.md', 'verification.md', 'guides/batches.md'];
  for (const file of documents) {
    const text = readFileSync(join(folder, file), 'utf8');
    for (const [, word = ''] of text.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)) {
      const isKnown = documentedCodes.includes(word) || words.includes(`"${word}"`);
      assert.ok(isKnown, `${file} names ${word}`);
    }
  }
});
