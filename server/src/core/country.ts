import { getCountry as getZones } from 'countries-and-timezones';
import countryToCurrency from 'country-to-currency';
import iso3166 from 'i18n-iso-countries/index.js';
import english from 'i18n-iso-countries/langs/en.json' with { type: 'json' };
import { findCurrency } from './currency.ts';

/** A country of ISO 3166-1 with what follows from it: its currency (ISO 4217) and main time zone (IANA). */
export type Country = {
  readonly code: string;
  readonly alpha2: string;
  readonly name: string;
  readonly currency: string;
  readonly timeZone: string;
};

iso3166.registerLocale(english);

/** Where a country has several zones, the one of its capital or of most of its people. */
const mainTimeZones: Readonly<Record<string, string>> = {
  ARG: 'America/Argentina/Buenos_Aires',
  AUS: 'Australia/Sydney',
  BRA: 'America/Sao_Paulo',
  CAN: 'America/Toronto',
  CHL: 'America/Santiago',
  COD: 'Africa/Kinshasa',
  CYP: 'Asia/Nicosia',
  ESP: 'Europe/Madrid',
  FSM: 'Pacific/Pohnpei',
  GRL: 'America/Nuuk',
  KIR: 'Pacific/Tarawa',
  MEX: 'America/Mexico_City',
  MHL: 'Pacific/Majuro',
  MNG: 'Asia/Ulaanbaatar',
  MYS: 'Asia/Kuala_Lumpur',
  PNG: 'Pacific/Port_Moresby',
  PRT: 'Europe/Lisbon',
  PSE: 'Asia/Hebron',
  PYF: 'Pacific/Tahiti',
  RUS: 'Europe/Moscow',
  USA: 'America/New_York',
  UZB: 'Asia/Tashkent',
  VNM: 'Asia/Ho_Chi_Minh',
};

const currencyByAlpha2: Readonly<Record<string, string | undefined>> = countryToCurrency;
const countries = new Map<string, Country>();
for (const [code, alpha2] of Object.entries(iso3166.getAlpha3Codes())) {
  // The codes in use for Kosovo are user-assigned and not part of ISO 3166-1.
  if (alpha2 === 'XK') continue;
  const currency = currencyByAlpha2[alpha2] ?? '';
  countries.set(code, {
    code,
    alpha2,
    name: iso3166.getName(alpha2, 'en') ?? code,
    // Antarctica and a few like it have no currency of their own.
    currency: findCurrency(currency) === undefined ? 'USD' : currency,
    timeZone: mainTimeZones[code] ?? getZones(alpha2)?.timezones[0] ?? 'UTC',
  });
}

/** The country of an alpha-3 code, or undefined when ISO 3166-1 does not know it. */
export function findCountry(code: string): Country | undefined {
  return countries.get(code);
}

export function getCountry(code: string): Country {
  const country = countries.get(code);
  if (country === undefined) throw new Error(`unknown country ${code}`);
  return country;
}

export function listCountries(): Country[] {
  return [...countries.values()].toSorted((a, b) => (a.code < b.code ? -1 : 1));
}
