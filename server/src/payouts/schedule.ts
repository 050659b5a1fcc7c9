import { amountFaults } from '../core/amount-faults.ts';
import { findCurrency } from '../core/currency.ts';
import type { Fault } from '../core/errors.ts';
import { parseAmount } from '../core/money.ts';
import { findDeadlineMs, findOpeningMs, findRunMs } from '../destinations/availability.ts';
import type { Payer } from '../destinations/catalog.ts';
import { toLocalTime } from '../rails/kit/calendar.ts';
import type { NewSchedule } from './schedules.sql.ts';

export { cancelScheduleRow, findSchedule } from './schedules.sql.ts';

/** When a payout for a later time runs, and within which bounds. */

export const scheduleDaysMax = 365;

/** As in the request; amounts are decimal texts. */
export type ScheduleRequest = {
  scheduledFor: string;
  maxSourceAmount: string | undefined;
  minDestinationAmount: string | undefined;
};

type Terms = {
  payer: Payer;
  givenSide: 'source' | 'destination';
  nowMs: number;
  /** Business days after its time in which what it waits for may still come. */
  waitDays: number;
};

type Bounds = Pick<NewSchedule, 'maxSourceMinor' | 'minDestinationMinor'>;

/** The prices at which it does not run; a currency that is not known was reported before. */
export function readBounds(
  request: ScheduleRequest,
  currencies: { source: string | undefined; destination: string },
  faults: Fault[],
): Bounds {
  return {
    maxSourceMinor: readBound(
      'max_source_amount',
      { text: request.maxSourceAmount, currency: currencies.source },
      faults,
    ),
    minDestinationMinor: readBound(
      'min_destination_amount',
      { text: request.minDestinationAmount, currency: currencies.destination },
      faults,
    ),
  };
}

/** The schedule that a request asks for; undefined with a fault. */
export function readSchedule(
  { scheduledFor }: ScheduleRequest,
  terms: Terms & Bounds,
  faults: Fault[],
): NewSchedule | undefined {
  const wantedMs = readWanted(scheduledFor, terms, faults);
  if (wantedMs === undefined) return undefined;
  const { availability } = terms.payer;
  const runsAtMs = findRunMs(availability, wantedMs);
  return {
    scheduledFor,
    runsAt: new Date(runsAtMs),
    deadlineAt: new Date(findDeadlineMs(availability, runsAtMs, terms.waitDays)),
    givenSide: terms.givenSide,
    maxSourceMinor: terms.maxSourceMinor,
    minDestinationMinor: terms.minDestinationMinor,
  };
}

/** A day means its opening; today, from now on. */
function readWanted(
  scheduledFor: string,
  { payer, nowMs }: Terms,
  faults: Fault[],
): number | undefined {
  const { timeZone } = payer.availability;
  const isToday = scheduledFor === toLocalTime(timeZone, nowMs).day;
  const isDay = scheduledFor.length === 10;
  const namedMs = isDay
    ? findOpeningMs(payer.availability, scheduledFor)
    : Math.ceil(Date.parse(scheduledFor) / 1000) * 1000;
  const wantedMs = isToday ? Math.max(namedMs, nowMs) : namedMs;
  const pointer = '/scheduled_for';
  if (wantedMs < nowMs) {
    const here = isDay ? ` in ${timeZone}` : '';
    faults.push({ pointer, code: 'too_early', detail: `scheduled_for has passed${here}` });
  } else if (wantedMs > nowMs + scheduleDaysMax * 86_400_000) {
    const detail = `scheduled_for must be at most ${scheduleDaysMax} days ahead`;
    faults.push({ pointer, code: 'too_late', detail });
  } else return wantedMs;
  return undefined;
}

function readBound(
  name: string,
  { text, currency }: { text: string | undefined; currency: string | undefined },
  faults: Fault[],
): bigint | undefined {
  const found = currency === undefined ? undefined : findCurrency(currency);
  if (text === undefined || found === undefined) return undefined;
  const amount = parseAmount(text, found);
  if (amount.ok) return amount.minor;
  faults.push({ pointer: `/${name}`, ...amountFaults(name, amount.fault, found) });
  return undefined;
}
