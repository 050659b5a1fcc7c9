import { assert } from '../core/errors.ts';
import type { AvailabilityRule } from '../rails/contract/declarations.ts';
import {
  addBankingDays,
  addDays,
  findNextTime,
  toInstant,
  toLocalTime,
} from '../rails/kit/calendar.ts';

/** When money arrives, and until when (exclusive) that answer holds for later commits, too. */
export type Availability = {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly availableAtMs: number;
};

const minuteMs = 60_000;
/** When a place with a cut-off, a weekend or holidays opens. */
const openingTime = '09:00';

const estimates = new WeakMap<AvailabilityRule, Availability>();

/**
 * When money that is committed at `nowMs` arrives (milliseconds, UTC), never before `nowMs`.
 *
 * - A commit on a business day up to and including the cut-off counts as of that day, any other as
 *   of the next business day.
 * - Business days: that many after the day it counts as of, at the hour of arrival, local time.
 * - Minutes: from the end of the minute of the commit, so that the answer is the same for a minute;
 *   from opening (09:00) where the rule has a calendar, a weekend or a cut-off and is closed.
 */
export function estimateAvailability(rule: AvailabilityRule, nowMs: number): number {
  return findAvailability(rule, nowMs).availableAtMs;
}

/** The estimate with the span for which it holds; kept per rule, so that a look-up takes no time. */
export function findAvailability(rule: AvailabilityRule, nowMs: number): Availability {
  const known = estimates.get(rule);
  if (known !== undefined && nowMs >= known.sinceMs && nowMs < known.untilMs) return known;
  const computed = computeAvailability(rule, nowMs);
  estimates.set(rule, computed);
  return computed;
}

function computeAvailability(rule: AvailabilityRule, nowMs: number): Availability {
  const { delay, calendar, cutOff, weekend } = rule;
  const isAlwaysOpen = calendar === null && cutOff === null && weekend.length === 0;
  const minuteEndMs = (Math.floor(nowMs / minuteMs) + 1) * minuteMs;
  if ('minutes' in delay && isAlwaysOpen) {
    const availableAtMs = minuteEndMs + delay.minutes * minuteMs;
    return { sinceMs: nowMs, untilMs: minuteEndMs, availableAtMs };
  }
  const counted = findCountedDay(rule, nowMs);
  if ('minutes' in delay) {
    const openingMs = toInstant(rule.timeZone, { day: counted.day, time: openingTime });
    const availableAtMs = Math.max(minuteEndMs, openingMs) + delay.minutes * minuteMs;
    return { sinceMs: nowMs, untilMs: Math.min(minuteEndMs, counted.untilMs), availableAtMs };
  }
  const day = addBankingDays(rule, counted.day, delay.businessDays);
  const availableAtMs = toInstant(rule.timeZone, { day, time: delay.arrival });
  assert(availableAtMs >= nowMs, 'money arrives after it was sent');
  return { sinceMs: nowMs, untilMs: counted.untilMs, availableAtMs };
}

/** The banking day that a commit counts as of, and the instant from which it would be a later one. */
function findCountedDay(rule: AvailabilityRule, nowMs: number): { day: string; untilMs: number } {
  const { timeZone, cutOff } = rule;
  const next = findNextTime(rule, cutOff === null ? [] : [cutOff], nowMs);
  if (next !== undefined) return { day: next.day, untilMs: next.atMs + 1 };
  const day = addBankingDays(rule, toLocalTime(timeZone, nowMs).day, 0);
  return { day, untilMs: toInstant(timeZone, { day: addDays(day, 1), time: '00:00' }) };
}
