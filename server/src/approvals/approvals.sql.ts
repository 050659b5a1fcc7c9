import { plainArray } from '../db/arrays.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, maybeOne, nullable, one, type RowOf } from '../db/rows.ts';
import type { PayoutName } from '../payouts/payout-name.ts';

/** What rules look at, of payouts as they are quoted. */

const factColumns = {
  account_id: column.uuid,
  payout_id: column.uuid,
  user_id: column.uuid,
  source_currency: column.text,
  source_amount: column.bigint,
  source_token: column.uuid,
  destination_currency: column.text,
  country: column.text,
  delivery_type: column.text,
  rail: column.text,
  metadata: column.text,
  created_by: nullable(column.uuid),
  data_key: column.bytes,
  is_new_recipient: column.boolean,
} as const;
export type FactRow = RowOf<typeof factColumns>;

const facts = `
  q.account_id, q.id as payout_id, q.user_id, q.source_currency, q.source_amount, q.source_token,
  q.destination_currency, q.country, q.delivery_type, q.rail, q.metadata, q.created_by, u.data_key`;

/** A payout that was held for approval once is not judged again. */
const toJudge = defineQuery({
  name: 'list_payouts_to_approve',
  text: `
    select ${facts}, not exists (
      select from payout_quotes o
      join payout_states s on s.account_id = o.account_id and s.payout_id = o.id
      where o.account_id = q.account_id and o.user_id = q.user_id
        and s.completed_at is not null) as is_new_recipient
    from unnest($1::uuid[], $2::uuid[]) r (account_id, payout_id)
    join payout_quotes q on q.account_id = r.account_id and q.id = r.payout_id
    join users u on u.account_id = q.account_id and u.id = q.user_id
    where not exists (
      select from exceptions e
      where e.account_id = q.account_id and e.payout_id = q.id and e.kind = 'approval')`,
  columns: factColumns,
});

/** Committed payouts of the past, in the order of their quotes, with what was known at their commit. */
const past = defineQuery({
  name: 'list_past_payouts_to_approve',
  text: `
    select ${facts}, not exists (
      select from payout_quotes o
      join payout_states x on x.account_id = o.account_id and x.payout_id = o.id
      where o.account_id = q.account_id and o.user_id = q.user_id
        and x.completed_at < s.committed_at) as is_new_recipient,
      (extract(epoch from q.created_at) * 1000000)::bigint as created_us
    from payout_quotes q
    join payout_states s on s.account_id = q.account_id and s.payout_id = q.id
    join users u on u.account_id = q.account_id and u.id = q.user_id
    where q.account_id = $1 and q.created_at >= $2 and (q.created_at, q.id) >
      (timestamptz 'epoch' + $3::bigint * interval '1 microsecond', $4::uuid)
    order by q.created_at, q.id limit $5`,
  columns: { ...factColumns, created_us: column.bigint },
});

const nextExpiry = defineQuery({
  name: 'find_next_approval_expiry',
  text: `
    select expires_at from find_next_approval_expiry() where expires_at <= $1`,
  columns: { expires_at: nullable(column.instant) },
});

const expire = defineQuery({
  name: 'expire_approval',
  text: `select expire_approval() as is_found`,
  columns: { is_found: column.boolean },
});

export const selectPayoutsToApprove = (
  session: Session,
  payouts: readonly PayoutName[],
): Promise<FactRow[]> =>
  many(session, toJudge, [
    plainArray(payouts.map(({ accountId }) => accountId)),
    plainArray(payouts.map(({ payoutId }) => payoutId)),
  ]);

export type PastRow = RowOf<typeof past.columns>;

export const selectPastPayouts = (
  session: Session,
  page: { accountId: string; since: Date; after: { createdUs: bigint; id: string }; count: number },
): Promise<PastRow[]> =>
  many(session, past, [
    page.accountId,
    page.since,
    page.after.createdUs,
    page.after.id,
    page.count,
  ]);

/** When the next approval expires, up to a time; undefined: none does. */
export async function findNextExpiry(session: Session, until: Date): Promise<Date | undefined> {
  return (await maybeOne(session, nextExpiry, [until]))?.expires_at ?? undefined;
}

/** False where none has expired. */
export async function expireOneApproval(session: Session): Promise<boolean> {
  return (await one(session, expire, [])).is_found;
}
