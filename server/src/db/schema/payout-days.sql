-- Payouts counted by the day of their quote (UTC), for the overview: it must not read a million payouts
-- for each look. A day of an account is counted anew when one of its payouts has changed.

create table payout_days (
  -- The nil account: of all accounts.
  account_id uuid not null,
  day date not null,
  country text not null,
  delivery_type text not null,
  currency text not null,
  rail text not null,
  status text not null,
  count bigint not null,
  -- Sums over the payouts, in hundredths of a percent of the source amount: the fee, and how far the
  -- quoted rate is below the mid rate.
  fee_bps double precision not null,
  margin_bps double precision not null,
  primary key (account_id, day, country, delivery_type, currency, rail, status)
);
create index payout_days_day on payout_days (day, account_id);
alter table payout_days enable row level security;
create policy own_account on payout_days using (account_id = current_account());

-- How long completed ones took: counts by quarters of an octave, `seconds_bucket`.
create table payout_day_seconds (
  account_id uuid not null,
  day date not null,
  country text not null,
  delivery_type text not null,
  currency text not null,
  rail text not null,
  bucket smallint not null,
  count bigint not null,
  primary key (account_id, day, country, delivery_type, currency, rail, bucket)
);
create index payout_day_seconds_day on payout_day_seconds (day, account_id);
alter table payout_day_seconds enable row level security;
create policy own_account on payout_day_seconds using (account_id = current_account());

create function seconds_bucket(p_from timestamptz, p_to timestamptz) returns smallint
  language sql immutable
  return floor(4 * log(2, 1 + greatest(extract(epoch from p_to - p_from), 0)))::smallint;

-- Up to which event the payouts of an account are counted.
create table payout_day_progress (
  account_id uuid primary key references accounts (id),
  event_sequence bigint not null default 0,
  counted_at timestamptz not null
);
alter table payout_day_progress enable row level security;
create policy own_account on payout_day_progress using (account_id = current_account());

-- Adds the days up over all accounts.
create function sum_payout_days(p_days date[]) returns void
  language plpgsql as $$
declare
  v_all constant uuid := uuid '00000000-0000-0000-0000-000000000000';
begin
  delete from payout_days where account_id = v_all and day = any (p_days);
  delete from payout_day_seconds where account_id = v_all and day = any (p_days);
  insert into payout_days (account_id, day, country, delivery_type, currency, rail, status, count,
    fee_bps, margin_bps)
  select v_all, day, country, delivery_type, currency, rail, status, sum(count), sum(fee_bps),
    sum(margin_bps)
  from payout_days where day = any (p_days)
  group by 2, 3, 4, 5, 6, 7;
  insert into payout_day_seconds (account_id, day, country, delivery_type, currency, rail, bucket,
    count)
  select v_all, day, country, delivery_type, currency, rail, bucket, sum(count)
  from payout_day_seconds where day = any (p_days)
  group by 2, 3, 4, 5, 6, 7;
end
$$;

-- The same for rails by the hour of the quote, for exact periods: the whole hours of a period are added
-- up, and its first, broken hour is measured. Hours of the last 32 days.
create table rail_hours (
  -- The nil account: of all accounts.
  account_id uuid not null,
  hour timestamptz not null,
  rail text not null,
  status text not null,
  count bigint not null,
  fee_bps double precision not null,
  margin_bps double precision not null,
  -- Of those completed: by the time that the quote had named.
  on_time bigint not null,
  -- Those whose rail reported a charge in the currency of the provider's price, and in hundredths of a
  -- percent of what the provider converted: the fee that it had quoted, and what it charged.
  charged bigint not null,
  quoted_cost_bps double precision not null,
  cost_bps double precision not null,
  primary key (account_id, hour, rail, status)
);
create index rail_hours_hour on rail_hours (hour);
alter table rail_hours enable row level security;
create policy own_account on rail_hours using (account_id = current_account());

create table rail_hour_seconds (
  account_id uuid not null,
  hour timestamptz not null,
  rail text not null,
  bucket smallint not null,
  count bigint not null,
  primary key (account_id, hour, rail, bucket)
);
create index rail_hour_seconds_hour on rail_hour_seconds (hour);
alter table rail_hour_seconds enable row level security;
create policy own_account on rail_hour_seconds using (account_id = current_account());

-- Callbacks that were refused, because nothing proved that the counterparty had sent them, by hour.
create table rail_refusals (
  rail text not null,
  hour timestamptz not null,
  count bigint not null,
  primary key (rail, hour)
);
alter table rail_refusals enable row level security;

-- What a provider had quoted for a payout, as a share of the amount that it converts, in hundredths of
-- a percent. `p_scales`: fraction digits by currency. Null where its price does not cover the amount.
create function quoted_cost_bps(p_price jsonb, p_amount bigint, p_scales jsonb) returns numeric
  language sql immutable
  return (
    select ((step ->> 'fixed')::numeric * 10000 / a.amount) + (step ->> 'basisPoints')::numeric
    from (
      select p_amount / power(10::numeric, (p_scales ->> (p_price ->> 'destination'))::integer)
        / (p_price ->> 'rate')::numeric as amount
    ) a
    cross join jsonb_array_elements(p_price -> 'steps') with ordinality s (step, place)
    where step ->> 'upTo' is null or a.amount <= (step ->> 'upTo')::numeric
    order by place limit 1
  );

-- Whether money arrived by the time of the quote. Clients see both to the second.
create function was_on_time(p_completed timestamptz, p_promised timestamptz) returns boolean
  language sql immutable parallel safe
  return coalesce(date_trunc('second', p_completed, 'UTC') <= p_promised, false);

-- Payouts of an account that were quoted in a period, with what their rails charged. With a setting of
-- its own it is planned by itself, by the index on the time of the quote, wherever it is called.
create function list_rail_results(
  p_account uuid, p_from timestamptz, p_to timestamptz, p_scales jsonb
) returns table (
  hour timestamptz, rail text, status text, fee_bps numeric, margin_bps numeric,
  is_on_time boolean, bucket smallint, quoted_cost_bps numeric, cost_bps numeric
)
  language sql stable
  set jit = off
  as $$
  select date_trunc('hour', q.created_at, 'UTC'), coalesce(s.rail, q.rail), s.status,
    q.fee * 10000.0 / q.source_amount,
    coalesce((1 - q.exchange_rate::numeric / nullif(q.mid_rate::numeric, 0)) * 10000, 0),
    was_on_time(s.completed_at, q.estimated_availability),
    case when s.completed_at is not null then seconds_bucket(s.committed_at, s.completed_at) end,
    c.quoted, case when c.quoted is not null then c.charged end
  from payout_quotes q
  join payout_states s on s.account_id = q.account_id and s.payout_id = q.id
  left join lateral (
    select case when s.rail is null then coalesce(s.provider_price, q.provider_price)
      else s.provider_price end::jsonb as price
  ) p on true
  left join lateral (
    select quoted_cost_bps(p.price, q.destination_amount, p_scales) as quoted,
      sum(x.amount) / power(10::numeric, (p_scales ->> (p.price ->> 'source'))::integer) * 10000
        * (p.price ->> 'rate')::numeric / q.destination_amount
        * power(10::numeric, (p_scales ->> q.destination_currency)::integer) as charged
    from payout_charges x
    where p.price is not null and x.account_id = q.account_id and x.payout_id = q.id
      and x.rail = coalesce(s.rail, q.rail) and x.currency = p.price ->> 'source'
    having count(*) > 0
  ) c on true
  where q.account_id = p_account and q.created_at >= p_from and q.created_at < p_to
$$;

-- Adds the hours up over all accounts, and forgets those that no period reaches.
create function sum_rail_hours(p_account uuid, p_hours timestamptz[], p_oldest timestamptz)
  returns void
  language plpgsql as $$
declare
  v_all constant uuid := uuid '00000000-0000-0000-0000-000000000000';
begin
  delete from rail_hours
  where account_id = v_all and hour = any (p_hours)
    or account_id in (v_all, p_account) and hour < p_oldest;
  delete from rail_hour_seconds
  where account_id = v_all and hour = any (p_hours)
    or account_id in (v_all, p_account) and hour < p_oldest;
  insert into rail_hours (account_id, hour, rail, status, count, fee_bps, margin_bps, on_time,
    charged, quoted_cost_bps, cost_bps)
  select v_all, hour, rail, status, sum(count), sum(fee_bps), sum(margin_bps), sum(on_time),
    sum(charged), sum(quoted_cost_bps), sum(cost_bps)
  from rail_hours where hour = any (p_hours)
  group by 2, 3, 4;
  insert into rail_hour_seconds (account_id, hour, rail, bucket, count)
  select v_all, hour, rail, bucket, sum(count)
  from rail_hour_seconds where hour = any (p_hours)
  group by 2, 3, 4;
end
$$;

-- Counts hours of an account anew.
create function count_rail_hours(p_account uuid, p_hours timestamptz[], p_scales jsonb) returns void
  language plpgsql as $$
declare
  v_oldest constant timestamptz := environment_now() - interval '32 days';
  v_hours constant timestamptz[] := array(select h from unnest(p_hours) h where h >= v_oldest);
begin
  delete from rail_hours where account_id = p_account and hour = any (v_hours);
  delete from rail_hour_seconds where account_id = p_account and hour = any (v_hours);
  with results as materialized (
    select r.* from unnest(v_hours) h
    cross join list_rail_results(p_account, h, h + interval '1 hour', p_scales) r
  ), timed as (
    insert into rail_hour_seconds (account_id, hour, rail, bucket, count)
    select p_account, hour, rail, bucket, count(*) from results
    where bucket is not null group by 2, 3, 4
  )
  insert into rail_hours (account_id, hour, rail, status, count, fee_bps, margin_bps, on_time,
    charged, quoted_cost_bps, cost_bps)
  select p_account, hour, rail, status, count(*), sum(fee_bps), sum(margin_bps),
    count(*) filter (where is_on_time), count(cost_bps),
    coalesce(sum(quoted_cost_bps), 0), coalesce(sum(cost_bps), 0)
  from results group by 2, 3, 4;
  perform sum_rail_hours(p_account, v_hours, v_oldest);
end
$$;

-- Counts the days and hours anew in which payouts of the account have changed, as of its next
-- `p_events` events. One process at a time: another one leaves it to that. Answers whether it counted.
create function count_payout_days(p_account uuid, p_events integer, p_scales jsonb)
  returns boolean
  language plpgsql as $$
declare
  v_from bigint;
  v_to bigint;
  v_days date[];
  v_hours timestamptz[];
begin
  if not pg_try_advisory_xact_lock(hashtext('payout_days')) then return false; end if;
  insert into payout_day_progress (account_id, counted_at) values (p_account, clock_timestamp())
  on conflict do nothing;
  select p.event_sequence, coalesce(e.last, a.event_sequence) into v_from, v_to
  from payout_day_progress p
  join accounts a on a.id = p.account_id
  left join lateral (
    select sequence as last from events
    where account_id = p.account_id and sequence > p.event_sequence
    order by sequence offset p_events - 1 limit 1
  ) e on true
  where p.account_id = p_account;
  select coalesce(array_agg(distinct (q.created_at at time zone 'UTC')::date), array[]::date[]),
    coalesce(array_agg(distinct date_trunc('hour', q.created_at, 'UTC')), array[]::timestamptz[])
  into v_days, v_hours
  from events e
  join payout_quotes q on q.account_id = e.account_id and q.id = e.subject_id
  where e.account_id = p_account and e.sequence > v_from and e.sequence <= v_to
    and e.type like 'payout.%' and e.type <> 'payout.pending';
  delete from payout_days where account_id = p_account and day = any (v_days);
  delete from payout_day_seconds where account_id = p_account and day = any (v_days);
  insert into payout_days (account_id, day, country, delivery_type, currency, rail, status, count,
    fee_bps, margin_bps)
  select p_account, d.day, q.country, q.delivery_type, q.destination_currency,
    coalesce(s.rail, q.rail), s.status, count(*), sum(q.fee * 10000.0 / q.source_amount),
    coalesce(sum((1 - q.exchange_rate::numeric / nullif(q.mid_rate::numeric, 0)) * 10000), 0)
  from unnest(v_days) d (day)
  join payout_quotes q on q.account_id = p_account
    and q.created_at >= d.day::timestamp at time zone 'UTC'
    and q.created_at < (d.day + 1)::timestamp at time zone 'UTC'
  join payout_states s on s.account_id = q.account_id and s.payout_id = q.id
  group by 1, 2, 3, 4, 5, 6, 7;
  insert into payout_day_seconds (account_id, day, country, delivery_type, currency, rail, bucket,
    count)
  select p_account, d.day, q.country, q.delivery_type, q.destination_currency,
    coalesce(s.rail, q.rail), seconds_bucket(s.committed_at, s.completed_at), count(*)
  from unnest(v_days) d (day)
  join payout_quotes q on q.account_id = p_account
    and q.created_at >= d.day::timestamp at time zone 'UTC'
    and q.created_at < (d.day + 1)::timestamp at time zone 'UTC'
  join payout_states s on s.account_id = q.account_id and s.payout_id = q.id
    and s.completed_at is not null
  group by 1, 2, 3, 4, 5, 6, 7;
  update payout_day_progress set event_sequence = v_to, counted_at = clock_timestamp()
  where account_id = p_account;
  perform sum_payout_days(v_days);
  perform count_rail_hours(p_account, v_hours, p_scales);
  return true;
end
$$;
