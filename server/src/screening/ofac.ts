import { Readable } from 'node:stream';
import { parse } from 'csv-parse';
import { inSlices, textInSlices } from '../core/slices.ts';
import {
  bankCode,
  type DateOfBirth,
  findCountryByName,
  formatDay,
  type ListEntry,
  type ListedName,
  type ListedWallet,
  type ParsedList,
  roughYears,
  spanMonth,
  spanYears,
} from './list-entry.ts';

/**
 * The list of Specially Designated Nationals of the US Treasury (OFAC) as CSV: `sdn.csv` with an entry
 * per line, `alt.csv` with further names. There is no header, `-0-` marks an empty field, and the
 * files end with the control character SUB. Weak aliases, dates of birth, nationalities and wallet
 * addresses are in the remarks. `sdn.csv` truncates remarks at 1,000 characters, even within a word,
 * and `sdn_comments.csv` has the rest.
 */

const sdnColumns = 12;
const altColumns = 5;
const commentColumns = 2;
const remarksLengthMax = 1_000;
const endMark = '\u001A';
/** Both take about a millisecond. */
const sliceLength = 16_384;
const sliceRows = 50;

type SdnColumns = {
  number: number;
  name: number;
  type: number;
  programmes: number;
  remarks: number;
};
const sdn: SdnColumns = { number: 0, name: 1, type: 2, programmes: 3, remarks: 11 };
const alt = { name: 3 };
const comment = { rest: 1 };

/** Without `comments`, truncated remarks of `sdn.csv` stay incomplete. */
export type OfacFiles = {
  readonly sdn: string;
  readonly alt: string;
  readonly comments?: string;
};

export async function parseOfac(files: OfacFiles): Promise<ParsedList> {
  const entryRows = await readRows(files.sdn, 'sdn.csv', sdnColumns);
  if (!entryRows.ok) return entryRows;
  const aliasRows = await readRows(files.alt, 'alt.csv', altColumns);
  if (!aliasRows.ok) return aliasRows;
  const commentRows =
    files.comments === undefined
      ? undefined
      : await readRows(files.comments, 'sdn_comments.csv', commentColumns);
  if (commentRows?.ok === false) return commentRows;
  const aliases = groupByEntry(aliasRows.rows, alt.name);
  const rests = groupByEntry(commentRows?.rows ?? [], comment.rest);
  const entries: ListEntry[] = [];
  const numbers = new Set<string>();
  let [skipped, cutOff] = [0, 0];
  for await (const row of eachOf(entryRows.rows)) {
    const number = row[sdn.number] ?? '';
    if (numbers.has(number)) return fail(`sdn.csv: duplicate entry ${quote(number)}`);
    numbers.add(number);
    const rest = rests.get(number)?.join('') ?? '';
    const first = row[sdn.remarks] ?? '';
    // Not trimmed, because a space at the cut belongs to the text.
    const remarks = clear(first) === '' ? rest : first + rest;
    const entry = readEntry(row, aliases.get(number) ?? [], remarks);
    if (entry === undefined) skipped += 1;
    else entries.push(entry);
    if (entry !== undefined && rest === '' && remarks.length >= remarksLengthMax) cutOff += 1;
  }
  const warnings = [...entryRows.warnings, ...aliasRows.warnings, ...(commentRows?.warnings ?? [])];
  const orphans = [...aliases.keys()].filter((number) => !numbers.has(number)).length;
  if (orphans > 0) {
    warnings.push(
      `alt.csv names ${orphans} entries that sdn.csv does not have; are both of the same day?`,
    );
  }
  return { ok: true, entries, publishedAt: null, skipped, cutOff, warnings };
}

async function* eachOf<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  for await (const slice of inSlices(items, sliceRows)) yield* slice;
}

function groupByEntry(
  rows: readonly (readonly string[])[],
  column: number,
): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const row of rows) {
    const number = row[0] ?? '';
    groups.set(number, [...(groups.get(number) ?? []), row[column] ?? '']);
  }
  return groups;
}

type Rows =
  | { ok: true; rows: readonly (readonly string[])[]; warnings: readonly string[] }
  | { ok: false; fault: string };

async function readRows(text: string, file: string, columns: number): Promise<Rows> {
  const end = text.indexOf(endMark);
  const body = end < 0 ? text : text.slice(0, end);
  if (end >= 0 && text.slice(end + 1).trim() !== '') {
    return fail(`${file}: data follows the end mark`);
  }
  // A truncated file has neither the mark nor, usually, an end of line.
  if (end < 0 && !body.endsWith('\n')) return fail(`${file} is truncated within a line`);
  const warnings = end < 0 ? [`${file} has no end mark and may be truncated`] : [];
  const rows: string[][] = [];
  try {
    const parser = parse({
      bom: true,
      relax_column_count: false,
      skip_empty_lines: true,
      max_record_size: 100_000,
      // A space follows each `-0-`.
      trim: true,
    });
    const lines = Readable.from(textInSlices(body, sliceLength)).pipe(parser);
    for await (const row of lines as AsyncIterable<string[]>) rows.push(row);
  } catch (error) {
    return fail(`${file} must be CSV: ${String(error).slice(0, 200)}`);
  }
  for (const [index, row] of rows.entries()) {
    if (row.length !== columns || !/^\d{1,9}$/.test(row[0] ?? '')) {
      return fail(
        `${file}: line ${index + 1} must have ${columns} columns and begin with an entry number`,
      );
    }
  }
  if (rows.length === 0) return fail(`${file} is empty`);
  return { ok: true, rows, warnings };
}

function readEntry(
  row: readonly string[],
  aliases: readonly string[],
  remarksText: string,
): ListEntry | undefined {
  const type = clear(row[sdn.type]);
  if (type === 'vessel' || type === 'aircraft') return undefined;
  const kind = type === 'individual' ? 'person' : 'organisation';
  const remarks = readRemarks(remarksText);
  const arrange = (text: string): string => (kind === 'person' ? arrangePerson(text) : text);
  const names: ListedName[] = [
    { text: arrange(clear(row[sdn.name])), quality: 'primary' },
    ...aliases.map((text) => ({ text: arrange(clear(text)), quality: 'alias' as const })),
    ...remarks.weakAliases.map((text) => ({ text: arrange(text), quality: 'weak' as const })),
  ];
  return {
    entryId: row[sdn.number] ?? '',
    kind,
    names: names.filter(({ text }) => text !== ''),
    births: remarks.births,
    countries: remarks.countries,
    // Several programmes are written `A] [B`.
    programmes: clear(row[sdn.programmes])
      .split(/\]\s*\[/)
      .filter((programme) => programme !== ''),
    wallets: remarks.wallets,
  };
}

function clear(field: string | undefined): string {
  const text = (field ?? '').trim();
  return text === '-0-' ? '' : text;
}

/** "FAMILY NAMES, Given Names" in the usual order. */
function arrangePerson(text: string): string {
  const [family = '', ...given] = text.split(',');
  return `${given.join(' ')} ${family}`.trim();
}

type Remarks = {
  births: DateOfBirth[];
  countries: string[];
  weakAliases: string[];
  wallets: ListedWallet[];
};

/** Remarks are statements separated by semicolons, with a full stop at the end. */
function readRemarks(text: string): Remarks {
  const remarks: Remarks = { births: [], countries: [], weakAliases: [], wallets: [] };
  for (const statement of text.trim().replace(/\.$/, '').split(';')) {
    const remark = statement.trim().replace(/^alt\.\s+/i, '');
    const weak = /^a\.k\.a\.\s+'(.+)'\.?$/.exec(remark)?.[1];
    if (weak !== undefined) remarks.weakAliases.push(weak);
    const birth = /^DOB\s+(\S.*)$/.exec(remark)?.[1];
    const span = birth === undefined ? undefined : readBirth(birth);
    if (span !== undefined) remarks.births.push(span);
    const country = /^(?:nationality|citizen)\s+(\S.*)$/.exec(remark)?.[1];
    const code = country === undefined ? undefined : findCountryByName(country);
    if (code !== undefined && !remarks.countries.includes(code)) remarks.countries.push(code);
    const [, currency, address] =
      /^Digital Currency Address - ([A-Z0-9]{1,12}):? ([0-9A-Za-z:]{20,120})$/.exec(remark) ?? [];
    if (currency !== undefined && address !== undefined)
      remarks.wallets.push({ currency, address });
    const bic = /^SWIFT\/BIC ([A-Z0-9]{8}(?:[A-Z0-9]{3})?)$/.exec(remark)?.[1];
    if (bic !== undefined) remarks.wallets.push({ currency: bankCode, address: bic });
  }
  return remarks;
}

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** `12 Aug 1965`, `Aug 1965` or `1965`, perhaps after `circa`, or two of them joined by `to`. */
function readBirth(text: string): DateOfBirth | undefined {
  const isRough = /^circa\s/i.test(text);
  const parts = text.replace(/^circa\s+/i, '').split(/\sto\s|(?<=\d{4})-(?=\d{4})/);
  const [first, last = first] = [parts[0], parts[1]].map((part) =>
    part === undefined ? undefined : readDate(part.trim()),
  );
  if (first === undefined || last === undefined) return undefined;
  if (!isRough) return { from: first.from, to: last.to };
  const [from, to] = [Number(first.from.slice(0, 4)), Number(last.to.slice(0, 4))];
  return spanYears(from - roughYears, to + roughYears);
}

function readDate(text: string): DateOfBirth | undefined {
  const [, day, monthName, yearText] =
    /^(?:(?:(\d{1,2}) )?([A-Z][a-z]{2}) )?(\d{4})$/.exec(text) ?? [];
  if (yearText === undefined) return undefined;
  const year = Number(yearText);
  if (monthName === undefined) return spanYears(year, year);
  const month = months.indexOf(monthName) + 1;
  if (month === 0) return undefined;
  if (day === undefined) return spanMonth(year, month);
  const date = formatDay(year, month, Number(day));
  return { from: date, to: date };
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 40));
}

function fail(fault: string): { ok: false; fault: string } {
  return { ok: false, fault: `not a usable SDN list: ${fault}` };
}
