import { formatMinor } from '../core/money.ts';
import type { Database } from '../db/postgres/pool.ts';
import { type OverviewFilter, type PerformanceRow, selectOverview } from './overview.sql.ts';
import { countNewest } from './payout-days.ts';

export type { OverviewFilter } from './overview.sql.ts';

/** What operators see first, in one snapshot. Amounts are decimal texts. */
export async function readOverview(db: Database, filter: OverviewFilter) {
  await countNewest(db);
  const found = await db.systemTransaction((session) => selectOverview(session, filter));
  return {
    balances: found.balances.map(({ available, reserved, in_transit: inTransit, ...row }) => {
      const format = (minor: bigint) => formatMinor(minor, row.currency);
      return {
        ...row,
        available: format(available),
        reserved: format(reserved),
        in_transit: format(inTransit),
      };
    }),
    payouts_by_day: found.byDay,
    corridors: found.corridors.map(describePerformance),
    rails: found.rails.map(describePerformance),
    needs: found.needs,
  };
}

export const round = (value: number | null, digits: number): number | null =>
  value === null ? null : Number(value.toFixed(digits));

export function describePerformance({ key, ...row }: PerformanceRow) {
  const ended = row.completed + row.canceled;
  return {
    name: key,
    committed: row.committed,
    completed: row.completed,
    canceled: row.canceled,
    success: ended === 0 ? null : round(row.completed / ended, 4),
    median_seconds: round(row.median_seconds, 0),
    fee_bps: round(row.fee_bps, 1),
    margin_bps: round(row.margin_bps, 1),
  };
}
