import type { LoadCounts } from './client.ts';
import type { RailScore, Verdict } from './judge.ts';
import type { KillCounts } from './killer.ts';

/** What the trial prints at its end. */

export type Report = {
  readonly verdict: Verdict;
  readonly kills: KillCounts;
  readonly load: LoadCounts;
  readonly seed: number;
  readonly leftOut: readonly string[];
  readonly seconds: number;
  /** How long starts of the service took. */
  readonly startsMs: readonly number[];
};

const columns = [
  'committed',
  'completed',
  'cancelled',
  'held',
  'unknown',
  'rerouted',
  'paid',
  'returned',
] as const satisfies readonly (keyof RailScore)[];
const width = 11;
const violationsShown = 100;

export function formatReport(report: Report): string {
  const { verdict, kills, load, leftOut } = report;
  const { scores, violations } = verdict;
  const sum = (column: (typeof columns)[number]): number =>
    scores.reduce((total, row) => total + row[column], 0);
  const lines = [
    ['rail'.padEnd(width), ...columns.map((column) => column.padStart(width))].join(''),
    ...scores.map((row) =>
      [row.rail.padEnd(width), ...columns.map((column) => `${row[column]}`.padStart(width))].join(
        '',
      ),
    ),
    '',
    `trials            ${kills.service} kills (${kills.starting} while starting), ` +
      `${kills.counterparts} of counterparts, ${report.seconds} s, seed ${report.seed}`,
    `starts            ${describeStarts(report.startsMs)}`,
    `acknowledged      ${load.acknowledged}, ${load.repeated} asked for again, ` +
      `${load.broken} connections broken, ${load.refused} commits refused, ` +
      `${load.failed} answers of an error`,
    `committed         ${sum('committed')}`,
    `completed         ${sum('completed')}`,
    `cancelled         ${sum('cancelled')}`,
    `held, explained   ${sum('held')}`,
    `unknown           ${sum('unknown')}`,
    `violations        ${violations.length}`,
    ...violations.slice(0, violationsShown).map((text) => `  ${text}`),
  ];
  const { reasons } = verdict;
  if (reasons.length > 0) lines.push('', 'why payouts did not go through:');
  for (const { text, count } of reasons) lines.push(`  ${count} x ${text}`);
  if (load.failure !== '') lines.push(`the first error answered: ${load.failure}`);
  if (load.refusal !== '') lines.push(`the first commit refused: ${load.refusal}`);
  for (const text of leftOut) lines.push(`left out: ${text}`);
  return `${lines.join('\n')}\n`;
}

function describeStarts(startsMs: readonly number[]): string {
  const sorted = startsMs.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    `${Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0)} ms`;
  return `${sorted.length}, median ${at(0.5)}, slowest ${at(1)}`;
}
