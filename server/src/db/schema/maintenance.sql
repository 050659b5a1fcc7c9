-- Partitions by month (UTC), and settings of the planner.

-- Creates the partitions of a month and of the two after it. Attaching them does not block readers
-- or writers.
create function open_months(p_at timestamptz) returns void
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_table text;
  v_month date;
  v_name text;
begin
  -- Where two processes open a month at once, the second waits and finds it.
  perform 1 from environment for update;
  foreach v_table in array array['events', 'idempotency_records', 'notices', 'webhook_deliveries'] loop
    for v_month in
      -- From its first day, which the next month has too, in every time zone of a session.
      select (month_of(p_at) + n * interval '1 month')::date from generate_series(0, 2) n
    loop
      v_name := v_table || '_' || to_char(v_month, 'YYYY_MM');
      if to_regclass('public.' || v_name) is null then
        execute format('create table %I (like %I including all)', v_name, v_table);
        execute format('alter table %I enable row level security', v_name);
        execute format('alter table %I alter account_id set (n_distinct = 1)', v_name);
        execute format('alter table %I attach partition %I for values from (%L) to (%L)',
          v_table, v_name, v_month, (v_month + interval '1 month')::date);
      end if;
    end loop;
  end loop;
end
$$;

-- The sandbox's clock may jump by years: the partitions of a new month exist before anyone sees it.
create function follow_clock() returns trigger
  language plpgsql as $$
begin
  perform open_months(environment_now());
  return null;
end
$$;

create trigger follow_clock after insert or update of clock_offset_us on environment
  for each row execute function follow_clock();

-- After the clock of the database was set back, as by a failover to a server that is behind. Leases of
-- processes that have died would last for as long as the step, and payouts that nothing was sent for would
-- wait. No lease is longer than two minutes: one that ends later ends in two minutes, after the calls that
-- are under way. Payouts come last, because others wait for their rows; those that another process works
-- on are left alone.
create function follow_clock_back() returns void
  language plpgsql as $$
declare
  v_latest constant timestamptz := clock_timestamp() + interval '2 minutes';
  v_now constant timestamptz := environment_now();
  v_table text;
begin
  foreach v_table in array array['batches', 'rail_passes', 'rail_price_readings', 'screening_rounds',
    'verification_checks', 'notices', 'payout_schedules']
  loop
    execute format('update %I set lease_until = $1 where lease_until > $1', v_table) using v_latest;
  end loop;
  -- Of questions that are asked and of reports that are applied, it is the end of the lease.
  update screening_opinions set due_at = v_latest where state = 'asked' and due_at > v_latest;
  update rail_observations set due_at = v_now + interval '2 minutes'
  where state = 'waiting' and due_at > v_now + interval '2 minutes';
  update payout_schedules set retry_at = v_latest where retry_at > v_latest;
  update payout_dispatches d
  set lease_until = case when d.lease_until > v_latest then v_latest else d.lease_until end,
    due_at = case when c.is_unsent then v_now else d.due_at end
  from (
    select account_id, payout_id, is_unsent
    from payout_dispatches o
    cross join lateral (
      select o.due_at > v_now and o.due_at < 'infinity' and not exists (
        select from attempts a where a.account_id = o.account_id and a.payout_id = o.payout_id
      ) as is_unsent
    ) t
    where lease_until > v_latest or is_unsent
    for update of o skip locked
  ) c
  where d.account_id = c.account_id and d.payout_id = c.payout_id;
end
$$;

-- The planner knows nothing about a table until autovacuum analyzes it: in the first minute of a
-- database and of each month. Every process runs this when it discards its plans.
create function analyze_new_tables() returns void
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_table text;
begin
  for v_table in
    select relname from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r' and reltuples < 0
      and pg_relation_size(oid) > 0
  loop
    execute format('analyze (skip_locked) %I', v_table);
  end loop;
end
$$;

-- A plan serves every account, so it must suit the largest. With the average of a thousand accounts
-- in mind, the planner reads all payouts of the largest one and filters. With n_distinct = 1 it
-- uses the index that finds the row.
do $$
declare
  v_table text;
begin
  for v_table in
    select c.relname from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'account_id' and not a.attisdropped
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
  loop
    execute format('alter table %I alter account_id set (n_distinct = 1, n_distinct_inherited = 1)',
      v_table);
  end loop;
end
$$;

select open_months(environment_now());
