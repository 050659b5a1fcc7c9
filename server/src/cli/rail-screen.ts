import type { RailReport } from '../monitoring/rail-reports.ts';
import { formatAge, formatColumns, formatSections } from './columns.ts';

/** One screen of the rails: what they do now, what money is left there, and how they did. */

type Row = { rail: string; kind: string } & RailReport;
type Results = NonNullable<RailReport['last_day']>;

export function writeRails(rows: readonly Row[], nowMs: number): string {
  return formatSections([
    ['NOW', listStates(rows, nowMs)],
    ['INBOUND THAT WAITS FOR A PERSON', listInbound(rows)],
    ['PREFUNDING', listFunds(rows)],
    ['PRICES OF PROVIDERS', listPrices(rows)],
    ['RESULTS', listResults(rows)],
  ]);
}

function listStates(rows: readonly Row[], nowMs: number): string[] {
  const age = (time: string, none: string): string =>
    time === '' ? none : formatAge((nowMs - Date.parse(time)) / 1000);
  return formatColumns(
    [
      'rail',
      'kind',
      'being sent',
      'at the rail',
      'waiting',
      'oldest',
      'last report',
      'next cut-off',
    ],
    rows.map((row) => [
      row.rail,
      row.kind,
      row.being_sent,
      row.handed_over,
      row.waiting,
      age(row.oldest_unanswered_at, 'none'),
      age(row.reported_at, 'never'),
      row.next_cut_off_at === '' ? 'none' : row.next_cut_off_at.slice(0, 16).replace('T', ' '),
    ]),
  );
}

function listInbound(rows: readonly Row[]): string[] {
  return formatColumns(
    ['rail', 'unresolved', 'unmatched', 'refused in 24 hours'],
    rows
      .map((row) => [
        row.rail,
        row.unresolved_inbound,
        row.unmatched_inbound,
        row.refused_callbacks_last_day,
      ])
      .filter(([, ...counts]) => counts.some((count) => count !== 0)),
  );
}

function listFunds(rows: readonly Row[]): string[] {
  return formatColumns(
    ['rail', 'currency', 'funds', 'committed', 'scheduled', 'left'],
    rows.flatMap(({ rail, prefunding }) =>
      prefunding.map(({ currency, funds, committed, scheduled, left }) => [
        rail,
        currency,
        funds === '' ? 'unknown' : funds,
        committed,
        scheduled,
        left === '' ? 'unknown' : left,
      ]),
    ),
  );
}

function listPrices(rows: readonly Row[]): string[] {
  return formatColumns(
    ['rail', 'age', 'payers without a price'],
    rows.flatMap(({ rail, prices }) =>
      prices === null
        ? []
        : [
            [
              rail,
              prices.age_seconds === null ? 'none yet' : formatAge(prices.age_seconds),
              prices.unpriced,
            ],
          ],
    ),
  );
}

function listResults(rows: readonly Row[]): string[] {
  return formatColumns(
    ['rail', 'in', 'committed', 'success', 'on time', 'median', 'cost', 'quoted'],
    rows.flatMap(({ rail, last_day: day, last_30_days: month }) => [
      ...(day === null ? [] : [describeResults(rail, '24 hours', day)]),
      ...(month === null ? [] : [describeResults(rail, '30 days', month)]),
    ]),
  );
}

function describeResults(rail: string, period: string, results: Results): (string | number)[] {
  const percent = (share: number | null): string =>
    share === null ? '-' : `${Number((share * 100).toFixed(2))} %`;
  const points = (bps: number | null): string => (bps === null ? '-' : `${bps} bp`);
  return [
    rail,
    period,
    results.committed,
    percent(results.success),
    percent(results.on_time),
    results.median_seconds === null ? '-' : formatAge(results.median_seconds),
    points(results.cost_bps),
    points(results.quoted_cost_bps),
  ];
}
