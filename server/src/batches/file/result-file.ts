import { writeCell } from '../../core/csv.ts';
import { type ExactJson, JsonNumber } from '../../core/exact-json.ts';
import type { KeyRing } from '../../core/sealing.ts';
import type { Session } from '../../db/postgres/pool.ts';
import { writeBatchRow } from '../batches-view.ts';
import { findInputs, flattenInput, listInputColumns } from '../row-inputs.sql.ts';
import { listReportRows, type ReportRow } from '../row-report.sql.ts';
import { formulaStart, inputPrefix, type RowFields } from './file-row.ts';

/** The result of a batch as a file, written row by row while it is read. */

type ShownRow = ReturnType<typeof writeBatchRow>;

export type ResultOptions = {
  session: Session;
  keys: KeyRing;
  accountId: string;
  batchId: string;
  format: 'csv' | 'ndjson';
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

/** They follow the faults, because clients may read the earlier columns by position. */
const laterColumns = [
  'details',
  'attr_set_token',
  'details_stored_on',
  'mid_rate',
  'margin',
] as const;

/** The file in portions of rows. */
export async function* writeResult(options: ResultOptions): AsyncGenerator<string> {
  const { session, keys, accountId, batchId, format } = options;
  const inputColumns = format === 'csv' ? await listInputColumns(session, options) : [];
  if (format === 'csv') yield writeHeader(inputColumns);
  let afterNumber = 0;
  for (;;) {
    const range = { accountId, batchId, afterNumber, count: portionRows, status: undefined };
    const rows = await listReportRows(session, range);
    const last = rows.at(-1);
    if (last === undefined) return;
    const lastNumber = last.number;
    const place = { accountId, batchId, afterNumber, lastNumber };
    const inputs = await findInputs({ session, keys }, place);
    const write = (row: ReportRow): string => {
      const input = inputs.get(row.number) ?? {};
      const shown = writeBatchRow(row, keys);
      return format === 'csv'
        ? writeCsvRow(shown, flattenInput(input), inputColumns)
        : `${JSON.stringify({ ...shown, input })}\n`;
    };
    yield rows.map(write).join('');
    afterNumber = last.number;
  }
}

function writeHeader(inputColumns: readonly string[]): string {
  const names = inputColumns.map((name) => writeCell(`${inputPrefix}${name}`));
  return `${[...columns, 'faults', ...laterColumns, ...names].join(',')}\r\n`;
}

function writeCsvRow(row: ShownRow, input: RowFields, inputColumns: readonly string[]): string {
  const cells: string[] = columns.map((column) => writeCell(row[column]));
  const faults = row.faults.map(({ column, code, detail }) =>
    [column, code, detail].filter((part) => part !== '').join(': '),
  );
  cells.push(writeCell(faults.join(' | ')));
  cells.push(...laterColumns.map((column) => writeCell(row[column])));
  cells.push(...inputColumns.map((column) => writeInputCell(input[column])));
  return `${cells.join(',')}\r\n`;
}

/** A reader removes one apostrophe, so a text that has some of its own gets one more. */
function writeInputCell(value: ExactJson | undefined): string {
  if (value === undefined || value instanceof JsonNumber) return writeCell(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const isGuarded = text.startsWith("'") && formulaStart.test(text.replace(/^'+/, ''));
  return writeCell(isGuarded ? `'${text}` : text);
}
