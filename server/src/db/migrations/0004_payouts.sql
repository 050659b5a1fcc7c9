-- Attribute sets, payouts, and the functions through which money moves.

create table attribute_sets (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  destination_token uuid not null,
  currency text not null,
  latest_version integer not null default 0,
  touched_at timestamptz not null,
  created_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users (account_id, id)
);
create index attribute_sets_owner
  on attribute_sets (account_id, user_id, destination_token, currency);
alter table attribute_sets enable row level security;
create policy own_account on attribute_sets using (account_id = current_account());
grant select, insert, update on attribute_sets to outlay_tenant;

create table attribute_set_versions (
  account_id uuid not null,
  set_id uuid not null,
  version integer not null check (version > 0),
  profile_version text not null,
  fingerprint bytea not null check (length(fingerprint) = 32),
  sealed bytea not null,
  is_complete boolean not null,
  created_at timestamptz not null,
  primary key (account_id, set_id, version),
  foreign key (account_id, set_id) references attribute_sets (account_id, id)
);
alter table attribute_set_versions enable row level security;
create policy own_account on attribute_set_versions using (account_id = current_account());
grant select, insert on attribute_set_versions to outlay_tenant;
create trigger append_only before update or delete on attribute_set_versions
  for each row execute function refuse_change();

create table payouts (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  status text not null default 'PENDING' check (status in ('PENDING', 'PROCESSING', 'COMPLETED',
    'CANCELLED', 'SCHEDULED', 'READY_FOR_PICKUP', 'HOLD', 'ERROR')),
  status_reason text not null default '',
  client_transfer_id text not null check (length(client_transfer_id) between 1 and 50),
  source_token uuid not null,
  source_currency text not null,
  source_amount bigint not null check (source_amount > 0),
  fee bigint not null check (fee >= 0),
  destination_token uuid not null,
  destination_currency text not null,
  destination_amount bigint not null check (destination_amount > 0),
  exchange_rate text not null,
  -- Billionths of the destination's minor unit that the exchange position gained by rounding.
  rounding_nano bigint not null check (rounding_nano >= 0),
  rail text not null,
  payer_key text not null,
  payer_name text not null,
  delivery_type text not null,
  country text not null,
  attr_set_id uuid,
  attr_version integer,
  needs_attributes boolean not null,
  needs_verification boolean not null,
  notify_user boolean not null,
  metadata text not null default '{}',
  pickup_code text not null default '',
  created_at timestamptz not null,
  expires_at timestamptz not null,
  estimated_availability timestamptz not null,
  committed_at timestamptz,
  completed_at timestamptz,
  updated_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users (account_id, id),
  foreign key (account_id, attr_set_id, attr_version)
    references attribute_set_versions (account_id, set_id, version),
  constraint committed_or_pending check ((committed_at is null) = (status = 'PENDING'))
);
create index payouts_user on payouts (account_id, user_id, id desc);
-- A client_transfer_id is committed once, for ever; quotes may repeat it.
create unique index payouts_committed_transfer on payouts (account_id, client_transfer_id)
  where committed_at is not null;
create index payouts_transfer on payouts (account_id, client_transfer_id);
alter table payouts enable row level security;
create policy own_account on payouts using (account_id = current_account());
grant select, insert on payouts to outlay_tenant;

-- Where a payout's metadata can be found: one row per key and value, both only as a hash.
create table payout_metadata (
  account_id uuid not null,
  entry_hash bytea not null check (length(entry_hash) = 16),
  payout_id uuid not null,
  primary key (account_id, entry_hash, payout_id),
  foreign key (account_id, payout_id) references payouts (account_id, id)
);
alter table payout_metadata enable row level security;
create policy own_account on payout_metadata using (account_id = current_account());
grant select, insert on payout_metadata to outlay_tenant;

create function is_legal_move(p_from text, p_to text) returns boolean
  language sql immutable parallel safe
  return case p_from
    when 'PENDING' then p_to in ('PROCESSING', 'SCHEDULED')
    when 'SCHEDULED' then p_to in ('PROCESSING')
    when 'PROCESSING' then
      p_to in ('HOLD', 'READY_FOR_PICKUP', 'COMPLETED', 'CANCELLED', 'ERROR')
    when 'READY_FOR_PICKUP' then p_to in ('COMPLETED', 'CANCELLED')
    when 'HOLD' then p_to in ('PROCESSING', 'CANCELLED')
    when 'ERROR' then p_to in ('PROCESSING', 'CANCELLED')
    when 'COMPLETED' then p_to in ('CANCELLED')
    else false
  end;

create function guard_payout() returns trigger
  language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    raise exception 'a payout is never deleted' using errcode = 'restrict_violation';
  end if;
  if new.status <> old.status and not is_legal_move(old.status, new.status) then
    raise exception 'a payout cannot go from % to %', old.status, new.status
      using errcode = 'restrict_violation';
  end if;
  if (new.source_amount, new.source_currency, new.source_token, new.fee, new.destination_amount,
      new.destination_currency, new.destination_token, new.exchange_rate, new.user_id,
      new.client_transfer_id, new.expires_at)
    is distinct from
     (old.source_amount, old.source_currency, old.source_token, old.fee, old.destination_amount,
      old.destination_currency, old.destination_token, old.exchange_rate, old.user_id,
      old.client_transfer_id, old.expires_at)
  then
    raise exception 'the terms of a payout never change' using errcode = 'restrict_violation';
  end if;
  return new;
end
$$;
create trigger guard before update or delete on payouts
  for each row execute function guard_payout();

-- What is due: one row per payout with work left, claimed with a lease by the database's own time
-- and a fencing number that outdates every earlier claim.
create table payout_dispatches (
  account_id uuid not null,
  payout_id uuid not null,
  due_at timestamptz not null,
  tries integer not null default 0,
  fence bigint not null default 0,
  lease_until timestamptz,
  primary key (account_id, payout_id),
  foreign key (account_id, payout_id) references payouts (account_id, id)
);
create index payout_dispatches_due on payout_dispatches (due_at);

-- Each try to pay, written before the rail is called.
create table attempts (
  account_id uuid not null,
  payout_id uuid not null,
  number integer not null check (number > 0),
  rail text not null,
  payer_key text not null,
  reference text not null,
  state text not null
    check (state in ('sending', 'unknown', 'accepted', 'rejected', 'paid', 'returned', 'retry')),
  reason text not null default '',
  fence bigint not null,
  started_at timestamptz not null,
  unknown_since timestamptz,
  answered_at timestamptz,
  primary key (account_id, payout_id, number),
  foreign key (account_id, payout_id) references payouts (account_id, id)
);
-- No second instruction while an earlier one is not definitely dead.
create unique index attempts_one_alive on attempts (account_id, payout_id)
  where state in ('sending', 'unknown', 'accepted', 'paid');
alter table attempts enable row level security;
create policy own_account on attempts using (account_id = current_account());
grant select on attempts to outlay_tenant;

-- What was heard of a payout, whether or not it had an effect.
create table observations (
  account_id uuid not null,
  payout_id uuid not null,
  id uuid not null,
  source text not null check (source in ('send', 'query', 'sandbox')),
  outcome text not null,
  reason text not null default '',
  is_applied boolean not null,
  observed_at timestamptz not null,
  primary key (account_id, payout_id, id)
);
alter table observations enable row level security;
create policy own_account on observations using (account_id = current_account());
grant select on observations to outlay_tenant;

-- Messages to recipients that notify_user asks for, recorded in the transaction of their cause.
create table notifications (
  account_id uuid not null,
  id uuid not null,
  payout_id uuid not null,
  user_id uuid not null,
  kind text not null check (kind in ('PROCESSING', 'READY_FOR_PICKUP', 'COMPLETED', 'CANCELLED')),
  status text not null default 'recorded' check (status in ('recorded', 'sent', 'failed')),
  created_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, payout_id) references payouts (account_id, id)
);
create index notifications_payout on notifications (account_id, payout_id);
alter table notifications enable row level security;
create policy own_account on notifications using (account_id = current_account());
grant select on notifications to outlay_tenant;

-- Simulated outcomes that a client of the sandbox asked for; no row ever in live.
create table sandbox_scripts (
  account_id uuid not null,
  payout_id uuid not null,
  outcome text not null
    check (outcome in ('ready_for_pickup', 'completed', 'rejected', 'returned', 'unknown')),
  created_at timestamptz not null,
  primary key (account_id, payout_id)
);
-- The simulated network knows a payout by its reference alone.
create index sandbox_scripts_payout on sandbox_scripts (payout_id);

create function script_sandbox_payout(p_account uuid, p_payout uuid, p_outcome text) returns void
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform require_own_account(p_account);
  if (select name from environment) <> 'staging' then
    raise exception 'outcomes are scripted in the sandbox only'
      using errcode = 'insufficient_privilege';
  end if;
  insert into sandbox_scripts (account_id, payout_id, outcome, created_at)
  values (p_account, p_payout, p_outcome, environment_now())
  on conflict (account_id, payout_id) do update
    set outcome = excluded.outcome, created_at = excluded.created_at;
end
$$;

create function payout_event(p payouts, p_at timestamptz) returns void
  language plpgsql as $$
begin
  perform write_event(p.account_id, 'payout.' || lower(p.status), p.id,
    json_build_object('payout_token', 'payout_' || p.id, 'user_token', 'usr_' || p.user_id,
      'client_transfer_id', p.client_transfer_id, 'status', p.status,
      'status_reason', p.status_reason)::text, p_at);
  if p.notify_user and p.status in ('PROCESSING', 'READY_FOR_PICKUP', 'COMPLETED', 'CANCELLED') then
    insert into notifications (account_id, id, payout_id, user_id, kind, created_at)
    values (p.account_id, gen_random_uuid(), p.id, p.user_id, p.status, p_at);
  end if;
end
$$;

-- The newest complete version of the set that the payout names; where it names none, or that one
-- is still incomplete, a set stored for the same destination after the payout was created.
create function find_complete_attributes(p payouts, out set_id uuid, out version integer)
  language sql stable as $$
  select v.set_id, v.version
  from attribute_set_versions v
  join attribute_sets s on s.account_id = v.account_id and s.id = v.set_id
  where s.account_id = p.account_id and s.user_id = p.user_id
    and s.destination_token = p.destination_token and s.currency = p.destination_currency
    and v.is_complete and v.version = s.latest_version
    and (s.id = p.attr_set_id or s.touched_at >= p.created_at)
  order by (s.id = p.attr_set_id) desc nulls last, s.touched_at desc
  limit 1;
$$;

-- Commits a payout, or says why not; nothing moves unless the result is 'success'. The account's
-- row is locked first, so the commits of one account queue there and never wait in a circle.
create function commit_payout(
  p_account uuid, p_user uuid, p_payout uuid, p_journal uuid, p_pickup_code text,
  out result text, out detail text, out pickup_code text
)
  language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
  p payouts;
  v_now timestamptz;
  v_user users;
  v_first uuid;
  v_balance bigint;
begin
  detail := '';
  pickup_code := '';
  perform require_own_account(p_account);
  perform 1 from accounts where id = p_account for update;
  select * into p from payouts
  where account_id = p_account and id = p_payout and user_id = p_user for update;
  if not found then result := 'not_found'; return; end if;
  if p.status in ('CANCELLED', 'ERROR') then
    result := 'ended'; detail := p.status_reason; return;
  end if;
  if p.committed_at is not null then
    result := 'success'; pickup_code := p.pickup_code; return;
  end if;
  v_now := environment_now();
  if v_now >= p.expires_at then result := 'ex_rate_expired'; return; end if;
  select id into v_first from payouts
  where account_id = p_account and client_transfer_id = p.client_transfer_id
    and committed_at is not null;
  if found then result := 'duplicate'; detail := v_first::text; return; end if;
  select * into strict v_user from users where account_id = p_account and id = p_user;
  if v_user.status <> 'ACTIVE' then
    result := 'user_not_active'; detail := v_user.status; return;
  end if;
  if p.needs_attributes and not exists (
    select from attribute_set_versions v
    where v.account_id = p_account and v.set_id = p.attr_set_id and v.version = p.attr_version
      and v.is_complete)
  then
    select f.set_id, f.version into p.attr_set_id, p.attr_version
    from find_complete_attributes(p) f;
    if p.attr_set_id is null then
      result := 'addtl_attr_req'; detail := 'attributes'; return;
    end if;
  end if;
  if p.needs_verification and v_user.kyc_status <> 'approved' then
    result := 'addtl_attr_req'; detail := 'verification'; return;
  end if;
  select balance into v_balance from ledger_accounts
  where account_id = p_account and currency = p.source_currency and name = 'wallet' for update;
  if coalesce(v_balance, 0) < p.source_amount + p.fee then
    result := 'insufficient_funds'; return;
  end if;

  perform post_transfer(p_account, p.source_currency, p_journal, 1::smallint, 'commit',
    'wallet', 'fx', p.source_amount, p.id, v_now);
  if p.fee > 0 then
    perform post_transfer(p_account, p.source_currency, p_journal, 2::smallint, 'commit',
      'wallet', 'fees', p.fee, p.id, v_now);
  end if;
  perform post_transfer(p_account, p.destination_currency, p_journal, 3::smallint, 'commit',
    'fx', 'in_transit:' || p.rail, p.destination_amount, p.id, v_now);
  update payouts set status = 'PROCESSING', status_reason = '', committed_at = v_now,
    updated_at = v_now,
    pickup_code = case when p.delivery_type = 'CASH_PICKUP' then p_pickup_code else '' end,
    attr_set_id = p.attr_set_id, attr_version = p.attr_version
  where account_id = p_account and id = p_payout
  returning * into strict p;
  insert into payout_dispatches (account_id, payout_id, due_at) values (p_account, p_payout, v_now);
  perform payout_event(p, v_now);
  result := 'success';
  pickup_code := p.pickup_code;
end
$$;

-- Gives back what a commit took, at the same rate. The fee stays where `p_keep_fee` says so.
create function post_refund(
  p payouts, p_journal uuid, p_kind text, p_first_line smallint, p_keep_fee boolean,
  p_at timestamptz
) returns void
  language plpgsql as $$
begin
  perform post_transfer(p.account_id, p.destination_currency, p_journal, p_first_line, p_kind,
    'in_transit:' || p.rail, 'fx', p.destination_amount, p.id, p_at);
  perform post_transfer(p.account_id, p.source_currency, p_journal, (p_first_line + 1)::smallint,
    p_kind, 'fx', 'wallet', p.source_amount, p.id, p_at);
  if p.fee > 0 and not p_keep_fee then
    perform post_transfer(p.account_id, p.source_currency, p_journal, (p_first_line + 2)::smallint,
      p_kind, 'fees', 'wallet', p.fee, p.id, p_at);
  end if;
end
$$;

-- Moves a committed payout one step, with the postings and the event of that step. The caller
-- holds the account's row.
create function move_payout(
  p payouts, p_to text, p_reason text, p_journal uuid, p_at timestamptz
) returns payouts
  language plpgsql as $$
declare
  v_moved payouts;
begin
  update payouts set status = p_to, status_reason = p_reason, updated_at = p_at,
    completed_at = case when p_to = 'COMPLETED' then p_at else completed_at end
  where account_id = p.account_id and id = p.id and status = p.status
  returning * into strict v_moved;
  if p_to = 'COMPLETED' then
    perform post_transfer(p.account_id, p.destination_currency, p_journal, 1::smallint,
      'complete', 'in_transit:' || p.rail, 'settlement:' || p.rail, p.destination_amount, p.id,
      p_at);
  elsif p_to = 'CANCELLED' and p.status = 'COMPLETED' then
    perform post_transfer(p.account_id, p.destination_currency, p_journal, 1::smallint, 'return',
      'settlement:' || p.rail, 'in_transit:' || p.rail, p.destination_amount, p.id, p_at);
    perform post_refund(p, p_journal, 'return', 2::smallint, true, p_at);
  elsif p_to = 'CANCELLED' then
    perform post_refund(p, p_journal, 'refund', 1::smallint, false, p_at);
  end if;
  perform payout_event(v_moved, p_at);
  return v_moved;
end
$$;

-- Takes the payouts that are due, each with a lease by the database's own time; or one payout, due
-- or not, where it is named. A later claim has a higher fence, and only the newest fence may record
-- anything.
create function claim_dispatches(
  p_count integer, p_lease_ms integer, p_account uuid default null, p_payout uuid default null
)
  returns setof payout_dispatches
  language sql as $$
  with due as (
    select account_id, payout_id from payout_dispatches
    where (p_payout is not null or due_at <= environment_now())
      and (p_payout is null or (account_id = p_account and payout_id = p_payout))
      and (lease_until is null or lease_until < clock_timestamp())
    order by due_at
    limit p_count
    for update skip locked
  )
  update payout_dispatches d
  set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond',
    fence = d.fence + 1, tries = d.tries + 1
  from due
  where d.account_id = due.account_id and d.payout_id = due.payout_id
  returning d.*;
$$;

-- Decides what a claimed payout needs: 'send' with its attempt written, 'query' where an earlier
-- attempt may be alive, 'none' where the claim is out of date or the payout has ended.
create function begin_attempt(
  p_account uuid, p_payout uuid, p_fence bigint, p_reference text,
  out mode text, out unknown_since timestamptz
)
  language plpgsql as $$
declare
  p payouts;
  v_last attempts;
begin
  mode := 'none';
  perform 1 from payout_dispatches
  where account_id = p_account and payout_id = p_payout and fence = p_fence for update;
  if not found then return; end if;
  select * into strict p from payouts where account_id = p_account and id = p_payout;
  if p.status not in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD', 'COMPLETED') then
    delete from payout_dispatches where account_id = p_account and payout_id = p_payout;
    return;
  end if;
  select * into v_last from attempts
  where account_id = p_account and payout_id = p_payout order by number desc limit 1;
  if found and v_last.state <> 'retry' then
    mode := 'query';
    unknown_since := v_last.unknown_since;
    return;
  end if;
  mode := 'send';
  insert into attempts (account_id, payout_id, number, rail, payer_key, reference, state, fence,
    started_at)
  values (p_account, p_payout, coalesce(v_last.number, 0) + 1, p.rail, p.payer_key, p_reference, 'sending',
    p_fence, environment_now());
end
$$;

-- The steps by which an outcome takes a payout from its state; null where it cannot.
create function plan_moves(p_status text, p_outcome text) returns text[]
  language sql immutable parallel safe
  return case p_outcome
    when 'ready_for_pickup' then case p_status
      when 'PROCESSING' then array['READY_FOR_PICKUP']
      when 'HOLD' then array['PROCESSING', 'READY_FOR_PICKUP'] end
    when 'paid' then case p_status
      when 'PROCESSING' then array['COMPLETED']
      when 'READY_FOR_PICKUP' then array['COMPLETED']
      when 'HOLD' then array['PROCESSING', 'COMPLETED'] end
    when 'rejected' then case
      when p_status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD') then array['CANCELLED'] end
    when 'returned' then case p_status
      when 'COMPLETED' then array['CANCELLED']
      when 'PROCESSING' then array['COMPLETED', 'CANCELLED']
      when 'READY_FOR_PICKUP' then array['COMPLETED', 'CANCELLED']
      when 'HOLD' then array['PROCESSING', 'COMPLETED', 'CANCELLED'] end
    when 'hold' then case p_status when 'PROCESSING' then array['HOLD'] end
    when 'accepted' then case p_status
      when 'HOLD' then array['PROCESSING']
      when 'PROCESSING' then array[]::text[]
      when 'READY_FOR_PICKUP' then array[]::text[] end
    when 'unknown' then case
      when p_status in ('PROCESSING', 'HOLD') then array[]::text[] end
    when 'retry' then case
      when p_status in ('PROCESSING', 'HOLD') then array[]::text[] end
  end;

-- Records what was heard of a payout and does what follows from it, in one transaction: state,
-- postings, events, attempt, and when to ask again (null: never). An observation that does not fit
-- the payout's state is kept without effect. A fence is given by the dispatch loop; without one
-- (the sandbox's calls) the claim that may be running is outdated instead.
create function apply_observation(
  p_account uuid, p_payout uuid, p_observation uuid, p_source text, p_outcome text, p_reason text,
  p_fence bigint, p_due_at timestamptz, p_journals uuid[]
) returns text
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  p payouts;
  v_now timestamptz;
  v_fence bigint;
  v_moves text[];
  v_move text;
  v_step integer := 0;
  v_reason text;
begin
  perform require_own_account(p_account);
  perform 1 from accounts where id = p_account for update;
  select * into p from payouts where account_id = p_account and id = p_payout for update;
  if not found then return 'not_found'; end if;
  v_now := environment_now();
  select fence into v_fence from payout_dispatches
  where account_id = p_account and payout_id = p_payout for update;
  if p_fence is not null and v_fence is distinct from p_fence then
    insert into observations (account_id, payout_id, id, source, outcome, reason, is_applied,
      observed_at)
    values (p_account, p_payout, p_observation, p_source, p_outcome, p_reason, false, v_now);
    return 'stale';
  end if;
  v_moves := plan_moves(p.status, p_outcome);
  if v_moves is null and p_fence is null then return 'illegal'; end if;
  insert into observations (account_id, payout_id, id, source, outcome, reason, is_applied,
    observed_at)
  values (p_account, p_payout, p_observation, p_source, p_outcome, p_reason,
    v_moves is not null, v_now);

  foreach v_move in array coalesce(v_moves, array[]::text[]) loop
    v_step := v_step + 1;
    v_reason := case
      when v_move = 'CANCELLED' and p_outcome = 'returned' then 'returned: ' || p_reason
      when v_move in ('CANCELLED', 'HOLD') then p_reason
      else '' end;
    p := move_payout(p, v_move, v_reason, p_journals[v_step], v_now);
  end loop;

  if v_moves is not null then
    update attempts set
      state = case p_outcome
        when 'ready_for_pickup' then 'accepted'
        when 'hold' then 'unknown'
        else p_outcome end,
      reason = p_reason,
      unknown_since = case
        when p_outcome in ('unknown', 'hold') then coalesce(unknown_since, v_now) end,
      answered_at = v_now
    where account_id = p_account and payout_id = p_payout
      and number = (select max(number) from attempts
        where account_id = p_account and payout_id = p_payout);
  end if;

  if p_due_at is null or p.status in ('CANCELLED', 'ERROR') then
    delete from payout_dispatches where account_id = p_account and payout_id = p_payout;
  else
    update payout_dispatches set due_at = p_due_at, lease_until = null, fence = fence + 1,
      tries = case when p_outcome = 'retry' then tries else 0 end
    where account_id = p_account and payout_id = p_payout;
  end if;
  return 'applied';
end
$$;

revoke execute on function claim_dispatches, begin_attempt, move_payout, post_refund, post_transfer
  from public;
