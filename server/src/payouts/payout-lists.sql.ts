import type { Session } from '../db/postgres/pool.ts';
import { defineQuery, many } from '../db/rows.ts';
import { type PayoutRow, payoutColumns, selectPayouts } from './payouts.sql.ts';

/**
 * Lists of payouts, newest first. Each statement reads along one index, whatever its parameters are;
 * the other conditions filter its rows. A plan for an unknown limit would sort all payouts of the
 * account: `offset 0` makes the planner read the page in the order of the index, and then its payouts
 * one by one.
 */

/** Greater than every identifier: where a list begins. */
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const shownAt = 'coalesce(s.committed_at, q.created_at)';

/**
 * One expression, because the planner multiplies the selectivities of separate ones: it would expect
 * a handful of rows, and sort them.
 */
const conditions = `
  and case when ($5::uuid is null or q.user_id = $5)
    and ($6::text is null or coalesce(s.status, 'PENDING') = $6)
    and ($7::text is null or q.client_transfer_id = $7)
    and ($8::uuid is null or q.source_token = $8)
    and ($9::text is null or q.delivery_type = $9)
    and ($10::text is null or q.country = $10)
    and ($11::timestamptz is null or ${shownAt} >= $11)
    and ($12::timestamptz is null or ${shownAt} < $12)
    and ($13::uuid is null or q.id = $13) then true else false end`;

type Driver = {
  /** A relation with the ids of payouts, which the list reads instead of all quotes. */
  from?: string;
  where?: string;
  order?: string;
};

function defineList(name: string, { from, where = '', order = 'id desc' }: Driver) {
  const quotes =
    from === undefined
      ? 'payout_quotes q'
      : `(${from}) driver
        cross join lateral (
          select * from payout_quotes where account_id = $1 and id = driver.id
          offset 0
        ) q`;
  return defineQuery({
    name,
    text: `
      with page as materialized (
        select ${from === undefined ? 'q.id' : 'driver.id'}, q.created_at, q.country, q.delivery_type
        from ${quotes}
        left join lateral (
          select status, committed_at from payout_states
          where account_id = q.account_id and payout_id = q.id
          offset 0
        ) s on true
        where q.account_id = $1 ${where} ${conditions}
        order by ${order} limit $3 offset $4
      )
      select payout.* from page
      cross join lateral (
        ${selectPayouts}
        where p.account_id = $1 and p.id = page.id
        offset 0
      ) payout
      order by ${order.replaceAll(/\b(id|created_at|country|delivery_type)\b/g, 'page.$1')}`,
    columns: payoutColumns,
  });
}

const before = 'and q.id < $2';

/**
 * Along the index of a column. A range of one value, because the planner leaves a constant out of the
 * order: it would walk all payouts of an account that pays into one country, looking for another.
 */
const ofValue = (name: string, value: string): Driver => ({
  where: `and q.${name} between ${value} and ${value} and (q.${name}, q.id) < (${value}, $2)`,
  order: `${name} desc, id desc`,
});

/** One for each index. */
export const payoutLists = {
  all: defineList('list_payouts', { where: before }),
  one: defineList('list_payouts_of_token', { where: `${before} and q.id = $13` }),
  ofUser: defineList('list_payouts_of_user', { where: `${before} and q.user_id = $5` }),
  ofTransfer: defineList('list_payouts_of_transfer', {
    where: `${before} and q.client_transfer_id = $7`,
  }),
  ofCountry: defineList('list_payouts_of_country', ofValue('country', '$10')),
  ofDeliveryType: defineList('list_payouts_of_delivery_type', ofValue('delivery_type', '$9')),
  /** Committed and not ended: such a payout is in a queue or has an open exception. */
  open: defineList('list_open_payouts', {
    from: `
      select distinct id from (
        select payout_id as id from payout_dispatches where account_id = $1 and payout_id < $2
        union all
        select payout_id from payout_schedules
        where account_id = $1 and payout_id < $2 and due_at is not null
        union all
        select payout_id from exceptions
        where account_id = $1 and payout_id < $2 and closed_at is null
      ) waiting
      order by id desc`,
  }),
  cancelled: defineList('list_cancelled_payouts', {
    from: `
      select distinct id from (
        select payout_id as id from ledger_journals
        where account_id = $1 and payout_id < $2 and kind in ('refund', 'return')
        union all
        select payout_id from payout_schedules
        where account_id = $1 and payout_id < $2 and ended_at is not null
      ) cancelled
      order by id desc`,
  }),
  committed: defineList('list_committed_payouts', {
    from: `
      select payout_id as id from payout_states where account_id = $1 and payout_id < $2`,
  }),
  /**
   * By the time of creation, because a payout of a batch gets its id when the file is uploaded. A
   * commit follows less than a day after the creation: no quote is valid for longer. Bounds by `case`:
   * row-level security lets no `coalesce` into the index, because it does not know it to keep secrets.
   */
  ofTime: defineList('list_payouts_of_time', {
    where: `
      and q.created_at >= case when $11::timestamptz is null then '-infinity'::timestamptz
        else $11 - interval '1 day' end
      and q.created_at < case when $12::timestamptz is null then 'infinity'::timestamptz
        else $12 end
      and (q.created_at, q.id) < (case when $2 = '${lastId}'::uuid then 'infinity'::timestamptz
        else (select l.created_at from payout_quotes l where l.account_id = $1 and l.id = $2) end,
        $2)`,
    order: 'created_at desc, id desc',
  }),
  /** Along the entries of the first hash, each of which must have all the others. */
  ofMetadata: defineList('search_payouts', {
    where: `and q.id in (
      select m.payout_id from payout_metadata m
      where m.account_id = $1 and m.entry_hash = ($14::bytea[])[1] and m.payout_id < $2
        and not exists (
          select from unnest($14::bytea[]) other
          where not exists (
            select from payout_metadata o
            where o.account_id = $1 and o.entry_hash = other and o.payout_id = m.payout_id)))`,
  }),
};

export type PayoutFilter = {
  /** An undefined filter matches every payout. */
  payoutId?: string | undefined;
  userId?: string | undefined;
  status?: string | undefined;
  clientTransferId?: string | undefined;
  sourceToken?: string | undefined;
  deliveryType?: string | undefined;
  country?: string | undefined;
  /** When it was committed, or created while it is not: from (inclusive) until (exclusive). */
  from?: Date | undefined;
  until?: Date | undefined;
  /** All of them must match. */
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
  const values: unknown[] = [
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
    filter.payoutId ?? null,
  ];
  if (metadataHashes.length > 0) values.push(metadataHashes);
  return many(session, chooseList(filter), values);
}

function chooseList(filter: PayoutFilter) {
  if (filter.metadataHashes.length > 0) return payoutLists.ofMetadata;
  if (filter.payoutId !== undefined) return payoutLists.one;
  if (filter.clientTransferId !== undefined) return payoutLists.ofTransfer;
  if (filter.userId !== undefined) return payoutLists.ofUser;
  if (filter.from !== undefined || filter.until !== undefined) return payoutLists.ofTime;
  if (filter.status === 'CANCELLED') return payoutLists.cancelled;
  const isCommitted = filter.status !== undefined && filter.status !== 'PENDING';
  if (isCommitted && filter.status !== 'COMPLETED') return payoutLists.open;
  if (filter.country !== undefined) return payoutLists.ofCountry;
  if (filter.deliveryType !== undefined) return payoutLists.ofDeliveryType;
  return isCommitted ? payoutLists.committed : payoutLists.all;
}
