-- The functions through which money moves, one payout at a time: commit, dispatch, outcomes. Those
-- for many at once are in 0010.

create function write_event(
  p_account uuid, p_type text, p_subject uuid, p_payload text, p_at timestamptz,
  p_detail text default ''
) returns void
  language plpgsql as $$
declare
  v_sequence bigint;
begin
  update accounts set event_sequence = event_sequence + 1
  where id = p_account
  returning event_sequence into strict v_sequence;
  insert into events (account_id, sequence, month, type, subject_id, payload, detail, created_at)
  values (p_account, v_sequence, month_of(p_at), p_type, p_subject, p_payload, p_detail, p_at);
end
$$;

create function payout_event(p payouts, p_at timestamptz) returns void
  language plpgsql as $$
begin
  perform write_event(p.account_id, 'payout.' || lower(p.status), p.id, null, p_at,
    p.status_reason);
  if p.notify_user and p.status in ('PROCESSING', 'READY_FOR_PICKUP', 'COMPLETED', 'CANCELLED') then
    insert into notifications (account_id, id, payout_id, user_id, kind, created_at)
    values (p.account_id, gen_random_uuid(), p.id, p.user_id, p.status, p_at);
  end if;
end
$$;

-- Brings money in from outside and opens the balance where there is none yet; an amount of zero
-- only opens it. Answers the balance's row. A tenant may do this in the sandbox only.
create function fund_balance(
  p_account uuid, p_currency text, p_amount bigint, p_token uuid, p_journal uuid
) returns ledger_accounts
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_now timestamptz := environment_now();
  v_wallet ledger_accounts;
begin
  perform require_own_account(p_account);
  if is_tenant() and (select name from environment) <> 'staging' then
    raise exception 'a client funds a balance in the sandbox only'
      using errcode = 'insufficient_privilege';
  end if;
  perform 1 from accounts where id = p_account for update;
  perform open_ledger_account(p_account, p_currency, 'wallet', p_token, v_now);
  if p_amount > 0 then
    insert into ledger_journals (account_id, id, kind, source_currency, source_amount,
      wallet_balance, created_at)
    select p_account, journal_id(journal_time(), 0, p_journal), 'fund', p_currency, p_amount, balance + p_amount, v_now
    from ledger_accounts
    where account_id = p_account and currency = p_currency and name = 'wallet';
  end if;
  select * into strict v_wallet from ledger_accounts
  where account_id = p_account and currency = p_currency and name = 'wallet';
  perform write_event(p_account, 'balance.funded', v_wallet.token,
    json_build_object('token', v_wallet.token, 'currency_code', p_currency)::text, v_now);
  return v_wallet;
end
$$;

-- Posts a step of a payout, all of its amounts. The caller holds the account's row.
create function post_journal(p payouts, p_kind text, p_journal uuid, p_at timestamptz) returns void
  language sql as $$
  insert into ledger_journals (account_id, id, kind, payout_id, source_currency, source_amount, fee,
    destination_currency, destination_amount, rail, wallet_balance, created_at)
  select p.account_id, journal_id(journal_time(), 0, p_journal), p_kind, p.id, p.source_currency,
    p.source_amount,
    case when p_kind = 'return' then 0 else p.fee end, p.destination_currency,
    p.destination_amount, p.rail,
    w.balance + case p_kind
      when 'commit' then -p.source_amount - p.fee
      when 'refund' then p.source_amount + p.fee
      when 'return' then p.source_amount end,
    p_at
  from ledger_accounts w
  where w.account_id = p.account_id and w.currency = p.source_currency and w.name = 'wallet';
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
  select * into p from payouts where account_id = p_account and id = p_payout and user_id = p_user;
  if not found then result := 'not_found'; return; end if;
  if p.status in ('CANCELLED', 'ERROR') then
    result := 'ended'; detail := p.status_reason; return;
  end if;
  if p.committed_at is not null then
    result := 'success'; pickup_code := p.pickup_code; return;
  end if;
  v_now := environment_now();
  if v_now >= p.expires_at then result := 'ex_rate_expired'; return; end if;
  select payout_id into v_first from payout_states
  where account_id = p_account and client_transfer_id = p.client_transfer_id;
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
  where account_id = p_account and currency = p.source_currency and name = 'wallet';
  if coalesce(v_balance, 0) < p.source_amount + p.fee then
    result := 'insufficient_funds'; return;
  end if;

  p.status := 'PROCESSING';
  p.pickup_code := case when p.delivery_type = 'CASH_PICKUP' then p_pickup_code else '' end;
  insert into payout_states (account_id, payout_id, status, client_transfer_id, attr_set_id,
    attr_version, pickup_code, committed_at, updated_at)
  values (p_account, p_payout, p.status, p.client_transfer_id, p.attr_set_id, p.attr_version,
    p.pickup_code, v_now, v_now);
  perform post_journal(p, 'commit', p_journal, v_now);
  insert into payout_dispatches (account_id, payout_id, due_at) values (p_account, p_payout, v_now);
  perform payout_event(p, v_now);
  result := 'success';
  pickup_code := p.pickup_code;
end
$$;

-- Moves a committed payout one step, with the postings and the event of that step. The caller
-- holds the account's row. The fee stays when a payment is returned.
create function move_payout(
  p payouts, p_to text, p_reason text, p_journal uuid, p_at timestamptz
) returns payouts
  language plpgsql as $$
declare
  v_kind text := case
    when p_to = 'COMPLETED' then 'complete'
    when p_to = 'CANCELLED' and p.status = 'COMPLETED' then 'return'
    when p_to = 'CANCELLED' then 'refund' end;
begin
  update payout_states set status = p_to, status_reason = p_reason, updated_at = p_at,
    completed_at = case when p_to = 'COMPLETED' then p_at else completed_at end
  where account_id = p.account_id and payout_id = p.id and status = p.status;
  if not found then raise exception 'the payout is not %', p.status; end if;
  if v_kind is not null then perform post_journal(p, v_kind, p_journal, p_at); end if;
  p.status := p_to;
  p.status_reason := p_reason;
  perform payout_event(p, p_at);
  return p;
end
$$;

-- Takes payouts that are due: each gets a lease by the database's own time, a fence (a later claim
-- has a higher one, and only the newest may record anything), and what it needs: 'send' with its
-- attempt written, or 'query' where an earlier attempt may be alive. One payout, due or not, where
-- it is named. Whoever records something of a payout locks its dispatch before it reads the payout,
-- so that what is decided here holds.
create function take_dispatches(
  p_count integer, p_lease_ms integer, p_account uuid default null, p_payout uuid default null
) returns table (
  account_id uuid, payout_id uuid, fence bigint, tries integer, mode text, was_taken boolean,
  unknown_since timestamptz, now timestamptz, rail text, payer_key text, country text,
  delivery_type text, destination_currency text, destination_amount bigint, pickup_code text,
  committed_at timestamptz, estimated_availability timestamptz, user_id uuid, attr_set_id uuid,
  attributes bytea, data_key bytea, person bytea
)
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set jit = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := environment_now();
  v_taken payout_dispatches[];
begin
  with due as (
    select account_id, payout_id from payout_dispatches
    where due_at <= v_now and p_payout is null
      and (lease_until is null or lease_until < clock_timestamp())
    order by due_at
    limit p_count
    for update skip locked
  ), named as (
    select account_id, payout_id from payout_dispatches
    where account_id = p_account and payout_id = p_payout
      and (lease_until is null or lease_until < clock_timestamp())
    for update skip locked
  ), taken as (
    update payout_dispatches d
    set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond',
      fence = d.fence + 1, tries = d.tries + 1
    from (select * from due union all select * from named) t
    where d.account_id = t.account_id and d.payout_id = t.payout_id
    returning d.*
  )
  select array_agg(row(t.*)::payout_dispatches) into v_taken from taken t;
  if v_taken is null then return; end if;

  return query
  with taken as materialized (
    select * from unnest(v_taken)
  ), judged as materialized (
    select t.account_id, t.payout_id, t.fence, t.tries, l.number, l.taken_at is not null as was_taken,
      l.unknown_since, p.rail, p.payer_key, p.country, p.delivery_type, p.destination_currency,
      p.destination_amount, p.pickup_code, p.committed_at, p.estimated_availability, p.user_id,
      p.attr_set_id, p.attr_version,
      case
        when p.status not in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD', 'COMPLETED') then 'ended'
        when l.state <> 'retry' then 'query'
        when p.status <> 'PROCESSING' then 'held'
        else 'send'
      end as mode
    from taken t
    join payouts p on p.account_id = t.account_id and p.id = t.payout_id
    left join lateral (
      select number, state, taken_at, unknown_since from attempts a
      where a.account_id = t.account_id and a.payout_id = t.payout_id
      order by number desc limit 1
    ) l on true
  ), begun as (
    insert into attempts (account_id, payout_id, number, rail, payer_key, reference, state, fence,
      started_at)
    select account_id, payout_id, coalesce(number, 0) + 1, rail, payer_key,
      payout_reference(payout_id), 'sending', fence, v_now
    from judged where mode = 'send'
  ), ended as (
    delete from payout_dispatches d using judged j
    where j.mode = 'ended' and d.account_id = j.account_id and d.payout_id = j.payout_id
  ), held as (
    -- Held with nothing sent: whoever releases it makes it due again.
    update payout_dispatches d set due_at = 'infinity', lease_until = null from judged j
    where j.mode = 'held' and d.account_id = j.account_id and d.payout_id = j.payout_id
  )
  select j.account_id, j.payout_id, j.fence, j.tries, j.mode, j.was_taken, j.unknown_since, v_now,
    j.rail, j.payer_key, j.country, j.delivery_type, j.destination_currency, j.destination_amount,
    j.pickup_code, j.committed_at, j.estimated_availability, j.user_id, j.attr_set_id, v.sealed,
    u.data_key, u.sealed
  from judged j
  join users u on u.account_id = j.account_id and u.id = j.user_id
  left join attribute_set_versions v
    on v.account_id = j.account_id and v.set_id = j.attr_set_id and v.version = j.attr_version
  where j.mode in ('send', 'query');
end
$$;

-- The reference by which a rail knows a payout: a function of the payout and nothing else.
create function payout_reference(p_payout uuid) returns text
  language sql immutable parallel safe
  return replace(p_payout::text, '-', '');

-- Puts off a payout that could not be worked on, so that it neither stops nor starves the others.
create function postpone_dispatch(
  p_account uuid, p_payout uuid, p_fence bigint, p_wait_ms bigint
) returns void
  language sql as $$
  update payout_dispatches
  set due_at = environment_now() + p_wait_ms * interval '1 millisecond', lease_until = null
  where account_id = p_account and payout_id = p_payout and fence = p_fence;
$$;

-- What becomes of an attempt by what was heard of it.
create function attempt_state(p_outcome text) returns text
  language sql immutable parallel safe
  return case p_outcome when 'ready_for_pickup' then 'accepted' when 'hold' then 'unknown'
    else p_outcome end;

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
  select fence into v_fence from payout_dispatches
  where account_id = p_account and payout_id = p_payout for update;
  select * into p from payouts where account_id = p_account and id = p_payout;
  if not found then return 'not_found'; end if;
  v_now := environment_now();
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
      state = attempt_state(p_outcome),
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
