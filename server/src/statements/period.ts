import { type Fault, throwFaults } from '../core/errors.ts';

/** The days of a statement, UTC, both included. */
export type Period = { readonly firstDay: string; readonly lastDay: string };

/** Longer periods are read in parts: consecutive statements fit together. */
export const periodDaysMax = 366;

const dayMs = 86_400_000;
const firstDayMin = '1970-01-01';

export type PeriodQuery = {
  date?: string | undefined;
  month?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
};

/** @throws AppError invalid_request with every fault. */
export function readPeriod({ date, month, from, to }: PeriodQuery): Period {
  const faults: Fault[] = [];
  const given = { date, month, from: from ?? to };
  const count = Object.values(given).filter((value) => value !== undefined).length;
  if (count === 0) {
    const detail = 'give date (YYYY-MM-DD), month (YYYY-MM), or from and to (YYYY-MM-DD)';
    faults.push({ parameter: 'date', code: 'required', detail });
  }
  if (count > 1) {
    const detail = 'date, month and from with to exclude each other';
    const parameter = month === undefined || date === undefined ? 'from' : 'month';
    faults.push({ parameter, code: 'parameters_exclusive', detail });
  }
  if ((from === undefined) !== (to === undefined)) {
    const parameter = from === undefined ? 'from' : 'to';
    const detail = 'from and to must be given together: the first and the last day';
    faults.push({ parameter, code: 'required', detail });
  }
  const period = findPeriod({ date, month, from, to });
  const days = (endOf(period).getTime() - startOf(period).getTime()) / dayMs;
  if (days < 1 || days > periodDaysMax) {
    const detail =
      days < 1 ? 'to must not be before from' : `to must be within ${periodDaysMax} days of from`;
    faults.push({ parameter: 'to', code: 'invalid_value', detail });
  }
  if (period.firstDay < firstDayMin) {
    const parameter = month !== undefined ? 'month' : date !== undefined ? 'date' : 'from';
    const detail = `${parameter} must not be before ${firstDayMin}`;
    faults.push({ parameter, code: 'invalid_value', detail });
  }
  throwFaults(faults);
  return period;
}

function findPeriod({ date, month, from, to }: PeriodQuery): Period {
  if (month === undefined) {
    const firstDay = date ?? from ?? to ?? firstDayMin;
    return { firstDay, lastDay: date ?? to ?? firstDay };
  }
  const firstDay = `${month}-01`;
  const start = new Date(firstDay);
  // Day 0 of the next month.
  const last = new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 0));
  return { firstDay, lastDay: formatDay(last) };
}

/** The first instant. */
export function startOf({ firstDay }: Period): Date {
  return new Date(firstDay);
}

/** The first instant after it. */
export function endOf({ lastDay }: Period): Date {
  return new Date(new Date(lastDay).getTime() + dayMs);
}

/** `YYYY-MM-DD`, UTC. */
export function formatDay(time: Date): string {
  return time.toISOString().slice(0, 10);
}
