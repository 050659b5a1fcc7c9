import { createRequire } from 'node:module';
import type HolidayCalendar from 'date-holidays';

/**
 * Holidays by the `date-holidays` library. Its rules for all countries take some 30 MB once loaded,
 * so that it is loaded for the first calendar that is used: an idle service does not carry it.
 */

/**
 * The holidays of the Federal Reserve Banks: one on a Sunday is kept on the Monday after it, one on
 * a Saturday on no other day.
 */
const federalReserve = [
  '01-01 and if sunday then next monday',
  '3rd monday in January',
  '3rd monday in February',
  'monday before 06-01',
  '06-19 and if sunday then next monday since 2022',
  '07-04 and if sunday then next monday',
  '1st monday in September',
  '2nd monday in October',
  '11-11 and if sunday then next monday',
  '4th thursday in November',
  '12-25 and if sunday then next monday',
];

/** The long-term calendar of the European Central Bank, in force since 2002. */
const target = ['01-01', 'easter -2', 'easter 1', '05-01', '12-25', '12-26'];

/**
 * Payment systems, and countries that the library has no calendar of, in its own grammar. Days that
 * follow the moon are those that the library computes; days that an authority fixes each year from
 * observation may differ by one.
 */
const islamic = ['1 Shawwal P3D', '10 Dhu al-Hijjah P4D', '1 Muharram', '12 Rabi al-awwal'];
const addedCalendars: Readonly<Record<string, readonly string[]>> = {
  FEDERAL_RESERVE: federalReserve,
  TARGET: target,
  AF: [...islamic, '08-19'],
  BT: ['02-21', '02-22', '02-23', '05-02', '11-11', '12-17'],
  IQ: [...islamic, '01-01', '01-06', '05-01', '07-14', '10-03', '12-25'],
  JO: [...islamic, '01-01', '05-01', '05-25', '12-25'],
  KG: ['01-01', '01-07', '02-23', '03-08', '03-21', '05-01', '05-05', '05-09', '08-31', '11-07'],
  KH: [
    '01-01',
    '01-07',
    '03-08',
    '04-14 P3D',
    '05-01',
    '06-18',
    '09-24',
    '10-15',
    '10-29',
    '11-09',
  ],
  KW: [...islamic, '01-01', '02-25', '02-26'],
  LA: ['01-01', '03-08', '04-14 P3D', '05-01', '12-02'],
  LB: [...islamic, '01-01', '01-06', '02-09', '03-25', '05-01', '08-15', '11-22', '12-25'],
  MM: ['01-04', '02-12', '03-02', '03-27', '04-13 P5D', '05-01', '07-19', '12-25'],
  MN: ['01-01', '03-08', '06-01', '07-11 P5D', '11-26', '12-29'],
  MV: [...islamic, '01-01', '05-01', '07-26', '11-03', '11-11'],
  NP: ['02-19', '03-08', '04-14', '05-01', '05-29', '09-19'],
  OM: [...islamic, '01-11', '11-20', '11-21'],
  PS: [...islamic, '01-01', '01-07', '05-01', '11-15', '12-25'],
  QA: ['1 Shawwal P3D', '10 Dhu al-Hijjah P3D', '12-18'],
  SY: [...islamic, '01-01', '03-21', '05-01', '12-25'],
  TJ: ['01-01', '03-08', '03-21 P4D', '05-01', '05-09', '06-27', '09-09', '11-06'],
  TL: ['01-01', '03-03', '05-01', '05-20', '08-30', '11-01', '11-02', '11-12', '12-07', '12-25'],
  TM: ['01-01', '03-08', '03-21', '03-22', '05-18', '09-27', '12-12'],
  WS: ['01-01', '01-02', '06-01', '12-25', '12-26'],
  YE: [...islamic, '05-01', '05-22', '09-26', '10-14', '11-30'],
};

let loadedLibrary: typeof HolidayCalendar | undefined;

function loadLibrary(): typeof HolidayCalendar {
  if (loadedLibrary === undefined) {
    const loaded: unknown = createRequire(import.meta.url)('date-holidays');
    loadedLibrary = loaded as typeof HolidayCalendar;
  }
  return loadedLibrary;
}

const daysByYear = new Map<string, ReadonlySet<string>>();
/** A year of a calendar takes about 2 kB. */
const daysByYearMax = 600;

/**
 * Whether the day (`YYYY-MM-DD`) is a holiday of a country (ISO 3166-1 alpha-2), of the Federal Reserve
 * (`FEDERAL_RESERVE`) or of T2, the euro's settlement system (`TARGET`). Of a country only public
 * holidays everywhere in it that cover noon. A country that neither the library nor the list above
 * knows has none.
 */
export function isHoliday(calendar: string, day: string): boolean {
  const year = Number(day.slice(0, 4));
  // A holiday of several days may begin in the previous year. None lasts until February.
  const mayBeginBefore = day.slice(5, 7) === '01';
  return (
    getDays(calendar, year).has(day) || (mayBeginBefore && getDays(calendar, year - 1).has(day))
  );
}

/** The days of the holidays that begin in the year. */
function getDays(calendar: string, year: number): ReadonlySet<string> {
  const name = `${calendar} ${year}`;
  const known = daysByYear.get(name);
  if (known !== undefined) return known;
  const days = computeDays(calendar, year);
  if (daysByYear.size >= daysByYearMax) daysByYear.clear();
  daysByYear.set(name, days);
  return days;
}

function computeDays(calendar: string, year: number): ReadonlySet<string> {
  const days = new Set<string>();
  for (const { date, start, end, type } of listHolidays(calendar, year)) {
    const startsAfterNoon = date.slice(11, 13) >= '12';
    if (type !== 'public' || startsAfterNoon) continue;
    const length = Math.max(1, Math.round((end.getTime() - start.getTime()) / dayMs));
    const firstMs = Date.parse(`${date.slice(0, 10)}T00:00:00Z`);
    for (let index = 0; index < length; index += 1) {
      days.add(new Date(firstMs + index * dayMs).toISOString().slice(0, 10));
    }
  }
  return days;
}

const dayMs = 86_400_000;

/** Days of remembrance, many of which follow the sun or the moon, take a third of the time. */
const options = { types: ['public' as const] };

function listHolidays(calendar: string, year: number): HolidayCalendarEntry[] {
  const Library = loadLibrary();
  const rules = addedCalendars[calendar];
  const holidays = rules === undefined ? new Library(calendar, options) : new Library();
  for (const rule of rules ?? []) holidays.setHoliday(rule, { name: rule, type: 'public' });
  return holidays.getHolidays(year) ?? [];
}

type HolidayCalendarEntry = ReturnType<HolidayCalendar['getHolidays']>[number];
