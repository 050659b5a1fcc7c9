import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { createSender, type SendResult } from './sender.ts';

const handlers: Record<string, RequestListener> = {
  '/ok': (_request, response) => response.end('thanks'),
  '/redirect': (_request, response) => {
    response.writeHead(302, { location: '/ok' }).end();
  },
  '/endless': (_request, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(10_000)));
    };
    response.on('drain', more);
    more();
  },
  '/hangs': () => undefined,
  '/starts': (_request, response) => {
    response.writeHead(200).write('begun');
  },
  '/large-header': (_request, response) => {
    response.writeHead(200, { 'x-large': 'x'.repeat(10_000) }).end();
  },
  '/busy': (_request, response) => {
    response.writeHead(429, { 'retry-after': '7', 'content-type': 'text/plain' }).end('slow down');
  },
  '/resets': (request) => request.socket.resetAndDestroy(),
  '/switches': (request) => {
    const switched = [
      'HTTP/1.1 101 Switching Protocols',
      'upgrade: websocket',
      'connection: upgrade',
    ];
    request.socket.write([...switched, '', ''].join('\r\n'));
  },
};
const requested: string[] = [];
const server = createServer((request, response) => {
  requested.push(request.url ?? '');
  handlers[request.url ?? '']?.(request, response);
});
let base: string;
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
const createAllowed = (isLoopbackAllowed: boolean, timeoutMs = 5000) =>
  createSender({ rules: { isLoopbackAllowed }, timeoutMs, steadyMs: () => performance.now() });
const sender = createAllowed(true);
const quick = createAllowed(true, 50);
after(() => {
  sender.close();
  quick.close();
  server.closeAllConnections();
  server.close();
});

const never = new AbortController().signal;
const post = (url: string, through = sender): Promise<SendResult> =>
  through.open(url).send({ headers: { 'webhook-id': 'a' }, body: '{}' }, never);

test('a status of 2xx is a success with the beginning of its body', async () => {
  const { error, answer } = await post(`${base}/ok`);
  assert.equal(error, '');
  assert.equal(answer?.statusCode, 200);
  assert.equal(String(answer.body), 'thanks');
});

test('a redirect is not followed', async () => {
  requested.length = 0;
  const { error, answer } = await post(`${base}/redirect`);
  assert.equal(error, 'status 302: redirects are not followed');
  assert.equal(answer?.statusCode, 302);
  assert.deepEqual(requested, ['/redirect']);
});

test('an endless answer is cut, and its status counts', async () => {
  const { error, answer } = await post(`${base}/endless`);
  assert.equal(error, '');
  assert.equal(answer?.body.length, 1024);
});

test('an endpoint that hangs costs the time limit', async () => {
  const result = await post(`${base}/hangs`, quick);
  assert.equal(result.error, 'no answer within 50 ms');
  assert.equal(result.answer, undefined);
});

test('the status counts of an answer that does not end in time', async () => {
  const patient = createAllowed(true, 2_000);
  assert.equal((await post(`${base}/starts`, patient)).answer?.statusCode, 200);
  patient.close();
});

test('other failures are described', async () => {
  assert.equal((await post(`${base}/resets`)).error, 'the connection was reset');
  assert.match((await post(`${base}/large-header`)).error, /header of the answer is too large/);
  const busy = await post(`${base}/busy`);
  assert.deepEqual([busy.error, busy.answer?.retryAfter], ['status 429', '7']);
  assert.equal((await post('http://127.0.0.1:1/')).error, 'the connection was refused');
});

test('an answer that switches to another protocol is a failure', async () => {
  const { error, answer } = await post(`${base}/switches`);
  assert.equal(error, 'status 101');
  assert.equal(answer?.statusCode, 101);
});

test('without the switch nothing reaches loopback, by address or by name', async () => {
  const strict = createAllowed(false);
  requested.length = 0;
  const { port } = new URL(base);
  for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '2130706433']) {
    const { error } = await post(`http://${host}:${port}/ok`, strict);
    assert.match(error, /leads to a private or reserved address/, host);
  }
  assert.deepEqual(requested, []);
  strict.close();
});

test('stopping ends a request that waits', async () => {
  const stop = new AbortController();
  const waiting = sender.open(`${base}/hangs`).send({ headers: {}, body: '{}' }, stop.signal);
  stop.abort();
  await assert.rejects(waiting);
});
