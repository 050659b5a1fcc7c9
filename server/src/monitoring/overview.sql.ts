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

/** Stands for all accounts where payouts are counted by day. */
const allAccounts = '00000000-0000-0000-0000-000000000000';

/**
 * The clock is volatile: asked for in a query of its own it bounds the scan of the index, instead of
 * filtering all days. The account is a plain parameter: row-level security lets no `coalesce` into the
 * index, and the days of all accounts would be read.
 */
const since = `d.account_id = $1
  and d.day > (
    select ((environment_now() - $2 * interval '1 day') at time zone 'UTC')::date)`;

const byDay = defineQuery({
  name: 'overview_payouts_by_day',
  text: `
    select to_char(d.day, 'YYYY-MM-DD') as day, d.status, sum(d.count)::integer as count
    from payout_days d where ${since}
    group by 1, 2 order by 1, 2`,
  columns: { day: column.text, status: column.text, count: column.integer },
});

export const performanceColumns = {
  key: column.text,
  committed: column.integer,
  completed: column.integer,
  canceled: column.integer,
  median_seconds: nullable(column.float),
  fee_bps: nullable(column.float),
  margin_bps: nullable(column.float),
} as const;

/** By corridor or by rail. The margin is what the mid rate would have delivered beyond the quote. */
const definePerformance = (name: string, key: string) =>
  defineQuery({
    name,
    text: `
      with counted as (
        select ${key} as key, sum(d.count) as committed,
          coalesce(sum(d.count) filter (where d.status = 'COMPLETED'), 0) as completed,
          coalesce(sum(d.count) filter (where d.status = 'CANCELLED'), 0) as canceled,
          sum(d.fee_bps) / sum(d.count) as fee_bps, sum(d.margin_bps) / sum(d.count) as margin_bps
        from payout_days d where ${since}
        group by 1 order by 2 desc, 1 limit 500
      ), taken as (
        select ${key} as key, d.bucket, sum(d.count) as count
        from payout_day_seconds d where ${since}
        group by 1, 2
      ), ranked as (
        select key, bucket, sum(count) over (partition by key order by bucket) as up_to,
          sum(count) over (partition by key) as total
        from taken
      ), medians as (
        -- The middle of the bucket in which half of them are reached.
        select key, power(2, (min(bucket) + 0.5) / 4) - 1 as seconds
        from ranked where up_to * 2 >= total group by key
      )
      select c.key, c.committed::integer, c.completed::integer, c.canceled::integer,
        m.seconds::float8 as median_seconds, c.fee_bps, c.margin_bps
      from counted c left join medians m on m.key = c.key
      order by c.committed desc, c.key`,
    columns: performanceColumns,
  });

const corridors = definePerformance(
  'overview_corridors',
  "d.country || ' ' || d.delivery_type || ' ' || d.currency",
);
const rails = definePerformance('overview_rails', 'd.rail');

export const overviewCharts = { byDay, corridors, rails };

const needs = defineQuery({
  name: 'overview_needs',
  text: `
    select
      (select count(*)::integer from exceptions e where e.closed_at is null
        and ($1::uuid is null or e.account_id = $1)) as exceptions,
      (select count(*)::integer from approvals
        where ended_at is null and expires_at > clock_timestamp()) as approvals,
      (select count(*)::integer from (
        select from verification_sessions s
        where s.status in ('Submitted', 'Resubmitted', 'Review')
          and ($1::uuid is null or s.account_id = $1)
        limit 1000) counted) as identities,
      (select count(*)::integer from freezes where lifted_at is null) as freezes`,
  columns: {
    exceptions: column.integer,
    approvals: column.integer,
    identities: column.integer,
    freezes: column.integer,
  },
});

export type PerformanceRow = RowOf<typeof rails.columns>;
export type OverviewFilter = { accountId: string | undefined; days: number };

export async function selectOverview(session: Session, { accountId, days }: OverviewFilter) {
  const values = [accountId ?? allAccounts, days];
  return {
    balances: await many(session, balances, [accountId ?? null]),
    byDay: await many(session, overviewCharts.byDay, values),
    corridors: await many(session, overviewCharts.corridors, values),
    rails: await many(session, overviewCharts.rails, values),
    needs: await one(session, needs, [accountId ?? null]),
  };
}
