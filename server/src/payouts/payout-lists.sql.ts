import type { Session, Statement } from '../db/postgres/pool.ts';
import { type PayoutRow, selectPayouts } from './payouts.sql.ts';

/**
 * Lists of payouts, newest first. Each statement is driven by one index, whatever its parameters
 * are; the other conditions filter what that index gives. A plan for an unknown limit would sort all
 * payouts of the account, so that `offset 0` makes each look-up one by itself: the page is read in
 * the order of the index, and then its payouts one by one.
 */

/** The time of a payout as histories show it. */
const shownAt = 'coalesce(s.committed_at, q.created_at)';

/**
 * In one expression, because the planner multiplies what it guesses of each: it would take a list of
 * any account for a handful of rows, and sort them.
 */
const conditions = `
  and case when ($5::uuid is null or q.user_id = $5)
    and ($6::text is null or coalesce(s.status, 'PENDING') = $6)
    and ($7::text is null or q.client_transfer_id = $7)
    and ($8::uuid is null or q.source_token = $8)
    and ($9::text is null or q.delivery_type = $9)
    and ($10::text is null or q.country = $10)
    and ($11::timestamptz is null or ${shownAt} >= $11)
    and ($12::timestamptz is null or ${shownAt} < $12) then true else false end`;

function listStatement(name: string, driver: string, order = 'id desc'): Statement {
  return {
    name,
    text: `
      with page as materialized (
        select q.id, q.created_at from payout_quotes q
        left join lateral (
          select status, committed_at from payout_states
          where account_id = q.account_id and payout_id = q.id
          offset 0
        ) s on true
        where q.account_id = $1 ${driver} ${conditions}
        order by ${order} limit $3 offset $4
      )
      select payout.* from page
      cross join lateral (
        ${selectPayouts}
        where p.account_id = $1 and p.id = page.id
        offset 0
      ) payout
      order by ${order.replaceAll(/\b(id|created_at)\b/g, 'page.$1')}`,
  };
}

/** One per driving index; exported for the test of their plans. */
export const listStatements = {
  all: listStatement('list_payouts', 'and q.id < $2'),
  ofUser: listStatement('list_payouts_of_user', 'and q.id < $2 and q.user_id = $5'),
  ofTransfer: listStatement(
    'list_payouts_of_transfer',
    'and q.id < $2 and q.client_transfer_id = $7',
  ),
  /**
   * By the time of creation, because a payout of a batch got its id when the file was uploaded. A
   * commit comes less than a day after the creation: no quote holds longer.
   */
  ofTime: listStatement(
    'list_payouts_of_time',
    `and q.created_at >= coalesce($11::timestamptz, '-infinity') - interval '1 day'
      and q.created_at < coalesce($12::timestamptz, 'infinity')
      and (q.created_at, q.id) < (coalesce((
        select l.created_at from payout_quotes l where l.account_id = $1 and l.id = $2
      ), 'infinity'), $2)`,
    'created_at desc, id desc',
  ),
  /** Driven by the entries of the first hash, each of which must have all the others. */
  ofMetadata: listStatement(
    'search_payouts',
    `and q.id in (
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
    return session.rows<PayoutRow>(listStatements.ofMetadata, [...values, metadataHashes]);
  }
  return session.rows<PayoutRow>(chooseStatement(filter), values);
}

function chooseStatement(filter: PayoutFilter): Statement {
  if (filter.clientTransferId !== undefined) return listStatements.ofTransfer;
  if (filter.userId !== undefined) return listStatements.ofUser;
  const isOfTime = filter.from !== undefined || filter.until !== undefined;
  return isOfTime ? listStatements.ofTime : listStatements.all;
}
