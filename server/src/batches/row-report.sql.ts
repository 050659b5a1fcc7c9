import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, type RowOf } from '../db/rows.ts';
import { rowFaults } from './file/file-row.ts';

/** Reads rows together with the payouts that they have become. */

export const rowStatuses = ['VALID', 'INVALID', 'REPEATED', 'COMMITTED', 'REFUSED'] as const;
export type RowStatus = (typeof rowStatuses)[number];

/** A valid row that the commit has passed is committed, although its record is unchanged. */
const presentOf = (batch: string) => `
  case when r.status = 'VALID' and r.number < ${batch}.next_row then 'COMMITTED' else r.status end`;
const present = presentOf('b');

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

/** What a batch has few of, and finds along an index of its own. */
const apart: readonly RowStatus[] = ['INVALID', 'REPEATED', 'REFUSED'];

/**
 * The page is read before anything is joined: otherwise the planner would join all rows of the batch and
 * sort them, for every page anew.
 */
const defineList = (name: string, condition: string, order: string) =>
  defineQuery({
    name,
    text: `
    with page as materialized (
      select r.*, b.next_row from batches b
      cross join lateral (
        select * from batch_rows r
        where r.account_id = b.account_id and r.batch_id = b.id and ${condition}
          -- One expression: the planner multiplies the selectivities of several, expects a handful of
          -- rows and sorts them.
          and case when ($5::text is null or ${present} = $5)
            and ($6::text is null or r.client_transfer_id = $6)
            and ($7::uuid is null or r.user_id = $7) then true else false end
        order by ${order} limit $4
      ) r
      where b.account_id = $1 and b.id = $2
    )
    select r.number, r.line, ${presentOf('r')} as status, r.client_transfer_id, r.user_id,
      r.source_currency, r.source_amount, r.fee, r.destination_token, r.destination_currency,
      r.destination_amount, r.exchange_rate, r.mid_rate, r.faults, p.payout_id,
      p.status as payout_status, p.status_reason, p.pickup_code, r.details, r.attr_set_id,
      v.created_at as details_stored_at, r.account_id, case when p.pickup_code <> '' then (
        select data_key from users u where u.account_id = r.account_id and u.id = r.user_id
      ) end as data_key
    from page r
    left join lateral (
      select * from payout_states where account_id = r.account_id and payout_id = r.payout_id
      offset 0
    ) p on r.number < r.next_row or r.status = 'REPEATED'
    left join lateral (
      select created_at from attribute_set_versions
      where account_id = r.account_id and set_id = r.attr_set_id and version = r.attr_version
      offset 0
    ) v on true
    order by r.number`,
    columns: reportColumns,
  });
const lists = {
  all: defineList('report_batch_rows', 'r.number > $3', 'r.number'),
  valid: defineList(
    'report_valid_batch_rows',
    'r.number > $3 and r.number >= b.next_row',
    'r.number',
  ),
  committed: defineList(
    'report_committed_batch_rows',
    'r.number > $3 and r.number < b.next_row',
    'r.number',
  ),
  apart: defineList(
    'report_batch_rows_apart',
    `r.status between $5 and $5 and (r.status, r.number) > ($5, $3)
      and r.status in ('INVALID', 'REPEATED', 'REFUSED')`,
    'r.status, r.number',
  ),
};

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
  return many(session, chooseList(status), values);
}

function chooseList(status: RowStatus | undefined) {
  if (status === undefined) return lists.all;
  if (apart.includes(status)) return lists.apart;
  return status === 'VALID' ? lists.valid : lists.committed;
}

/** The number of payouts of the batch by status. */
export async function countPayouts(
  session: Session,
  batch: { accountId: string; batchId: string; nextRow: number },
): Promise<{ status: string; count: number }[]> {
  const values = [batch.accountId, batch.batchId, batch.nextRow];
  return many(session, countPayoutsQuery, values);
}
