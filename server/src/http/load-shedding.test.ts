import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createLoadShedding, measureLoadShedding } from './load-shedding.ts';
import { createServer } from './server.ts';

/** A server with room for one request of each kind, whose requests end when the test says so. */
async function startFull() {
  const loadShedding = createLoadShedding({
    environmentNames: ['staging'],
    waitMs: 500,
    inFlightMax: 1,
    steadyMs: () => 0,
    log: pino({ level: 'silent' }),
  });
  const { app, startDrain } = createServer({
    environments: {},
    defaultEnvironment: 'staging',
    log: pino({ level: 'silent' }),
    logEvery: 1,
    trustedProxies: [],
    loadShedding,
  });
  const working: (() => void)[] = [];
  const work = (): Promise<{ done: boolean }> =>
    new Promise((resolve) => working.push(() => resolve({ done: true })));
  app.get('/work', work);
  app.put('/work', work);
  app.post('/work', work);
  app.get('/health/live', async () => ({ status: 'ok' }));
  app.get('/fails', async () => {
    throw new Error('on purpose');
  });
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
  const agent = new Agent({ keepAlive: true });
  const { port } = new URL(baseUrl);
  const countInFlight = (kind: string): number =>
    loadShedding.gates.find((one) => one.kind === kind)?.gate.read().inFlight ?? -1;
  return {
    app,
    loadShedding,
    startDrain,
    port: Number(port),
    countInFlight,
    end: () => working.shift()?.(),
    /** Resolves when this many requests are in their handlers. */
    untilWorking: async (count: number) => {
      while (working.length < count) await new Promise((resolve) => setImmediate(resolve));
    },
    until: async (isSo: () => boolean) => {
      while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
    },
    call: (method: string, path: string, body?: string) =>
      call({ agent, port, method, path, body }),
    [Symbol.asyncDispose]: async (): Promise<void> => {
      for (const finish of working) finish();
      agent.destroy();
      app.server.closeAllConnections();
      await app.close();
    },
  };
}

type Answer = { status: number; headers: NodeJS.Dict<string | string[]>; text: string };

function call(what: {
  agent: Agent;
  port: string;
  method: string;
  path: string;
  body: string | undefined;
}): Promise<Answer> {
  const { agent, port, method, path, body } = what;
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: '127.0.0.1', port, agent, method, path }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

test('requests beyond the limit get a problem answer with Retry-After and their own id', async () => {
  await using server = await startFull();
  const first = server.call('PUT', '/work');
  await server.untilWorking(1);
  const [second, third] = [await server.call('PUT', '/work'), await server.call('PUT', '/work')];
  for (const { status, headers, text } of [second, third]) {
    assert.equal(status, 503);
    assert.equal(headers['retry-after'], '1');
    assert.equal(headers['content-type'], 'application/problem+json; charset=utf-8');
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(Number(headers['content-length']), Buffer.byteLength(text));
    const problem = JSON.parse(text) as Record<string, unknown>;
    assert.equal(problem['code'], 'unavailable');
    assert.equal(problem['status'], 503);
    assert.equal(problem['request_id'], headers['x-request-id']);
  }
  assert.notEqual(second.headers['x-request-id'], third.headers['x-request-id']);
  server.end();
  assert.equal((await first).status, 200);
  const fourth = server.call('PUT', '/work');
  await server.untilWorking(1);
  server.end();
  assert.equal((await fourth).status, 200);
});

test('overload by one kind does not refuse the others, and health always answers', async () => {
  await using server = await startFull();
  const reading = server.call('GET', '/work');
  await server.untilWorking(1);
  assert.equal((await server.call('GET', '/work')).status, 503);
  assert.equal((await server.call('GET', '/health/live')).status, 200);
  const committing = server.call('PUT', '/work');
  await server.untilWorking(2);
  server.end();
  server.end();
  assert.deepEqual([(await reading).status, (await committing).status], [200, 200]);
});

test('the body of a refused request is read to its end, so that the connection stays usable', async () => {
  await using server = await startFull();
  const first = server.call('POST', '/work', '{}');
  await server.untilWorking(1);
  const large = 'x'.repeat(200_000);
  for (let times = 0; times < 3; times += 1) {
    assert.equal((await server.call('POST', '/work', large)).status, 503);
  }
  server.end();
  assert.equal((await first).status, 200);
});

test('slow bodies do not count as in flight', async () => {
  await using server = await startFull();
  const slow = connect(server.port, '127.0.0.1');
  slow.write('POST /work HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n{');
  await once(slow, 'connect');
  const quick = server.call('POST', '/work', '{}');
  await server.untilWorking(1);
  server.end();
  assert.equal((await quick).status, 200);
  assert.equal(server.countInFlight('write'), 0);
  slow.destroy();
});

test('a request counts after its client disconnects, until its work ends', async () => {
  await using server = await startFull();
  const gone = connect(server.port, '127.0.0.1');
  gone.write('GET /work HTTP/1.1\r\nhost: a\r\n\r\n');
  await server.untilWorking(1);
  gone.resetAndDestroy();
  await once(gone, 'close');
  assert.equal((await server.call('GET', '/work')).status, 503);
  server.end();
  await server.until(() => server.countInFlight('read') === 0);
});

test('nothing stays counted after errors, unknown paths and broken requests', async () => {
  await using server = await startFull();
  for (let times = 0; times < 5; times += 1) {
    assert.equal((await server.call('GET', '/fails')).status, 500);
    assert.equal((await server.call('GET', '/nowhere')).status, 404);
    const broken = connect(server.port, '127.0.0.1');
    broken.write('POST /work HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n{');
    await once(broken, 'connect');
    broken.resetAndDestroy();
    await once(broken, 'close');
  }
  await server.until(
    () => server.countInFlight('read') === 0 && server.countInFlight('write') === 0,
  );
});

test('a draining service answers so under overload too', async () => {
  await using server = await startFull();
  const first = server.call('GET', '/work');
  await server.untilWorking(1);
  server.startDrain();
  const refused = await server.call('GET', '/work');
  assert.equal(refused.status, 503);
  assert.equal(refused.headers['connection'], 'close');
  server.end();
  assert.equal((await first).status, 200);
});

test('metrics show requests in flight, the limit and refused requests', async () => {
  await using server = await startFull();
  const registry = new Registry();
  measureLoadShedding(registry, server.loadShedding);
  const first = server.call('GET', '/work');
  await server.untilWorking(1);
  await server.call('GET', '/work');
  await server.call('GET', '/work');
  for (let times = 0; times < 2; times += 1) {
    const text = await registry.metrics();
    assert.match(text, /outlay_requests_in_flight\{environment="staging",kind="read"\} 1/);
    assert.match(text, /outlay_requests_limit\{environment="staging",kind="read"\} 1/);
    assert.match(text, /outlay_requests_shed_total\{environment="staging",kind="read"\} 2/);
    assert.match(text, /outlay_requests_shed_total\{environment="staging",kind="commit"\} 0/);
  }
  server.end();
  assert.equal((await first).status, 200);
});
