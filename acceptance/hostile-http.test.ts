import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { createUser } from './recipients.ts';
import { type Api, createAccount, ok, type Service, startService } from './service.ts';
import { assertProblem } from './shapes.ts';

/** HTTP that is wrong on purpose, and what every answer says about methods and media types. */

let service: Service;
let api: Api;

before(async () => {
  service = await startService();
  api = (await createAccount(service, { USD: '1000' })).api;
});
after(() => service.stop());

type RawReply = { status: number; headers: Record<string, string>; body: string; all: string };

/** Sends bytes as they are, and reads until the service closes or stays silent. */
function send(bytes: string | Buffer, silentMs = 400): Promise<RawReply> {
  const { hostname, port } = new URL(service.baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let all = '';
    const finish = (): void => {
      socket.destroy();
      resolve(readRaw(all));
    };
    socket.setTimeout(silentMs, finish);
    socket.on('data', (chunk: Buffer) => {
      all += chunk.toString('latin1');
    });
    socket.once('close', finish);
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET' || error.code === 'EPIPE') finish();
      else reject(error);
    });
    socket.write(bytes);
  });
}

function readRaw(all: string): RawReply {
  const [head = '', ...rest] = all.split('\r\n\r\n');
  const [first = '', ...lines] = head.split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const at = line.indexOf(':');
    headers[line.slice(0, at).toLowerCase()] = line.slice(at + 1).trim();
  }
  const status = Number(first.split(' ')[1] ?? 0);
  const sent = rest.join('\r\n\r\n');
  const isChunked = headers['transfer-encoding'] === 'chunked';
  return { status, headers, body: isChunked ? joinChunks(sent) : sent, all };
}

function joinChunks(text: string): string {
  const end = text.indexOf('\r\n');
  const length = Number.parseInt(text, 16);
  if (!(length > 0)) return '';
  const start = end + 2;
  return text.slice(start, start + length) + joinChunks(text.slice(start + length + 2));
}

function assertRawProblem(reply: RawReply, status: number): void {
  const { headers, body } = reply;
  const parsed = body === '' ? undefined : JSON.parse(body);
  const bytes = Buffer.from(body, 'latin1');
  assertProblem(
    { status: reply.status, headers, text: body, bytes, body: exactOf(parsed) },
    status,
  );
}

/** Only the status is a number in a problem. */
function exactOf(problem: { status?: number } | undefined): unknown {
  return problem === undefined ? {} : { ...problem, status: { text: String(problem.status) } };
}

const host = (): string => new URL(service.baseUrl).host;
const bearer = (): string => `Authorization: Bearer ${api.token}\r\n`;
const balance = '/v0.1.4/account/balance';

const refusedBytes: Record<string, [number, () => string | Buffer]> = {
  'no Host': [400, () => `GET ${balance} HTTP/1.1\r\n${bearer()}\r\n`],
  'two Hosts': [400, () => `GET ${balance} HTTP/1.1\r\nHost: a\r\nHost: b\r\n${bearer()}\r\n`],
  'two equal Hosts': [
    400,
    () => `GET ${balance} HTTP/1.1\r\nHost: ${host()}\r\nHost: ${host()}\r\n${bearer()}\r\n`,
  ],
  'an unknown expectation': [
    417,
    () => `GET ${balance} HTTP/1.1\r\nHost: ${host()}\r\nExpect: cake\r\n${bearer()}\r\n`,
  ],
  'a header that is too large': [
    431,
    () => `GET ${balance} HTTP/1.1\r\nHost: ${host()}\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`,
  ],
  'too many header fields to hold': [
    431,
    () => `GET ${balance} HTTP/1.1\r\nHost: ${host()}\r\n${'X: y\r\n'.repeat(10_000)}\r\n`,
  ],
  'an address that is too large for the header': [
    431,
    () => `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: ${host()}\r\n\r\n`,
  ],
  garbage: [400, () => Buffer.from([0, 255, 1, 2, 3, 13, 10, 13, 10])],
  'a TLS hello': [400, () => Buffer.from([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 3, 13, 10])],
  'an unknown protocol': [400, () => 'HELLO\r\n\r\n'],
  'an unknown version of HTTP': [400, () => `GET ${balance} HTTP/9.9\r\nHost: ${host()}\r\n\r\n`],
  'a space in the address': [400, () => `GET /a b HTTP/1.1\r\nHost: ${host()}\r\n\r\n`],
  'a header without a colon': [400, () => `GET ${balance} HTTP/1.1\r\nHost: x\r\nfoo\r\n\r\n`],
  'a header name with a space': [
    400,
    () => `GET ${balance} HTTP/1.1\r\nHost: x\r\nBad Name: y\r\n\r\n`,
  ],
  'a folded header': [400, () => `GET ${balance} HTTP/1.1\r\nHost: x\r\nA: b\r\n  c\r\n\r\n`],
  'two lengths of one body': [
    400,
    () =>
      `POST /v0.1.4/user HTTP/1.1\r\nHost: ${host()}\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
  ],
  'a length and chunks': [
    400,
    () =>
      `POST /v0.1.4/user HTTP/1.1\r\nHost: ${host()}\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  'a negative length': [
    400,
    () => `POST /v0.1.4/user HTTP/1.1\r\nHost: ${host()}\r\nContent-Length: -1\r\n\r\n`,
  ],
  'a broken chunk': [
    400,
    () =>
      `POST /v0.1.4/user HTTP/1.1\r\nHost: ${host()}\r\n${bearer()}Content-Type: application/json\r\n` +
      'Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n',
  ],
};

for (const [name, [status, bytes]] of Object.entries(refusedBytes)) {
  test(`${name} is answered ${status} with a complete problem`, async () => {
    assertRawProblem(await send(bytes()), status);
    ok(await api.get('/account/balance'));
  });
}

test('CONNECT and an address in full are refused or served, and never tunnelled', async () => {
  const tunnel = await send(`CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n`);
  assert.ok(tunnel.status >= 400 && tunnel.status < 500, tunnel.all);
  assertRawProblem(tunnel, tunnel.status);
  const full = await send(
    `GET http://example.org${balance} HTTP/1.1\r\nHost: ${host()}\r\n${bearer()}Connection: close\r\n\r\n`,
  );
  assert.ok([200, 400, 404].includes(full.status), full.all);
});

test('an upgrade is not made', async () => {
  const reply = await send(
    `GET ${balance} HTTP/1.1\r\nHost: ${host()}\r\n${bearer()}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  );
  assert.ok(reply.status === 200 || reply.status >= 400, reply.all);
});

test('a request of HTTP/1.0 without a Host is answered', async () => {
  const reply = await send(`GET ${balance} HTTP/1.0\r\n${bearer()}\r\n`);
  assert.equal(reply.status, 200, reply.all);
  assertRawProblem(await send(`GET ${balance} HTTP/1.0\r\n\r\n`), 401);
});

test('two Authorization headers on the wire are 401', async () => {
  for (const second of [bearer(), 'Authorization: Basic eDp5\r\n']) {
    const reply = await send(
      `GET ${balance} HTTP/1.1\r\nHost: ${host()}\r\n${bearer()}${second}Connection: close\r\n\r\n`,
    );
    assertRawProblem(reply, 401);
  }
});

test('a body that ends before its length has no effect', async () => {
  const before = ok(await api.get<unknown[]>('/events')).length;
  const { hostname, port } = new URL(service.baseUrl);
  await new Promise<void>((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.end(
        `POST /v0.1.4/user HTTP/1.1\r\nHost: ${host()}\r\n${bearer()}Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{}`,
      );
    });
    socket.resume().once('close', () => resolve());
    socket.once('error', () => resolve());
  });
  assert.equal(ok(await api.get<unknown[]>('/events')).length, before);
});

test('requests sent in one piece are answered in their order', async () => {
  const one = `GET ${balance} HTTP/1.1\r\nHost: ${host()}\r\n${bearer()}\r\n`;
  const { all } = await send(
    `${one}${one}GET /nothing HTTP/1.1\r\nHost: ${host()}\r\nConnection: close\r\n\r\n`,
  );
  const statuses = [...all.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1]);
  assert.deepEqual(statuses, ['200', '200', '404']);
});

test('an oversized upload is refused without being read to its end', async () => {
  const reply = await send(
    `POST /v0.1.4/user HTTP/1.1\r\nHost: ${host()}\r\n${bearer()}Content-Type: application/json\r\nContent-Length: 999999999\r\n\r\n{`,
  );
  assertRawProblem(reply, 413);
});

test('an address that cannot be decoded, or leads out of the tree, finds nothing', async () => {
  for (const path of [
    '/%',
    '/v0.1.4/user/%zz',
    '/v0.1.4/user/%C0%AF',
    '/v0.1.4/country/%ff/cheapest',
  ]) {
    const reply = await api.call('GET', path);
    assertProblem(reply, reply.status === 404 ? 404 : 400);
  }
  for (const path of [
    '/v0.1.4/../../etc/passwd',
    '/verify/assets/..%2f..%2f..%2fpackage.json',
    '/verify/assets/../../kyc.ts',
    '/docs/..%2fpackage.json',
    '/v0.1.4/%2e%2e/%2e%2e/etc/passwd',
    '/.env',
    '/v0.1.4//account/balance',
    '/v0.1.4/account/balance/',
    '/v0.1.4/ACCOUNT/BALANCE',
    '/v0.1.4',
    '/v0.1.4/',
  ]) {
    assertProblem(await api.call('GET', path), 404);
  }
});

test('a long address is not found or too long, and never an error of the service', async () => {
  for (const length of [200, 600, 2000, 10_000]) {
    for (const path of [
      `/user/${'a'.repeat(length)}`,
      `/user/lookup?internal_user_id=${'a'.repeat(length)}`,
    ]) {
      const reply = await api.get(path);
      assert.ok(
        [400, 404, 414].includes(reply.status),
        `${reply.status} ${path.length} ${reply.text}`,
      );
      assertProblem(reply, reply.status);
    }
  }
});

test('a method that an address does not have is 405 and names the others', async () => {
  const userToken = await createUser(api);
  for (const [method, path, allowed] of [
    ['DELETE', `/user/${userToken}`, ['GET', 'HEAD', 'PUT']],
    ['POST', '/account/balance', ['GET', 'HEAD']],
    ['GET', '/user', ['POST']],
    ['PUT', '/user', ['POST']],
    ['DELETE', `/payout/${userToken}/payout_x`, ['GET', 'HEAD', 'PATCH', 'PUT']],
    ['PATCH', `/payout/${userToken}`, ['GET', 'HEAD', 'POST']],
    ['PUT', '/sandbox/clock', ['GET', 'HEAD', 'POST']],
    ['GET', '/sandbox/fund', ['POST']],
    ['OPTIONS', '/user', ['POST']],
    ['TRACE', '/account/balance', ['GET', 'HEAD']],
    ['PROPFIND', '/account/balance', ['GET', 'HEAD']],
    ['GET', '/oauth2/token', ['POST']],
    ['POST', '/health/live', ['GET', 'HEAD']],
    ['POST', '/.well-known/oauth-authorization-server', ['GET', 'HEAD']],
  ] as const) {
    const reply = await api.call(method, path);
    assert.equal(reply.status, 405, `${method} ${path}`);
    assertProblem(reply, 405, 'method_not_allowed');
    const names = String(reply.headers['allow']).split(/, */).toSorted();
    assert.deepEqual(names, [...allowed].toSorted(), `${method} ${path}`);
  }
});

test('HEAD is GET without the body', async () => {
  for (const path of ['/account/balance', '/country/list', '/health/live']) {
    const get = await api.get(path);
    const head = await api.call('HEAD', path);
    assert.equal(head.status, 200, path);
    assert.equal(head.text, '');
    assert.equal(head.headers['content-type'], get.headers['content-type']);
  }
  assert.equal((await api.call('HEAD', '/user/usr_x')).status, 404);
  assert.equal(
    (await api.call('HEAD', '/account/balance', { headers: { authorization: [] } })).status,
    401,
  );
});

test('an answer that nobody asked for is 406, and wildcards and weights are understood', async () => {
  for (const accept of [
    'text/html',
    'application/xml',
    'image/*',
    'application/json;q=0',
    'application/pdf',
    'x',
    ',',
  ]) {
    assertProblem(await api.get('/account/balance', { accept }), 406, 'not_acceptable');
  }
  for (const accept of [
    '*/*',
    'application/*',
    'text/html, application/json;q=0.1',
    'text/html,*/*;q=0.8',
    [],
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
  ]) {
    ok(await api.get('/account/balance', { accept }));
  }
});

test('every answer carries its request id and is not stored by caches', async () => {
  for (const path of ['/account/balance', '/nothing', '/user/usr_x']) {
    const reply = await api.get<{ request_id?: string }>(path);
    assert.ok(reply.headers['x-request-id'], path);
    if (reply.status !== 200) assert.equal(reply.body.request_id, reply.headers['x-request-id']);
    assert.equal(reply.headers['cache-control'], 'no-store');
    assert.equal(reply.headers['x-content-type-options'], 'nosniff');
    assert.equal(reply.headers['x-powered-by'], undefined);
  }
});

test('query parameters that are wrong are told by name, and unknown ones are ignored', async () => {
  for (const [query, parameter] of [
    ['amount=0', 'amount'],
    ['amount=-5', 'amount'],
    ['amount=1.001', 'amount'],
    ['amount=abc', 'amount'],
    ['amount=1e400', 'amount'],
    ['amount=99999999999999999999', 'amount'],
    ['amount=', 'amount'],
    ['amount=1&amount=2', 'amount'],
    ['limit=x', 'limit'],
    ['source_currency=XXZ', 'source_currency'],
    ['destination_currency=nope', 'destination_currency'],
    ['include_payer_logos=yes', 'include_payer_logos'],
  ]) {
    const reply = await api.get<{ errors: { parameter: string }[] }>(
      `/country/MEX/cheapest?${query}`,
    );
    assertProblem(reply, 400);
    assert.deepEqual(
      reply.body.errors.map((fault) => fault.parameter),
      [parameter],
      query,
    );
  }
  ok(await api.get('/country/MEX/cheapest?colour=blue&__proto__=x&constructor=y'));
});

test('after all of this the same process still serves', async () => {
  ok(await api.get('/account/balance'));
  if (service.process !== undefined) assert.equal(service.process.exitCode, null);
  assert.doesNotMatch(service.output(), /unhandled|uncaught|"level":60/i);
});
