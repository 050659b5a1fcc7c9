import { assert } from '../core/errors.ts';
import type { AvailabilityRule } from '../rails/contract/declarations.ts';
import { getHolidays } from './holidays.ts';

/** When money arrives, and until when (exclusive) that answer holds for later commits, too. */
export type Availability = {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly availableAtMs: number;
};

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** A place with a cut-off has people, and people begin at nine. */
const openingMinute = 9 * 60;
/** Far more than any run of holidays: past it the rule would be closed for ever. */
const searchDaysMax = 60;

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
    const startMs = Math.max(minuteEndMs, toInstant(rule.timeZone, counted.day, openingMinute));
    const availableAtMs = startMs + delay.minutes * minuteMs;
    return { sinceMs: nowMs, untilMs: Math.min(minuteEndMs, counted.untilMs), availableAtMs };
  }
  const day = addBusinessDays(rule, counted.day, delay.businessDays);
  const availableAtMs = toInstant(rule.timeZone, day, readMinute(delay.arrival));
  assert(availableAtMs >= nowMs, 'money arrives after it was sent');
  return { sinceMs: nowMs, untilMs: counted.untilMs, availableAtMs };
}

/** A local calendar day, as the milliseconds of its midnight in UTC: days can be added to it. */
type Day = number;

/** The business day that a commit counts as of, and the instant from which it would be a later one. */
function findCountedDay(rule: AvailabilityRule, nowMs: number): { day: Day; untilMs: number } {
  const localMs = nowMs + getOffsetMs(rule.timeZone, nowMs);
  const today = Math.floor(localMs / dayMs) * dayMs;
  const minute = rule.cutOff === null ? undefined : readMinute(rule.cutOff);
  const isLate = minute !== undefined && localMs - today > minute * minuteMs;
  const day = findBusinessDay(rule, isLate ? today + dayMs : today);
  const untilMs =
    minute === undefined
      ? toInstant(rule.timeZone, day + dayMs, 0)
      : toInstant(rule.timeZone, day, minute) + 1;
  return { day, untilMs };
}

/** The day itself or the first business day after it. */
function findBusinessDay(rule: AvailabilityRule, from: Day): Day {
  for (let count = 0; count <= searchDaysMax; count += 1) {
    const day = from + count * dayMs;
    if (isBusinessDay(rule, day)) return day;
  }
  throw new Error(`impossible: no business day within ${searchDaysMax} days in ${rule.timeZone}`);
}

function addBusinessDays(rule: AvailabilityRule, from: Day, count: number): Day {
  let day = from;
  for (let index = 0; index < count; index += 1) day = findBusinessDay(rule, day + dayMs);
  return day;
}

function isBusinessDay(rule: AvailabilityRule, day: Day): boolean {
  const date = new Date(day);
  if (rule.weekend.includes(date.getUTCDay())) return false;
  if (rule.calendar === null) return true;
  const holidays = getHolidays(rule.calendar, date.getUTCFullYear());
  return !holidays.has(date.toISOString().slice(0, 10));
}

function readMinute(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));
}

/**
 * The instant of a local time. A time that a change of the clocks skips is that much later, and of
 * one that happens twice the first is taken.
 */
function toInstant(timeZone: string, day: Day, minute: number): number {
  const localMs = day + minute * minuteMs;
  const before = localMs - getOffsetMs(timeZone, localMs - dayMs);
  const after = localMs - getOffsetMs(timeZone, localMs + dayMs);
  const first = Math.min(before, after);
  const isFirst = first + getOffsetMs(timeZone, first) === localMs;
  return isFirst ? first : Math.max(before, after);
}

const formatters = new Map<string, Intl.DateTimeFormat>();

function getFormatter(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone);
  if (known !== undefined) return known;
  const formatter = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  formatters.set(timeZone, formatter);
  return formatter;
}

const offsetPattern = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/;

/** What the zone's clocks show ahead of UTC at the instant. */
function getOffsetMs(timeZone: string, atMs: number): number {
  const match = offsetPattern.exec(getFormatter(timeZone).format(atMs));
  assert(match !== null, `the offset of ${timeZone} can be read`);
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = match;
  const offsetMs = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
  return sign === '-' ? -offsetMs : offsetMs;
}
