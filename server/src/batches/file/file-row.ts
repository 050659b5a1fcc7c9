import { AppError } from '../../core/errors.ts';
import type { ExactJson } from '../../core/exact-json.ts';

/** One row of a batch's file, and how a file is refused as a whole. */

export type FileFormat = 'csv' | 'ndjson' | 'json';

/** What is wrong with one row: the column that it is about, '' for the row as such. */
export type RowFault = { column: string; code: string; detail: string };

export type RowFields = { readonly [column: string]: ExactJson };

export type FileRow = {
  /** The line of the file on which the row begins; the header is line 1. */
  readonly line: number;
  /** Of a CSV file every value is a text, and an empty one is absent. */
  readonly fields: RowFields;
  /** That the row could not be read at all; then it has no fields. */
  readonly fault: RowFault | undefined;
  /** The row as it was written: what tells two uploads apart. */
  readonly source: string | Buffer;
};

export type FileLimits = { bytesMax: number; rowsMax: number; rowBytesMax: number };

export type FileReading = {
  limits: FileLimits;
  /** Column names that nobody knows, collected while rows are read. */
  ignored: Set<string>;
};

/** The fields of a payout's request, with two ways to name the user; beside them `metadata`. */
const columnNames: ReadonlySet<string> = new Set([
  'client_transfer_id',
  'user_token',
  'internal_user_id',
  'destination_token',
  'destination_currency_code',
  'source_currency_code',
  'source_amount',
  'destination_amount',
  'attr_set_token',
  'notify_user',
]);

export function isColumn(name: string): boolean {
  return columnNames.has(name);
}

/** How many rows are handed on at once. */
export const portionRows = 500;

/** The refusal of a whole file. */
export function refuseFile(code: string, detail: string): AppError {
  return new AppError('invalid_request', detail, { faults: [{ code, detail }] });
}

export function refuseLongRow(line: number, rowBytesMax: number): AppError {
  return refuseFile('row_too_long', `the row at line ${line} has more than ${rowBytesMax} bytes`);
}

const ignoredMax = 100;
const ignoredLengthMax = 100;

/** Remembers the name of a column that means nothing here, within bounds. */
export function ignoreColumn(ignored: Set<string>, name: string): void {
  if (ignored.size >= ignoredMax) return;
  const shown = name.toWellFormed().replaceAll(/\p{Cc}/gu, ' ');
  ignored.add(shown.slice(0, ignoredLengthMax).toWellFormed());
}
