import { readFileSync } from 'node:fs';
import { newId } from '../server/src/core/ids.ts';
import { createOpener, createSession, run } from '../server/src/db/postgres/connection.ts';
import { dueCountQuery } from '../server/src/dispatch/dispatch.sql.ts';
import { commitPayoutRows } from '../server/src/payouts/group-commit.sql.ts';
import { insertPayouts } from '../server/src/payouts/quotes.sql.ts';
import { writeSection } from './document.ts';
import { median } from './drive.ts';
import { withSuperuser } from './fill.ts';
import { describeQuote, type ReadyPayout } from './fixture.ts';
import { describeMachine } from './machine.ts';
import { createRowTables } from './peers/rows-only.ts';
import { type OpenPlace, openPlace } from './place.ts';
import { type OurEnvironment, openOurEnvironment } from './subjects/environment.ts';

/**
 * npm run bench -- --statements: processor time of one connection's server process for groups of
 * commits and quotes, beside a statement that only inserts the rows of a commit. It is the process's own
 * time, which other work on the machine stretches less than the clock. Linux only.
 */

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 5);
const groupSizes = [1, 32, 64, 500];
/** Payouts in each measurement, and groups at least. */
const payoutsEach = 2_000;
const groupsMax = 200;
const inFlight = 100_000;

type Service = Awaited<ReturnType<typeof openService>>;
type Command = {
  name: string;
  runGroup: (service: Service, group: readonly ReadyPayout[]) => Promise<unknown>;
};

const commands: readonly Command[] = [
  {
    name: 'commit',
    runGroup: ({ session }, group) => commitPayoutRows(session, group.map(describeCommit), false),
  },
  {
    name: 'quote',
    runGroup: ({ session }, group) => insertPayouts(session, group.map(describeQuote), false),
  },
  {
    name: 'rows of a commit only',
    runGroup: ({ session }, group) =>
      session.query({ name: 'bench_insert_rows', text: 'select bench_insert_rows($1, $2)' }, [
        group.map(({ accountId }) => accountId),
        group.map(() => newId()),
      ]),
  },
];

export async function runStatements(): Promise<void> {
  const place = await openPlace();
  try {
    const service = await openService(place);
    const found = new Map<string, number[]>();
    for (let round = 0; round < rounds; round += 1) {
      for (const size of groupSizes) {
        for (const command of commands) {
          const us = await measureGroups(service, command, size);
          const key = nameOf(command.name, size);
          found.set(key, [...(found.get(key) ?? []), us]);
        }
      }
    }
    const reads = await measureReads(service);
    await service.ours.fixture.check();
    await service.close();
    const text = report(found, reads, await place.describe());
    process.stdout.write(text);
    writeSection('statements', text);
  } finally {
    await place.close();
  }
}

async function openService(place: OpenPlace) {
  const ours: OurEnvironment = await openOurEnvironment(place, 'ours_statements');
  await withSuperuser(ours.url, (client) => client.query(createRowTables));
  const connection = await createOpener(ours.url).open({
    statementMsMax: 60_000,
    isPipelined: true,
    role: 'outlay_service',
  });
  const { processId } = connection.backend ?? { processId: 0 };
  return {
    ours,
    session: createSession((statement, values) => run(connection, statement, values)),
    readUs: (): number => {
      const [ns = '0'] = readFileSync(`/proc/${processId}/schedstat`, 'utf8').split(' ');
      return Number(ns) / 1000;
    },
    close: async () => {
      await connection.client.end();
      await ours.close();
    },
  };
}

/** Microseconds for each payout; the first groups are not counted. */
async function measureGroups(service: Service, { runGroup }: Command, size: number) {
  const count = Math.min(groupsMax, Math.ceil(payoutsEach / size));
  const warmUp = 3;
  const payouts = await service.ours.fixture.prepareWorkload('hot', (count + warmUp) * size);
  const groups = Array.from({ length: count + warmUp }, (_, index) =>
    payouts.slice(index * size, (index + 1) * size),
  );
  for (const group of groups.splice(0, warmUp)) await runGroup(service, group);
  const before = service.readUs();
  for (const group of groups) await runGroup(service, group);
  return (service.readUs() - before) / (count * size);
}

type Reads = { sumMs: number; journals: number; dueMs: number };

/** Summing both sides of the ledger's transfers, and counting what is due beside many payouts in flight. */
async function measureReads({ ours, session, readUs }: Service): Promise<Reads> {
  const { accountId } = ours.fixture.hot;
  const journals = await withSuperuser(ours.url, async (client) => {
    await client.query(
      `insert into payout_dispatches (account_id, payout_id, due_at, rail)
      select $1, uuidv7(), now() + interval '1 day', 'bench' from generate_series(1, ${inFlight})`,
      [accountId],
    );
    await client.query('analyze');
    const { rows } = await client.query<{ count: number }>(
      'select count(*)::integer as count from ledger_journals',
    );
    return rows[0]?.count ?? 0;
  });
  const measure = async (text: string, values: readonly unknown[]): Promise<number> => {
    const times: number[] = [];
    for (let time = 0; time <= rounds; time += 1) {
      const before = readUs();
      await session.query({ name: '', text }, values);
      times.push((readUs() - before) / 1000);
    }
    return median(times.slice(1));
  };
  const sums = 'select currency, name, sum(amount) from ledger_sides group by currency, name';
  const sumMs = await measure(sums, []);
  return { sumMs, journals, dueMs: await measure(dueCountQuery.text, ['{bench}']) };
}

function describeCommit(payout: ReadyPayout) {
  return { ...payout, keyed: undefined, traceparent: undefined, maker: undefined };
}

const nameOf = (command: string, size: number): string => `${command} ${size}`;

function report(found: ReadonlyMap<string, number[]>, reads: Reads, server: string): string {
  const at = (name: string, size: number): number[] => found.get(nameOf(name, size)) ?? [];
  const rows = groupSizes.flatMap((size) =>
    commands.map(({ name }) => {
      const all = at(name, size);
      const spread = `${Math.min(...all).toFixed(1)} to ${Math.max(...all).toFixed(1)}`;
      const ratio = median(all) / median(at('rows of a commit only', size));
      return `| ${name} | ${size} | ${median(all).toFixed(1)} (${spread}) | ${ratio.toFixed(2)} |`;
    }),
  );
  return [
    '## Processor time of statements',
    '',
    `${rounds} rounds; commits, quotes and bare inserts alternate, on one account and one connection.`,
    "Microseconds of the connection's server process for each payout, medians with the lowest and the",
    'highest. The bare inserts write state, journal, due row and event with their indexes, into tables',
    'without triggers; they are the limit of this data model.',
    `${server}. ${describeMachine()}.`,
    '',
    '| statement | in a group | us each | to the rows only |',
    '|---|---|---|---|',
    ...rows,
    '',
    `Both sides of the transfers of ${reads.journals} journals are summed in ${reads.sumMs.toFixed(0)} ms. With`,
    `${inFlight.toLocaleString('en')} payouts in flight, those that are due are counted in ${reads.dueMs.toFixed(2)} ms.`,
    '',
  ].join('\n');
}
