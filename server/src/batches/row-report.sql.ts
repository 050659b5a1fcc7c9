import type { Session, Statement } from '../db/postgres/pool.ts';

/** Rows as they are shown: with the payout that they have become. */

export const rowStatuses = ['VALID', 'INVALID', 'REPEATED', 'COMMITTED', 'REFUSED'] as const;
export type RowStatus = (typeof rowStatuses)[number];

/** A valid row that the commit has passed is committed, without having been written again. */
const present = `
  case when r.status = 'VALID' and r.number < b.next_row then 'COMMITTED' else r.status end`;

const listText: Statement = {
  name: 'report_batch_rows',
  text: `
    select r.number, r.line, ${present} as status, r.client_transfer_id, r.user_id,
      r.source_currency, r.source_amount, r.fee, r.destination_token, r.destination_currency,
      r.destination_amount, r.exchange_rate, r.faults, p.payout_id,
      p.status as payout_status, p.status_reason, p.pickup_code, r.details, r.attr_set_id,
      v.created_at as details_stored_at
    from batches b
    join batch_rows r on r.account_id = b.account_id and r.batch_id = b.id
    left join payout_states p on p.account_id = r.account_id and p.payout_id = r.payout_id
      and (r.number < b.next_row or r.status = 'REPEATED')
    left join attribute_set_versions v on v.account_id = r.account_id
      and v.set_id = r.attr_set_id and v.version = r.attr_version
    where b.account_id = $1 and b.id = $2 and r.number > $3
      and ($5::text is null or ${present} = $5)
    order by r.number limit $4`,
};

const countPayoutsText: Statement = {
  name: 'count_batch_payouts',
  text: `
    select p.status, count(*)::integer as count
    from batch_rows r
    join payout_states p on p.account_id = r.account_id and p.payout_id = r.payout_id
    where r.account_id = $1 and r.batch_id = $2 and r.number < $3
      and r.status in ('VALID', 'COMMITTED')
    group by p.status order by p.status`,
};

export type ReportRow = {
  number: number;
  line: number;
  status: RowStatus;
  client_transfer_id: string | null;
  user_id: string | null;
  source_currency: string | null;
  source_amount: bigint | null;
  fee: bigint | null;
  destination_token: string | null;
  destination_currency: string | null;
  destination_amount: bigint | null;
  exchange_rate: string | null;
  faults: string | null;
  payout_id: string | null;
  payout_status: string | null;
  status_reason: string | null;
  pickup_code: string | null;
  details: 'row' | 'stored' | null;
  attr_set_id: string | null;
  details_stored_at: Date | null;
};

export type ReportRange = {
  accountId: string;
  batchId: string;
  afterNumber: number;
  count: number;
  /** Undefined: all of them. */
  status: RowStatus | undefined;
};

export async function listReportRows(session: Session, range: ReportRange): Promise<ReportRow[]> {
  const { accountId, batchId, afterNumber, count, status } = range;
  const values = [accountId, batchId, afterNumber, count, status ?? null];
  return session.rows<ReportRow>(listText, values);
}

/** How many payouts of the batch have which status. */
export async function countPayouts(
  session: Session,
  batch: { accountId: string; batchId: string; nextRow: number },
): Promise<{ status: string; count: number }[]> {
  const values = [batch.accountId, batch.batchId, batch.nextRow];
  return session.rows<{ status: string; count: number }>(countPayoutsText, values);
}
