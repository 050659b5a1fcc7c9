/**
 * When files are closed: at the hours of the bank's cut-offs, on its business days, in its time
 * zone; or every few seconds where the bank takes payments one by one.
 */

export type Schedule = {
  /** IANA. */
  readonly timeZone: string;
  /** `HH:MM`, ascending. Empty: `everySeconds` rules. */
  readonly cutOffs: readonly string[];
  /** How long a payment waits at most for others to share its file. */
  readonly everySeconds: number;
  /** Weekdays without business, 0 = Sunday. */
  readonly weekend: readonly number[];
  /** Whether the closing days of T2 (formerly TARGET2), the euro's settlement system, hold. */
  readonly closesWithTarget: boolean;
  /** `YYYY-MM-DD`, beside those. */
  readonly closedDays: readonly string[];
  /** Business days from the day of the cut-off to the requested day of execution. */
  readonly executionDays: number;
};

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** Longer than any bank closes: past it the schedule has no business day at all. */
const searchDaysMax = 60;

/** The instant at which the file is closed that a payment of `nowMs` goes into. */
export function findCutOff(schedule: Schedule, nowMs: number): number {
  if (schedule.cutOffs.length === 0) return nowMs + schedule.everySeconds * 1_000;
  let day = findDay(schedule.timeZone, nowMs);
  for (let count = 0; count <= searchDaysMax; count += 1) {
    if (isBusinessDay(schedule, day)) {
      for (const time of schedule.cutOffs) {
        const atMs = findInstant(schedule.timeZone, day, time);
        if (atMs >= nowMs) return atMs;
      }
    }
    day = addDay(day);
  }
  throw new Error(`no business day within ${searchDaysMax} days of ${day}`);
}

/** The day (`YYYY-MM-DD`) on which the bank is asked to execute a file that is closed at `nowMs`. */
export function findExecutionDay(schedule: Schedule, nowMs: number): string {
  let day = findBusinessDay(schedule, findDay(schedule.timeZone, nowMs));
  for (let count = 0; count < schedule.executionDays; count += 1) {
    day = findBusinessDay(schedule, addDay(day));
  }
  return day;
}

function findBusinessDay(schedule: Schedule, from: string): string {
  let day = from;
  for (let count = 0; count <= searchDaysMax; count += 1) {
    if (isBusinessDay(schedule, day)) return day;
    day = addDay(day);
  }
  throw new Error(`no business day within ${searchDaysMax} days of ${from}`);
}

function isBusinessDay(schedule: Schedule, day: string): boolean {
  const { weekend, closesWithTarget, closedDays } = schedule;
  if (weekend.includes(new Date(`${day}T00:00:00Z`).getUTCDay())) return false;
  if (closesWithTarget && isTargetClosingDay(day)) return false;
  return !closedDays.includes(day);
}

/**
 * New Year's Day, Good Friday, Easter Monday, 1 May, 25 and 26 December: the long-term calendar of
 * the European Central Bank, in force since 2002.
 */
export function isTargetClosingDay(day: string): boolean {
  if (['01-01', '05-01', '12-25', '12-26'].includes(day.slice(5))) return true;
  const easterMs = findEasterSundayMs(Number(day.slice(0, 4)));
  return [formatDay(easterMs - 2 * dayMs), formatDay(easterMs + dayMs)].includes(day);
}

/** Easter Sunday of the Gregorian calendar, midnight UTC (the anonymous algorithm, Meeus chapter 8). */
function findEasterSundayMs(year: number): number {
  const cycle = year % 19;
  const century = Math.floor(year / 100);
  const yearOfCentury = year % 100;
  const lunarCorrection = Math.floor((century - Math.floor((century + 8) / 25) + 1) / 3);
  const epact = (19 * cycle + century - Math.floor(century / 4) - lunarCorrection + 15) % 30;
  const weekdayTerm =
    (32 + 2 * (century % 4) + 2 * Math.floor(yearOfCentury / 4) - epact - (yearOfCentury % 4)) % 7;
  const lateTerm = Math.floor((cycle + 11 * epact + 22 * weekdayTerm) / 451);
  const sum = epact + weekdayTerm - 7 * lateTerm + 114;
  return Date.UTC(year, Math.floor(sum / 31) - 1, (sum % 31) + 1);
}

function addDay(day: string): string {
  return formatDay(Date.parse(`${day}T00:00:00Z`) + dayMs);
}

function formatDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

/** The day that the zone's calendars show at the instant. */
export function findDay(timeZone: string, atMs: number): string {
  return formatDay(atMs + getOffsetMs(timeZone, atMs));
}

/** The instant of a local time; of one that the change of clocks skips, one close by. */
function findInstant(timeZone: string, day: string, time: string): number {
  const minute = Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));
  const localMs = Date.parse(`${day}T00:00:00Z`) + minute * minuteMs;
  const nearMs = localMs - getOffsetMs(timeZone, localMs);
  return localMs - getOffsetMs(timeZone, nearMs);
}

const offsetPattern = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/;

/** What the zone's clocks show ahead of UTC at the instant. */
function getOffsetMs(timeZone: string, atMs: number): number {
  const formatter = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  const match = offsetPattern.exec(formatter.format(atMs));
  if (match === null) throw new Error(`the offset of ${timeZone} cannot be read`);
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = match;
  const offsetMs = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
  return sign === '-' ? -offsetMs : offsetMs;
}
