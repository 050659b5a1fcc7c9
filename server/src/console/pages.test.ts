import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from 'node:zlib';
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
  writeFileSync(join(folder, 'assets/page-c3d4.js'), 'console.log(2);');
  writeFileSync(join(folder, 'assets/page-c3d4.js.br'), brotliCompressSync('console.log(2);'));
  writeFileSync(join(folder, 'icon.svg'), '<svg/>');
  writeFileSync(join(folder, 'secret.txt'), 'no type is known');
  app = fastify();
  app.decorateRequest('environmentName', 'staging');
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

test('a file that the build compressed is sent so to who accepts it, and plain to others', async () => {
  const url = '/console/assets/page-c3d4.js';
  const ask = (accepted: string) =>
    app.inject({ url, headers: accepted === '' ? {} : { 'accept-encoding': accepted } });
  const small = await ask('gzip, deflate, br, zstd');
  assert.equal(small.headers['content-encoding'], 'br');
  assert.equal(small.headers['vary'], 'accept-encoding');
  assert.match(String(small.headers['content-type']), /^text\/javascript/);
  assert.equal(brotliDecompressSync(small.rawPayload).toString(), 'console.log(2);');
  for (const accepted of ['', 'identity', 'br;q=0', 'gzip;q=0.0, br; q=0']) {
    const plain = await ask(accepted);
    assert.equal(plain.headers['content-encoding'], undefined, accepted);
    assert.equal(plain.headers['vary'], 'accept-encoding');
    assert.equal(plain.body, 'console.log(2);');
  }
  assert.equal((await ask('br;q=0, gzip')).headers['content-encoding'], 'gzip');
});

test('the page says whether the browser has a session, so that it asks for none in vain', async () => {
  writeFileSync(join(folder, 'index.html'), '<html data-session="__HAS_SESSION__">');
  const without = await app.inject('/console');
  assert.match(without.body, /data-session="no"/);
  const cookie = `__Host-outlay-session=${'a'.repeat(43)}`;
  const withOne = await app.inject({ url: '/console', headers: { cookie } });
  assert.match(withOne.body, /data-session="yes"/);
});

test('a page shows its frame before the program runs: of its address, or the sign-in', async () => {
  const html = '<!-- page --><div id="root"><!-- first paint --></div>';
  writeFileSync(join(folder, 'index.html'), html);
  const paint = {
    signIn: { head: '', body: 'sign-in' },
    pages: [
      { path: '/', head: '<link 1>', body: 'overview in __ENVIRONMENT__' },
      { path: '/payouts/$user/$payout', head: '<link 2>', body: 'payout' },
    ],
  };
  writeFileSync(join(folder, 'first-paint.json'), JSON.stringify(paint));
  const cookie = `__Host-outlay-session=${'a'.repeat(43)}`;
  const look = async (url: string, headers = {}) => (await app.inject({ url, headers })).body;
  assert.equal(await look('/console'), '<div id="root">sign-in</div>');
  for (const url of ['/console', '/console/', '/console?a=1']) {
    const body = await look(url, { cookie });
    assert.equal(body, '<link 1><div id="root">overview in staging</div>', url);
  }
  const payout = await look('/console/payouts/usr_1/payout_1', { cookie });
  assert.equal(payout, '<link 2><div id="root">payout</div>');
  for (const url of ['/console/payouts/usr_1', '/console/nothing']) {
    assert.equal(await look(url, { cookie }), '<div id="root"></div>', url);
  }
});

test('files with a hash in their name are cached forever, and compressed', async () => {
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
