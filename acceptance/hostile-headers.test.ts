import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { findFreePort } from './rails-trial/processes.ts';
import { serveTests } from './serve.ts';
import { type Api, type Reply, type Service, startService } from './service.ts';

/** The headers of every answer, request ids, who reads the metrics, and limits on connections. */

let service: Service;
let api: Api;
serveTests({ USD: '1000' }, (served) => {
  ({ service, api } = served);
});

type Description = { paths: Record<string, Record<string, unknown>> };

type Secured = Pick<Reply<unknown>, 'headers' | 'status'>;

function assertSecured({ headers, status }: Secured, where: string): void {
  const policy = String(headers['content-security-policy']);
  assert.match(policy, /(?:^|; )default-src 'none'/, `${where} ${status}`);
  assert.match(policy, /frame-ancestors 'none'/, `${where} ${status}`);
  assert.equal(headers['x-content-type-options'], 'nosniff', where);
  assert.match(String(headers['referrer-policy']), /^(?:no-referrer|same-origin)$/, where);
  assert.ok(headers['cache-control'], where);
  assert.ok(headers['x-request-id'], where);
  assert.equal(headers['server'], undefined);
  assert.equal(headers['x-powered-by'], undefined);
}

const methods = ['get', 'post', 'put', 'patch'];

test('every route of the description answers with the security headers', async () => {
  const file = join(import.meta.dirname, '../docs/openapi.json');
  const { paths } = JSON.parse(await readFile(file, 'utf8')) as Description;
  const anonymous = api.withToken('none');
  let count = 0;
  for (const [path, operations] of Object.entries(paths)) {
    const target = path.replaceAll('{version}', 'v0.1.4').replaceAll(/\{[a-z_]+\}/g, 'unknown');
    for (const method of Object.keys(operations).filter((name) => methods.includes(name))) {
      for (const client of [api, anonymous]) {
        // Its answer does not end; see below.
        if (target.endsWith('/events/stream') && client === api) continue;
        const request = method === 'get' ? {} : { body: {} };
        const reply = await client.call(method.toUpperCase(), target, request);
        assertSecured(reply, `${method} ${target}`);
        count += 1;
      }
    }
  }
  assert.ok(count > 100, `${count} answers`);
  for (const path of [
    '/',
    '/docs',
    '/docs/viewer.js',
    '/docs/no',
    '/problems/required',
    '/none',
    '/%ff',
  ]) {
    assertSecured(await anonymous.get(path, { accept: '*/*' }), path);
  }
  const stream = await fetch(`${service.baseUrl}/v0.1.4/events/stream`, {
    headers: { accept: 'text/event-stream', authorization: `Bearer ${api.token}` },
  });
  await stream.body?.cancel();
  const headers = Object.fromEntries(stream.headers);
  assertSecured({ status: stream.status, headers }, 'stream');
  const options = await anonymous.call('OPTIONS', '/v0.1.4/account/balance');
  assertSecured(options, 'OPTIONS');
  assert.equal(options.headers['access-control-allow-origin'], undefined);
});

/** The head of the answer to raw bytes. */
function exchange(bytes: string): Promise<string> {
  const { hostname, port } = new URL(service.baseUrl);
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      if (!text.includes('\r\n\r\n')) return;
      socket.destroy();
      resolve(text);
    });
    socket.once('error', reject);
    socket.once('close', () => resolve(text));
  });
}

test('answers of the parser and to Expect have the headers, too', async () => {
  for (const bytes of [
    'NOT HTTP\r\n\r\n',
    'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: x\r\nExpect: miracle\r\nContent-Length: 1\r\n\r\n',
  ]) {
    const head = await exchange(bytes);
    assert.match(head, /content-security-policy: default-src 'none'/, bytes);
    assert.match(head, /x-content-type-options: nosniff/);
    assert.match(head, /cache-control: no-store/);
    assert.match(head, /x-request-id: req_[0-9a-f]{30}\r\n/);
  }
});

test('request ids are random, and a client cannot choose one', async () => {
  const replies = await Promise.all(Array.from({ length: 50 }, () => api.get('/account/balance')));
  const ids = replies.map(({ headers }) => String(headers['x-request-id']));
  for (const id of ids) assert.match(id, /^req_[0-9a-f]{30}$/);
  assert.equal(new Set(ids).size, ids.length);
  // The characters at a place would be equal in a counter or a time.
  for (let place = 4; place < 24; place += 1) {
    assert.ok(new Set(ids.map((id) => id[place])).size > 5, `place ${place}`);
  }
  const chosen = await api.get('/account/balance', { 'x-request-id': 'chosen-by-me' });
  assert.match(String(chosen.headers['x-request-id']), /^req_/);
});

test('a trusted proxy names its requests, and metrics are closed to those behind it', async () => {
  const port = await findFreePort();
  const settings = {
    PORT: String(port),
    OUTLAY_TRUST_PROXY: '127.0.0.1',
    OUTLAY_PUBLIC_URL: `https://127.0.0.1:${port}`,
  };
  const proxied = await startService({ isOwn: true, settings });
  try {
    const { demo } = proxied;
    const named = await demo.get('/account/balance', { 'x-request-id': 'edge.7f-42_a' });
    assert.equal(named.headers['x-request-id'], 'edge.7f-42_a');
    assert.match(String(named.headers['strict-transport-security']), /^max-age=63072000/);
    for (const id of ['short', 'a b c d e f g', 'x'.repeat(65), 'line%0abreak']) {
      const reply = await demo.get('/account/balance', { 'x-request-id': id });
      assert.match(String(reply.headers['x-request-id']), /^req_/, id);
    }
    assert.equal((await demo.get('/metrics')).status, 200);
    const behind = await demo.get('/metrics', { 'x-forwarded-for': '203.0.113.9' });
    assert.equal(behind.status, 401);
  } finally {
    await proxied.stop();
  }
});

test('metrics answer this machine only, unless an address or a token is set', async () => {
  assert.equal((await service.demo.get('/metrics')).status, 200);
  // A proxy on this machine that is not trusted.
  for (const name of ['x-forwarded-for', 'x-forwarded-proto', 'forwarded', 'x-real-ip', 'via']) {
    assert.equal((await service.demo.get('/metrics', { [name]: '127.0.0.1' })).status, 401, name);
  }
  const settings = { OUTLAY_METRICS_ADDRESSES: '192.0.2.0/24' };
  const elsewhere = await startService({ isOwn: true, settings });
  const refused = await elsewhere.demo.get<{ detail: string }>('/metrics');
  await elsewhere.stop();
  assert.equal(refused.status, 401);
  assert.match(refused.body.detail, /OUTLAY_METRICS_TOKEN/);
});

/** Resolves with whether the service keeps the connection and answers on it. */
function isServed(baseUrl: string): Promise<{ served: boolean; socket: Socket }> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n');
    });
    socket.once('data', () => resolve({ served: true, socket }));
    socket.once('error', () => resolve({ served: false, socket }));
    socket.once('close', () => resolve({ served: false, socket }));
  });
}

test('connections are limited for an address and in total', async () => {
  for (const name of ['OUTLAY_CONNECTIONS_ADDRESS', 'OUTLAY_CONNECTIONS_MAX']) {
    const limited = await startService({ isOwn: true, settings: { [name]: '6' } });
    const results = [];
    for (let index = 0; index < 10; index += 1) results.push(await isServed(limited.baseUrl));
    assert.equal(results.filter(({ served }) => served).length, 6, name);
    const [first] = results;
    const closed = new Promise((resolve) => first?.socket.once('close', resolve));
    for (const { socket } of results) socket.destroy();
    await closed;
    // Closed ones make room.
    let text = '';
    while (!/^outlay_http_connections_open 1$/m.test(text)) {
      text = await limited.demo.get('/metrics').then(
        (reply) => reply.text,
        () => '',
      );
    }
    assert.match(text, /^outlay_http_connections_refused_total [4-9]$/m, name);
    await limited.stop();
  }
});
