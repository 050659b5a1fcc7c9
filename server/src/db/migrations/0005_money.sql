-- The functions through which money moves: commit, dispatch, outcomes.

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
  p_account uuid, p_payout uuid, p_fence bigint, p_reference text, p_lease_ms integer,
  out mode text, out was_taken boolean, out unknown_since timestamptz, out now timestamptz
)
  language plpgsql as $$
declare
  p payouts;
  v_last attempts;
begin
  mode := 'none';
  now := environment_now();
  -- The payout before its dispatch, as everybody locks them.
  select * into strict p from payouts
  where account_id = p_account and id = p_payout for key share;
  -- The lease counts from here: the claim may have waited in its queue.
  update payout_dispatches
  set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
  where account_id = p_account and payout_id = p_payout and fence = p_fence;
  if not found then return; end if;
  if p.status not in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD', 'COMPLETED') then
    delete from payout_dispatches where account_id = p_account and payout_id = p_payout;
    return;
  end if;
  select * into v_last from attempts
  where account_id = p_account and payout_id = p_payout order by number desc limit 1;
  if found and v_last.state <> 'retry' then
    mode := 'query';
    was_taken := v_last.taken_at is not null;
    unknown_since := v_last.unknown_since;
    return;
  end if;
  if p.status <> 'PROCESSING' then
    -- Held with nothing sent: whoever releases it makes it due again.
    update payout_dispatches set due_at = 'infinity', lease_until = null
    where account_id = p_account and payout_id = p_payout;
    return;
  end if;
  mode := 'send';
  insert into attempts (account_id, payout_id, number, rail, payer_key, reference, state, fence,
    started_at)
  values (p_account, p_payout, coalesce(v_last.number, 0) + 1, p.rail, p.payer_key, p_reference, 'sending',
    p_fence, now);
end
$$;

-- Puts off a payout that could not be worked on, so that it neither stops nor starves the others.
create function postpone_dispatch(
  p_account uuid, p_payout uuid, p_fence bigint, p_wait_ms bigint
) returns void
  language sql as $$
  update payout_dispatches
  set due_at = environment_now() + p_wait_ms * interval '1 millisecond', lease_until = null
  where account_id = p_account and payout_id = p_payout and fence = p_fence;
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
  -- A tenant may let the simulated network say something; it never speaks for a rail.
  if is_tenant() and (p_source <> 'sandbox' or p_fence is not null
    or (select name from environment) <> 'staging')
  then
    raise exception 'a client decides outcomes in the sandbox only'
      using errcode = 'insufficient_privilege';
  end if;
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
      taken_at = case
        when p_outcome in ('accepted', 'ready_for_pickup', 'paid') then coalesce(taken_at, v_now)
        else taken_at end,
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
      tries = case when p_outcome in ('retry', 'unknown', 'hold') then tries else 0 end
    where account_id = p_account and payout_id = p_payout;
  end if;
  return 'applied';
end
$$;

-- What a client of the sandbox wants the simulated network to do with a payout.
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

-- Outside the sandbox nobody approves a recipient over a client's own connection.
create function refuse_live_tenant() returns trigger
  language plpgsql as $$
begin
  if is_tenant() and (select name from environment) <> 'staging' then
    raise exception 'a client does not approve its own users'
      using errcode = 'insufficient_privilege';
  end if;
  return new;
end
$$;
create trigger approval_is_ours before update on users
  for each row when (new.kyc_status = 'approved' and old.kyc_status <> 'approved')
  execute function refuse_live_tenant();

-- A tenant calls what is made for it, and nothing else.
revoke execute on all functions in schema public from public;
grant execute on function current_account, is_tenant, require_own_account, environment_now,
  write_event, payout_event, fund_balance, commit_payout, apply_observation,
  script_sandbox_payout
  to outlay_tenant;
