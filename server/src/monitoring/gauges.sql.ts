import type { Session, Statement } from '../db/postgres/pool.ts';

/** What the gauges show of a database: how much waits, how long, and for whom. */

/** A scrape must not keep a connection for longer; then the last values stay. */
const limitText: Statement = {
  name: 'limit_gauges',
  text: `set local statement_timeout = 5000`,
};

/**
 * Unfinished payouts: those with a dispatch, and those that wait for a person without one. A payout
 * backs off when it cannot be sent, or its rail gave no clear answer, and it will be tried again
 * later; one that its rail has accepted does not.
 */
const unfinishedText: Statement = {
  name: 'count_unfinished_payouts',
  text: `
    with now as materialized (
      select environment_now() as at
    ), open as (
      select d.account_id, d.payout_id, d.rail, d.due_at <= now.at as is_due,
        d.due_at > now.at and (d.faults > 0 or d.tries > 0 and not exists (
          select from attempts a
          where a.account_id = d.account_id and a.payout_id = d.payout_id
            and a.state in ('accepted', 'paid'))) as is_backing_off
      from payout_dispatches d cross join now
      union all
      select e.account_id, e.payout_id, max(e.rail), false, false
      from exceptions e
      where e.closed_at is null and e.payout_id is not null and not exists (
        select from payout_dispatches d
        where d.account_id = e.account_id and d.payout_id = e.payout_id)
      group by e.account_id, e.payout_id
    )
    select open.rail, s.status, count(*)::integer as count,
      (count(*) filter (where is_due))::integer as due,
      (count(*) filter (where is_backing_off))::integer as backing_off,
      extract(epoch from max(now.at) - min(s.committed_at))::float8 as oldest_seconds
    from open
    join payout_states s on s.account_id = open.account_id and s.payout_id = open.payout_id
    cross join now
    where s.status not in ('COMPLETED', 'CANCELLED')
    group by open.rail, s.status`,
};

const exceptionsText: Statement = {
  name: 'count_open_exceptions',
  text: `
    select kind, count(*)::integer as count,
      extract(epoch from environment_now() - min(opened_at))::float8 as oldest_seconds
    from exceptions where closed_at is null
    group by kind`,
};

export type UnfinishedRow = {
  rail: string;
  status: string;
  count: number;
  /** Of these, what is due now, and what cannot be sent at present and waits for its next try. */
  due: number;
  backing_off: number;
  oldest_seconds: number;
};

export type OpenExceptionsRow = { kind: string; count: number; oldest_seconds: number };

export async function limitGauges(session: Session): Promise<void> {
  await session.rows(limitText);
}

export async function countUnfinished(session: Session): Promise<UnfinishedRow[]> {
  return session.rows(unfinishedText);
}

export async function countOpenExceptions(session: Session): Promise<OpenExceptionsRow[]> {
  return session.rows(exceptionsText);
}
