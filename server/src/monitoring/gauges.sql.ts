import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, type RowOf } from '../db/rows.ts';

/** The SQL of the gauges. */

/** The longest that a scrape may use a connection; after it the last values stay. */
const limitStatement: Statement = {
  name: 'limit_gauges',
  text: `set local statement_timeout = 5000`,
};

const unfinishedColumns = {
  rail: column.text,
  status: column.text,
  count: column.integer,
  /** Payouts whose next step is due now. */
  due: column.integer,
  /** Payouts that wait for another try. */
  backing_off: column.integer,
  oldest_seconds: column.float,
  /** How long the first of those that are due has waited; 0 if none is. */
  lag_seconds: column.float,
};
export type UnfinishedRow = RowOf<typeof unfinishedColumns>;

/**
 * Unfinished payouts: those with a dispatch, and those with only an open exception. A payout backs off
 * when it could not be sent or its rail gave no clear answer, and it will be tried again; an accepted
 * one does not.
 */
const unfinishedQuery = defineQuery({
  name: 'count_unfinished_payouts',
  text: `
    with now as materialized (
      select environment_now() as at
    ), open as (
      select d.account_id, d.payout_id, d.rail, d.due_at, d.due_at <= now.at as is_due,
        d.due_at > now.at and (d.faults > 0 or d.tries > 0 and not exists (
          select from attempts a
          where a.account_id = d.account_id and a.payout_id = d.payout_id
            and a.state in ('accepted', 'paid'))) as is_backing_off
      from payout_dispatches d cross join now
      union all
      select e.account_id, e.payout_id, max(e.rail), null, false, false
      from exceptions e
      where e.closed_at is null and e.payout_id is not null and not exists (
        select from payout_dispatches d
        where d.account_id = e.account_id and d.payout_id = e.payout_id)
      group by e.account_id, e.payout_id
    )
    select open.rail, s.status, count(*)::integer as count,
      (count(*) filter (where is_due))::integer as due,
      (count(*) filter (where is_backing_off))::integer as backing_off,
      extract(epoch from max(now.at) - min(s.committed_at))::float8 as oldest_seconds,
      coalesce(extract(epoch from max(now.at) - min(open.due_at) filter (where is_due)),
        0)::float8 as lag_seconds
    from open
    -- One by one: a join would read the states of all payouts.
    cross join lateral (
      select status, committed_at from payout_states
      where account_id = open.account_id and payout_id = open.payout_id
      offset 0
    ) s
    cross join now
    where s.status not in ('COMPLETED', 'CANCELLED')
    group by open.rail, s.status`,
  columns: unfinishedColumns,
});

const exceptionColumns = {
  kind: column.text,
  count: column.integer,
  oldest_seconds: column.float,
};
export type OpenExceptionsRow = RowOf<typeof exceptionColumns>;

const exceptionsQuery = defineQuery({
  name: 'count_open_exceptions',
  text: `
    select kind, count(*)::integer as count,
      extract(epoch from environment_now() - min(opened_at))::float8 as oldest_seconds
    from exceptions where closed_at is null
    group by kind`,
  columns: exceptionColumns,
});

const freezeColumns = {
  scope: column.text,
  count: column.integer,
  /** Payouts that wait for their end. */
  waiting: column.integer,
};
export type FreezeMeasureRow = RowOf<typeof freezeColumns>;

const freezesQuery = defineQuery({
  name: 'count_freezes',
  text: `
    select f.scope, count(*)::integer as count, coalesce(sum(d.waiting), 0)::integer as waiting
    from freezes f
    cross join lateral (
      select count(*) as waiting from payout_dispatches where frozen_by = f.id
    ) d
    where f.lifted_at is null
    group by f.scope`,
  columns: freezeColumns,
});

export async function countFreezes(session: Session): Promise<FreezeMeasureRow[]> {
  return many(session, freezesQuery);
}

export async function limitGauges(session: Session): Promise<void> {
  await exec(session, limitStatement);
}

export async function countUnfinished(session: Session): Promise<UnfinishedRow[]> {
  return many(session, unfinishedQuery);
}

export async function countOpenExceptions(session: Session): Promise<OpenExceptionsRow[]> {
  return many(session, exceptionsQuery);
}
