import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, type RowOf } from '../db/rows.ts';
import { rowFaults } from './file/file-row.ts';

/** Reads rows together with the payouts that they have become. */

export const rowStatuses = ['VALID', 'INVALID', 'REPEATED', 'COMMITTED', 'REFUSED'] as const;
export type RowStatus = (typeof rowStatuses)[number];

/** A valid row that the commit has passed is committed, although its record is unchanged. */
const present = `
  case when r.status = 'VALID' and r.number < b.next_row then 'COMMITTED' else r.status end`;

const reportColumns = {
  number: column.integer,
  line: column.integer,
  status: column.oneOf(...rowStatuses),
  client_transfer_id: nullable(column.text),
  user_id: nullable(column.uuid),
  source_currency: nullable(column.text),
  source_amount: nullable(column.bigint),
  fee: nullable(column.bigint),
  destination_token: nullable(column.uuid),
  destination_currency: nullable(column.text),
  destination_amount: nullable(column.bigint),
  exchange_rate: nullable(column.text),
  mid_rate: nullable(column.text),
  faults: nullable(column.jsonText(rowFaults)),
  payout_id: nullable(column.uuid),
  payout_status: nullable(column.text),
  status_reason: nullable(column.text),
  pickup_code: nullable(column.text),
  /** Of a recipient with a pickup code. */
  data_key: nullable(column.bytes),
  account_id: column.uuid,
  details: nullable(column.oneOf('row', 'stored')),
  attr_set_id: nullable(column.uuid),
  details_stored_at: nullable(column.instant),
};
export type ReportRow = RowOf<typeof reportColumns>;

const listQuery = defineQuery({
  name: 'report_batch_rows',
  text: `
    select r.number, r.line, ${present} as status, r.client_transfer_id, r.user_id,
      r.source_currency, r.source_amount, r.fee, r.destination_token, r.destination_currency,
      r.destination_amount, r.exchange_rate, r.mid_rate, r.faults, p.payout_id,
      p.status as payout_status, p.status_reason, p.pickup_code, r.details, r.attr_set_id,
      v.created_at as details_stored_at, r.account_id, case when p.pickup_code <> '' then (
        select data_key from users u where u.account_id = r.account_id and u.id = r.user_id
      ) end as data_key
    from batches b
    join batch_rows r on r.account_id = b.account_id and r.batch_id = b.id
    left join payout_states p on p.account_id = r.account_id and p.payout_id = r.payout_id
      and (r.number < b.next_row or r.status = 'REPEATED')
    left join attribute_set_versions v on v.account_id = r.account_id
      and v.set_id = r.attr_set_id and v.version = r.attr_version
    where b.account_id = $1 and b.id = $2 and r.number > $3
      and ($5::text is null or ${present} = $5)
      and ($6::text is null or r.client_transfer_id = $6) and ($7::uuid is null or r.user_id = $7)
    order by r.number limit $4`,
  columns: reportColumns,
});

const countPayoutsQuery = defineQuery({
  name: 'count_batch_payouts',
  text: `
    select p.status, count(*)::integer as count
    from batch_rows r
    join payout_states p on p.account_id = r.account_id and p.payout_id = r.payout_id
    where r.account_id = $1 and r.batch_id = $2 and r.number < $3
      and r.status in ('VALID', 'COMMITTED')
    group by p.status order by p.status`,
  columns: { status: column.text, count: column.integer },
});

export type ReportRange = {
  accountId: string;
  batchId: string;
  afterNumber: number;
  count: number;
  /** Undefined filters match every row. */
  status: RowStatus | undefined;
  clientTransferId?: string | undefined;
  userId?: string | undefined;
};

export async function listReportRows(session: Session, range: ReportRange): Promise<ReportRow[]> {
  const { accountId, batchId, afterNumber, count, status } = range;
  const { clientTransferId = null, userId = null } = range;
  const values = [accountId, batchId, afterNumber, count, status ?? null, clientTransferId, userId];
  return many(session, listQuery, values);
}

/** The number of payouts of the batch by status. */
export async function countPayouts(
  session: Session,
  batch: { accountId: string; batchId: string; nextRow: number },
): Promise<{ status: string; count: number }[]> {
  const values = [batch.accountId, batch.batchId, batch.nextRow];
  return many(session, countPayoutsQuery, values);
}
