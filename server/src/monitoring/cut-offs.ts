import type { Rail } from '../rails/contract/contract.ts';
import { findNextTime } from '../rails/kit/calendar.ts';

type CutRail = Pick<Rail, 'payers' | 'findNextCutOff'>;

const found = new WeakMap<CutRail, { untilMs: number; sinceMs: number }>();

/**
 * The next cut-off of a rail: when it closes its next file, or the first cut-off of its payers.
 * Undefined where it has none. Kept until it has passed, because a rail may have thousands of payers.
 */
export function findNextCutOff(rail: CutRail, nowMs: number): number | undefined {
  const known = found.get(rail);
  if (known !== undefined && nowMs >= known.sinceMs && nowMs < known.untilMs) return known.untilMs;
  const own = rail.findNextCutOff?.(nowMs);
  const times = rail.payers.flatMap(({ availability }) => {
    const { cutOff } = availability;
    return cutOff === null ? [] : (findNextTime(availability, [cutOff], nowMs)?.atMs ?? []);
  });
  const next = own ?? (times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b)));
  if (next !== undefined) found.set(rail, { sinceMs: nowMs, untilMs: next });
  return next;
}
