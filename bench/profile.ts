import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { formatToken } from '../server/src/core/ids.ts';
import { writeSection } from './document.ts';
import { drawFlameGraph, listShares } from './flame-graph.ts';
import { measureHttp } from './http-load.ts';
import { formatRequest } from './load.ts';
import { describeMachine } from './machine.ts';
import { type OpenPlace, openPlace } from './place.ts';
import { createMeter } from './processor.ts';
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
    /^(?:parserOn|onRequest|lookup find-my-way|onStreamRead|anonymous http\/load-shedding|checkInput)/,
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
      const profileRun = { service, place };
      const creates = await profile(profileRun, 'create', () => create);
      const ready = await service.fixture.prepareWorkload('hot', 30_000 * (seconds + 2));
      const commits = await profile(profileRun, 'commit', () => {
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
  { service, place }: { service: Service; place: OpenPlace },
  name: 'create' | 'commit',
  next: () => string | undefined,
): Promise<Profiled> {
  const client = new pg.Client({ connectionString: service.url });
  await client.connect();
  try {
    await client.query(`set application_name = 'bench'`);
    const load = { inFlight: 64, workload: 'hot' } as const;
    await measureHttp(service.port, { ...load, seconds: 1.5 }, next);
    const walBefore = await readWal(client);
    const stop = createMeter({ service: service.processId, database: place.processId }).start();
    let count = 0;
    let perSecond = 0;
    const found = await service.profile(async () => {
      const measure = await measureHttp(service.port, { ...load, seconds }, next);
      count = measure.count;
      perSecond = measure.count / measure.seconds;
    });
    const databaseUs = stop()?.databaseUs ?? 0;
    const walBytes = (await readWal(client)) - walBefore;
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
