import type { Rail } from '../rails/contract/contract.ts';
import { findNextTime } from '../rails/kit/calendar.ts';

type CutRail = Pick<Rail, 'payers' | 'findNextCutOff'>;
type Availability = CutRail['payers'][number]['availability'];

const found = new WeakMap<CutRail, { untilMs: number; sinceMs: number }>();

/**
 * The next cut-off of a rail: when it closes its next file, or the first cut-off of its payers.
 * Undefined where it has none. Kept until it has passed, because a rail may have thousands of payers.
 */
export function findNextCutOff(rail: CutRail, nowMs: number): number | undefined {
  const known = found.get(rail);
  if (known !== undefined && nowMs >= known.sinceMs && nowMs < known.untilMs) return known.untilMs;
  const next = rail.findNextCutOff?.(nowMs) ?? findFirst(rail.payers, nowMs);
  if (next !== undefined) found.set(rail, { sinceMs: nowMs, untilMs: next });
  return next;
}

/**
 * Holidays of a country take tens of milliseconds to compute and payers are in all of them, so each is
 * asked for its banking days only while its earliest possible cut-off is before the first one found.
 */
function findFirst(payers: CutRail['payers'], nowMs: number): number | undefined {
  const earliest = new Map<string, number>();
  const candidates = payers.flatMap(({ availability }) => {
    const { cutOff, timeZone } = availability;
    if (cutOff === null) return [];
    const name = `${timeZone} ${cutOff}`;
    const fromMs = earliest.get(name) ?? findCutOff({ ...availability, ...alwaysOpen }, nowMs);
    earliest.set(name, fromMs);
    return [{ availability, fromMs }];
  });
  let first = Number.POSITIVE_INFINITY;
  for (const { availability, fromMs } of candidates.toSorted((a, b) => a.fromMs - b.fromMs)) {
    if (fromMs >= first) break;
    first = Math.min(first, findCutOff(availability, nowMs));
  }
  return Number.isFinite(first) ? first : undefined;
}

const alwaysOpen = { weekend: [], calendar: null };

function findCutOff(availability: Availability, nowMs: number): number {
  const { cutOff } = availability;
  const next = cutOff === null ? undefined : findNextTime(availability, [cutOff], nowMs);
  return next?.atMs ?? Number.POSITIVE_INFINITY;
}
