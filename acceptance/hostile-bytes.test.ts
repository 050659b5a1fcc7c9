import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { serveTests } from './serve.ts';
import { type Api, ok, type Service } from './service.ts';
import { assertProblem } from './shapes.ts';

/** Malformed bytes on the socket: answered with a problem, or disconnected. */

let service: Service;
let api: Api;
serveTests({ USD: '1000' }, (served) => {
  ({ service, api } = served);
});

type RawReply = { status: number; headers: Record<string, string>; body: string; all: string };

const silentMs = 400;
const answerMsMax = 60_000;

/** Sends raw bytes. Reads until the service closes the connection, or is silent after that many answers. */
function send(bytes: string | Buffer, answers = 1): Promise<RawReply> {
  const { hostname, port } = new URL(service.baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let all = '';
    const finish = (): void => {
      socket.destroy();
      resolve(readRaw(all));
    };
    const endMs = performance.now() + answerMsMax;
    socket.setTimeout(silentMs).on('timeout', () => {
      // A busy machine is silent before it has answered, too.
      if (hasAnswers(all, answers) || performance.now() > endMs) finish();
      else socket.setTimeout(silentMs);
    });
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

/** Whether that many answers have arrived, the last one complete. */
function hasAnswers(all: string, answers: number): boolean {
  const last = all.split(/^(?=HTTP\/1\.1 \d{3} )/m).at(answers - 1);
  if (last?.includes('\r\n\r\n') !== true) return false;
  const { headers, body } = readRaw(last);
  if (headers['transfer-encoding'] === 'chunked') return last.endsWith('\r\n0\r\n\r\n');
  return body.length >= Number(headers['content-length'] ?? 0);
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

test('an absolute URL is read like its path and Host', async () => {
  const ask = (method: string, url: string, more = '') =>
    send(
      `${method} ${url} HTTP/1.1\r\nHost: ${host()}\r\n${more}${bearer()}Connection: close\r\n\r\n`,
    );
  assert.equal((await ask('GET', `http://${host()}${balance}`)).status, 200);
  // Its first label names live, which is not served.
  assertRawProblem(await ask('GET', `http://api.example.org${balance}`), 401);
  assertRawProblem(await ask('DELETE', `http://${host()}${balance}`), 405);
  assertRawProblem(await ask('GET', `http://user@${host()}${balance}`), 400);
  assertRawProblem(await ask('GET', `http://${host()}${balance}`, `Host: ${host()}\r\n`), 400);
  assert.equal((await ask('GET', `http://${host()}`)).status, 200);
});

test('CONNECT and absolute URLs are never tunnelled', async () => {
  const tunnel = await send(`CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n`);
  assert.ok(tunnel.status >= 400 && tunnel.status < 500, tunnel.all);
  assertRawProblem(tunnel, tunnel.status);
  const full = await send(
    `GET http://example.org${balance} HTTP/1.1\r\nHost: ${host()}\r\n${bearer()}Connection: close\r\n\r\n`,
  );
  assert.ok([200, 400, 404].includes(full.status), full.all);
});

test('an upgrade is ignored', async () => {
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

test('an incomplete body has no effect', async () => {
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

test('pipelined requests are answered in order', async () => {
  const one = `GET ${balance} HTTP/1.1\r\nHost: ${host()}\r\n${bearer()}\r\n`;
  const { all } = await send(
    `${one}${one}GET /nothing HTTP/1.1\r\nHost: ${host()}\r\nConnection: close\r\n\r\n`,
    3,
  );
  const statuses = [...all.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1]);
  assert.deepEqual(statuses, ['200', '200', '404']);
});

test('an oversized upload is refused before its end', async () => {
  const reply = await send(
    `POST /v0.1.4/user HTTP/1.1\r\nHost: ${host()}\r\n${bearer()}Content-Type: application/json\r\nContent-Length: 999999999\r\n\r\n{`,
  );
  assertRawProblem(reply, 413);
});

test('the same process still answers afterwards', async () => {
  ok(await api.get('/account/balance'));
  if (service.process !== undefined) assert.equal(service.process.exitCode, null);
  assert.doesNotMatch(service.output(), /unhandled|uncaught|"level":60/i);
});
