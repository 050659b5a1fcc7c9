-- Recent payouts of recipients, accounts and corridors, for velocity limits. It holds only payouts
-- that were checked.
create table velocity_entries (
  account_id uuid not null,
  payout_id uuid not null,
  user_id uuid not null,
  -- Country, delivery type and currency.
  corridor text not null,
  -- Cents of USD, at the rate of the check; 0 without one.
  usd_amount bigint not null check (usd_amount >= 0),
  counted_at timestamptz not null,
  -- The payout was canceled.
  is_void boolean not null default false,
  primary key (account_id, payout_id)
);
create index velocity_entries_account on velocity_entries (account_id, counted_at)
  include (usd_amount) where not is_void;
create index velocity_entries_user on velocity_entries (account_id, user_id, counted_at)
  include (usd_amount) where not is_void;
create index velocity_entries_corridor on velocity_entries (account_id, corridor, counted_at)
  include (usd_amount) where not is_void;
alter table velocity_entries enable row level security;

-- The limits of a client, which operators set; they hold besides those of the operator's file.
create table account_limits (
  account_id uuid not null references accounts (id),
  name text not null check (length(name) between 1 and 60),
  -- payout: each payout by itself. account, corridor: all within the window.
  per text not null check (per in ('payout', 'account', 'corridor')),
  seconds bigint not null check (seconds > 0),
  count_max bigint check (count_max >= 0),
  -- Cents.
  usd_max bigint check (usd_max >= 0),
  -- Country, delivery type and currency; null: any.
  corridor text,
  set_by text not null,
  reason text not null,
  set_at timestamptz not null,
  primary key (account_id, name),
  check (coalesce(count_max, usd_max) is not null),
  check (per <> 'payout' or count_max is null)
);
alter table account_limits enable row level security;
create policy own_account on account_limits using (account_id = current_account());

-- Whether payouts of the account are checked before they are sent, whatever the settings are.
create function has_own_checks(p_account uuid) returns boolean
  language sql stable
  return exists (select from account_limits where account_id = p_account)
    or has_approval_rules(p_account);

-- The use of the limits that a payout counts towards: the payouts in the window of each, and their sum.
-- p_limits is an array of { name, per: recipient, account or corridor; seconds; count and usd in cents
-- (null: no limit); corridor (null: any) }.
create function measure_velocity(
  p_account uuid, p_user uuid, p_corridor text, p_limits json
) returns table (name text, count_max bigint, usd_max bigint, used_count bigint, used_usd numeric)
  language plpgsql stable as $$
#variable_conflict use_column
declare
  v_now timestamptz := environment_now();
  v_since timestamptz;
  v_limit record;
begin
  for v_limit in
    select * from json_to_recordset(p_limits)
      as l (name text, per text, seconds bigint, count bigint, usd bigint, corridor text)
    where l.corridor is null or l.corridor = p_corridor
    union all
    select a.name, a.per, a.seconds, a.count_max, a.usd_max, a.corridor from account_limits a
    where a.account_id = p_account and (a.corridor is null or a.corridor = p_corridor)
  loop
    name := v_limit.name;
    count_max := v_limit.count;
    usd_max := v_limit.usd;
    v_since := v_now - v_limit.seconds * interval '1 second';
    -- One statement for each, so that each uses its own index.
    if v_limit.per = 'payout' then
      used_count := 0;
      used_usd := 0;
    elsif v_limit.per = 'recipient' then
      select count(*), coalesce(sum(usd_amount), 0) into used_count, used_usd from velocity_entries
      where account_id = p_account and user_id = p_user and counted_at > v_since and not is_void;
    elsif v_limit.per = 'corridor' then
      select count(*), coalesce(sum(usd_amount), 0) into used_count, used_usd from velocity_entries
      where account_id = p_account and corridor = p_corridor and counted_at > v_since
        and not is_void;
    else
      select count(*), coalesce(sum(usd_amount), 0) into used_count, used_usd from velocity_entries
      where account_id = p_account and counted_at > v_since and not is_void;
    end if;
    return next;
  end loop;
end
$$;

-- Counts a payout and returns the names of the limits that it exceeds. The account's row is locked, so
-- that two payouts cannot both take the rest of a limit.
create function count_velocity(
  p_account uuid, p_payout uuid, p_user uuid, p_corridor text, p_usd bigint, p_limits json
) returns text[]
  language plpgsql as $$
declare
  v_broken text[];
begin
  perform 1 from accounts where id = p_account for update;
  insert into velocity_entries (account_id, payout_id, user_id, corridor, usd_amount, counted_at)
  values (p_account, p_payout, p_user, p_corridor, p_usd, environment_now())
  -- Checked again, with a rate that was missing before.
  on conflict (account_id, payout_id) do update set usd_amount = excluded.usd_amount
    where velocity_entries.usd_amount = 0;
  select coalesce(array_agg(b.name), '{}') into v_broken
  from (
    select m.name from measure_velocity(p_account, p_user, p_corridor, p_limits) m
    where m.used_count > m.count_max or m.used_usd > m.usd_max
    union all
    select name from account_limits
    where account_id = p_account and per = 'payout' and p_usd > usd_max
      and (corridor is null or corridor = p_corridor)
  ) b;
  return v_broken;
end
$$;
