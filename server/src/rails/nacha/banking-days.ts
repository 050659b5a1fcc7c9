/**
 * The days on which the Federal Reserve's ACH settles, and its time, that of New York. A day is a
 * text `YYYY-MM-DD`, a time of day `HH:MM`.
 */

const timeZone = 'America/New_York';
const dayMs = 86_400_000;

const eastern = new Intl.DateTimeFormat('en-CA', {
  timeZone,
  hourCycle: 'h23',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
});

export type EasternTime = { readonly day: string; readonly time: string };

export function toEastern(atMs: number): EasternTime {
  const parts = new Map(eastern.formatToParts(atMs).map(({ type, value }) => [type, value]));
  const get = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? '';
  return {
    day: `${get('year')}-${get('month')}-${get('day')}`,
    time: `${get('hour')}:${get('minute')}`,
  };
}

/** The instant of a local time. Clocks change at two at night, when nothing of ours is due. */
export function fromEastern({ day, time }: EasternTime): number {
  const asUtcMs = Date.parse(`${day}T${time}:00Z`);
  const local = toEastern(asUtcMs);
  const offsetMs = Date.parse(`${local.day}T${local.time}:00Z`) - asUtcMs;
  const guessMs = asUtcMs - offsetMs;
  // Where the offset is another one at the guess, that one holds.
  const again = toEastern(guessMs);
  const againMs = Date.parse(`${again.day}T${again.time}:00Z`);
  return guessMs + (asUtcMs - againMs);
}

/**
 * Holidays of the Federal Reserve Banks. One on a Sunday is kept on the Monday after it; one on a
 * Saturday is not kept on another day.
 */
export function isBankingDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  const weekday = date.getUTCDay();
  if (weekday === 0 || weekday === 6) return false;
  if (isFixedHoliday(day) || isMovingHoliday(date)) return false;
  return !(weekday === 1 && isFixedHoliday(addDays(day, -1)));
}

/** New Year, Juneteenth (since 2022), Independence, Veterans, Christmas. */
const fixedHolidays: ReadonlySet<string> = new Set(['01-01', '06-19', '07-04', '11-11', '12-25']);

function isFixedHoliday(day: string): boolean {
  if (day.endsWith('-06-19') && day < '2022') return false;
  return fixedHolidays.has(day.slice(5));
}

/** King, Washington, Memorial, Labor and Columbus Day on Mondays, Thanksgiving on a Thursday. */
function isMovingHoliday(date: Date): boolean {
  const dayOfMonth = date.getUTCDate();
  const week = Math.ceil(dayOfMonth / 7);
  const weekday = date.getUTCDay();
  const month = date.getUTCMonth() + 1;
  if (weekday === 4) return month === 11 && week === 4;
  if (weekday !== 1) return false;
  if (month === 5) return dayOfMonth + 7 > 31;
  if (month === 1 || month === 2) return week === 3;
  return (month === 9 && week === 1) || (month === 10 && week === 2);
}

export function addDays(day: string, count: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + count * dayMs).toISOString().slice(0, 10);
}

/** So many banking days after the day; none: the day itself, or the first banking day after it. */
export function addBankingDays(day: string, count: number): string {
  let found = day;
  while (!isBankingDay(found)) found = addDays(found, 1);
  for (let index = 0; index < count; index += 1) {
    found = addDays(found, 1);
    while (!isBankingDay(found)) found = addDays(found, 1);
  }
  return found;
}

export function nextBankingDay(day: string): string {
  return addBankingDays(addDays(day, 1), 0);
}

/**
 * The same-day windows of the ACH operators: until when they take files, and when these settle, New
 * York's time (Federal Reserve Banks and The Clearing House, in force since March 19, 2021).
 */
export const operatorWindows = [
  { deadline: '10:30', settlesAt: '13:00' },
  { deadline: '14:45', settlesAt: '17:00' },
  { deadline: '16:45', settlesAt: '18:00' },
] as const;

/** A file that reaches the operator later settles on the next banking day. */
export const lastSameDayDeadline = operatorWindows[2].deadline;

/** A window of submission, in New York's time, on every banking day. */
export type Window = {
  /** When Outlay writes the file. */
  readonly closesAt: string;
  /** Until when the bank has to have it; written later it would not be taken for this window. */
  readonly deadline: string;
  /** Whether the bank submits it for settlement on the same day. */
  readonly sameDay: boolean;
};

export type Closing = Window & {
  readonly day: string;
  readonly closesAtMs: number;
  readonly deadlineMs: number;
};

/** The window that is closed and not past its deadline, if there is one. */
export function findOpenClosing(windows: readonly Window[], nowMs: number): Closing | undefined {
  const { day } = toEastern(nowMs);
  if (!isBankingDay(day)) return undefined;
  return windows
    .map((window) => closeOn(window, day))
    .filter(({ closesAtMs, deadlineMs }) => closesAtMs <= nowMs && nowMs < deadlineMs)
    .toSorted((a, b) => b.closesAtMs - a.closesAtMs)[0];
}

/** The next window that closes after the instant. */
export function findNextClosing(windows: readonly Window[], afterMs: number): Closing | undefined {
  let { day } = toEastern(afterMs);
  for (let tries = 0; tries < 2; tries += 1) {
    day = addBankingDays(day, 0);
    const current = day;
    const next = windows
      .map((window) => closeOn(window, current))
      .filter(({ closesAtMs }) => closesAtMs > afterMs)
      .toSorted((a, b) => a.closesAtMs - b.closesAtMs)[0];
    if (next !== undefined) return next;
    day = addDays(day, 1);
  }
  return undefined;
}

function closeOn(window: Window, day: string): Closing {
  return {
    ...window,
    day,
    closesAtMs: fromEastern({ day, time: window.closesAt }),
    deadlineMs: fromEastern({ day, time: window.deadline }),
  };
}

/** YYMMDD, as records have it. */
export function formatRecordDate(day: string): string {
  return day.slice(2).replaceAll('-', '');
}
