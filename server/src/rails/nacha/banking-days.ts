import {
  addDays,
  addBankingDays as addDaysOfCalendar,
  type BankingCalendar,
  findNextTime,
  isBankingDay,
  type LocalTime,
  toInstant,
  toLocalTime,
} from '../kit/calendar.ts';

/** The banking days of the Federal Reserve, and the windows of a day, in New York's time. */

const federalReserve: BankingCalendar = {
  timeZone: 'America/New_York',
  weekend: [0, 6],
  calendar: 'FEDERAL_RESERVE',
};

export function toEastern(atMs: number): LocalTime {
  return toLocalTime(federalReserve.timeZone, atMs);
}

export function fromEastern(time: LocalTime): number {
  return toInstant(federalReserve.timeZone, time);
}

/** This many banking days after the day; 0: the day itself, or the first banking day after it. */
export function addBankingDays(day: string, count: number): string {
  return addDaysOfCalendar(federalReserve, day, count);
}

export function nextBankingDay(day: string): string {
  return addBankingDays(addDays(day, 1), 0);
}

/**
 * The same-day windows of the ACH operators: until when they take files, and when these settle, New
 * York's time (Federal Reserve Banks and The Clearing House, in force since March 19, 2021).
 */
const operatorWindows = [
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

export type WindowClosing = Window & {
  readonly day: string;
  readonly closesAtMs: number;
  readonly deadlineMs: number;
};

/** The window that is closed and not past its deadline, if there is one. */
export function findOpenClosing(
  windows: readonly Window[],
  nowMs: number,
): WindowClosing | undefined {
  const { day } = toEastern(nowMs);
  if (!isBankingDay(federalReserve, day)) return undefined;
  return windows
    .map((window) => closeOn(window, day))
    .filter(({ closesAtMs, deadlineMs }) => closesAtMs <= nowMs && nowMs < deadlineMs)
    .toSorted((a, b) => b.closesAtMs - a.closesAtMs)[0];
}

/** The next window that closes after the instant. */
export function findNextClosing(
  windows: readonly Window[],
  afterMs: number,
): WindowClosing | undefined {
  const times = windows.map(({ closesAt }) => closesAt);
  const next = findNextTime(federalReserve, times, afterMs + 1);
  const window = windows.find(({ closesAt }) => closesAt === next?.time);
  return next && window && closeOn(window, next.day);
}

function closeOn(window: Window, day: string): WindowClosing {
  return {
    ...window,
    day,
    closesAtMs: fromEastern({ day, time: window.closesAt }),
    deadlineMs: fromEastern({ day, time: window.deadline }),
  };
}

/** YYMMDD, the form of dates in records. */
export function formatRecordDate(day: string): string {
  return day.slice(2).replaceAll('-', '');
}
