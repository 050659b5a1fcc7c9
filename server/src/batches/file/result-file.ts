import type { Session } from '../../db/postgres/pool.ts';
import { listReportRows, type ReportRow } from '../row-report.sql.ts';

/** The result of a batch as a file, written row by row while it is read. */

/** A row as it is shown, field by field; texts, numbers as their text, and the faults. */
export type ShownRow = {
  readonly [field: string]: unknown;
  readonly faults: readonly { column: string; code: string; detail: string }[];
};

export type ResultOptions = {
  session: Session;
  accountId: string;
  batchId: string;
  format: 'csv' | 'ndjson';
  show: (row: ReportRow) => ShownRow;
};

const portionRows = 1000;

const columns = [
  'row',
  'line',
  'status',
  'client_transfer_id',
  'user_token',
  'source_currency_code',
  'source_amount',
  'fee',
  'exchange_rate',
  'destination_token',
  'destination_currency_code',
  'destination_amount',
  'payout_token',
  'payout_status',
  'status_reason',
  'pickup_code',
] as const;

/** After the faults, so that the columns before them keep their places. */
const laterColumns = ['details', 'attr_set_token', 'details_stored_on'] as const;

/** Portions of the file, each as long as a portion of rows. */
export async function* writeResult(options: ResultOptions): AsyncGenerator<string> {
  const { session, accountId, batchId, format, show } = options;
  if (format === 'csv') yield `${[...columns, 'faults', ...laterColumns].join(',')}\r\n`;
  let afterNumber = 0;
  for (;;) {
    const range = { accountId, batchId, afterNumber, count: portionRows, status: undefined };
    const rows = await listReportRows(session, range);
    const last = rows.at(-1);
    if (last === undefined) return;
    const write = format === 'csv' ? writeCsvRow : writeJsonRow;
    yield rows.map((row) => write(show(row))).join('');
    afterNumber = last.number;
  }
}

function writeJsonRow(row: ShownRow): string {
  return `${JSON.stringify(row)}\n`;
}

function writeCsvRow(row: ShownRow): string {
  const cells: string[] = columns.map((column) => writeCell(row[column]));
  const faults = row.faults.map(({ column, code, detail }) =>
    [column, code, detail].filter((part) => part !== '').join(': '),
  );
  cells.push(writeCell(faults.join(' | ')));
  cells.push(...laterColumns.map((column) => writeCell(row[column])));
  return `${cells.join(',')}\r\n`;
}

/** What a spreadsheet takes for the beginning of a formula; the wide forms count for some too. */
const formulaStart = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const plainNumber = /^-?\d+(?:\.\d+)?$/;
/** A semicolon and a tab separate cells as well, where a spreadsheet's language says so. */
const needsQuotes = /[",;\t\r\n']|^\s|\s$/;

/**
 * One cell (RFC 4180). A text that a spreadsheet would run as a formula gets an apostrophe before
 * it (OWASP, CSV Injection); a plain number stays a number. NDJSON has every value as it is.
 */
export function writeCell(value: unknown): string {
  const text = value === undefined || value === null ? '' : readText(value);
  const isFormula = formulaStart.test(text) && !plainNumber.test(text);
  const safe = isFormula ? `'${text}` : text;
  return needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function readText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? String(value) : (value as { text: string }).text;
}
