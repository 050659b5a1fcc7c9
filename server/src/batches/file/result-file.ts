import { writeCell } from '../../core/csv.ts';
import type { Session } from '../../db/postgres/pool.ts';
import { writeBatchRow } from '../batches-view.ts';
import { listReportRows } from '../row-report.sql.ts';

/** The result of a batch as a file, written row by row while it is read. */

type ShownRow = ReturnType<typeof writeBatchRow>;

export type ResultOptions = {
  session: Session;
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
const laterColumns = ['details', 'attr_set_token', 'details_stored_on'] as const;

/** The file in portions of rows. */
export async function* writeResult(options: ResultOptions): AsyncGenerator<string> {
  const { session, accountId, batchId, format } = options;
  if (format === 'csv') yield `${[...columns, 'faults', ...laterColumns].join(',')}\r\n`;
  let afterNumber = 0;
  for (;;) {
    const range = { accountId, batchId, afterNumber, count: portionRows, status: undefined };
    const rows = await listReportRows(session, range);
    const last = rows.at(-1);
    if (last === undefined) return;
    const write = format === 'csv' ? writeCsvRow : writeJsonRow;
    yield rows.map((row) => write(writeBatchRow(row))).join('');
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
