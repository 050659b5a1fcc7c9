import { type FieldName, type ParseResult, parse } from 'mrz';

/** Machine-readable zones of identity documents (ICAO 9303-4, -5 and -6) and their check digits. */

export const zoneFormats = ['TD1', 'TD2', 'TD3'] as const;
export type ZoneFormat = (typeof zoneFormats)[number];

const shapes: Readonly<Record<ZoneFormat, { lines: number; length: number }>> = {
  TD1: { lines: 3, length: 30 },
  TD2: { lines: 2, length: 36 },
  TD3: { lines: 2, length: 44 },
};

export const checkNames = [
  'document_number',
  'birth_date',
  'expiry_date',
  'personal_number',
  'composite',
] as const;
export type CheckName = (typeof checkNames)[number];

export type Zone = {
  readonly format: ZoneFormat;
  readonly lines: readonly string[];
  /** Texts as the document has them, fillers as spaces; "" where the zone has none. */
  readonly documentCode: string;
  readonly issuingState: string;
  readonly surname: string;
  readonly givenNames: string;
  readonly documentNumber: string;
  readonly nationality: string;
  /** YYMMDD. */
  readonly birthDate: string;
  readonly sex: string;
  /** YYMMDD. */
  readonly expiryDate: string;
  /** Whether each check digit holds; a document without a personal number has no digit for it. */
  readonly checks: Readonly<Partial<Record<CheckName, boolean>>>;
};

const checkFields: Readonly<Partial<Record<FieldName, CheckName>>> = {
  documentNumberCheckDigit: 'document_number',
  birthDateCheckDigit: 'birth_date',
  expirationDateCheckDigit: 'expiry_date',
  personalNumberCheckDigit: 'personal_number',
  compositeCheckDigit: 'composite',
};

/** Undefined for lines that have no form of ICAO 9303. Each line has capitals, digits and `<`. */
export function parseZone(lines: readonly string[]): Zone | undefined {
  const format = zoneFormats.find((name) => {
    const { lines: count, length } = shapes[name];
    return lines.length === count && lines.every((line) => line.length === length);
  });
  if (format === undefined || !lines.every((line) => /^[A-Z0-9<]+$/.test(line))) return undefined;
  // Corrects letters where only digits can be, and digits where only letters can be.
  const parsed = parse([...lines], { autocorrect: true });
  if (parsed.format !== format) return undefined;
  const corrected = correctLines(lines, parsed);
  const text = (field: FieldName): string => findText(parsed, corrected, field);
  const checks = parsed.details.flatMap(({ field, valid, value }) => {
    const name = field === null ? undefined : checkFields[field];
    const isAbsent = name === 'personal_number' && (value === '<' || text('personalNumber') === '');
    return name === undefined || isAbsent ? [] : [[name, valid] as const];
  });
  return {
    format,
    lines: corrected,
    documentCode: text('documentCode'),
    issuingState: text('issuingState'),
    surname: text('lastName'),
    givenNames: text('firstName'),
    documentNumber: parsed.documentNumber ?? text('documentNumber'),
    nationality: text('nationality'),
    birthDate: text('birthDate'),
    sex: text('sex'),
    expiryDate: text('expirationDate'),
    checks: Object.fromEntries(checks),
  };
}

/** As the zone has it where the parser knows no such value, as of a state. */
function findText({ details }: ParseResult, lines: readonly string[], field: FieldName): string {
  const detail = details.find((one) => one.field === field);
  if (detail === undefined) return '';
  const [{ line, start, end } = detail] = detail.ranges;
  const written = (lines[line] ?? '').slice(start, end).replaceAll('<', ' ').trim();
  return detail.value ?? written;
}

/** Whether every check digit of the zone holds, and all that a zone must have are there. */
export function isProven({ checks }: Zone): boolean {
  return (
    checks.document_number === true &&
    checks.birth_date === true &&
    checks.expiry_date === true &&
    checks.composite === true &&
    checks.personal_number !== false
  );
}

export function countChecks({ checks }: Zone): number {
  return Object.values(checks).filter((holds) => holds).length;
}

/** The lines with what the parser corrected, so that two readings of one zone are equal. */
function correctLines(lines: readonly string[], { details }: ParseResult): string[] {
  const characters = lines.map((line) => Array.from(line));
  for (const { line, column, corrected } of details.flatMap(({ autocorrect }) => autocorrect)) {
    const row = characters[line];
    if (row !== undefined) row[column] = corrected;
  }
  return characters.map((row) => row.join(''));
}

/** Characters that a reader adds at the edges of a line, or makes of fillers at its end. */
const slack = 6;

/**
 * The zone in the text of a page with the most check digits that hold. A line is cut at its edges, and
 * its trailing fillers are completed; nothing within it is changed.
 */
export function findZone(text: string): Zone | undefined {
  const lines = text.split('\n').map((line) => line.replaceAll(/[^A-Z0-9<]/g, ''));
  const zones = zoneFormats.flatMap((format) => findZones(lines, format));
  return zones.toSorted((a, b) => rateZone(b) - rateZone(a))[0];
}

/** Check digits first; then that the first character is one of a document's code. */
function rateZone(zone: Zone): number {
  return countChecks(zone) * 2 + (/^[PIAC]/.test(zone.documentCode) ? 1 : 0);
}

function findZones(lines: readonly string[], format: ZoneFormat): Zone[] {
  const { lines: count, length } = shapes[format];
  const near = lines.filter((line) => Math.abs(line.length - length) <= slack);
  return near.flatMap((_, index) => {
    const group = near.slice(index, index + count).map((line) => listFits(line, length));
    const zones = group.length < count ? [] : combine(group).map(parseZone);
    return zones.flatMap((zone) => (zone === undefined || countChecks(zone) === 0 ? [] : [zone]));
  });
}

/** What engines make of fillers now and then. */
const fillersAtEnd = /<<[<KCLES]*$/;

/** The ways in which a line can be one of exactly this length. */
function listFits(line: string, length: number): string[] {
  if (line.length === length) return [line];
  const end = line.search(fillersAtEnd);
  if (line.length < length) return end < 0 ? [] : [line.slice(0, end).padEnd(length, '<')];
  const starts = Array.from({ length: line.length - length + 1 }, (_, start) => start);
  return starts.map((start) => line.slice(start, start + length));
}

/** Every choice of one line from each place. */
function combine(places: readonly (readonly string[])[]): string[][] {
  return places.reduce<string[][]>(
    (chosen, lines) => chosen.flatMap((before) => lines.map((line) => [...before, line])),
    [[]],
  );
}
