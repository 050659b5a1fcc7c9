-- Payouts that are committed for a later time. Until then a payout is SCHEDULED: its client_transfer_id
-- is taken, no money has moved, and its price is not locked. When its time comes it is priced again,
-- checked as a commit is, and committed; or it waits, and is canceled after its deadline.

create table payout_schedules (
  account_id uuid not null,
  payout_id uuid not null,
  -- As the client wrote it; payout_quotes.runs_at is what follows from it.
  scheduled_for text not null check (length(scheduled_for) <= 40),
  -- From then on it is tried again, and canceled.
  deadline_at timestamptz not null,
  -- The amount that the client fixed; the other one follows from the price of the day.
  given_side text not null check (given_side in ('source', 'destination')),
  max_source_amount bigint check (max_source_amount > 0),
  min_destination_amount bigint check (min_destination_amount > 0),
  source_currency text not null,
  -- The next time of the environment at which it is tried: first runs_at, then the deadline, and daily
  -- after that where it may not be canceled. Null before the commit, and once it ran or was canceled.
  due_at timestamptz,
  -- Waits for something else than funds: when it is tried again meanwhile, by the real time.
  retry_at timestamptz,
  -- Waits for funds: what it costs, and what the balance lacked. It is tried again when the balance
  -- covers it.
  needed bigint,
  shortfall bigint,
  -- As in payout_dispatches.
  lease_until timestamptz,
  fence bigint not null default 0,
  -- When it was canceled without having run.
  ended_at timestamptz,
  -- The price of the quote, which the payout had until it ran.
  quoted_source_amount bigint,
  quoted_fee bigint,
  quoted_destination_amount bigint,
  quoted_exchange_rate text,
  quoted_mid_rate text,
  quoted_rounding_nano bigint,
  quoted_availability timestamptz,
  primary key (account_id, payout_id),
  constraint waits_for_one check ((needed is null) = (shortfall is null)
    and (retry_at is null or needed is null)
    and (due_at is not null or num_nonnulls(retry_at, needed, lease_until) = 0))
) with (fillfactor = 50);
create index payout_schedules_due on payout_schedules (due_at) where due_at is not null;
create index payout_schedules_retry on payout_schedules (retry_at) where retry_at is not null;
create index payout_schedules_unfunded on payout_schedules (account_id, source_currency, needed)
  where needed is not null;
-- For lists.
create index payout_schedules_open on payout_schedules (account_id, payout_id)
  where due_at is not null;
create index payout_schedules_ended on payout_schedules (account_id, payout_id)
  where ended_at is not null;
alter table payout_schedules enable row level security;
create policy own_account on payout_schedules using (account_id = current_account());
grant select, insert on payout_schedules to outlay_tenant;

create trigger begins_open before insert on payout_schedules
  for each row when (new.due_at is not null or new.ended_at is not null
    or new.quoted_source_amount is not null)
  execute function refuse_change('a new schedule must not have begun');
create trigger fixed_schedule before update of account_id, payout_id, scheduled_for, deadline_at,
  given_side, max_source_amount, min_destination_amount, source_currency on payout_schedules
  for each statement execute function refuse_change('the terms of a schedule are immutable');
create trigger never_removed before delete or truncate on payout_schedules
  for each statement execute function refuse_change('schedules must not be deleted');

-- Has the scheduled payouts tried now, not within the next minute, that wait for something else than
-- funds. Null: of all accounts. A try under way ends before, or judges what is true afterwards, because it
-- holds the account's row as well.
create function retry_schedules(p_account uuid) returns void
  language plpgsql as $$
begin
  perform lock_accounts(array(
    select account_id from payout_schedules
    where due_at is not null and num_nonnulls(retry_at, lease_until) > 0
      and (p_account is null or account_id = p_account)), true);
  update payout_schedules set retry_at = clock_timestamp()
  where retry_at > clock_timestamp() and (p_account is null or account_id = p_account);
end
$$;

-- The same of a recipient who has become active, or whose identity was approved. Whoever changes that
-- holds the account's row.
create function retry_recipient_schedules() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update payout_schedules x set retry_at = clock_timestamp()
  from payout_quotes q
  where x.account_id = new.account_id and x.retry_at > clock_timestamp()
    and q.account_id = x.account_id and q.id = x.payout_id and q.user_id = new.id;
  return null;
end
$$;
create trigger retries_schedules after update of status, kyc_status on users
  for each row when (new.status = 'ACTIVE' and old.status <> 'ACTIVE'
    or new.kyc_status = 'approved' and old.kyc_status <> 'approved')
  execute function retry_recipient_schedules();

-- The price of a quote changes once, in the transaction in which its scheduled payout runs.
create function require_scheduled_price() returns trigger
  language plpgsql as $$
begin
  if exists (
    select from new_quotes n
    join old_quotes o on o.account_id = n.account_id and o.id = n.id
    where o.ran_at is not null or n.ran_at is null or not exists (
      select from payout_states s
      where s.account_id = n.account_id and s.payout_id = n.id and s.status = 'SCHEDULED'))
  then
    raise exception 'payout_quotes: quotes are immutable' using errcode = 'restrict_violation';
  end if;
  return null;
end
$$;
create trigger priced_once after update on payout_quotes
  referencing old table as old_quotes new table as new_quotes
  for each statement execute function require_scheduled_price();

-- Commits a quote for its time; `judge_commits` has found it in order, and the caller holds the account's
-- row. Answers the pickup code.
create function schedule_payout(p_account uuid, p_user uuid, p_payout uuid, p_maker uuid)
  returns text
  language plpgsql as $$
declare
  v_now timestamptz := environment_now();
  v_code text;
begin
  insert into payout_states (account_id, payout_id, status, client_transfer_id, attr_set_id,
    attr_version, pickup_code, committed_at, updated_at, committed_by)
  select account_id, payout_id, 'SCHEDULED', client_transfer_id, attr_set_id, attr_version,
    case when delivery_type = 'CASH_PICKUP' then new_pickup_code() else '' end, v_now, v_now, p_maker
  from judge_commits(array[p_account], array[p_user], array[p_payout], array[null::text], v_now)
  returning pickup_code into strict v_code;
  update payout_schedules x set due_at = q.runs_at
  from payout_quotes q
  where x.account_id = p_account and x.payout_id = p_payout
    and q.account_id = x.account_id and q.id = x.payout_id;
  perform write_payout_events(array[p_account], array[p_payout], array['SCHEDULED'], array[''],
    array[null::uuid], v_now);
  return v_code;
end
$$;
