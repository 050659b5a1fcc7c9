import iso3166 from 'i18n-iso-countries';

/** What a list says of one person or organisation, whatever form the list has. */
export type ListEntry = {
  /** The list's own number for it, which stays the same from version to version. */
  readonly entryId: string;
  readonly kind: 'person' | 'organisation';
  /** The first one is the name under which the list has it. */
  readonly names: readonly ListedName[];
  readonly births: readonly Birth[];
  /** ISO 3166-1 alpha-3: nationalities of a person, seats of an organisation. */
  readonly countries: readonly string[];
  readonly programmes: readonly string[];
  /** Wallet addresses of the entry, as the list has them: currency and address. */
  readonly wallets: readonly ListedWallet[];
};

/** `weak` is what the list itself calls a weak or low-quality alias: a nickname, a common name. */
export type NameQuality = 'primary' | 'alias' | 'weak';
export type ListedName = { readonly text: string; readonly quality: NameQuality };
export type ListedWallet = { readonly currency: string; readonly address: string };

/** Dates of birth are lists of possibilities, each a span of days (YYYY-MM-DD, both included). */
export type Birth = { readonly from: string; readonly to: string };

export type ParsedList =
  | {
      readonly ok: true;
      readonly entries: readonly ListEntry[];
      /** When the list was published (RFC 3339), where the file itself says so. */
      readonly publishedAt: string | null;
      /** Entries of kinds that nobody pays: ships and aircraft. */
      readonly skipped: number;
      /** Entries whose remarks the file cuts off: wallet addresses of theirs may be missing. */
      readonly cutOff: number;
      /** What looks as if the file were damaged and might yet be right; a person may accept it. */
      readonly doubts: readonly string[];
    }
  | { readonly ok: false; readonly fault: string };

/** A year apart is usual for births that are known roughly. */
export const roughYears = 2;

export function spanYears(from: number, to: number): Birth {
  return { from: `${pad(from, 4)}-01-01`, to: `${pad(to, 4)}-12-31` };
}

export function spanMonth(year: number, month: number): Birth {
  const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const prefix = `${pad(year, 4)}-${pad(month, 2)}`;
  return { from: `${prefix}-01`, to: `${prefix}-${pad(days, 2)}` };
}

export function formatDay(year: number, month: number, day: number): string {
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
}

function pad(value: number, digits: number): string {
  return String(value).padStart(digits, '0');
}

/** Names that lists use and the standard's English names do not contain. */
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
for (const [alpha2, names] of Object.entries(iso3166.getNames('en', { select: 'all' }))) {
  const code = iso3166.alpha2ToAlpha3(alpha2);
  if (code === undefined) continue;
  for (const name of names) codesByName.set(simplify(name), code);
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
