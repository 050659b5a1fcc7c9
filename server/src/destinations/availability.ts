import { assert } from '../core/errors.ts';
import type { AvailabilityRule } from '../rails/contract/declarations.ts';
import { getHolidays } from './holidays.ts';

/** When money arrives, and until when (exclusive) the estimate holds for later commits. */
export type Availability = {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly availableAtMs: number;
};

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** Places with a cut-off are assumed to open at 09:00. */
const openingMinute = 9 * 60;
/** Far longer than any run of holidays. */
const searchDaysMax = 60;

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
  assert(availableAtMs >= nowMs, 'money does not arrive before it is sent');
  return { sinceMs: nowMs, untilMs: counted.untilMs, availableAtMs };
}

/** A local calendar day, as the milliseconds of its midnight in UTC. */
type Day = number;

/** The business day for which a commit counts, and the instant at which the next one begins. */
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
  throw new Error(`no business day within ${searchDaysMax} days in ${rule.timeZone}`);
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
 * The instant of a local time. A time skipped by daylight saving is shifted forward; of a repeated
 * time the first instant is taken.
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

/** The offset of the zone from UTC at the instant. */
function getOffsetMs(timeZone: string, atMs: number): number {
  const match = offsetPattern.exec(getFormatter(timeZone).format(atMs));
  assert(match !== null, `the offset of ${timeZone} has the expected form`);
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = match;
  const offsetMs = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
  return sign === '-' ? -offsetMs : offsetMs;
}
