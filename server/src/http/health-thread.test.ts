import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import Fastify from 'fastify';
import { type HealthLimits, type HealthThread, startHealthThread } from './health-thread.ts';

const app = Fastify();
let isReady = true;
app.get('/health/ready', async (_request, reply) =>
  isReady ? { status: 'ok' } : reply.code(503).send({ status: 'starting' }),
);
app.get('/metrics', async (request, reply) => {
  const isAllowed = request.headers.authorization === 'Bearer good';
  return isAllowed ? reply.type('text/plain').send('one 1\n') : reply.code(401).send('{}');
});

const long = 600_000;
const start = (limits: HealthLimits): Promise<HealthThread> =>
  startHealthThread(app, { host: '127.0.0.1', port: 0, limits, onError: assert.fail });
/** They differ in how long they wait for the main thread, and in what a stall is. */
let patient: HealthThread;
let hurried: HealthThread;
let strict: HealthThread;
before(async () => {
  patient = await start({ stalledMsMax: long, waitMsMax: long, knownMsMax: long });
  hurried = await start({ stalledMsMax: long, waitMsMax: 100, knownMsMax: long });
  strict = await start({ stalledMsMax: 0, waitMsMax: 100, knownMsMax: 0 });
});
after(async () => {
  await Promise.all([patient, hurried, strict].map((thread) => thread.close()));
  await app.close();
});

async function get(
  { port }: HealthThread,
  path: string,
  token = 'good',
): Promise<{ status: number; text: string }> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
  return { status: answer.status, text: await answer.text() };
}

const asking = `
  const { parentPort, workerData: { port, paths, isDone } } = require('node:worker_threads');
  const ask = async (path) => {
    const headers = { authorization: 'Bearer good' };
    const answer = await fetch('http://127.0.0.1:' + port + path, { headers });
    return path + ' ' + answer.status + ' ' + (await answer.text()).split('\\n')[0];
  };
  Promise.all(paths.map(ask)).then((answers) => {
    parentPort.postMessage(answers);
    Atomics.store(isDone, 0, 1);
    Atomics.notify(isDone, 0);
  });`;

/** Another thread asks, and this one does nothing until it has the answers. */
async function askWhileBusy({ port }: HealthThread, paths: readonly string[]): Promise<string[]> {
  const isDone = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(asking, { eval: true, workerData: { port, paths, isDone } });
  await once(worker, 'online');
  assert.notEqual(Atomics.wait(isDone, 0, 0, 60_000), 'timed-out');
  const [answers] = (await once(worker, 'message')) as [string[]];
  await worker.terminate();
  return answers;
}

/** On a busy machine the first answer may come too late. */
async function untilKnown(path: string, token: string, status: number): Promise<void> {
  while ((await get(hurried, path, token)).status !== status);
}

const paths = ['/health/live', '/health/ready', '/metrics'];

test('the main thread answers readiness and metrics through its own routes', async () => {
  assert.deepEqual(await get(patient, '/health/ready'), { status: 200, text: '{"status":"ok"}' });
  isReady = false;
  const starting = { status: 503, text: '{"status":"starting"}' };
  assert.deepEqual(await get(patient, '/health/ready'), starting);
  isReady = true;
  assert.equal((await get(patient, '/metrics', 'bad')).status, 401);
  const { text } = await get(patient, '/metrics');
  assert.match(text, /^one 1\n(?:# .*\n){2}outlay_main_thread_\w+ \d+\.\d+\n$/);
  assert.equal((await get(patient, '/account/balance')).status, 404);
});

test('a busy main thread changes no answer for a while', async () => {
  await untilKnown('/health/ready', 'good', 200);
  await untilKnown('/metrics', 'good', 200);
  assert.deepEqual(await askWhileBusy(hurried, paths), [
    '/health/live 200 {"status":"ok"}',
    '/health/ready 200 {"status":"ok"}',
    '/metrics 200 one 1',
  ]);
});

test('a main thread that does not turn for too long is said to be stalled', async () => {
  const answers = await askWhileBusy(strict, paths);
  for (const [index, path] of paths.entries()) {
    const said =
      '503 {"status":"no answer of the process; its main thread turned \\d+ seconds ago"}';
    assert.match(answers[index] ?? '', new RegExp(`^${path} ${said}$`));
  }
});

test('metrics that one reader got are not given to another while the main thread is busy', async () => {
  await untilKnown('/metrics', 'other', 401);
  const [answer = ''] = await askWhileBusy(hurried, ['/metrics']);
  assert.match(answer, /^\/metrics 503 /);
});
