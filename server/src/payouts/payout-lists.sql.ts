import type { Session, Statement } from '../db/pool.ts';
import { type PayoutRow, selectPayouts } from './payouts.sql.ts';

/**
 * Lists of payouts, newest first. Each statement is driven by one index, whatever its parameters
 * are; the other conditions filter what that index gives.
 */

/** The time of a payout as histories show it. */
const shownAt = 'coalesce(p.committed_at, p.created_at)';

const conditions = `
  and ($5::uuid is null or p.user_id = $5)
  and ($6::text is null or p.status = $6)
  and ($7::text is null or p.client_transfer_id = $7)
  and ($8::uuid is null or p.source_token = $8)
  and ($9::text is null or p.delivery_type = $9)
  and ($10::text is null or p.country = $10)
  and ($11::timestamptz is null or ${shownAt} >= $11)
  and ($12::timestamptz is null or ${shownAt} < $12)`;

function listStatement(name: string, driver: string, order = 'p.id desc'): Statement {
  return {
    name,
    text: `
      ${selectPayouts}
      where p.account_id = $1 ${driver} ${conditions}
      order by ${order} limit $3 offset $4`,
  };
}

const statements = {
  all: listStatement('list_payouts', 'and p.id < $2'),
  ofUser: listStatement('list_payouts_of_user', 'and p.id < $2 and p.user_id = $5'),
  ofTransfer: listStatement(
    'list_payouts_of_transfer',
    'and p.id < $2 and p.client_transfer_id = $7',
  ),
  /**
   * By the time of creation, because a payout of a batch got its id when the file was uploaded. A
   * commit comes less than a day after the creation: no quote holds longer.
   */
  ofTime: listStatement(
    'list_payouts_of_time',
    `and p.created_at >= coalesce($11::timestamptz, '-infinity') - interval '1 day'
      and p.created_at < coalesce($12::timestamptz, 'infinity')
      and (p.created_at, p.id) < (coalesce((
        select q.created_at from payout_quotes q where q.account_id = $1 and q.id = $2
      ), 'infinity'), $2)`,
    'p.created_at desc, p.id desc',
  ),
  /** Driven by the entries of the first hash, each of which must have all the others. */
  ofMetadata: listStatement(
    'search_payouts',
    `and p.id in (
      select m.payout_id from payout_metadata m
      where m.account_id = $1 and m.entry_hash = ($13::bytea[])[1] and m.payout_id < $2
        and not exists (
          select from unnest($13::bytea[]) other
          where not exists (
            select from payout_metadata o
            where o.account_id = $1 and o.entry_hash = other and o.payout_id = m.payout_id)))`,
  ),
};

/** Behind every identifier: where a list begins. */
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export type PayoutFilter = {
  /** Undefined in any of these: all of them. */
  userId?: string | undefined;
  status?: string | undefined;
  clientTransferId?: string | undefined;
  sourceToken?: string | undefined;
  deliveryType?: string | undefined;
  country?: string | undefined;
  /** Of the commit, or of the creation while there is none: from the first, before the second. */
  from?: Date | undefined;
  until?: Date | undefined;
  /** All of these metadata entries; none: every payout. */
  metadataHashes: readonly Buffer[];
};

export type PayoutRange = {
  accountId: string;
  beforeId: string | undefined;
  offset?: number;
  count: number;
};

export async function listPayoutRows(
  session: Session,
  range: PayoutRange,
  filter: PayoutFilter,
): Promise<PayoutRow[]> {
  const { accountId, beforeId = lastId, offset = 0, count } = range;
  const { metadataHashes } = filter;
  const values = [
    accountId,
    beforeId,
    count,
    offset,
    filter.userId ?? null,
    filter.status ?? null,
    filter.clientTransferId ?? null,
    filter.sourceToken ?? null,
    filter.deliveryType ?? null,
    filter.country ?? null,
    filter.from ?? null,
    filter.until ?? null,
  ];
  if (metadataHashes.length > 0) {
    return session.rows<PayoutRow>(statements.ofMetadata, [...values, metadataHashes]);
  }
  return session.rows<PayoutRow>(chooseStatement(filter), values);
}

function chooseStatement(filter: PayoutFilter): Statement {
  if (filter.clientTransferId !== undefined) return statements.ofTransfer;
  if (filter.userId !== undefined) return statements.ofUser;
  const isOfTime = filter.from !== undefined || filter.until !== undefined;
  return isOfTime ? statements.ofTime : statements.all;
}
