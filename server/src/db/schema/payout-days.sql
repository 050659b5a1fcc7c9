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
create index payout_days_day on payout_days (day);
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
create index payout_day_seconds_day on payout_day_seconds (day);
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
  language plpgsql
  set jit = off
  as $$
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

-- Counts the days anew in which payouts of the account have changed, as of its next `p_events` events.
-- One process at a time: another one leaves it to that. Answers whether it counted.
create function count_payout_days(p_account uuid, p_events integer) returns boolean
  language plpgsql
  set jit = off
  as $$
declare
  v_from bigint;
  v_to bigint;
  v_days date[];
begin
  if not pg_try_advisory_xact_lock(hashtext('payout_days')) then return false; end if;
  insert into payout_day_progress (account_id, counted_at) values (p_account, clock_timestamp())
  on conflict do nothing;
  select p.event_sequence, least(a.event_sequence, p.event_sequence + p_events) into v_from, v_to
  from payout_day_progress p join accounts a on a.id = p.account_id
  where p.account_id = p_account;
  select coalesce(array_agg(distinct (q.created_at at time zone 'UTC')::date), array[]::date[])
  into v_days
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
  return true;
end
$$;
