import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeSection } from './document.ts';
import { formatRequest } from './load.ts';
import { describeMachine } from './machine.ts';
import { openPlace } from './place.ts';
import { type Service, startService, version } from './subjects/service.ts';

/**
 * npm run bench -- --events: a thousand readers stream the events of one account, first while nothing
 * happens, then at several rates. The time of an event is from before the request that causes it until a
 * reader has it. Then readers without a cursor begin one after the other with the oldest event, while
 * `/health/live` is asked ten times a second.
 */

const seconds = Number(process.env['BENCH_SECONDS'] ?? 10);
const readerCount = Number(process.env['BENCH_READERS'] ?? 1000);
const rates = [1, 10, 50];
const catchUpReaders = 250;
/** The service counts processor time in hundredths of a second. */
const ticksPerSecond = 100;

type Run = { perSecond: number; events: number; delivered: number; waits: number[]; cpu: number };

export async function runEvents(): Promise<void> {
  const place = await openPlace();
  const service = await startService(place, { name: 'events' });
  try {
    const readers = await openReaders(service);
    const idle = await measureCpu(service, () => sleep(seconds * 1000));
    const runs: Run[] = [];
    for (const perSecond of rates) runs.push(await measure(service, readers, perSecond));
    for (const socket of readers.sockets) socket.destroy();
    const catchUp = await measureCatchUp(service);
    const text = describe({ idle, runs, catchUp, server: await place.describe() });
    process.stdout.write(text);
    writeSection('events', text);
  } finally {
    await service.close();
    await place.close();
  }
}

type Readers = {
  sockets: Socket[];
  /** Called with the sequence of every event that any reader gets. */
  onEvent: (sequence: string) => void;
};

async function openReaders({ port, fixture }: Service): Promise<Readers> {
  const readers: Readers = { sockets: [], onEvent: () => undefined };
  const { apiKey: token } = fixture.hot;
  const path = `${version}/events?after=${await findNewest({ port, token })}`;
  const request = formatRequest({ method: 'GET', path, token }).replace(
    '\r\n\r\n',
    '\r\naccept: text/event-stream\r\n\r\n',
  );
  for (let count = 0; count < readerCount; count += 1) {
    const socket = connect(port, '127.0.0.1');
    readers.sockets.push(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.setEncoding('latin1').on('data', (text: string) => {
        if (text.includes('retry:')) resolve();
        for (const [, sequence = ''] of text.matchAll(/^id: (\d+)$/gm)) readers.onEvent(sequence);
      });
      socket.write(request);
    });
  }
  return readers;
}

/** `seconds`: of the service's processor; `probeMs`: the longest answer of a probe. */
type CatchUp = {
  readers: number;
  events: number;
  seconds: number;
  tookMs: number;
  probeMs: number;
};

async function measureCatchUp(service: Service): Promise<CatchUp> {
  const { port, fixture } = service;
  const { apiKey: token } = fixture.hot;
  const newest = await findNewest({ port, token });
  const request = formatRequest({ method: 'GET', path: `${version}/events/stream`, token });
  let arrived = 0;
  let isOver = false;
  let probeMs = 0;
  const probing = (async () => {
    while (!isOver) {
      const askedMs = performance.now();
      await (await fetch(`http://127.0.0.1:${port}/health/live`)).text();
      probeMs = Math.max(probeMs, performance.now() - askedMs);
      await sleep(100);
    }
  })();
  const sockets: Socket[] = [];
  const open = async (): Promise<void> => {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject).once('close', () => reject(new Error('a stream was closed')));
      let rest = '';
      socket.setEncoding('latin1').on('data', (text: string) => {
        rest = `${rest}${text}`.slice(-text.length - 30);
        if (!rest.includes(`id: ${newest}\n`)) return;
        arrived += 1;
        resolve();
      });
      socket.write(request);
    });
  };
  const startedMs = performance.now();
  const share = await measureCpu(service, async () => {
    const readers = [];
    for (let count = 0; count < catchUpReaders; count += 1) {
      readers.push(open());
      await sleep(10);
    }
    await Promise.all(readers);
  });
  const tookMs = performance.now() - startedMs;
  isOver = true;
  await probing;
  for (const socket of sockets) socket.removeAllListeners('close').destroy();
  const taken = (share * tookMs) / 1000;
  return { readers: arrived, events: Number(newest), seconds: taken, tookMs, probeMs };
}

async function findNewest({ port, token }: { port: number; token: string }): Promise<string> {
  let after = '0';
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}${version}/events?after=${after}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const events = (await response.json()) as { sequence: number }[];
    const last = events.at(-1);
    if (last === undefined) return after;
    after = String(last.sequence);
  }
}

/** New users at an even pace: each is one event. */
async function measure(service: Service, readers: Readers, perSecond: number): Promise<Run> {
  const { port, fixture } = service;
  const first = BigInt(await findNewest({ port, token: fixture.hot.apiKey })) + 1n;
  const count = Math.round(perSecond * seconds);
  const sentMs: number[] = [];
  const waits: number[] = [];
  readers.onEvent = (sequence) => {
    waits.push(performance.now() - (sentMs[Number(BigInt(sequence) - first)] ?? Number.NaN));
  };
  const startedMs = performance.now();
  const cpu = await measureCpu(service, async () => {
    for (let index = 0; index < count; index += 1) {
      await sleep(Math.max(0, startedMs + (index * 1000) / perSecond - performance.now()));
      sentMs.push(performance.now());
      const name = `events-${perSecond}-${index}`;
      const body = {
        internal_user_id: name,
        country: 'MEX',
        first_name: 'Eva',
        last_name: 'Lopez',
        email: `${name}@example.org`,
      };
      await service.call(fixture.hot, { method: 'POST', path: `${version}/user`, body });
    }
    const endMs = performance.now() + 10_000;
    while (waits.length < count * readerCount && performance.now() < endMs) await sleep(20);
  });
  return { perSecond, events: count, delivered: waits.length, waits, cpu };
}

/** The share of one processor that the service used meanwhile. */
async function measureCpu({ processId }: Service, work: () => Promise<void>): Promise<number> {
  const read = (): number => {
    const fields = readFileSync(`/proc/${processId}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  };
  const before = read();
  const startedMs = performance.now();
  await work();
  return ((read() - before) * 1000) / (performance.now() - startedMs);
}

function describe(found: {
  idle: number;
  runs: readonly Run[];
  catchUp: CatchUp;
  server: string;
}): string {
  const { catchUp } = found;
  const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;
  const isComplete = found.runs.every(
    ({ delivered, events }) => delivered === events * readerCount,
  );
  const rows = found.runs.map(({ perSecond, events, delivered, waits, cpu }) => {
    const sorted = waits.toSorted((a, b) => a - b);
    const at = (share: number): string =>
      (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(0);
    const share = percent(delivered / (events * readerCount));
    return `| ${perSecond} | ${share} | ${at(0.5)} | ${at(0.99)} | ${at(1)} | ${percent(cpu)} |`;
  });
  return [
    `## ${readerCount} readers of a stream of events`,
    '',
    `${describeMachine()}. ${found.server}. All readers stream the same account; the service is one`,
    'process, the readers and the requests that cause events another one on the same machine.',
    '',
    `While nothing happens the service uses ${percent(found.idle)} of a processor.`,
    '',
    '| events per second | delivered | ms p50 | ms p99 | ms longest | processor of the service |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
    isComplete
      ? 'Every reader got every event.'
      : 'NOT EVERY READER GOT EVERY EVENT within 10 seconds after the last one.',
    '',
    `${catchUp.readers} readers without a cursor, one each 10 ms, had all ${catchUp.events} events after ` +
      `${(catchUp.tookMs / 1000).toFixed(1)} s, for ${catchUp.seconds.toFixed(1)} s of the service's`,
    `processor. The slowest of ten probes a second of \`/health/live\` took ${catchUp.probeMs.toFixed(0)} ms.`,
    '',
  ].join('\n');
}
