import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, maybeOne, nullable, one, type RowOf } from '../db/rows.ts';
import { cursorValues, microseconds, startOf, type TimePage } from '../db/time-page.ts';
import type { PayoutName } from '../payouts/payout-name.ts';
import { unfinishedStatuses, unfinishedStatusList } from '../payouts/payout-states.ts';

/** Payouts that have not ended, as operators look for them. */

export { unfinishedStatuses };

/** `which`: a condition for the rows of what is open. */
const writeText = (which: string): string => `
  with open as (
    select account_id, payout_id from payout_dispatches
    where ${which}
    union
    select account_id, payout_id from exceptions
    where closed_at is null and payout_id is not null and ${which}
  ), described as (
    select p.account_id, p.id as payout_id, p.status, p.rail, p.payer_key, p.country,
      p.delivery_type, p.destination_currency, p.destination_amount, p.committed_at,
      p.estimated_availability, extract(epoch from environment_now() - p.committed_at)::float8
        as age_seconds,
      d.tries, nullif(d.due_at, 'infinity') as due_at, coalesce(f.scope, '') as frozen_by,
      coalesce(l.state, '') as attempt_state, coalesce(l.reason, '') as attempt_reason,
      array(select e.kind from exceptions e
        where e.account_id = p.account_id and e.payout_id = p.id and e.closed_at is null
        order by e.opened_at) as exceptions
    from open o
    -- One by one: a join would read all payouts.
    cross join lateral (
      select * from payouts where account_id = o.account_id and id = o.payout_id
      offset 0
    ) p
    left join payout_dispatches d on d.account_id = p.account_id and d.payout_id = p.id
    left join freezes f on f.id = d.frozen_by
    left join lateral (
      select state, reason from attempts a
      where a.account_id = p.account_id and a.payout_id = p.id
      order by number desc limit 1
    ) l on true
    where p.status in (${unfinishedStatusList})
      and ($1::uuid is null or p.account_id = $1)
      and ($2::text is null or p.rail = $2)
      and ($3::text is null or p.status = $3)
      and ($4::float8 is null
        or p.committed_at <= (select environment_now()) - $4 * interval '1 second')
  ), judged as (
    select *, frozen_by <> '' or status in ('HOLD', 'ERROR') or cardinality(exceptions) > 0
      or (select environment_now()) > estimated_availability
      or status = 'PROCESSING' and attempt_state not in ('accepted', 'paid')
        and age_seconds > 900 as is_stuck
    from described
  )
  select *, ${microseconds('committed_at')} as committed_us from (
    select *, count(*) over ()::integer as matching from judged where is_stuck or not $5
  ) matched
  where (committed_at, payout_id) > (${startOf('$7', 'asc')}, $8::uuid)
  order by committed_at, payout_id
  limit $6`;

const columns = {
  account_id: column.uuid,
  payout_id: column.uuid,
  status: column.oneOf(...unfinishedStatuses),
  rail: column.text,
  payer_key: column.text,
  country: column.text,
  delivery_type: column.text,
  destination_currency: column.text,
  destination_amount: column.bigint,
  committed_at: column.instant,
  estimated_availability: column.instant,
  age_seconds: column.float,
  tries: nullable(column.integer),
  due_at: nullable(column.instant),
  /** The scope of the freeze; "" if none holds it. */
  frozen_by: column.text,
  attempt_state: column.text,
  attempt_reason: column.text,
  exceptions: column.texts,
  is_stuck: column.boolean,
  /** Of all that match the filters. */
  matching: column.integer,
  committed_us: column.bigint,
};

const listed = defineQuery({
  name: 'list_unfinished_payouts',
  text: writeText('true'),
  columns,
});
const found = defineQuery({
  name: 'find_unfinished_payout',
  text: writeText('(account_id, payout_id) = ($1::uuid, $9::uuid)'),
  columns,
});

const totals = defineQuery({
  name: 'read_status_totals',
  text: `
    select environment_now() as now,
      (select count(*)::integer from accounts) as accounts,
      (select count(*)::integer from batches where status = 'COMMITTING') as batches_committing`,
  columns: {
    now: column.instant,
    accounts: column.integer,
    batches_committing: column.integer,
  },
});

export type UnfinishedFilter = {
  accountId?: string | undefined;
  rail?: string | undefined;
  status?: UnfinishedStatus | undefined;
  olderThanSeconds?: number | undefined;
  isStuck?: boolean;
};
export type UnfinishedStatus = (typeof unfinishedStatuses)[number];
export type UnfinishedPayoutRow = RowOf<typeof listed.columns>;

/** The oldest first. */
export async function listUnfinishedRows(
  session: Session,
  { accountId, rail, status, olderThanSeconds, isStuck = false }: UnfinishedFilter,
  { after, count }: TimePage,
): Promise<UnfinishedPayoutRow[]> {
  return many(session, listed, [
    accountId ?? null,
    rail ?? null,
    status ?? null,
    olderThanSeconds ?? null,
    isStuck,
    count,
    ...cursorValues(after),
  ]);
}

/** Undefined where it has ended, or nothing is known that it waits for. */
export async function findUnfinishedRow(
  session: Session,
  { accountId, payoutId }: PayoutName,
): Promise<UnfinishedPayoutRow | undefined> {
  return maybeOne(session, found, [accountId, null, null, null, false, 1, null, null, payoutId]);
}

export async function readTotals(session: Session): Promise<RowOf<typeof totals.columns>> {
  return one(session, totals);
}
