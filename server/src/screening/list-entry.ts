import iso3166 from 'i18n-iso-countries/index.js';
import english from 'i18n-iso-countries/langs/en.json' with { type: 'json' };
import { z } from 'zod';

export const entryKinds = ['person', 'organisation'] as const;
/**
 * `weak` is an alias that the list itself calls weak or low-quality: a nickname, a common name;
 * `acronym` are the initials of an organisation, which the import adds.
 */
export const nameQualities = ['primary', 'alias', 'weak', 'acronym'] as const;

/** An entry about one person or organisation, independent of the format of the list. */
export type ListEntry = {
  /** The list's own number for it, the same in all versions. */
  readonly entryId: string;
  readonly kind: (typeof entryKinds)[number];
  /** The first one is the primary name. */
  readonly names: readonly ListedName[];
  readonly births: readonly DateOfBirth[];
  /** ISO 3166-1 alpha-3: nationalities of a person, seats of an organisation. */
  readonly countries: readonly string[];
  readonly programmes: readonly string[];
  readonly wallets: readonly ListedWallet[];
};

export type NameQuality = (typeof nameQualities)[number];
export type ListedName = { readonly text: string; readonly quality: NameQuality };
/** In place of the currency of a wallet, where the address is the BIC of a listed bank. */
export const bankCode = 'SWIFT/BIC';

export type ListedWallet = { readonly currency: string; readonly address: string };

/** One possible date of birth: a range of days (YYYY-MM-DD, both included). */
export const dateOfBirth = z.object({ from: z.string(), to: z.string() });
export type DateOfBirth = Readonly<z.infer<typeof dateOfBirth>>;

export type ParsedList =
  | {
      readonly ok: true;
      readonly entries: readonly ListEntry[];
      /** When the list was published (RFC 3339); null where the file does not say it. */
      readonly publishedAt: string | null;
      /** Entries that cannot be paid: ships and aircraft. */
      readonly skipped: number;
      /** Entries whose remarks the file truncates, so that wallet addresses may be missing. */
      readonly cutOff: number;
      /** Signs of a damaged file, which a person may accept. */
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly fault: string };

/** Added on both sides of an approximate date of birth. */
export const roughYears = 2;

export function spanYears(from: number, to: number): DateOfBirth {
  return { from: `${pad(from, 4)}-01-01`, to: `${pad(to, 4)}-12-31` };
}

export function spanMonth(year: number, month: number): DateOfBirth {
  const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const prefix = `${pad(year, 4)}-${pad(month, 2)}`;
  return { from: `${prefix}-01`, to: `${prefix}-${pad(days, 2)}` };
}

export function formatDay(year: number, month: number, day: number): string {
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
}

/** What is wrong with the entries of a list; undefined: nothing. */
export function findEntryFault(
  entries: readonly ListEntry[],
  id: { readonly pattern: RegExp; readonly fault: string },
): string | undefined {
  const seen = new Set<string>();
  for (const { entryId } of entries) {
    if (!id.pattern.test(entryId)) return id.fault;
    if (seen.has(entryId)) return `duplicate entry ${entryId}`;
    seen.add(entryId);
  }
  return entries.length === 0 ? 'the list has no entries' : undefined;
}

export function findNamelessFault(entries: readonly ListEntry[]): string | undefined {
  const nameless = entries.find(({ names }) => names.length === 0);
  return nameless && `entry ${nameless.entryId} has no name`;
}

/** The instant in RFC 3339, or undefined where the text is none. */
export function readInstant(text: string): string | undefined {
  const timeMs = Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : new Date(timeMs).toISOString();
}

function pad(value: number, digits: number): string {
  return String(value).padStart(digits, '0');
}

/** Names on the lists that are not among the English names of ISO 3166. */
const otherCountryNames: Readonly<Record<string, string>> = {
  burma: 'MMR',
  'cabo verde': 'CPV',
  'iran islamic republic of': 'IRN',
  syria: 'SYR',
  'british virgin islands': 'VGB',
  'china hong kong special administrative region': 'HKG',
  'korea north': 'PRK',
  'korea south': 'KOR',
  'north korea': 'PRK',
  'south korea': 'KOR',
  'democratic peoples republic of korea': 'PRK',
  'congo democratic republic of the': 'COD',
  'democratic republic of the congo': 'COD',
  'congo republic of the': 'COG',
  'bosnia and herzegovina': 'BIH',
  macau: 'MAC',
  palestinian: 'PSE',
  'west bank': 'PSE',
  gaza: 'PSE',
  'the gambia': 'GMB',
  'united states of america': 'USA',
  'united kingdom of great britain and northern ireland': 'GBR',
  uk: 'GBR',
  'ivory coast': 'CIV',
  turkey: 'TUR',
  'trinidad and tobago': 'TTO',
  'united republic of tanzania': 'TZA',
};

const codesByName = new Map<string, string>();
for (const [alpha2, names] of Object.entries(english.countries)) {
  const code = iso3166.alpha2ToAlpha3(alpha2);
  if (code === undefined) continue;
  for (const name of [names].flat()) codesByName.set(simplify(name), code);
}
for (const [name, code] of Object.entries(otherCountryNames)) codesByName.set(name, code);

/** The alpha-3 code of a country by one of its English names, or undefined. */
export function findCountryByName(name: string): string | undefined {
  return codesByName.get(simplify(name));
}

/** "Iran (Islamic Republic of)" and "Iran, Islamic Republic of" are the same. */
function simplify(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/['’.]/g, '')
    .replaceAll(/[^\p{L}]+/gu, ' ')
    .trim();
}
