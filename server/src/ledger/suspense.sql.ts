import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, type RowOf } from '../db/rows.ts';

/**
 * Suspense of each account and currency that is not zero, with the payouts whose amounts went through it, the
 * latest first and at most ten. `matching` counts all balances.
 */
const listed = defineQuery({
  name: 'list_suspense',
  text: `
    select l.account_id, a.name as account_name, l.currency, l.balance,
      array(
        select e.payout_id from exceptions e
        where e.account_id = l.account_id and e.currency = l.currency
          and (e.kind = 'excess_return' or e.resolution like 'write_off by %'
            or e.resolution = 'written back')
        group by e.payout_id order by max(coalesce(e.closed_at, e.opened_at)) desc limit 10
      ) as payout_ids,
      count(*) over ()::integer as matching
    from ledger_accounts l
    join accounts a on a.id = l.account_id
    where l.name = 'suspense' and l.balance <> 0 and ($1::uuid is null or l.account_id = $1)
    order by a.created_at, l.account_id, l.currency
    limit $2`,
  columns: {
    account_id: column.uuid,
    account_name: column.text,
    currency: column.text,
    balance: column.bigint,
    payout_ids: column.uuids,
    matching: column.integer,
  },
});

export type SuspenseRow = RowOf<typeof listed.columns>;

export function listSuspense(
  session: Session,
  { accountId, count }: { accountId: string | undefined; count: number },
): Promise<SuspenseRow[]> {
  return many(session, listed, [accountId ?? null, count]);
}
