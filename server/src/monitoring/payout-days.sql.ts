import { currencyScales } from '../core/currency.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, one } from '../db/rows.ts';

const behind = defineQuery({
  name: 'list_accounts_behind_in_days',
  text: `
    select a.id, count_events(a.id, coalesce(p.event_sequence, 0), a.event_sequence) as events
    from accounts a left join payout_day_progress p on p.account_id = a.id
    where a.event_sequence > coalesce(p.event_sequence, 0)
    order by p.counted_at nulls first limit $1`,
  columns: { id: column.uuid, events: column.bigint },
});

const count = defineQuery({
  name: 'count_payout_days',
  text: `select count_payout_days($1, $2, $3::jsonb) as is_counted`,
  columns: { is_counted: column.boolean },
});

/** Accounts with events that are not counted yet, and how many; those that wait longest first. */
export const listAccountsBehind = (session: Session, accountsMax: number) =>
  many(session, behind, [accountsMax]);

/** Counts the next events of an account; false where another process is counting. */
export async function countPayoutDays(
  session: Session,
  accountId: string,
  eventsMax: number,
): Promise<boolean> {
  return (await one(session, count, [accountId, eventsMax, currencyScales])).is_counted;
}
