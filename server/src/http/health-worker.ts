import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import type { Relayed, RelayedAnswer, WorkerStart } from './health-thread.ts';

/** This is the thread that `health-thread.ts` starts: its server never waits long for the main thread. */

const { host, port, turnedAt, stalledMsMax, waitMsMax, knownMsMax } = workerData as WorkerStart;
const turned = new BigInt64Array(turnedAt);
const main = parentPort;
if (main === null) throw new Error('unreachable: this is a thread');

/** Metrics may have to be counted in the database first, and Prometheus waits for ten seconds. */
const metricsPatience = 5;

/** Probes and Prometheus need a few; more would only fill the main thread's queue. */
const connectionsMax = 100;

type Known = { readonly asker: string; readonly answer: RelayedAnswer; readonly atMs: number };

const waiting = new Map<number, (answer: RelayedAnswer) => void>();
/** The last answer for each path. */
const known = new Map<string, Known>();
let count = 0;

main.on('message', ({ id, ...result }: RelayedAnswer & { id: number }) =>
  waiting.get(id)?.(result),
);

const server = createServer((request, response) => void handle(request, response));
server.maxConnections = connectionsMax;
server.listen(port, host, () => {
  const address = server.address();
  main.postMessage({ port: typeof address === 'object' ? address?.port : undefined });
});

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path = ''] = (request.url ?? '').split('?', 1);
  const isKnown = ['/health/live', '/health/ready', '/metrics'].includes(path);
  if (!isKnown || (request.method !== 'GET' && request.method !== 'HEAD')) {
    send(response, describe(404, 'this port has /health/live, /health/ready and /metrics'));
    return;
  }
  if (path === '/health/live') {
    const isLive = stalledMs() < stalledMsMax;
    send(response, isLive ? describe(200, 'ok') : describe(503, describeStall()));
    return;
  }
  const asked = { path, headers: request.headers, address: request.socket.remoteAddress ?? '' };
  const result = (await relay(asked)) ?? describe(503, describeStall());
  send(response, path === '/metrics' && result.status === 200 ? addGauge(result) : result);
}

/** Answers for one asker are not given to another: who may read metrics depends on both. */
async function relay(asked: Relayed): Promise<RelayedAnswer | undefined> {
  const asker = JSON.stringify([asked.headers['authorization'], asked.address]);
  const answer = await ask(asked);
  if (answer !== undefined) {
    known.set(asked.path, { asker, answer, atMs: performance.now() });
    return answer;
  }
  const last = known.get(asked.path);
  const isGood = last?.asker === asker && performance.now() - last.atMs < knownMsMax;
  return isGood ? last.answer : undefined;
}

async function ask(asked: Relayed): Promise<RelayedAnswer | undefined> {
  count += 1;
  const id = count;
  const { promise, resolve } = Promise.withResolvers<RelayedAnswer | undefined>();
  waiting.set(id, resolve);
  const patience = asked.path === '/metrics' ? metricsPatience : 1;
  const timer = setTimeout(resolve, patience * waitMsMax, undefined);
  main?.postMessage({ ...asked, id });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    waiting.delete(id);
  }
}

function stalledMs(): number {
  return Number(process.hrtime.bigint() - Atomics.load(turned, 0)) / 1_000_000;
}

function describeStall(): string {
  return `no answer of the process; its main thread turned ${Math.round(stalledMs() / 1000)} seconds ago`;
}

function describe(status: number, text: string): RelayedAnswer {
  return { status, contentType: 'application/json', body: JSON.stringify({ status: text }) };
}

function addGauge({ body, ...rest }: RelayedAnswer): RelayedAnswer {
  const name = 'outlay_main_thread_stalled_seconds';
  const help = `# HELP ${name} How long ago the main thread last turned\n# TYPE ${name} gauge\n`;
  return { ...rest, body: `${body}${help}${name} ${(stalledMs() / 1000).toFixed(3)}\n` };
}

function send(response: ServerResponse, { status, contentType, body }: RelayedAnswer): void {
  response.writeHead(status, { 'content-type': contentType, 'cache-control': 'no-store' });
  response.end(body);
}
