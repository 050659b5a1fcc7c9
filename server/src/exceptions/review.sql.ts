import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, type RowOf } from '../db/rows.ts';

/**
 * Payouts whose present attempt has been unknown for too long, or that could not be sent through their
 * present payer for so long; without those that are claimed.
 */
const pastLimit = defineQuery({
  name: 'list_payouts_past_limit',
  text: `
    select s.account_id, s.payout_id, l.rail, l.reference, l.state, l.reason, d.due_at, d.fence
    from payout_dispatches d
    join payout_states s on s.account_id = d.account_id and s.payout_id = d.payout_id
    join payout_quotes q on q.account_id = d.account_id and q.id = d.payout_id
    join lateral (
      select rail, payer_key, reference, state, reason, unknown_since from attempts a
      where a.account_id = d.account_id and a.payout_id = d.payout_id
      order by number desc limit 1
    ) l on l.rail = coalesce(s.rail, q.rail) and l.payer_key = coalesce(s.payer_key, q.payer_key)
    where d.due_at < 'infinity' and (d.lease_until is null or d.lease_until < clock_timestamp())
      and s.committed_at < (select environment_now()) - $1 * interval '1 millisecond'
      and (
        (l.unknown_since < (select environment_now()) - $1 * interval '1 millisecond'
          and (s.status = 'PROCESSING' or (s.status = 'READY_FOR_PICKUP' and not exists (
            select from exceptions e
            where e.account_id = s.account_id and e.payout_id = s.payout_id
              and e.kind = 'unknown_outcome' and e.closed_at is null))))
        or (s.status = 'PROCESSING' and l.state = 'retry' and (
          select min(a.started_at) from attempts a
          where a.account_id = d.account_id and a.payout_id = d.payout_id
            and a.rail = l.rail and a.payer_key = l.payer_key
        ) < (select environment_now()) - $1 * interval '1 millisecond')
      )
    limit 500`,
  columns: {
    account_id: column.uuid,
    payout_id: column.uuid,
    rail: column.text,
    reference: column.text,
    /** Of the attempt: `retry` if nothing was sent. */
    state: column.text,
    reason: column.text,
    due_at: column.instant,
    /** A claim since then outdates this row. */
    fence: column.bigint,
  },
});

/**
 * Opens an exception for each payout that has not ended after three times its announced duration, and
 * at least a day after the announced time. A dismissed one is opened again after a week.
 */
const openOverdueExceptions: Statement = {
  name: 'open_overdue',
  text: `
    with late as (
      select s.account_id, s.payout_id, coalesce(s.rail, q.rail) as rail, s.status,
        q.estimated_availability, q.destination_currency, q.destination_amount
      from payout_dispatches d
      join payout_states s on s.account_id = d.account_id and s.payout_id = d.payout_id
      join payout_quotes q on q.account_id = d.account_id and q.id = d.payout_id
      cross join lateral (select coalesce(q.ran_at, s.committed_at) as at) start
      where s.status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD')
        and (select environment_now()) > greatest(
          start.at + 3 * (q.estimated_availability - start.at),
          q.estimated_availability + interval '1 day')
        and not exists (
          select from exceptions e
          where e.account_id = s.account_id and e.payout_id = s.payout_id and (e.closed_at is null
            or (e.kind = 'overdue' and e.closed_at > (select environment_now()) - interval '7 days')))
      limit 500
    )
    select open_exception(account_id, payout_id, rail, 'overdue',
      status || ', announced for ' || to_char(estimated_availability at time zone 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
      destination_currency, destination_amount, environment_now())
    from late`,
};

export type PastLimitRow = RowOf<typeof pastLimit.columns>;

export async function listPastLimit(session: Session, limitMs: number): Promise<PastLimitRow[]> {
  return many(session, pastLimit, [limitMs]);
}

/** Returns how many were opened, 500 at most. */
export async function openOverdue(session: Session): Promise<number> {
  return exec(session, openOverdueExceptions);
}
