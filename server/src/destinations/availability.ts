import { assert } from '../core/errors.ts';
import type { AvailabilityRule } from '../rails/contract/declarations.ts';
import {
  addBankingDays,
  addDays,
  findNextTime,
  toInstant,
  toLocalTime,
} from '../rails/kit/calendar.ts';

/** When money arrives, and until when (exclusive) the estimate holds for later commits. */
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
 * When money committed at `nowMs` arrives (milliseconds, UTC), never before `nowMs`.
 *
 * - A commit on a business day up to and including the cut-off counts for that day, any other for
 *   the next business day.
 * - Business days: that many after the counted day, at the hour of arrival, local time.
 * - Minutes: from the end of the minute of the commit, so that the estimate is stable for a minute;
 *   from 09:00 if the rule has a calendar, a weekend or a cut-off and is closed.
 */
export function estimateAvailability(rule: AvailabilityRule, nowMs: number): number {
  return findAvailability(rule, nowMs).availableAtMs;
}

/** The estimate with the period for which it holds; cached per rule. */
export function findAvailability(rule: AvailabilityRule, nowMs: number): Availability {
  const known = estimates.get(rule);
  if (known !== undefined && nowMs >= known.sinceMs && nowMs < known.untilMs) return known;
  const computed = computeAvailability(rule, nowMs);
  estimates.set(rule, computed);
  return computed;
}

function computeAvailability(rule: AvailabilityRule, nowMs: number): Availability {
  const { delay } = rule;
  const minuteEndMs = (Math.floor(nowMs / minuteMs) + 1) * minuteMs;
  if ('minutes' in delay && isAlwaysOpen(rule)) {
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
  const arrivalMs = toInstant(rule.timeZone, { day, time: delay.arrival });
  // Where a change of the clocks skips the cut-off, it is later than an arrival just after it.
  const availableAtMs = Math.max(arrivalMs, counted.untilMs - 1);
  assert(availableAtMs >= nowMs, 'money arrives after it was sent');
  return { sinceMs: nowMs, untilMs: counted.untilMs, availableAtMs };
}

/**
 * When a payout that is wanted at an instant can run: then, on a business day up to and including the
 * cut-off; else at the opening of the next business day.
 */
export function findRunMs(rule: AvailabilityRule, wantedMs: number): number {
  const { day } = findCountedDay(rule, wantedMs);
  if (day === toLocalTime(rule.timeZone, wantedMs).day) return wantedMs;
  return findOpeningMs(rule, day);
}

/** When a day begins for the payer: at 09:00 local time, or at midnight where it never closes. */
export function findOpeningMs(rule: AvailabilityRule, day: string): number {
  const isEarlier = rule.cutOff !== null && rule.cutOff < openingTime;
  const time = isAlwaysOpen(rule) || isEarlier ? '00:00' : openingTime;
  return toInstant(rule.timeZone, { day, time });
}

/** So many business days later, at the same time of day. */
export function findDeadlineMs(rule: AvailabilityRule, fromMs: number, days: number): number {
  const { day, time } = toLocalTime(rule.timeZone, fromMs);
  return toInstant(rule.timeZone, { day: addBankingDays(rule, day, days), time });
}

function isAlwaysOpen({ calendar, cutOff, weekend }: AvailabilityRule): boolean {
  return calendar === null && cutOff === null && weekend.length === 0;
}

/** The banking day that a commit counts as of, and the instant from which it would be a later one. */
function findCountedDay(rule: AvailabilityRule, nowMs: number): { day: string; untilMs: number } {
  const { timeZone, cutOff } = rule;
  const next = findNextTime(rule, cutOff === null ? [] : [cutOff], nowMs);
  if (next !== undefined) return { day: next.day, untilMs: next.atMs + 1 };
  const day = addBankingDays(rule, toLocalTime(timeZone, nowMs).day, 0);
  return { day, untilMs: toInstant(timeZone, { day: addDays(day, 1), time: '00:00' }) };
}
