import type { Plan } from './changes.ts';

/** The daily limits of rails, filled with past payouts. */

export const dayMs = 86_400_000;
/** Longer waits count as not routed. */
const delayDaysMax = 7;

export type Departure = { rail: string; currency: string; minor: bigint; atMs: number };

/** When the payout leaves: `atMs`, or the start of the first UTC day with room; undefined: no such day. */
export type FindDeparture = (departure: Departure) => number | undefined;

/**
 * Takes the amount from the limit of the first day on which it fits. Payouts are counted in the order in
 * which they come, which is that of accounts and, within one, of time.
 */
export function createDailyLimits(limitOf: Plan['dailyLimitOf']): FindDeparture {
  const taken = new Map<string, Map<number, bigint>>();
  return ({ rail, currency, minor, atMs }) => {
    const limit = limitOf(rail, currency);
    if (limit === undefined) return atMs;
    if (minor > limit) return undefined;
    const key = `${rail} ${currency}`;
    const days = taken.get(key) ?? new Map<number, bigint>();
    taken.set(key, days);
    const first = Math.floor(atMs / dayMs);
    for (let day = first; day <= first + delayDaysMax; day += 1) {
      const sum = (days.get(day) ?? 0n) + minor;
      if (sum > limit) continue;
      days.set(day, sum);
      return day === first ? atMs : day * dayMs;
    }
    return undefined;
  };
}
