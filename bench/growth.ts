import { formatToken } from '../server/src/core/ids.ts';
import { compileCatalog } from '../server/src/destinations/catalog.ts';
import { lookUpCountry } from '../server/src/destinations/lookup.ts';
import { bundledAsOfMs, bundledQuotes } from '../server/src/fx/bundled-rates.ts';
import { createRateBook } from '../server/src/fx/rate-book.ts';
import { sandboxCompanies, sandboxPayers } from '../server/src/rails/sandbox/network.ts';
import { readRows } from '../server/testing/setups/read-rows.ts';
import { writeSection } from './document.ts';
import { drive } from './drive.ts';
import { copyAccounts, copyEvents, fillPayouts, measureBytes } from './fill.ts';
import { measureHttp } from './http-load.ts';
import { formatRequest } from './load.ts';
import { describeMachine } from './machine.ts';
import { openPlace } from './place.ts';
import type { Place } from './subject.ts';
import { runSteps } from './subjects/durable-steps.ts';
import { type OurEnvironment, openOurEnvironment } from './subjects/environment.ts';
import { commitNow } from './subjects/in-process.ts';
import { type Service, startService, version } from './subjects/service.ts';

/**
 * npm run bench -- --growth: what the main operations cost, and how much room the data takes, with
 * once, ten times and a hundred times as much of one thing. One command at a time, so that a figure
 * is the time of the work itself.
 */

const base = Number(process.env['BENCH_BASE'] ?? 10_000);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 1);
const factors = [1, 10, 100];

type Figures = { bytes: number; p50Us: Record<string, number> };
type Level = { ours: OurEnvironment; service: Service; payoutId: string };
type Dimension = {
  name: string;
  /** How many there are at factor one. */
  count: number;
  add: (level: Level, count: number) => Promise<void>;
};

const dimensions: readonly Dimension[] = [
  {
    name: 'payouts, with their events',
    count: base,
    add: (level, count) => fill(level, { count, users: Math.ceil(count / 100) }),
  },
  {
    name: 'users',
    count: base / 10,
    add: (level, count) => fill(level, { count: 0, users: count }),
  },
  {
    name: 'accounts',
    count: base / 100,
    add: ({ ours }, count) => copyAccounts(ours.url, ours.fixture.hot.accountId, count),
  },
  {
    name: 'events',
    count: base,
    add: ({ ours }, count) =>
      copyEvents(ours.url, { accountId: ours.fixture.hot.accountId, count }),
  },
];

export async function runGrowth(): Promise<void> {
  const place = await openPlace();
  try {
    const rows: string[] = [];
    let names: string[] = [];
    for (const dimension of dimensions) {
      for (const { count, figures } of await measureDimension(place, dimension)) {
        names = Object.keys(figures.p50Us);
        const times = names.map((name) => figures.p50Us[name]?.toFixed(0) ?? '');
        const size = `${(figures.bytes / 1e6).toFixed(1)} MB`;
        rows.push(
          `| ${dimension.name} | ${count.toLocaleString('en')} | ${times.join(' | ')} | ${size} |`,
        );
      }
    }
    const text = [
      '## How cost grows',
      '',
      'One command at a time, median in microseconds. Each dimension grows tenfold twice (copied in bulk)',
      'while the others stay those of a new account.',
      `Commit and create are in process, the rest over HTTP. ${await place.describe()}. ${describeMachine()}.`,
      '',
      `| how many | | ${names.join(' | ')} | database |`,
      `|---|---|${names.map(() => '---|').join('')}---|`,
      ...rows,
      '',
      ...measureCatalog(),
      '',
    ].join('\n');
    process.stdout.write(text);
    writeSection('growth', text);
  } finally {
    await place.close();
  }
}

async function measureDimension(
  place: Place,
  dimension: Dimension,
): Promise<{ count: number; figures: Figures }[]> {
  const name = `growth_${dimension.name.replaceAll(/[^a-z]/g, '_')}`;
  const ours = await openOurEnvironment(place, name);
  const service = await startService(place, { name, of: ours });
  try {
    await service.prepareDestination();
    const [payout] = await ours.fixture.prepareWorkload('hot', 1);
    if (payout === undefined) throw new Error('no payout');
    const { payoutId } = payout;
    await runSteps(ours, [payout], { seconds: 60, inFlight: 1, workload: 'hot' });
    const level = { ours, service, payoutId };
    const found: { count: number; figures: Figures }[] = [];
    let have = 0;
    await measure(level);
    for (const factor of factors) {
      const count = dimension.count * factor;
      await dimension.add(level, count - have);
      have = count;
      found.push({ count, figures: await measure(level) });
      process.stderr.write(`${dimension.name}: ${count}\n`);
    }
    return found;
  } finally {
    await service.close();
    await ours.close();
  }
}

function fill(
  { ours, payoutId }: Level,
  { count, users }: { count: number; users: number },
): Promise<void> {
  const { accountId } = ours.fixture.hot;
  return fillPayouts({ url: ours.url, accountId, payoutId, count, users });
}

async function measure({ ours, service }: Level): Promise<Figures> {
  const bytes = await measureBytes(ours.url);
  const { fixture, env } = ours;
  const { hot } = fixture;
  const load = { seconds, inFlight: 1, workload: 'hot' } as const;
  const payouts = await fixture.prepareWorkload('hot', 2500 * seconds);
  const commit = await drive(load, () => {
    const payout = payouts.pop();
    return payout === undefined ? undefined : commitNow(env, payout);
  });
  const create = await drive(load, () => fixture.makePayouts(1, hot));
  const get = async (path: string): Promise<number> => {
    const request = formatRequest({ method: 'GET', path: version + path, token: hot.apiKey });
    return (await measureHttp(service.port, load, () => request)).p50Ms * 1000;
  };
  const user = formatToken('user', hot.userId);
  const middle = Math.floor((await countEvents(ours)) / 2);
  return {
    bytes,
    p50Us: {
      commit: commit.p50Ms * 1000,
      create: create.p50Ms * 1000,
      balance: await get('/account/balance'),
      "a user's payouts": await get(`/payout/${user}?number_of_records=20`),
      'history of all': await get('/user/history?number_of_records=20'),
      'events from the middle': await get(`/events?after=${middle}&number_of_records=20`),
      cheapest: await get('/country/MEX/cheapest?amount=200'),
    },
  };
}

async function countEvents({ env, fixture }: OurEnvironment): Promise<number> {
  const [row] = await readRows<{ count: bigint }>(
    env.db.system,
    { name: '', text: 'select event_sequence as count from accounts where id = $1' },
    [fixture.hot.accountId],
  );
  return Number(row?.count ?? 0);
}

/** The catalog is in memory: looked up without its cache. */
function measureCatalog(): string[] {
  const rates = createRateBook(bundledQuotes, { maxAgeMs: null, nowMs: () => bundledAsOfMs });
  const rows = factors.map((factor) => {
    const payers = Array.from({ length: factor }, (_, copy) =>
      sandboxPayers.map((payer) => ({
        ...payer,
        key: copy === 0 ? payer.key : `${payer.key}-copy${copy}`,
        payerName: copy === 0 ? payer.payerName : `${payer.payerName} ${copy}`,
      })),
    ).flat();
    const rail = {
      name: 'sandbox',
      kind: 'sandbox',
      pace: { concurrencyMax: 1, perSecondMax: null },
      dailyLimits: {},
      reference: { lengthMax: 36, charset: /^[0-9a-f-]+$/ },
      companies: sandboxCompanies,
      payers,
      send: () => Promise.reject(new Error('nothing is sent here')),
      query: () => Promise.reject(new Error('nothing is sent here')),
    };
    const startMs = performance.now();
    const catalog = compileCatalog([rail]);
    const compileMs = performance.now() - startMs;
    const timesUs = Array.from({ length: 200 }, () => {
      const beganMs = performance.now();
      lookUpCountry({
        catalog,
        rates,
        countryCode: 'MEX',
        sourceCurrency: 'USD',
        amountMinor: 20_000n,
        cheapestOnly: true,
        nowMs: bundledAsOfMs,
      });
      return (performance.now() - beganMs) * 1000;
    }).toSorted((a, b) => a - b);
    const inMexico = payers.filter(({ countryCode }) => countryCode === 'MEX').length;
    return `| ${payers.length.toLocaleString('en')} | ${inMexico} | ${compileMs.toFixed(0)} | ${timesUs[100]?.toFixed(0)} |`;
  });
  return [
    'The catalog of destinations is compiled at the start and searched in memory. Responses are cached',
    'for up to a minute; these figures are the searches behind them.',
    '',
    '| payers | of them in Mexico | compile, ms | cheapest for Mexico, microseconds |',
    '|---|---|---|---|',
    ...rows,
  ];
}
