import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatToken } from '../server/src/core/ids.ts';
import { writeSection } from './document.ts';
import { median, quantile } from './drive.ts';
import { withSuperuser } from './fill.ts';
import { formatRequest, runLoad } from './load.ts';
import { describeMachine } from './machine.ts';
import { type OpenPlace, openPlace } from './place.ts';
import { type Service, startService, version } from './subjects/service.ts';

/**
 * npm run bench -- --webhooks: commits of one account over HTTP, each an event, while a receiver on
 * the same machine gets them; then the rest of the backlog. In the last part another endpoint of
 * the account is down for six hours of the sandbox's clock.
 */

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 5);
const connections = 64;
const reserved = Number(process.env['BENCH_PAYOUTS'] ?? 20_000) * seconds;
const waitMsMax = 120_000;

type Receiver = { url: string; arrivals: Map<number, number>; server: Server };

type Round = {
  commitsAlone: number;
  commits: number;
  /** Deliveries per second while commits go on, and after them. */
  during: number;
  drain: number;
};

export async function runWebhooks(): Promise<void> {
  const place = await openPlace();
  const receiver = await startReceiver();
  let service: Service | undefined;
  try {
    service = await startService(place, {
      name: 'ours_webhooks',
      role: 'all',
      settings: { OUTLAY_WEBHOOK_LOOPBACK: 'allowed' },
    });
    const found: Round[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const one = await measureRound(service, receiver);
      process.stderr.write(`webhooks: ${JSON.stringify(one)}\n`);
      found.push(one);
    }
    const isolation = await measureIsolation(service, receiver);
    const text = await report(place, found, isolation);
    process.stdout.write(text);
    writeSection('webhooks', text);
  } finally {
    await service?.close();
    receiver.server.closeAllConnections();
    receiver.server.close();
    await place.close();
  }
}

/** Records when the first request about each event came. */
async function startReceiver(): Promise<Receiver> {
  const arrivals = new Map<number, number>();
  const server = createServer((request, response) => {
    const id = String(request.headers['webhook-id']);
    const sequence = Number(id.split('_')[2]);
    if (!arrivals.has(sequence)) arrivals.set(sequence, performance.now());
    request.resume();
    response.writeHead(200, { 'content-length': 0 }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, arrivals, server };
}

async function measureRound(service: Service, receiver: Receiver): Promise<Round> {
  const alone = await commit(service);
  const endpoint = await createEndpoint(service, receiver.url);
  // Payouts that are made here are events too, before the clock starts.
  const requests = await prepareCommits(service);
  await waitForBacklog(service);
  receiver.arrivals.clear();
  const commits = await commit(service, requests);
  const duringCount = receiver.arrivals.size;
  const endMs = performance.now();
  await waitForBacklog(service);
  const drained = receiver.arrivals.size - duringCount;
  const drainSeconds = (Math.max(endMs, ...receiver.arrivals.values()) - endMs) / 1000;
  await callEndpoint(service, endpoint, 'remove');
  return {
    commitsAlone: Math.round(alone.perSecond),
    commits: Math.round(commits.perSecond),
    during: Math.round(duringCount / commits.seconds),
    drain: drainSeconds === 0 ? 0 : Math.round(drained / drainSeconds),
  };
}

async function prepareCommits({ fixture }: Service): Promise<string[]> {
  const payouts = await fixture.makePayouts(reserved, fixture.hot);
  const token = fixture.hot.apiKey;
  return payouts.map(({ userId, payoutId }) => {
    const path = `${version}/payout/${formatToken('user', userId)}/${formatToken('payout', payoutId)}`;
    return formatRequest({ method: 'PUT', path, token });
  });
}

async function commit(service: Service, prepared?: string[]) {
  const requests = prepared ?? (await prepareCommits(service));
  const result = await runLoad({
    port: service.port,
    connections,
    seconds,
    next: () => requests.pop(),
    onAnswer: (body) => {
      if (!body.includes('"status":"success"')) throw new Error(`not committed: ${body}`);
    },
  });
  if (requests.length === 0) throw new Error('too few payouts: raise BENCH_PAYOUTS');
  return result;
}

async function createEndpoint({ call, fixture }: Service, url: string): Promise<string> {
  const request = { method: 'POST', path: `${version}/webhooks`, body: { url } };
  const made = JSON.parse(await call(fixture.hot, request)) as { webhook_token: string };
  return made.webhook_token;
}

async function callEndpoint(service: Service, token: string, step: string): Promise<void> {
  const path = `${version}/webhooks/${token}/${step}`;
  await service.call(service.fixture.hot, { method: 'POST', path, body: {} });
}

/** Until all that answer have everything. */
async function waitForBacklog({ url }: Service): Promise<void> {
  const endMs = performance.now() + waitMsMax;
  await withSuperuser(url, async (client) => {
    for (;;) {
      const { rows } = await client.query(`
        select 1 from webhook_endpoints e join accounts a on a.id = e.account_id
        where e.failing_since is null and e.cursor < a.event_sequence limit 1`);
      if (rows.length === 0) return;
      if (performance.now() > endMs) throw new Error('the backlog does not end');
      await sleep(20);
    }
  });
}

type Isolation = {
  /** From the answer to a change until its event arrived, milliseconds, sorted. */
  alone: number[];
  besideDead: number[];
  /** Requests to the dead endpoint, and its stored deliveries, after six hours. */
  deadRequests: number;
  deadRetries: number;
};

/** In each hour. */
const probes = 10;

async function measureIsolation(service: Service, receiver: Receiver): Promise<Isolation> {
  await createEndpoint(service, receiver.url);
  await waitForBacklog(service);
  const alone = await measureHours(service, receiver);
  await createEndpoint(service, 'http://127.0.0.1:1/');
  const besideDead = await measureHours(service, receiver);
  const counts = { deadRequests: 0, deadRetries: 0 };
  await withSuperuser(service.url, async (client) => {
    const { rows } = await client.query<{ requests: number; retries: number }>(`
      select (select count(*)::integer from webhook_deliveries where result = 'failed') as requests,
        (select count(*)::integer from webhook_retries) as retries`);
    counts.deadRequests = rows[0]?.requests ?? 0;
    counts.deadRetries = rows[0]?.retries ?? 0;
  });
  const sort = (values: number[]): number[] => values.toSorted((a, b) => a - b);
  return { alone: sort(alone), besideDead: sort(besideDead), ...counts };
}

/** Six hours of the sandbox's clock, whose advance makes payouts due, too. */
async function measureHours(service: Service, receiver: Receiver): Promise<number[]> {
  const delays: number[] = [];
  for (let hour = 0; hour < 6; hour += 1) {
    delays.push(...(await measureDelays(service, receiver)));
    const request = { method: 'POST', path: '/sandbox/clock', body: { advance_s: 3600 } };
    await service.call(service.fixture.hot, request);
  }
  return delays;
}

/** One event at a time. */
async function measureDelays(service: Service, receiver: Receiver): Promise<number[]> {
  const { call, fixture } = service;
  const user = formatToken('user', fixture.hot.userId);
  const delays: number[] = [];
  for (let probe = 0; probe < probes; probe += 1) {
    receiver.arrivals.clear();
    const body = { first_name: `Bench ${'abcdefghij'[probe % 10]}` };
    await call(fixture.hot, { method: 'PUT', path: `${version}/user/${user}`, body });
    const writtenMs = performance.now();
    while (receiver.arrivals.size === 0) {
      if (performance.now() - writtenMs > waitMsMax) throw new Error('an event does not arrive');
      await sleep(1);
    }
    const [arrivedMs = writtenMs] = receiver.arrivals.values();
    delays.push(Math.max(0, arrivedMs - writtenMs));
  }
  return delays;
}

async function report(
  place: OpenPlace,
  found: readonly Round[],
  isolation: Isolation,
): Promise<string> {
  const at = (key: keyof Round): string => median(found.map((round) => round[key])).toFixed(0);
  const growth = median(found.map(({ commits, during }) => Math.max(0, commits - during)));
  const drain = median(found.map((round) => round.drain));
  const slowdown = quantile(isolation.besideDead, 0.5) / quantile(isolation.alone, 0.5);
  const show = (delays: readonly number[]): string =>
    `${quantile(delays, 0.5).toFixed(0)} / ${quantile(delays, 0.99).toFixed(0)}`;
  return [
    '## Webhooks',
    '',
    `${rounds} rounds of ${seconds} s: one account commits over ${connections} connections; each commit is an event, which`,
    'a receiver on the same machine gets. Service with background work, database, load generator and',
    `receiver share the machine. ${await place.describe()}. ${describeMachine()}.`,
    '',
    '| commits/s without an endpoint | with one | deliveries/s meanwhile | of the rest, afterwards |',
    '|---|---|---|---|',
    `| ${at('commitsAlone')} | ${at('commits')} | ${at('during')} | ${at('drain')} |`,
    '',
    describeBacklog({ growth, drain }),
    '',
    `In six hours of the sandbox's clock a single event arrives ${show(isolation.alone)} ms (median / 99th percentile)`,
    `after the answer to its change; the loop looks every 250 ms. In six more, beside an endpoint that refuses connections:`,
    `${show(isolation.besideDead)} ms, ${slowdown.toFixed(2)} times the median. That endpoint got ${isolation.deadRequests} requests, and ${isolation.deadRetries} of its deliveries are stored.`,
    '',
  ].join('\n');
}

/** Events per second. */
function describeBacklog({ growth, drain }: { growth: number; drain: number }): string {
  if (growth === 0) return 'The backlog does not grow: deliveries keep up with commits.';
  const verdict =
    drain > growth ? 'drains faster than it grows' : 'DRAINS MORE SLOWLY THAN IT GROWS';
  const ratio = (drain / growth).toFixed(2);
  return `The backlog ${verdict}: by ${growth.toFixed(0)} events/s it grows, by ${drain.toFixed(0)} it drains, ratio ${ratio}.`;
}
