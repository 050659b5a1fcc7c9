import {
  addBankingDays,
  type BankingCalendar,
  findNextTime,
  toLocalTime,
} from '../kit/calendar.ts';
import type { Config } from './config.ts';

type Schedule = Config['schedule'];

/**
 * When the file is closed that a payment of `nowMs` goes into: at the bank's next cut-off, or after
 * `everySeconds` where no cut-offs are configured.
 */
export function findCutOff(schedule: Schedule, nowMs: number): number {
  const next = findNextTime(getCalendar(schedule), schedule.cutOffs, nowMs);
  return next?.atMs ?? nowMs + schedule.everySeconds * 1_000;
}

/** The day (`YYYY-MM-DD`) on which the bank is asked to execute a file that is closed at `nowMs`. */
export function findExecutionDay(schedule: Schedule, nowMs: number): string {
  const { day } = toLocalTime(schedule.timeZone, nowMs);
  return addBankingDays(getCalendar(schedule), day, schedule.executionDays);
}

function getCalendar(schedule: Schedule): BankingCalendar {
  const { timeZone, weekend, closesWithTarget, closedDays } = schedule;
  return { timeZone, weekend, calendar: closesWithTarget ? 'TARGET' : null, closedDays };
}
