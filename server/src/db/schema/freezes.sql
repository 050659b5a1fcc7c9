-- What an operator has stopped. A freeze takes effect where payouts are claimed for sending, and where
-- they are committed. Payouts that it keeps from being sent wait for its end in payout_dispatches.

create table freezes (
  id uuid primary key,
  -- sending: no payout is sent. commits: no payout is committed. account: a client's payouts are
  -- neither committed nor sent. recipient: the same for one recipient. corridor, rail: its payouts are
  -- committed and not sent.
  scope text not null
    check (scope in ('sending', 'commits', 'account', 'recipient', 'corridor', 'rail')),
  account_id uuid references accounts (id),
  user_id uuid,
  country text,
  -- Null: any.
  delivery_type text,
  currency text,
  rail text,
  reason text not null check (length(reason) between 1 and 1000),
  frozen_by text not null check (length(frozen_by) between 1 and 100),
  since timestamptz not null,
  lifted_at timestamptz,
  lifted_by text,
  lift_reason text,
  constraint whole_scope check (
    (scope in ('account', 'recipient')) = (account_id is not null)
    and (scope = 'recipient') = (user_id is not null)
    and (scope = 'corridor') = (country is not null)
    and (scope = 'corridor' or num_nulls(delivery_type, currency) = 2)
    and (scope = 'rail') = (rail is not null)),
  constraint whole_lift check (num_nulls(lifted_at, lifted_by, lift_reason) in (0, 3))
);
-- One open freeze for each object.
create unique index freezes_open on freezes (scope, coalesce(user_id, account_id,
  '00000000-0000-0000-0000-000000000000'), coalesce(country, rail, ''),
  coalesce(delivery_type, ''), coalesce(currency, '')) where lifted_at is null;
create index freezes_in_force on freezes (since, id) where lifted_at is null;
create index freezes_lifted on freezes (since, id) where lifted_at is not null;
alter table freezes enable row level security;
-- Clients see what holds their payouts, and not who decided it or why.
create policy own_account on freezes
  using (account_id is null or account_id = current_account());
grant select (id) on freezes to outlay_tenant;
grant select (scope) on freezes to outlay_tenant;
grant select (account_id) on freezes to outlay_tenant;
grant select (user_id) on freezes to outlay_tenant;
grant select (country) on freezes to outlay_tenant;
grant select (delivery_type) on freezes to outlay_tenant;
grant select (currency) on freezes to outlay_tenant;
grant select (rail) on freezes to outlay_tenant;
grant select (lifted_at) on freezes to outlay_tenant;

create trigger never_removed before delete or truncate on freezes
  for each statement execute function refuse_change('freezes must not be deleted');
create trigger lifted_once before update on freezes
  for each row when (old.lifted_at is not null or (old.id, old.scope, old.reason, old.frozen_by,
    old.since) is distinct from (new.id, new.scope, new.reason, new.frozen_by, new.since))
  execute function refuse_change('a freeze may only be lifted, once');

-- Whether a freeze keeps payouts of this kind from being sent.
create function freeze_applies(
  f freezes, p_account uuid, p_user uuid, p_country text, p_delivery_type text, p_currency text,
  p_rail text
) returns boolean
  language sql immutable parallel safe
  return f.lifted_at is null and case f.scope
    when 'sending' then true
    when 'account' then f.account_id = p_account
    when 'recipient' then f.account_id = p_account and f.user_id = p_user
    when 'corridor' then f.country = p_country
      and coalesce(f.delivery_type, p_delivery_type) = p_delivery_type
      and coalesce(f.currency, p_currency) = p_currency
    when 'rail' then f.rail = p_rail
    else false end;
grant execute on function freeze_applies to outlay_tenant;

-- Claims hold this lock shared, and changes of freezes hold it alone. So once a freeze is committed, no
-- claim that did not see it can still begin an instruction.
create function share_freezes() returns void
  language sql as $$ select pg_advisory_xact_lock_shared(hashtext('outlay freezes')); $$;

create function lock_freezes(p_account uuid) returns void
  language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtext('outlay freezes'));
  if p_account is not null then perform lock_accounts(array[p_account], true); end if;
end
$$;

-- Locks a recipient or makes it active again, where it was the other.
create function set_recipient_lock(
  p_account uuid, p_user uuid, p_from text, p_to text, p_at timestamptz
) returns void
  language plpgsql as $$
declare
  v_user users;
begin
  update users set status = p_to where account_id = p_account and id = p_user and status = p_from
  returning * into v_user;
  if found then
    perform write_event(p_account, 'user.updated', p_user, user_payload(v_user), p_at);
  end if;
end
$$;

-- What is frozen, for the event of an account.
create function write_freeze_event(f freezes, p_type text, p_at timestamptz) returns void
  language plpgsql as $$
begin
  if f.scope = 'account' then
    perform write_event(f.account_id, p_type, f.account_id,
      json_build_object('since', f.since, 'lifted_at', f.lifted_at)::text, p_at);
  end if;
end
$$;

-- Opens a freeze. Returns the open one of the same object where there is one.
create function create_freeze(p_freeze json) returns table (id uuid, is_new boolean)
  language plpgsql as $$
#variable_conflict use_column
declare
  f freezes := json_populate_record(null::freezes, p_freeze);
  v_open uuid;
begin
  perform lock_freezes(f.account_id);
  f.since := environment_now();
  select o.id into v_open from freezes o
  where o.lifted_at is null and o.scope = f.scope
    and (o.account_id, o.user_id, o.country, o.delivery_type, o.currency, o.rail)
      is not distinct from
      (f.account_id, f.user_id, f.country, f.delivery_type, f.currency, f.rail);
  if v_open is not null then
    return query select v_open, false;
    return;
  end if;
  insert into freezes select f.*;
  if f.scope = 'recipient' then
    perform set_recipient_lock(f.account_id, f.user_id, 'ACTIVE', 'LOCKED', f.since);
  end if;
  perform write_freeze_event(f, 'account.frozen', f.since);
  return query select f.id, true;
end
$$;

-- Ends a freeze. Its payouts are due again, the oldest first, and the pace of each rail decides how fast
-- they are sent. Those that another freeze holds wait for that one at their next claim. Scheduled payouts
-- that waited are judged again. Returns how many are due again, or null where the freeze is not open.
create function lift_freeze(p_id uuid, p_by text, p_reason text) returns integer
  language plpgsql as $$
declare
  f freezes;
  v_now timestamptz;
  v_released integer;
begin
  select * into f from freezes where id = p_id;
  perform lock_freezes(f.account_id);
  v_now := environment_now();
  update freezes set lifted_at = v_now, lifted_by = p_by, lift_reason = p_reason
  where id = p_id and lifted_at is null
  returning * into f;
  if not found then return null; end if;
  if f.scope = 'recipient' then
    perform set_recipient_lock(f.account_id, f.user_id, 'LOCKED', 'ACTIVE', v_now);
  end if;
  perform write_freeze_event(f, 'account.unfrozen', v_now);
  -- Those of a recipient follow from the status.
  if f.scope in ('account', 'commits') then perform retry_schedules(f.account_id); end if;
  with ordered as (
    select d.account_id, d.payout_id,
      row_number() over (order by s.committed_at, s.payout_id) as place
    from payout_dispatches d
    join payout_states s on s.account_id = d.account_id and s.payout_id = d.payout_id
    where d.frozen_by = p_id
  )
  update payout_dispatches d
  set frozen_by = null, due_at = v_now + o.place * interval '1 microsecond'
  from ordered o
  where d.account_id = o.account_id and d.payout_id = o.payout_id
    -- Not one that was changed while its lock was waited for.
    and d.frozen_by = p_id;
  get diagnostics v_released = row_count;
  return v_released;
end
$$;
