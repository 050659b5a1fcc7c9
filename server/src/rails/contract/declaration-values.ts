import { listCountries } from '../../core/country.ts';

/** The permitted values of declarations, each with its rule for the operator. */

export const timePattern = /^(?:[01]\d|2[0-3]):[0-5]\d$/;

export const permitted = {
  timeZone: 'must be an IANA time zone, such as Europe/Berlin, or UTC',
  calendar:
    'must be null or the ISO 3166-1 alpha-2 code of the country whose public holidays count, such as DE, MX or US',
  weekend:
    'must be weekdays from 0 (Sunday) to 6 (Saturday), each once and not all, such as [0, 6]',
  time: 'must be a local time HH:MM, such as 16:30',
  delay: 'must be {"minutes": N}, or {"businessDays": N, "arrival": "HH:MM"}, with whole numbers',
  verification:
    'must be {"kind": "always"}, {"kind": "never"} or {"kind": "above", "amount": "AMOUNT OF USD"}',
  country: 'must be an ISO 3166-1 alpha-3 code, such as MEX',
} as const;

const calendars = new Set(listCountries().map((country) => country.alpha2));

export function isCalendar(name: string): boolean {
  return calendars.has(name);
}

export function isWeekend(days: readonly number[]): boolean {
  const isEach = days.every((day) => Number.isInteger(day) && day >= 0 && day <= 6);
  return isEach && new Set(days).size === days.length && days.length < 7;
}

const knownTimeZones = new Map<string, boolean>();

/** The list is cheap but has one name for each zone; a formatter knows all names but takes memory. */
export function isTimeZone(name: string): boolean {
  if (knownTimeZones.size === 0) {
    for (const zone of Intl.supportedValuesOf('timeZone')) knownTimeZones.set(zone, true);
  }
  const known = knownTimeZones.get(name);
  if (known !== undefined) return known;
  let holds = true;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    holds = false;
  }
  knownTimeZones.set(name, holds);
  return holds;
}
