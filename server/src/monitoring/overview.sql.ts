import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, one, type RowOf } from '../db/rows.ts';

/** The numbers of the overview: money, payouts over time, how they went, and what needs a person. */

const balances = defineQuery({
  name: 'overview_balances',
  text: `
    select l.account_id, a.name as account_name, l.currency,
      coalesce(sum(l.balance) filter (where l.name = 'wallet'), 0)::bigint as available,
      coalesce(sum(l.balance) filter (where l.name = 'reserved'), 0)::bigint as reserved,
      coalesce(sum(l.balance) filter (where l.name like 'in\\_transit:%'), 0)::bigint
        as in_transit
    from ledger_accounts l join accounts a on a.id = l.account_id
    where $1::uuid is null or l.account_id = $1
    group by l.account_id, a.name, l.currency
    having bool_or(l.name = 'wallet')
      or sum(abs(l.balance)) filter (where l.name like 'in\\_transit:%') > 0
    order by a.name, l.account_id, l.currency limit 1000`,
  columns: {
    account_id: column.uuid,
    account_name: column.text,
    currency: column.text,
    available: column.bigint,
    reserved: column.bigint,
    in_transit: column.bigint,
  },
});

const since = `s.committed_at >= environment_now() - $2 * interval '1 day'
  and ($1::uuid is null or s.account_id = $1)`;

const byDay = defineQuery({
  name: 'overview_payouts_by_day',
  text: `
    select to_char(s.committed_at at time zone 'UTC', 'YYYY-MM-DD') as day, s.status,
      count(*)::integer as count
    from payout_states s where ${since}
    group by 1, 2 order by 1, 2`,
  columns: { day: column.text, status: column.text, count: column.integer },
});

/** By corridor or by rail. The margin is what the mid rate would have delivered beyond the quote. */
const definePerformance = (name: string, key: string) =>
  defineQuery({
    name,
    text: `
      select ${key} as key, count(*)::integer as committed,
        count(*) filter (where s.status = 'COMPLETED')::integer as completed,
        count(*) filter (where s.status = 'CANCELLED')::integer as canceled,
        percentile_cont(0.5) within group (order by
          extract(epoch from s.completed_at - s.committed_at))::float8 as median_seconds,
        (avg(q.fee * 10000 / q.source_amount::numeric))::float8 as fee_bps,
        (avg((1 - q.exchange_rate::numeric / nullif(q.mid_rate::numeric, 0)) * 10000))::float8
          as margin_bps
      from payout_states s
      join payout_quotes q on q.account_id = s.account_id and q.id = s.payout_id
      where ${since}
      group by 1 order by 2 desc, 1 limit 500`,
    columns: {
      key: column.text,
      committed: column.integer,
      completed: column.integer,
      canceled: column.integer,
      median_seconds: nullable(column.float),
      fee_bps: nullable(column.float),
      margin_bps: nullable(column.float),
    },
  });

const corridors = definePerformance(
  'overview_corridors',
  "q.country || ' ' || q.delivery_type || ' ' || q.destination_currency",
);
const rails = definePerformance('overview_rails', 'coalesce(s.rail, q.rail)');

const needs = defineQuery({
  name: 'overview_needs',
  text: `
    select
      (select count(*)::integer from exceptions e where e.closed_at is null
        and ($1::uuid is null or e.account_id = $1)) as exceptions,
      (select count(*)::integer from approvals
        where ended_at is null and expires_at > clock_timestamp()) as approvals,
      (select count(*)::integer from freezes where lifted_at is null) as freezes`,
  columns: {
    exceptions: column.integer,
    approvals: column.integer,
    freezes: column.integer,
  },
});

export type PerformanceRow = RowOf<typeof rails.columns>;
export type OverviewFilter = { accountId: string | undefined; days: number };

export const selectRailPerformance = (
  session: Session,
  { accountId, days }: OverviewFilter,
): Promise<PerformanceRow[]> => many(session, rails, [accountId ?? null, days]);

export async function selectOverview(session: Session, { accountId, days }: OverviewFilter) {
  const values = [accountId ?? null, days];
  return {
    balances: await many(session, balances, [accountId ?? null]),
    byDay: await many(session, byDay, values),
    corridors: await many(session, corridors, values),
    rails: await many(session, rails, values),
    needs: await one(session, needs, [accountId ?? null]),
  };
}
