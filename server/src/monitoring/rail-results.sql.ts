import { currencyScales } from '../core/currency.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, type RowOf } from '../db/rows.ts';
import { performanceColumns } from './overview.sql.ts';

/**
 * How rails did in exactly the last hours, by the time of the quote. The whole hours are counted
 * (`db/schema/payout-days.sql`); only the first, broken one is measured from its payouts. The clock is
 * volatile: asked for in a query of its own it bounds the scans of the indexes.
 */
const allAccounts = `'00000000-0000-0000-0000-000000000000'::uuid`;
const period = `
  with period as materialized (
    select since, date_trunc('hour', since, 'UTC') + interval '1 hour' as hour
    from (select environment_now() - $1 * interval '1 hour' as since) s
  ), broken as materialized (
    select r.* from period p
    cross join accounts a
    cross join lateral list_rail_results(a.id, p.since, p.hour, $2::jsonb) r
  )`;

export const railResultsQuery = defineQuery({
  name: 'list_rail_results',
  text: `
    ${period}, counted as (
      select rail, status, count, fee_bps, margin_bps, on_time, charged, quoted_cost_bps, cost_bps
      from rail_hours
      where account_id = ${allAccounts} and hour >= (select hour from period)
      union all
      select rail, status, 1, fee_bps, margin_bps, is_on_time::integer, (cost_bps is not null)::integer,
        coalesce(quoted_cost_bps, 0), coalesce(cost_bps, 0)
      from broken
    ), taken as (
      select rail, bucket, sum(count) as count
      from (
        select rail, bucket, count from rail_hour_seconds
        where account_id = ${allAccounts} and hour >= (select hour from period)
        union all
        select rail, bucket, 1 from broken where bucket is not null
      ) both_parts group by 1, 2
    ), ranked as (
      select rail, bucket, sum(count) over (partition by rail order by bucket) as up_to,
        sum(count) over (partition by rail) as total
      from taken
    ), medians as (
      -- The middle of the bucket in which half of them are reached.
      select rail, power(2, (min(bucket) + 0.5) / 4) - 1 as seconds
      from ranked where up_to * 2 >= total group by rail
    ), sums as (
      select rail, sum(count)::integer as committed,
        (coalesce(sum(count) filter (where status = 'COMPLETED'), 0))::integer as completed,
        (coalesce(sum(count) filter (where status = 'CANCELLED'), 0))::integer as canceled,
        sum(fee_bps) / sum(count) as fee_bps, sum(margin_bps) / sum(count) as margin_bps,
        -- One that came back was paid in time, and is not among those completed.
        (coalesce(sum(on_time) filter (where status = 'COMPLETED'), 0))::integer as on_time,
        sum(charged)::integer as charged,
        sum(quoted_cost_bps) / nullif(sum(charged), 0) as quoted_cost_bps,
        sum(cost_bps) / nullif(sum(charged), 0) as cost_bps
      from counted group by rail
    )
    select s.rail as key, s.committed, s.completed, s.canceled, m.seconds::float8 as median_seconds,
      s.fee_bps::float8, s.margin_bps::float8, s.on_time, s.charged,
      s.quoted_cost_bps::float8, s.cost_bps::float8
    from sums s left join medians m on m.rail = s.rail
    order by s.rail`,
  columns: {
    ...performanceColumns,
    /** Of those completed. */
    on_time: column.integer,
    /** Whose provider quoted a fee and reported a charge in the same currency. */
    charged: column.integer,
    quoted_cost_bps: nullable(column.float),
    cost_bps: nullable(column.float),
  },
});

export type RailResultsRow = RowOf<typeof railResultsQuery.columns>;

export const listRailResults = (session: Session, hours: number): Promise<RailResultsRow[]> =>
  many(session, railResultsQuery, [hours, currencyScales]);
