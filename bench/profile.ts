import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { formatToken } from '../server/src/core/ids.ts';
import { writeSection } from './document.ts';
import { drawFlameGraph, listShares } from './flame-graph.ts';
import { measureHttp } from './http-load.ts';
import { formatRequest } from './load.ts';
import { describeMachine } from './machine.ts';
import { openPlace } from './place.ts';
import { formatPath } from './subjects/http.ts';
import { type Service, startService, version } from './subjects/service.ts';

/**
 * npm run bench -- --profile: where the time of a quote and of a commit over HTTP goes. The
 * service's thread by its profile, the database by the processor time of its processes, by its
 * functions, and by the bytes of its log.
 */

const seconds = Number(process.env['BENCH_SECONDS'] ?? 6);
const images = join(import.meta.dirname, '../docs/images');

/** What a share of the thread is for, by the function that it is below. The first that fits counts. */
const parts = {
  'writing answers to sockets': /^(?:end node:_http|sendAnswer|onSendEnd|writePayload)/,
  'the database driver: sending': /^(?:query lib\/client|submit lib\/query|_pulse)/,
  'the database driver: reading': /^(?:parse dist\/parser|anonymous dist\/index|handleDataRow)/,
  'opening sealed values, and the answer': /^(?:writePayout|view payouts)/,
  'the quote or the batch itself':
    /^(?:createPayout|settle db|runCommits|insertPayouts|run payouts)/,
  'reading requests, routing, admission, credentials':
    /^(?:parserOn|onRequest|lookup find-my-way|onStreamRead|anonymous http\/shedding|checkInput)/,
  'garbage collection': /^\(garbage collector\)/,
};

type Profiled = { name: string; file: string; count: number; lines: string[] };

export async function runProfile(): Promise<void> {
  const place = await openPlace();
  try {
    const service = await startService(place, { name: 'ours_profile' });
    try {
      const { hot } = service.fixture;
      const destination = await service.prepareDestination();
      const create = formatRequest({
        method: 'POST',
        path: `${version}/payout/${formatToken('user', hot.userId)}`,
        token: hot.apiKey,
        body: {
          destination_token: destination,
          destination_currency_code: 'MXN',
          source_amount: 100.1,
        },
      });
      const creates = await profile(service, 'create', () => create);
      const ready = await service.fixture.prepareWorkload('hot', 30_000 * (seconds + 2));
      const commits = await profile(service, 'commit', () => {
        const payout = ready.pop();
        if (payout === undefined) return undefined;
        return formatRequest({ method: 'PUT', path: formatPath(payout), token: hot.apiKey });
      });
      const text = describe([creates, commits], await place.describe());
      process.stdout.write(text);
      writeSection('profile', text);
    } finally {
      await service.close();
    }
  } finally {
    await place.close();
  }
}

async function profile(
  service: Service,
  name: 'create' | 'commit',
  next: () => string | undefined,
): Promise<Profiled> {
  const client = new pg.Client({ connectionString: service.url });
  await client.connect();
  try {
    await client.query(`set application_name = 'bench'`);
    const load = { inFlight: 64, workload: 'hot' } as const;
    await measureHttp(service.port, { ...load, seconds: 1.5 }, next);
    const before = { wal: await readWal(client), cpuUs: await readDatabaseCpu(client) };
    let count = 0;
    let perSecond = 0;
    const found = await service.profile(async () => {
      const measure = await measureHttp(service.port, { ...load, seconds }, next);
      count = measure.count;
      perSecond = measure.count / measure.seconds;
    });
    const databaseUs = (await readDatabaseCpu(client)) - before.cpuUs;
    const walBytes = (await readWal(client)) - before.wal;
    const file = `profile-${name}.svg`;
    const title = `The service's thread under ${name} requests, 64 connections`;
    writeFileSync(join(images, file), drawFlameGraph(found.profile, title));
    const each = (us: number): string => (us / count).toFixed(1);
    const shares = listShares(found.profile, parts).filter(({ share }) => share >= 0.01);
    return {
      name,
      file,
      count,
      lines: [
        `| per second | ${perSecond.toFixed(0)} |`,
        `| the service's process, us of processor each | ${each(found.cpuUs)} |`,
        `| the database's processes, us of processor each | ${each(databaseUs)} |`,
        `| bytes of log each | ${(walBytes / count).toFixed(0)} |`,
        ...shares.map(
          ({ part, share }) => `| of the thread: ${part} | ${(share * 100).toFixed(0)}% |`,
        ),
      ],
    };
  } finally {
    await client.end();
  }
}

async function readWal(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>(
    `select pg_current_wal_lsn() - '0/0'::pg_lsn as bytes`,
  );
  return Number(rows[0]?.bytes);
}

const ticksPerSecond = 100;

/** Processor time of the server's processes, in microseconds. Linux only. */
async function readDatabaseCpu(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const parent = readStat(String(rows[0]?.pid))?.parent;
  let ticks = 0;
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    const stat = readStat(name);
    if (stat?.parent === parent) ticks += stat?.ticks ?? 0;
  }
  return (ticks * 1_000_000) / ticksPerSecond;
}

function readStat(processId: string): { parent: number; ticks: number } | undefined {
  try {
    const text = readFileSync(`/proc/${processId}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) };
  } catch (error) {
    // It ended between the two.
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

function describe(profiled: readonly Profiled[], server: string): string {
  const tables = profiled.map(({ name, file, lines }) =>
    [
      `### ${name === 'create' ? 'A quote (POST)' : 'A commit (PUT)'}`,
      '',
      '| what | |',
      '|---|---|',
      ...lines,
      '',
      `[Flame graph](images/${file})`,
    ].join('\n'),
  );
  return `## Where the time goes

One process, one hot balance, 64 connections, ${seconds} s each under the profiler.
The limit is reached when service, database and load generator together use both processors.

${server}. ${describeMachine()}

${tables.join('\n\n')}
`;
}
