import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import fastify, { type FastifyInstance } from 'fastify';
import { compressForConsole } from './compression.ts';

/** What the API answers to a browser with a session, and to others. */

const rows = Array.from({ length: 200 }, (_row, index) => ({ token: `payout_${index}` }));
const cookie = `__Host-outlay-session=${'a'.repeat(43)}`;
const accepted = { cookie, 'accept-encoding': 'gzip, deflate, br' };

let app: FastifyInstance;

before(() => {
  app = fastify();
  compressForConsole(app);
  app.get('/list', () => rows);
  app.get('/varies', (_request, reply) => reply.header('vary', 'host').send(rows));
  app.get('/one', () => rows[0]);
  app.get('/pdf', (_request, reply) => reply.type('application/pdf').send(Buffer.alloc(5_000)));
  app.post('/list', () => rows);
});
after(() => app.close());

test('a list is sent compressed to a session', async () => {
  const { headers, rawPayload } = await app.inject({ url: '/list', headers: accepted });
  assert.equal(headers['content-encoding'], 'gzip');
  assert.equal(headers['vary'], 'accept-encoding');
  assert.equal(Number(headers['content-length']), rawPayload.length);
  assert.deepEqual(JSON.parse(gunzipSync(rawPayload).toString()), rows);
  const varies = await app.inject({ url: '/varies', headers: accepted });
  assert.equal(varies.headers['vary'], 'host, accept-encoding');
});

test('what is small, no JSON, a write, or for a key is sent as it is', async () => {
  const cases = [
    { url: '/one', headers: accepted },
    { url: '/pdf', headers: accepted },
    { url: '/list', headers: accepted, method: 'POST' as const },
    { url: '/list', headers: { ...accepted, 'accept-encoding': 'gzip;q=0' } },
    { url: '/list', headers: { cookie } },
    { url: '/list', headers: { 'accept-encoding': 'gzip', authorization: 'Bearer key' } },
  ];
  for (const request of cases) {
    const { statusCode, headers } = await app.inject(request);
    assert.equal(statusCode, 200);
    assert.equal(headers['content-encoding'], undefined, JSON.stringify(request));
  }
});
