import { pipeline, Readable } from 'node:stream';
import { CsvError, type Parser, parse } from 'csv-parse';
import { createByteCollector } from '../../core/bounded-body.ts';
import { AppError, type Fault } from '../../core/errors.ts';
import type { ExactJson } from '../../core/exact-json.ts';
import {
  createSpelling,
  describeMeant,
  type FileReading,
  type FileRow,
  formulaStart,
  ignoreColumn,
  inputPrefix,
  portionRows,
  type RowColumns,
  type RowFault,
  refuseFile,
  refuseLongRow,
} from './file-row.ts';

/** Reads CSV (RFC 4180) with a header row, separated by commas or semicolons as the header is. */

type CsvRecord = { record: string[]; info: { lines: number } };

/** Whether a cell is a field of the row, an entry of its metadata, or neither. */
type Column = { name: string; field?: string; metadataKey?: string; isInput?: boolean };

/** @throws AppError invalid_request. */
export async function* readCsvRows(
  bytes: AsyncIterable<Buffer>,
  reading: FileReading,
): AsyncGenerator<FileRow[]> {
  const { rowBytesMax } = reading.limits;
  const iterator = bytes[Symbol.asyncIterator]();
  const head = await readHead(iterator, rowBytesMax);
  const delimiter = findDelimiter(head);
  const parser = parseRecords(joinBytes(head, iterator), delimiter, rowBytesMax);
  let columns: Column[] | undefined;
  let header = '';
  let rows: FileRow[] = [];
  try {
    for await (const { record, info } of parser as AsyncIterable<CsvRecord>) {
      if (columns === undefined) {
        columns = readHeader(record, reading);
        header = JSON.stringify(record);
        continue;
      }
      rows.push(readRecord(record, { columns, header, endLine: info.lines, delimiter }));
      // The header is content too, so it is part of the source of the first row.
      header = '';
      if (rows.length < portionRows) continue;
      yield rows;
      rows = [];
    }
  } catch (error) {
    throw explainFault(error, rowBytesMax);
  }
  yield rows;
}

/** Reads at least to the end of the first line. */
async function readHead(iterator: AsyncIterator<Buffer>, rowBytesMax: number): Promise<Buffer> {
  const collector = createByteCollector(Number.MAX_SAFE_INTEGER);
  for (let size = 0; size <= rowBytesMax; ) {
    const next = await iterator.next();
    if (next.done === true) return collector.take();
    collector.add(next.value);
    size += next.value.length;
    if (next.value.includes(10)) return collector.take();
  }
  throw refuseLongRow(1, rowBytesMax);
}

async function* joinBytes(
  head: Buffer,
  iterator: AsyncIterator<Buffer>,
): AsyncGenerator<Buffer, void> {
  try {
    if (head.length > 0) yield head;
    for (;;) {
      const next = await iterator.next();
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await iterator.return?.();
  }
}

function findDelimiter(head: Buffer): ',' | ';' {
  const [line = ''] = head.toString('utf8').split('\n', 1);
  const bare = line.replaceAll(/"[^"]*"/g, '');
  return bare.split(';').length > bare.split(',').length ? ';' : ',';
}

function parseRecords(
  bytes: AsyncIterable<Buffer>,
  delimiter: string,
  rowBytesMax: number,
): Parser {
  const parser = parse({
    delimiter,
    bom: true,
    info: true,
    record_delimiter: ['\r\n', '\n'],
    // Too few or too many cells are a fault of that row only.
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: rowBytesMax,
  });
  // Errors of the source come out of the parser, which the caller reads to its end.
  return pipeline(Readable.from(bytes, { objectMode: false }), parser, () => undefined);
}

/** @throws AppError invalid_request with every column that is missing, repeated or misspelled. */
function readHeader(
  record: readonly string[],
  { columns: known, ignored }: { columns: RowColumns; ignored: Set<string> },
): Column[] {
  const seen = new Set<string>();
  const unknown: string[] = [];
  const faults: Fault[] = [];
  const isResult = record.some(isInputColumn);
  const columns = record.map((cell): Column => {
    if (isResult && !isInputColumn(cell)) return { name: '' };
    const name = isResult ? cell.trim().slice(inputPrefix.length) : cell.trim();
    const metadataKey = /^metadata\.(.+)$/i.exec(name)?.[1];
    const field = metadataKey === undefined ? name.toLowerCase() : undefined;
    if (field !== undefined && !known.names.has(field)) {
      ignoreColumn(ignored, name);
      unknown.push(name);
      return { name, isInput: isResult };
    }
    const column = field ?? `metadata.${metadataKey}`;
    if (seen.has(column)) {
      const detail = `the header has the column ${shorten(column)} twice`;
      faults.push({ code: 'repeated_column', detail });
    }
    seen.add(column);
    const read = field === undefined ? { metadataKey: metadataKey ?? '' } : { field };
    return { name, isInput: isResult, ...read };
  });
  const spelling = createSpelling(known.names);
  for (const name of unknown) {
    const meant = spelling.findMeant(name, seen);
    if (meant === undefined) continue;
    faults.push({ code: 'unknown_member', detail: describeMeant(name, meant) });
  }
  for (const names of known.required) {
    if (names.some((name) => seen.has(name))) continue;
    const hint =
      record.length > 1
        ? ''
        : ': the file must be UTF-8, with commas or semicolons between columns';
    const detail = `the header has no column ${names.join(' or ')}${hint}`;
    faults.push({ code: 'missing_column', detail });
  }
  const [first] = faults;
  if (first !== undefined) throw new AppError('invalid_request', first.detail, { faults });
  return columns;
}

/** Of a result, which is read like the file that it came from. */
function isInputColumn(cell: string): boolean {
  return cell.trim().toLowerCase().startsWith(inputPrefix);
}

/** A result has an apostrophe before what a spreadsheet would run. */
function readCell(cell: string | undefined, isInput: boolean): string {
  if (cell === undefined) return '';
  const isGuarded = isInput && cell.startsWith("'") && formulaStart.test(cell.replace(/^'+/, ''));
  return isGuarded ? cell.slice(1) : cell;
}

function shorten(name: string): string {
  return name.slice(0, 100).toWellFormed();
}

function readRecord(
  record: readonly string[],
  context: { columns: readonly Column[]; header: string; endLine: number; delimiter: ',' | ';' },
): FileRow {
  const { columns, header, endLine, delimiter } = context;
  const source = header + JSON.stringify(record);
  // A quoted cell may span lines; the parser counts to the last one.
  const line = endLine - (source.includes('\\n') ? countLineEnds(record) : 0);
  const cells = columns.map(({ isInput }, index) => readCell(record[index], isInput === true));
  const named = columns.flatMap(({ name }, index) =>
    name === '' ? [] : [[name, cells[index] ?? ''] as const],
  );
  const input = Object.fromEntries(named);
  if (record.length !== columns.length) {
    const detail = `the row must have ${columns.length} cells as the header has, not ${record.length}`;
    const fault = { column: '', code: 'cell_count', detail } as const;
    return { line, fields: {}, input, fault, source };
  }
  const fields: { [name: string]: ExactJson } = {};
  let metadata: { [key: string]: ExactJson } | undefined;
  let fault: RowFault | undefined;
  for (let index = 0; index < columns.length; index += 1) {
    const cell = cells[index] ?? '';
    const { field, metadataKey } = columns[index] ?? {};
    if (cell === '') continue;
    // The parser replaces bytes that are not UTF-8 by this character.
    if (cell.includes('\ufffd')) fault ??= describeEncoding(field ?? `metadata.${metadataKey}`);
    if (delimiter === ';' && field?.endsWith('_amount') && isGrouped(cell)) {
      fault ??= describeGrouped(field, cell);
    }
    if (field !== undefined) fields[field] = cell;
    else if (metadataKey !== undefined) {
      metadata ??= Object.create(null) as { [key: string]: ExactJson };
      metadata[metadataKey] = cell;
    }
  }
  if (fault !== undefined) return { line, fields: {}, input, fault, source };
  if (metadata !== undefined) fields['metadata'] = metadata;
  return { line, fields, input, fault: undefined, source };
}

/**
 * Spreadsheets separate cells by semicolons where a comma is the decimal sign, and a point may then separate
 * thousands: 1.000 would pay a thousandth.
 */
const isGrouped = (amount: string): boolean => /^[1-9]\d{0,2}(?:\.\d{3})+$/.test(amount.trim());

function describeGrouped(column: string, amount: string): RowFault {
  const whole = amount.trim().replaceAll('.', '');
  const last = amount.lastIndexOf('.');
  const fraction = `${amount.slice(0, last).replaceAll('.', '')}${amount.slice(last).trim()}0`;
  return {
    column,
    code: 'amount_not_a_number',
    detail: `${column} can be read in two ways in a file with semicolons: write ${whole} or ${fraction}`,
  };
}

function describeEncoding(column: string): RowFault {
  return { column: shorten(column), code: 'invalid_encoding', detail: 'the value is not UTF-8' };
}

function countLineEnds(record: readonly string[]): number {
  return record.reduce((sum, cell) => sum + cell.split('\n').length - 1, 0);
}

const faultsOfCsv: Readonly<Record<string, string>> = {
  CSV_INVALID_CLOSING_QUOTE: 'a quote ends in the middle of a cell',
  INVALID_OPENING_QUOTE: 'a quote begins in the middle of a cell',
  CSV_QUOTE_NOT_CLOSED: 'a quote does not end',
};

/** After a broken quote the beginnings of rows are unknown, so the whole file is rejected. */
function explainFault(error: unknown, rowBytesMax: number): unknown {
  if (!(error instanceof CsvError)) return error;
  const line = Number(error['lines'] ?? 0);
  if (error.code === 'CSV_MAX_RECORD_SIZE') return refuseLongRow(line, rowBytesMax);
  const what = faultsOfCsv[error.code] ?? 'the file must be CSV';
  return refuseFile('malformed_csv', `${what}, at line ${line}`);
}
