import type { Api, Payout } from '../api/client.ts';
import { writeCsvLine } from '../format/csv.ts';
import { download } from '../ui/download.ts';
import type { PayoutFilters } from './payout-search.ts';

/** More than this many rows are a report; statements and batches' results have no such bound. */
export const exportRowsMax = 10_000;

const columns = [
  'payout_token',
  'client_transfer_id',
  'user_token',
  'status',
  'reason_code',
  'source_amount',
  'fee',
  'total_debit',
  'source_currency_code',
  'destination_amount',
  'destination_currency_code',
  'exchange_rate',
  'country_code',
  'delivery_type',
  'payer_name',
  'network',
  'rail_reference',
  'created_at',
  'committed_at',
  'completed_at',
  'canceled_at',
] as const satisfies readonly (keyof Payout)[];

/**
 * Saves the view as CSV, with amounts as the API writes them. Returns whether the file has all payouts of
 * the view, or the newest `exportRowsMax`.
 */
export async function exportPayouts(api: Api, filters: PayoutFilters): Promise<boolean> {
  const lines = [writeCsvLine(columns)];
  let cursor: string | undefined;
  do {
    const query = { ...filters, number_of_records: 1000, cursor };
    const page = await api.readPage<Payout>('/payout', query);
    for (const payout of page.rows) {
      lines.push(writeCsvLine(columns.map((column) => String(payout[column]))));
    }
    cursor = page.next;
  } while (cursor !== undefined && lines.length <= exportRowsMax);
  download(lines.join(''), { name: 'payouts.csv', type: 'text/csv;charset=utf-8' });
  return cursor === undefined;
}
