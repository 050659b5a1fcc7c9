import type { Group, OverviewFigures } from '../../api/operator-types.ts';

type Outcome = 'completed' | 'open' | 'canceled';

export type Day = { date: string } & Record<Outcome, number>;

const dayMs = 86_400_000;

/** The last days up to the newest one, those without payouts included. */
export function listDays(counts: OverviewFigures['payouts_by_day'], days: number): Day[] {
  const newest = Math.max(0, ...counts.map(({ day }) => Date.parse(day)));
  if (newest === 0) return [];
  const rows = new Map(
    Array.from({ length: days }, (_day, index): [string, Day] => {
      const date = new Date(newest - (days - 1 - index) * dayMs).toISOString().slice(0, 10);
      return [date, { date, completed: 0, open: 0, canceled: 0 }];
    }),
  );
  for (const { day, status, count } of counts) {
    const row = rows.get(day);
    const outcome = classify(status);
    if (row !== undefined && outcome !== undefined) row[outcome] += count;
  }
  return [...rows.values()];
}

/** An uncommitted quote is not counted as a payout. */
function classify(status: string): Outcome | undefined {
  if (status === 'PENDING') return undefined;
  if (status === 'COMPLETED') return 'completed';
  return status === 'CANCELLED' ? 'canceled' : 'open';
}

export type Corridor = Group & { country: string; delivery: string; currency: string };

/** The API names a corridor by country, delivery and currency; the busiest first. */
export function listCorridors(groups: readonly Group[]): Corridor[] {
  return groups
    .map((group) => {
      const [country = '', delivery = '', currency = ''] = group.name.split(' ');
      return { ...group, country, delivery, currency };
    })
    .toSorted((one, other) => other.committed - one.committed);
}

/** Fee and margin together as a share of what was sent; undefined where neither is known. */
export function readCost({ fee_bps: fee, margin_bps: margin }: Group): number | undefined {
  if (fee === null && margin === null) return undefined;
  return ((fee ?? 0) + (margin ?? 0)) / 10_000;
}
