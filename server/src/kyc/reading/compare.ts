import { compareNames, type Likeness, transliterate } from './names.ts';
import { countChecks, isProven, type Zone } from './zone.ts';

/** What the reviewer sees: the fields of a zone beside what the client has given about the user. */

export type Recipient = {
  readonly firstName: string;
  readonly middleName: string;
  readonly lastName: string;
  /** YYYY-MM-DD, or "". */
  readonly dateOfBirth: string;
  /** ISO 3166-1 alpha-3. */
  readonly country: string;
  /** Document numbers that the client has given for destinations. */
  readonly documentNumbers: readonly string[];
};

export const comparedFields = [
  'surname',
  'given_names',
  'date_of_birth',
  'document_number',
  'issuing_state',
] as const;

export type Comparison = {
  readonly field: (typeof comparedFields)[number];
  /** `unknown`: one of the two says nothing about it. */
  readonly result: Likeness | 'unknown';
  readonly document: string;
  readonly user: string;
};

export type ReadDocument = {
  readonly format: Zone['format'];
  readonly document: {
    readonly code: string;
    readonly issuingState: string;
    readonly surname: string;
    readonly givenNames: string;
    readonly number: string;
    readonly nationality: string;
    readonly dateOfBirth: string;
    readonly sex: string;
    readonly expiresOn: string;
  };
  readonly isProven: boolean;
  readonly checks: Zone['checks'];
  readonly checksHeld: number;
  readonly isExpired: boolean;
  readonly comparisons: readonly Comparison[];
};

export function compareDocument(zone: Zone, recipient: Recipient, now: Date): ReadDocument {
  const dateOfBirth = readDate(zone.birthDate, now.getUTCFullYear());
  // No document is valid for as long as fifty years.
  const expiresOn = readDate(zone.expiryDate, now.getUTCFullYear() + 50);
  return {
    format: zone.format,
    document: {
      code: zone.documentCode,
      issuingState: zone.issuingState,
      surname: zone.surname,
      givenNames: zone.givenNames,
      number: zone.documentNumber,
      nationality: zone.nationality,
      dateOfBirth,
      sex: zone.sex,
      expiresOn,
    },
    isProven: isProven(zone),
    checks: zone.checks,
    checksHeld: countChecks(zone),
    isExpired: expiresOn !== '' && expiresOn < now.toISOString().slice(0, 10),
    comparisons: [...compareBothNames(zone, recipient), ...compareOthers(zone, recipient, now)],
  };
}

/** YYYY-MM-DD of a date in six digits, in the last century that begins before `yearMax`; or "". */
function readDate(text: string, yearMax: number): string {
  const [, year, month, day] = /^(\d\d)(\d\d)(\d\d)$/.exec(text) ?? [];
  if (year === undefined || month === undefined || day === undefined) return '';
  const century = Math.floor(yearMax / 100) * 100;
  const full = century + Number(year) <= yearMax ? century : century - 100;
  return `${full + Number(year)}-${month}-${day}`;
}

function compareBothNames(zone: Zone, recipient: Recipient): Comparison[] {
  // Names that fill the zone to its end were cut.
  const line = zone.lines[zone.format === 'TD1' ? 2 : 0] ?? '';
  const isCut = !line.endsWith('<');
  const given = [recipient.firstName, recipient.middleName].filter((name) => name !== '').join(' ');
  return [
    compareName('surname', { document: zone.surname, user: recipient.lastName, isCut }),
    compareName('given_names', { document: zone.givenNames, user: given, isCut }),
  ];
}

function compareName(
  field: 'surname' | 'given_names',
  { document, user, isCut }: { document: string; user: string; isCut: boolean },
): Comparison {
  const isKnown = document !== '' && transliterate(user) !== '';
  return {
    field,
    result: isKnown ? compareNames(document, user, isCut) : 'unknown',
    document,
    user,
  };
}

function compareOthers(zone: Zone, recipient: Recipient, now: Date): Comparison[] {
  const born = readDate(zone.birthDate, now.getUTCFullYear());
  const state = toCountry(zone.issuingState);
  const numbers = recipient.documentNumbers;
  const isSameNumber = numbers.some((one) => plain(one) === plain(zone.documentNumber));
  return [
    compareText('date_of_birth', born, recipient.dateOfBirth),
    {
      field: 'document_number',
      result: numbers.length === 0 ? 'unknown' : isSameNumber ? 'same' : 'different',
      document: zone.documentNumber,
      user: numbers.join(', '),
    },
    { ...compareText('issuing_state', state, recipient.country), document: zone.issuingState },
  ];
}

function compareText(field: Comparison['field'], document: string, user: string): Comparison {
  const isKnown = document !== '' && user !== '';
  const result = document === user ? 'same' : 'different';
  return { field, result: isKnown ? result : 'unknown', document, user };
}

const plain = (text: string): string => text.toUpperCase().replaceAll(/[^A-Z0-9]/g, '');

/** Codes of zones that ISO 3166-1 has under another (ICAO 9303-3, section 5). */
function toCountry(state: string): string {
  if (state === 'D') return 'DEU';
  return /^GB[DNOPS]$/.test(state) ? 'GBR' : state;
}
