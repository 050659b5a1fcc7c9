import { assert } from '../../core/errors.ts';
import { isHoliday } from './holidays.ts';

/** Banking days, cut-offs and local times. A day is a text `YYYY-MM-DD`, a time of day `HH:MM`. */

export type BankingCalendar = {
  /** IANA. */
  readonly timeZone: string;
  /** Weekdays without business, 0 = Sunday. */
  readonly weekend: readonly number[];
  /** Whose holidays count, as `isHoliday` takes it; null: none. */
  readonly calendar: string | null;
  /** Further days without business. */
  readonly closedDays?: readonly string[];
};

export type LocalTime = { readonly day: string; readonly time: string };

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** Longer than any run of holidays: a calendar without a banking day in it never opens. */
const searchDaysMax = 60;

export function isBankingDay(
  { weekend, calendar, closedDays = [] }: BankingCalendar,
  day: string,
): boolean {
  if (weekend.includes(new Date(day).getUTCDay()) || closedDays.includes(day)) return false;
  return calendar === null || !isHoliday(calendar, day);
}

/**
 * This many banking days after the day; 0: the day itself, or the first banking day after it.
 *
 * @throws Error where the calendar has no banking day.
 */
export function addBankingDays(calendar: BankingCalendar, day: string, count: number): string {
  let found = findBankingDay(calendar, day);
  for (let index = 0; index < count; index += 1) {
    found = findBankingDay(calendar, addDays(found, 1));
  }
  return found;
}

function findBankingDay(calendar: BankingCalendar, from: string): string {
  for (let count = 0; count <= searchDaysMax; count += 1) {
    const day = addDays(from, count);
    if (isBankingDay(calendar, day)) return day;
  }
  throw new Error(`there is no banking day within ${searchDaysMax} days of ${from}`);
}

/**
 * The first of these times of day, on banking days, at the instant or after it; undefined without
 * times.
 *
 * @throws Error where the calendar has no banking day.
 */
export function findNextTime(
  calendar: BankingCalendar,
  times: readonly string[],
  fromMs: number,
): (LocalTime & { readonly atMs: number }) | undefined {
  if (times.length === 0) return undefined;
  const { timeZone } = calendar;
  // A time that a change of the clocks skips may fall on the day after its own, and behind later times.
  for (let day = addDays(toLocalTime(timeZone, fromMs).day, -1); ; day = addDays(day, 1)) {
    day = findBankingDay(calendar, day);
    const [next] = [day, addDays(day, 1)]
      .filter((one) => isBankingDay(calendar, one))
      .flatMap((one) => times.map((time) => ({ day: one, time })))
      .map((local) => ({ ...local, atMs: toInstant(timeZone, local) }))
      .filter(({ atMs }) => atMs >= fromMs)
      .toSorted((a, b) => a.atMs - b.atMs);
    if (next !== undefined) return next;
  }
}

export function addDays(day: string, count: number): string {
  return formatDay(Date.parse(day) + count * dayMs);
}

/** What the zone's clocks show at the instant. */
export function toLocalTime(timeZone: string, atMs: number): LocalTime {
  const text = new Date(atMs + getOffsetMs(timeZone, atMs)).toISOString();
  return { day: text.slice(0, 10), time: text.slice(11, 16) };
}

/**
 * The instant of a local time. A time that a change of the clocks skips is that much later, and of
 * one that occurs twice it is the first.
 */
export function toInstant(timeZone: string, { day, time }: LocalTime): number {
  const localMs = Date.parse(`${day}T${time}:00Z`);
  const before = localMs - getOffsetMs(timeZone, localMs - dayMs);
  const after = localMs - getOffsetMs(timeZone, localMs + dayMs);
  const first = Math.min(before, after);
  const isFirst = first + getOffsetMs(timeZone, first) === localMs;
  return isFirst ? first : Math.max(before, after);
}

function formatDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
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

/** How far the zone's clocks are ahead of UTC at the instant. */
function getOffsetMs(timeZone: string, atMs: number): number {
  const match = offsetPattern.exec(getFormatter(timeZone).format(atMs));
  assert(match !== null, `the offset of ${timeZone} can be read`);
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = match;
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * minuteMs + Number(seconds) * 1_000;
  return sign === '-' ? -offsetMs : offsetMs;
}
