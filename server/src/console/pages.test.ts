import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import fastify, { type FastifyInstance } from 'fastify';
import { addConsolePages } from './pages.ts';

/** The console's built files, as browsers get them. */

let folder: string;
let app: FastifyInstance;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'outlay-pages-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<script nonce="__CSP_NONCE__" src="x"></script>');
  writeFileSync(join(folder, 'assets/index-a1b2.js'), 'console.log(1);');
  writeFileSync(join(folder, 'icon.svg'), '<svg/>');
  writeFileSync(join(folder, 'secret.txt'), 'no type is known');
  app = fastify();
  addConsolePages(app, folder);
});
after(async () => {
  await app.close();
  rmSync(folder, { recursive: true });
});

test('every page is the same file with a nonce of its own, which the policy names', async () => {
  const nonces = new Set<string>();
  for (const url of ['/console', '/console/', '/console/payouts/payout_1', '/console/secret.txt']) {
    const { statusCode, headers, body } = await app.inject(url);
    assert.equal(statusCode, 200, url);
    const [, nonce = ''] = /nonce="([^"]+)"/.exec(body) ?? [];
    const policy = String(headers['content-security-policy']);
    assert.ok(policy.includes(`script-src 'self' 'nonce-${nonce}'`), policy);
    assert.ok(!/unsafe-(?:inline|eval)/.test(policy), policy);
    assert.equal(headers['cache-control'], 'no-store');
    nonces.add(nonce);
  }
  assert.equal(nonces.size, 4);
});

test('files with a hash in their name are cached for ever, and compressed', async () => {
  const plain = await app.inject('/console/assets/index-a1b2.js');
  assert.equal(plain.body, 'console.log(1);');
  assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable');
  assert.match(String(plain.headers['content-type']), /^text\/javascript/);
  const headers = { 'accept-encoding': 'gzip, br' };
  const packed = await app.inject({ url: '/console/assets/index-a1b2.js', headers });
  assert.equal(packed.headers['content-encoding'], 'gzip');
  assert.equal(gunzipSync(packed.rawPayload).toString(), 'console.log(1);');
  const icon = await app.inject('/console/icon.svg');
  assert.deepEqual([icon.headers['content-type'], icon.body], ['image/svg+xml', '<svg/>']);
  // The error handler of the service makes it a 404.
  const outside = await app.inject('/console/assets/..%2findex.html');
  assert.doesNotMatch(outside.body, /<script/);
});
