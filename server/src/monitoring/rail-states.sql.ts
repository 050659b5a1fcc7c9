import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, type RowOf } from '../db/rows.ts';

/** What the database knows of rails: contacts, unanswered payouts, inbound problems, amounts to send. */

const stateQuery = defineQuery({
  name: 'list_rail_states',
  text: `
    with unanswered as (
      select a.rail, min(a.started_at) as since
      from payout_dispatches d
      join attempts a on a.account_id = d.account_id and a.payout_id = d.payout_id
        and a.state in ('sending', 'unknown', 'accepted')
      group by a.rail
    ), unresolved as (
      select rail, count(*)::integer as count,
        (count(*) filter (where kind = 'unmatched'))::integer as unmatched
      from exceptions
      where closed_at is null
        and kind in ('unmatched', 'unreadable', 'not_understood', 'report_missing',
          'report_changed')
      group by rail
    ), refused as (
      select rail, sum(count)::integer as count from rail_refusals
      where hour > (select clock_timestamp() - interval '1 day')
      group by rail
    )
    select coalesce(c.rail, n.rail, x.rail, f.rail) as rail, c.reported_at,
      n.since as oldest_unanswered_at, coalesce(x.count, 0) as unresolved_inbound,
      coalesce(x.unmatched, 0) as unmatched_inbound, coalesce(f.count, 0) as refused_callbacks
    from rail_contacts c
    full join unanswered n on n.rail = c.rail
    full join unresolved x on x.rail = coalesce(c.rail, n.rail)
    full join refused f on f.rail = coalesce(c.rail, n.rail, x.rail)`,
  columns: {
    rail: column.text,
    reported_at: nullable(column.instant),
    oldest_unanswered_at: nullable(column.instant),
    unresolved_inbound: column.integer,
    unmatched_inbound: column.integer,
    refused_callbacks: column.integer,
  },
});

/** Amounts of payouts that were not handed over yet, and of those that are scheduled for a day. */
const needQuery = defineQuery({
  name: 'list_rail_needs',
  text: `
    select p.rail, p.payer_key, p.destination_currency as currency, false as is_scheduled,
      count(*)::integer as count, sum(p.destination_amount)::text as amount
    from payout_dispatches d
    join payouts p on p.account_id = d.account_id and p.id = d.payout_id
    where p.status in ('PROCESSING', 'HOLD') and not exists (
      select from attempts a
      where a.account_id = d.account_id and a.payout_id = d.payout_id
        and a.state in ('sending', 'unknown', 'accepted', 'paid'))
    group by p.rail, p.payer_key, p.destination_currency
    union all
    select q.rail, q.payer_key, q.destination_currency, true, count(*)::integer,
      sum(q.destination_amount)::text
    from payout_schedules x
    join payout_quotes q on q.account_id = x.account_id and q.id = x.payout_id
    where x.due_at is not null and q.runs_at <= (select environment_now()) + interval '1 day'
    group by q.rail, q.payer_key, q.destination_currency`,
  columns: {
    rail: column.text,
    payer_key: column.text,
    currency: column.text,
    is_scheduled: column.boolean,
    count: column.integer,
    /** Minor units. */
    amount: column.text,
  },
});

export const listRailStates = (session: Session) => many(session, stateQuery);

export type RailNeedRow = RowOf<typeof needQuery.columns>;
export const listRailNeeds = (session: Session): Promise<RailNeedRow[]> => many(session, needQuery);
