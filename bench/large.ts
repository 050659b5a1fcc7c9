import { writeSection } from './document.ts';
import { drive, median } from './drive.ts';
import { fillPayouts, measureBytes, measureTables, withSuperuser } from './fill.ts';
import { measureHttp } from './http-load.ts';
import { formatRequest } from './load.ts';
import { describeMachine } from './machine.ts';
import { type OpenPlace, openPlace } from './place.ts';
import type { Measure } from './subject.ts';
import { runSteps } from './subjects/durable-steps.ts';
import { type OurEnvironment, openOurEnvironment } from './subjects/environment.ts';
import { formatPath } from './subjects/http.ts';
import { commitNow } from './subjects/in-process.ts';
import { type Service, startService } from './subjects/service.ts';

/**
 * npm run bench -- --large: commits beside millions of completed payouts and in an empty database,
 * alternately; and the disk that a payout takes with all its records and indexes.
 */

const payouts = Number(process.env['BENCH_PAYOUTS'] ?? 10_000_000);
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 5);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 5);
const users = Math.max(1, Math.ceil(payouts / 100));
/** Payouts that go the whole way one after the other, to know what copying saves. */
const realPayouts = 20_000;
const provenMax = 1_000_000;

type Side = { ours: OurEnvironment; service: Service };
type Filled = { bytesEach: number; realBytesEach: number; seconds: number; tables: string };

export async function runLarge(): Promise<void> {
  const place = await openPlace();
  const opened: { close(): Promise<void> }[] = [place];
  try {
    const small = await openOurEnvironment(place, 'ours_empty');
    opened.push(small);
    const realBytesEach = await measureRealBytes(place);
    const large = await openOurEnvironment(place, 'ours_large');
    opened.push(large);
    const filled = await fill(large, realBytesEach);
    const sides: Record<'empty' | 'large', Side> = {
      empty: { ours: small, service: await serve(place, 'ours_empty', small) },
      large: { ours: large, service: await serve(place, 'ours_large', large) },
    };
    opened.push(sides.empty.service, sides.large.service);
    const text = await compare(sides, filled, await place.describe());
    process.stdout.write(text);
    writeSection('large', text);
  } finally {
    for (const one of opened.toReversed()) await one.close();
  }
}

function serve(place: OpenPlace, name: string, ours: OurEnvironment): Promise<Service> {
  return startService(place, { name, of: ours });
}

async function complete(ours: OurEnvironment, count: number): Promise<string> {
  const ready = await ours.fixture.prepareWorkload('hot', count);
  const [first] = ready;
  if (first === undefined) throw new Error('nothing to complete');
  await runSteps(ours, ready, { seconds: 3600, inFlight: 256, workload: 'hot' });
  return first.payoutId;
}

/**
 * Growth of the database for each payout that the service itself completed, once vacuum has made the
 * room of earlier row versions usable again, as it does all the time in service.
 */
async function measureRealBytes(place: OpenPlace): Promise<number> {
  const ours = await openOurEnvironment(place, 'ours_real');
  try {
    const completeAndVacuum = async (): Promise<number> => {
      await complete(ours, realPayouts);
      await withSuperuser(ours.url, (client) => client.query('vacuum (analyze)'));
      return measureBytes(ours.url);
    };
    const before = await completeAndVacuum();
    return ((await completeAndVacuum()) - before) / realPayouts;
  } finally {
    await ours.close();
  }
}

async function fill(ours: OurEnvironment, realBytesEach: number): Promise<Filled> {
  const payoutId = await complete(ours, 1);
  const before = await measureBytes(ours.url);
  const startMs = performance.now();
  await fillPayouts({
    url: ours.url,
    accountId: ours.fixture.hot.accountId,
    payoutId,
    count: payouts,
    users,
    onProgress: (done) => process.stderr.write(`${done} of ${payouts} payouts\n`),
  });
  const bytes = (await measureBytes(ours.url)) - before;
  const tables = (await measureTables(ours.url))
    .filter((table) => table.bytes / payouts >= 10)
    .map((table) => `${table.name} ${(table.bytes / payouts).toFixed(0)}`)
    .join(', ');
  const took = (performance.now() - startMs) / 1000;
  return { bytesEach: bytes / payouts, realBytesEach, seconds: took, tables };
}

const kinds = ['in process, 256 in flight', 'over HTTP, 64 connections'] as const;

async function compare(
  sides: Record<'empty' | 'large', Side>,
  filled: Filled,
  server: string,
): Promise<string> {
  const rows: string[] = [];
  for (const kind of kinds) {
    const rates: Record<'empty' | 'large', Measure[]> = { empty: [], large: [] };
    for (const side of ['empty', 'large'] as const) await runCommits(kind, sides[side]);
    for (let round = 0; round < rounds; round += 1) {
      for (const side of ['empty', 'large'] as const) {
        const measure = await runCommits(kind, sides[side]);
        rates[side].push(measure);
        process.stderr.write(`${kind}, ${side}: ${perSecond(measure).toFixed(0)}/s\n`);
      }
    }
    rows.push(formatRow(kind, rates));
  }
  await sides.empty.ours.fixture.check();
  // Of millions the proof would take longer than the run.
  if (payouts <= provenMax) await sides.large.ours.fixture.check();
  return [
    `## With ${payouts.toLocaleString('en')} payouts in the database`,
    '',
    `${rounds} rounds of ${seconds} s, alternating between an empty and a full database. The payouts are`,
    `completed, belong to the hot account with ${users.toLocaleString('en')} users, have all their records, and spread`,
    `over the last ninety days; copying them in bulk took ${filled.seconds.toFixed(0)} s. ${server}. ${describeMachine()}.`,
    '',
    '| commits | empty, per second | full, per second | full, p50 ms | full, p99 ms | full to empty |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
    `Disk per completed payout, all records and indexes: ${filled.bytesEach.toFixed(0)} bytes for the`,
    `copied ones (${filled.tables}); ${filled.realBytesEach.toFixed(0)} bytes for ${realPayouts.toLocaleString('en')} that the service completed`,
    'itself, after a vacuum.',
    '',
  ].join('\n');
}

function perSecond({ count, seconds: took }: Measure): number {
  return count / took;
}

function formatRow(kind: string, rates: Record<'empty' | 'large', readonly Measure[]>): string {
  const rate = (side: 'empty' | 'large'): string => median(rates[side].map(perSecond)).toFixed(0);
  const ratios = rates.large.map((measure, index) => {
    const empty = rates.empty[index];
    return perSecond(measure) / (empty === undefined ? Number.NaN : perSecond(empty));
  });
  const p50 = median(rates.large.map(({ p50Ms }) => p50Ms)).toFixed(1);
  const p99 = median(rates.large.map(({ p99Ms }) => p99Ms)).toFixed(1);
  const spread = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
  return `| ${kind} | ${rate('empty')} | ${rate('large')} | ${p50} | ${p99} | ${median(ratios).toFixed(2)} (${spread}) |`;
}

const reserves = new Map<Side, Awaited<ReturnType<OurEnvironment['fixture']['makePayouts']>>>();

async function runCommits(kind: (typeof kinds)[number], side: Side): Promise<Measure> {
  const { ours, service } = side;
  const isHttp = kind === kinds[1];
  const have = reserves.get(side) ?? [];
  const wanted = (isHttp ? 10_000 : 25_000) * seconds;
  const missing = Math.max(0, wanted - have.length);
  for (const payout of await ours.fixture.prepareWorkload('hot', missing)) have.push(payout);
  reserves.set(side, have);
  const load = { seconds, inFlight: isHttp ? 64 : 256, workload: 'hot' } as const;
  if (!isHttp) {
    return drive(load, () => {
      const payout = have.pop();
      return payout === undefined ? undefined : commitNow(ours.env, payout);
    });
  }
  const token = ours.fixture.hot.apiKey;
  return measureHttp(service.port, load, () => {
    const payout = have.pop();
    if (payout === undefined) return undefined;
    return formatRequest({ method: 'PUT', path: formatPath(payout), token });
  });
}
