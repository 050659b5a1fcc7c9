import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, one, type RowOf } from '../db/rows.ts';

/** Warns clients before their credentials expire: by an event, 30, 7 and 1 days before, once each. */

const dueQuery = defineQuery({
  name: 'list_due_expiry_warnings',
  text: `
    select c.account_id, c.id from credentials c
    where find_expiry_warning(c) is not null order by c.expires_at limit $1`,
  columns: { account_id: column.uuid, id: column.uuid },
});

const warnQuery = defineQuery({
  name: 'warn_of_expiry',
  text: 'select warn_of_expiry($1, $2) as is_warned',
  columns: { is_warned: column.boolean },
});

const measureColumns = { days: column.integer, count: column.integer };
export type ExpiryMeasureRow = RowOf<typeof measureColumns>;

const measureQuery = defineQuery({
  name: 'count_expiring_credentials',
  text: `
    select d.days, count(c.id)::integer as count
    from unnest(array[30, 7, 1]) d (days)
    left join credentials c on c.revoked_at is null and c.replaced_by is null
      and c.expires_at > (select environment_now())
      and c.expires_at <= (select environment_now()) + d.days * interval '1 day'
    group by d.days`,
  columns: measureColumns,
});

const portion = 100;

/** Writes the events that are due; true where there may be more. Each in a transaction of its own. */
export async function warnOfExpiries(session: Session): Promise<boolean> {
  const due = await many(session, dueQuery, [portion]);
  for (const { account_id: accountId, id } of due) await one(session, warnQuery, [accountId, id]);
  return due.length === portion;
}

/** How many credentials expire within 30, 7 and 1 days, without those that were replaced. */
export async function measureExpiries(session: Session): Promise<ExpiryMeasureRow[]> {
  return many(session, measureQuery);
}
