import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, one, type RowOf } from '../db/rows.ts';

/** What payouts left in suspense and is not cleared, the latest first. `matching` counts all of them. */
const listed = defineQuery({
  name: 'list_suspense',
  text: `
    select p.account_id, a.name as account_name, q.user_id, p.payout_id, p.currency,
      sum(p.amount)::bigint as amount, max(p.at) as latest_at, count(*) over ()::integer as matching
    from suspense_parts p
    join accounts a on a.id = p.account_id
    join payout_quotes q on q.account_id = p.account_id and q.id = p.payout_id
    where $1::uuid is null or p.account_id = $1
    group by p.account_id, a.name, q.user_id, p.payout_id, p.currency
    having sum(p.amount) <> 0
    order by max(p.at) desc, p.payout_id
    limit $2`,
  columns: {
    account_id: column.uuid,
    account_name: column.text,
    user_id: column.uuid,
    payout_id: column.uuid,
    currency: column.text,
    /** Negative: written off. */
    amount: column.bigint,
    latest_at: column.instant,
    matching: column.integer,
  },
});

const ofPayout = defineQuery({
  name: 'find_suspense',
  text: `
    select q.destination_currency as currency, coalesce((
      select sum(amount)::bigint from suspense_parts
      where account_id = $1 and payout_id = $2 and currency = q.destination_currency
    ), 0) as amount
    from payout_quotes q where q.account_id = $1 and q.id = $2`,
  columns: { currency: column.text, amount: column.bigint },
});

export type SuspenseRow = RowOf<typeof listed.columns>;

export function listSuspense(
  session: Session,
  { accountId, count }: { accountId: string | undefined; count: number },
): Promise<SuspenseRow[]> {
  return many(session, listed, [accountId ?? null, count]);
}

/** What a payout that exists left in suspense, in the currency of its recipient. */
export function findSuspense(
  session: Session,
  { accountId, payoutId }: { accountId: string; payoutId: string },
): Promise<RowOf<typeof ofPayout.columns>> {
  return one(session, ofPayout, [accountId, payoutId]);
}
