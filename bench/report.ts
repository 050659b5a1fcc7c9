import { median } from './drive.ts';
import { describeMachine } from './machine.ts';
import type { LoadShape, Measure, RaceResult } from './subject.ts';

/** The tables of a run. */

export type Measured = {
  key: string;
  name: string;
  load: Omit<LoadShape, 'seconds'>;
  round: number;
  measure: Measure;
};
export type Found = { name: string; race: RaceResult };
type Run = {
  measured: readonly Measured[];
  found: readonly Found[];
  rounds: number;
  seconds: number;
  server: string;
};

/** Figures to reach: the median of the ratios of what has `key` to what has `to`. */
const targets: readonly { text: string; key: string; to: string; atLeast: number }[] = [
  { text: 'commits in process, hot balance', key: 'in-process-hot-1024', to: 'tpcb', atLeast: 8 },
  { text: 'commits over HTTP, 64 connections', key: 'http-hot-64', to: 'tpcb', atLeast: 3 },
  { text: 'create + commit over HTTP', key: 'create-commit', to: 'tpcb', atLeast: 1.5 },
  { text: 'three durable steps, awaited', key: 'steps-256', to: 'tpcb', atLeast: 1 },
  { text: 'balance reads over HTTP', key: 'balance', to: 'bare', atLeast: 0.6 },
  { text: '`cheapest` over HTTP', key: 'cheapest', to: 'bare', atLeast: 0.6 },
  { text: 'two processes to one', key: 'two-processes', to: 'one-process', atLeast: 1 },
];

export function writeReport(run: Run): string {
  const measure = run.measured.find(({ key }) => key === 'tpcb')?.name ?? '';
  return [
    '## Beside other engines',
    '',
    `${run.rounds} rounds of ${run.seconds} s each; all subjects alternate in one run on one PostgreSQL, each with its`,
    `own database. The reference is ${measure} with 16 clients and prepared statements, measured before`,
    'each group of a round. Ratios are medians over the rounds, with the lowest and the highest. Latencies',
    'are from request to response. A commit of Outlay writes the ledger, status, event and due row; the',
    'other engines write payouts, postings, a checked balance and an outbox.',
    '',
    `${run.server}. ${describeMachine()}.`,
    '',
    ...writeTargets(run),
    ...writeLimits(run),
    ...writeMeasures(run),
    ...writeProcessorTimes(run),
    ...writeRaces(run),
    '',
  ].join('\n');
}

function writeTargets(run: Run): string[] {
  const rows = targets.flatMap(({ text, key, to, atLeast }) => {
    const ratios = findRatios(run, key, to);
    if (ratios.length === 0) return [];
    const verdict = median(ratios) >= atLeast ? 'yes' : 'no';
    return [`| ${text} | ${formatRatios(ratios)} | ${nameOf(run, to)} | ${atLeast} | ${verdict} |`];
  });
  if (rows.length === 0) return [];
  return ['| target | ratio | to | at least | reached |', '|---|---|---|---|---|', ...rows, ''];
}

/** Commits of one balance, and what would be theirs if nothing but their rows were written. */
function writeLimits(run: Run): string[] {
  const rows = [
    { key: 'http-hot-64', limits: ['limit-rows-http', 'limit-row-http'] },
    { key: 'in-process-hot-1024', limits: ['limit-rows-in-process', 'limit-row-in-process'] },
  ].flatMap(({ key, limits }) =>
    limits.flatMap((limit) => {
      const ratios = findRatios(run, key, limit);
      if (ratios.length === 0) return [];
      const toTpcB = formatRatios(findRatios(run, limit, 'tpcb'));
      return [
        `| ${nameOf(run, limit)} | ${toTpcB} | ${nameOf(run, key)} | ${formatRatios(ratios)} |`,
      ];
    }),
  );
  if (rows.length === 0) return [];
  return [
    '### Limits',
    '',
    'The same commands, grouped in the same way, by a bare server that checks, locks, links and adds up nothing',
    'and inserts the rows of a commit, or one row of three columns, which no data model can do without.',
    '',
    '| limit | ratio to TPC-B | commits of Outlay | share of the limit |',
    '|---|---|---|---|',
    ...rows,
    '',
  ];
}

const workloadNames = { hot: 'one balance', uniform: '1,000 balances', zipf: '1,000 by Zipf' };

function writeMeasures(run: Run): string[] {
  const rows = [...new Set(run.measured.map(({ key }) => key))].map((key) => {
    const all = run.measured.filter((one) => one.key === key);
    const { name, load } = all[0] as Measured;
    const figure = (read: (measure: Measure) => number, digits: number): string => {
      const value = median(all.map(({ measure }) => read(measure)));
      return value === 0 ? '' : value.toFixed(digits);
    };
    const perSecond = figure(({ count, seconds }) => count / seconds, 0);
    const latencies = `${figure(({ p50Ms }) => p50Ms, 1)} | ${figure(({ p99Ms }) => p99Ms, 1)}`;
    const ratios = formatRatios(findRatios(run, key, 'tpcb'));
    return `| ${name} | ${workloadNames[load.workload]} | ${load.inFlight} | ${perSecond} | ${latencies} | ${ratios} |`;
  });
  return [
    '| what | workload | in flight | per second | p50 ms | p99 ms | ratio to TPC-B |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
    'DBOS and Outlay are awaited: the caller gets the durable result. Graphile Worker and pg-boss do not',
    'return the result of a job: their last task notifies the caller inside the same process, after its',
    'transaction. The engines run with 64 in flight, at least as good for them as 16 or 256. Over HTTP the',
    'service is one process, with background work in another.',
    '',
  ];
}

/** What each command costs; unlike its rate, that hardly depends on what else the machine does. */
function writeProcessorTimes(run: Run): string[] {
  const each = (key: string, part: 'serviceUs' | 'databaseUs'): number | undefined => {
    const figures = run.measured
      .filter((one) => one.key === key)
      .map(({ measure }) => (measure.processor?.[part] ?? Number.NaN) / measure.count)
      .filter(Number.isFinite);
    return figures.length === 0 ? undefined : median(figures);
  };
  const format = (us: number | undefined, reference: number | undefined): string =>
    us === undefined
      ? ' | '
      : `${us.toFixed(1)} | ${reference === undefined ? '' : (us / reference).toFixed(2)}`;
  const rows = [...new Set(run.measured.map(({ key }) => key))].flatMap((key) => {
    const service = each(key, 'serviceUs');
    const database = each(key, 'databaseUs');
    if (service === undefined && database === undefined) return [];
    const { name, load } = run.measured.find((one) => one.key === key) as Measured;
    const figures = `${format(service, each('bare', 'serviceUs'))} | ${format(database, each('tpcb', 'databaseUs'))}`;
    return [`| ${name} | ${workloadNames[load.workload]} | ${load.inFlight} | ${figures} |`];
  });
  if (rows.length === 0) return [];
  return [
    '### Processor time of a command',
    '',
    'Microseconds of processor time for each command, the service apart from the database, as medians. Empty',
    'where the load generator is in the same process. A command of bare node:http is a request, one of TPC-B a',
    'transaction.',
    '',
    '| what | workload | in flight | service us | to bare node:http | database us | to TPC-B |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ];
}

function writeRaces(run: Run): string[] {
  if (run.found.length === 0) return [];
  return [
    '### Races',
    '',
    'Overdraft: 64 commits at once against a balance that covers 20. Same key: one payout committed 64',
    'times at once.',
    '',
    '| subject | race | result | safe |',
    '|---|---|---|---|',
    ...run.found.map(
      ({ name, race }) =>
        `| ${name} | ${race.race} | ${race.found} | ${race.isSafe ? 'yes' : '**no**'} |`,
    ),
    '',
  ];
}

function nameOf(run: Run, key: string): string {
  return run.measured.find((one) => one.key === key)?.name ?? key;
}

/** One ratio per round; a measure that was taken several times in a round counts with its median. */
function findRatios(run: Run, key: string, to: string): number[] {
  const rate = (wanted: string, round: number): number =>
    median(
      run.measured
        .filter((one) => one.key === wanted && one.round === round)
        .map(({ measure }) => measure.count / measure.seconds),
    );
  const rounds = [...new Set(run.measured.map(({ round }) => round))];
  return rounds
    .map((round) => rate(key, round) / rate(to, round))
    .filter(Number.isFinite)
    .filter((ratio) => ratio > 0);
}

function formatRatios(ratios: readonly number[]): string {
  if (ratios.length === 0) return '';
  const [low, high] = [Math.min(...ratios), Math.max(...ratios)];
  return `${median(ratios).toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
}
