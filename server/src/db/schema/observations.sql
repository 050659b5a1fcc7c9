-- Every report about a payout, whether or not it had an effect.
create table observations (
  account_id uuid not null,
  payout_id uuid not null,
  id uuid not null,
  source text not null
    check (source in ('send', 'query', 'sandbox', 'callback', 'file', 'poll', 'person')),
  outcome text not null,
  reason text not null default '',
  is_applied boolean not null,
  observed_at timestamptz not null,
  code text not null default '',
  primary key (account_id, payout_id, id)
);
alter table observations enable row level security;
create policy own_account on observations using (account_id = current_account());
grant select on observations to outlay_tenant;

-- The state of an attempt after an outcome.
create function attempt_state(p_outcome text) returns text
  language sql immutable parallel safe
  return case p_outcome when 'ready_for_pickup' then 'accepted' when 'hold' then 'unknown'
    when 'park' then 'retry' when 'exhausted' then 'rejected' else p_outcome end;

-- What follows from a report of a rail: apply, no_effect, stale (the answer to an outdated claim,
-- which proves nothing), or the kind of exception that a contradiction opens, which moves nothing.
-- docs/guides/exceptions.md has the table, and a test checks each of its cells. p_is_past: a later
-- attempt has begun. p_is_newer: the report is of a later moment than the latest one. p_back: the
-- amount returned since. p_amount: the amount paid, if reported.
create function classify_report(
  p payouts, a attempts, p_outcome text, p_is_past boolean, p_is_newer boolean, p_is_stale boolean,
  p_amount bigint, p_back bigint
) returns text
  language sql immutable as $$
  select case
    when p_is_stale and p_outcome in ('unknown', 'retry', 'hold', 'park') then 'stale'
    -- Paid after a rejection, through whichever attempt.
    when p_outcome = 'paid' and (p_is_past or p.status = 'ERROR'
      or (p.status = 'CANCELLED' and p.completed_at is null)) then 'paid_after_refusal'
    when p_outcome = 'returned' and (p_is_past or p.status = 'ERROR'
      or (p.status = 'CANCELLED' and p.completed_at is null)) then 'return_of_unpaid'
    when p_outcome in ('accepted', 'ready_for_pickup')
      and (p_is_past or p.status = 'ERROR' or (p.status = 'CANCELLED' and p.completed_at is null))
      then case when p_is_newer then 'accepted_after_refusal' else 'no_effect' end
    when p_is_past then 'no_effect'
    when p_outcome = 'paid' and p_amount <> p.destination_amount
      and a.state is distinct from 'returned' then 'amount_differs'
    when p_outcome = 'paid' and p.status = 'CANCELLED'
      then case when p_is_newer then 'paid_after_return' else 'no_effect' end
    when p_outcome in ('rejected', 'exhausted') and (p.status = 'COMPLETED'
      or a.state = 'paid'
      or (p.status = 'CANCELLED' and p.completed_at is not null
        and p.returned_amount < p.destination_amount)) then 'refused_after_payment'
    -- The rejection may have preceded the acceptance of a later call: query again.
    when p_is_stale and p_outcome in ('rejected', 'exhausted') then 'stale'
    when p_outcome = 'hold' and p.status = 'READY_FOR_PICKUP' then 'unknown_outcome'
    when p_outcome = 'returned' and p.status = 'CANCELLED'
      then case when p_back > 0 then 'apply' else 'no_effect' end
    when plan_moves(p.status, p_outcome) is null then 'no_effect'
    else 'apply'
  end;
$$;

-- Posts a return of a payment that was written off to suspense. Returns the amount.
create function post_write_back(
  p payouts, p_rail text, p_amount bigint, p_at timestamptz
) returns bigint
  language plpgsql as $$
declare
  v_part bigint;
begin
  select least(p_amount,
    coalesce(sum(amount) filter (where kind = 'paid_after_refusal'), 0)
      - coalesce(sum(amount) filter (where kind = 'return_of_unpaid'), 0))
  into v_part
  from exceptions
  where account_id = p.account_id and payout_id = p.id and rail = p_rail
    and (resolution like 'write_off by %' or resolution = 'written back');
  if v_part <= 0 then return 0; end if;
  perform post_aside(p, 'write_back', p_rail, p.destination_currency, v_part, p_at);
  insert into exceptions (account_id, id, payout_id, rail, kind, currency, amount, opened_at,
    closed_at, resolution)
  values (p.account_id, gen_random_uuid(), p.id, p_rail, 'return_of_unpaid',
    p.destination_currency, v_part, p_at, p_at, 'written back');
  return v_part;
end
$$;

-- Opens an exception for a contradiction and stops what must not go on meanwhile. Returns the
-- result of the report.
create function open_contradiction(
  p payouts, a attempts, p_kind text, p_rail text, p_amount bigint, p_detail text,
  p_provider_reference text, p_at timestamptz
) returns text
  language plpgsql as $$
declare
  v_amount bigint := coalesce(p_amount, p.destination_amount);
begin
  if p_kind = 'return_of_unpaid' then
    v_amount := v_amount - post_write_back(p, p_rail, v_amount, p_at);
    if v_amount = 0 then return 'applied'; end if;
  end if;
  perform open_exception(p.account_id, p.id, p_rail, p_kind, p_detail, p.destination_currency,
    v_amount, p_at);
  if p_kind = 'amount_differs' and p.status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD') then
    -- It was sent, so it is never sent again. An operator decides whether it is complete.
    update attempts set state = 'paid', taken_at = coalesce(taken_at, p_at), answered_at = p_at,
      provider_reference = coalesce(p_provider_reference, provider_reference)
    where account_id = p.account_id and payout_id = p.id and number = a.number;
    perform reschedule_dispatch(p, 'infinity', false, p_at);
  elsif p_kind in ('paid_after_refusal', 'accepted_after_refusal') and p.status = 'PROCESSING'
    and not exists (
      select from attempts
      where account_id = p.account_id and payout_id = p.id
        and state in ('sending', 'unknown', 'accepted', 'paid'))
  then
    -- No later attempt has begun: hold it for the operator.
    p := move_payout(p, 'HOLD', 'an earlier payer reports that it has the payment', null, p_at);
    perform reschedule_dispatch(p, 'infinity', false, p_at);
  end if;
  return 'exception';
end
$$;

-- Updates the attempt of an applied report.
create function record_attempt(
  p payouts, p_number integer, p_outcome text, p_reason text, p_reported_at timestamptz,
  p_extra json, p_at timestamptz
) returns void
  language sql as $$
  update attempts set
    state = attempt_state(p_outcome),
    reason = p_reason,
    taken_at = case
      when p_outcome in ('accepted', 'ready_for_pickup', 'paid') then coalesce(taken_at, p_at)
      else taken_at end,
    unknown_since = case
      when p_outcome in ('unknown', 'hold') then coalesce(unknown_since, p_at) end,
    answered_at = p_at,
    reported_at = greatest(reported_at, least(p_reported_at, p_at)),
    provider_reference = coalesce(p_extra ->> 'provider_reference', provider_reference),
    standing_id = coalesce((p_extra ->> 'standing')::uuid, standing_id)
  where account_id = p.account_id and payout_id = p.id and number = p_number
    and payer_key = p.payer_key;
$$;

-- Records a report about a payout and applies it in one transaction: state, journals, events,
-- attempt and the next call (null: as the state requires). The dispatcher passes a fencing token; a
-- report without one (callback, file, sandbox, operator) invalidates a claim that may be running.
-- The answer to an outdated claim still counts where money is concerned.
--
-- p_extra is an object: rail (the present one if absent), reference of the payment (the latest
-- attempt of the rail if absent), at (milliseconds: when it happened according to the rail), code,
-- provider_reference, amount (text: returned or paid), charges, standing, first_routing, routing,
-- next_rail and next_payer (where a rejected payout continues), is_exhausted (no payer is left),
-- exception (the kind to open with HOLD or ERROR), detail.
--
-- Returns applied, no_effect, exception, stale (outdated token), illegal (the sandbox or an
-- operator requests an impossible move) or not_found.
create function apply_observation(
  p_account uuid, p_payout uuid, p_observation uuid, p_source text, p_outcome text, p_reason text,
  p_fence bigint, p_due_at timestamptz, p_journals uuid[], p_extra json
) returns text
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  p payouts;
  a attempts;
  v_now timestamptz;
  v_at timestamptz;
  v_fence bigint;
  v_rail text;
  v_outcome text := p_outcome;
  v_is_rail boolean := p_source not in ('sandbox', 'person');
  v_is_notification boolean := p_source in ('callback', 'file', 'poll');
  v_is_stale boolean;
  v_is_past boolean;
  v_is_disputed boolean;
  v_is_rerouted boolean;
  v_amount bigint := (p_extra ->> 'amount')::bigint;
  v_moves text[];
  v_move text;
  v_step integer := 0;
  v_answered bigint;
  v_notified bigint;
  v_back bigint;
  v_excess bigint := 0;
  v_class text;
  v_detail text := coalesce(p_extra ->> 'detail', p_extra ->> 'code', '');
  v_due_at timestamptz := p_due_at;
begin
  perform require_own_account(p_account);
  -- A tenant may script the simulated network, and never speaks for another rail.
  if is_tenant() and (p_source <> 'sandbox' or p_fence is not null or p_extra is not null
    or (select name from environment) <> 'staging')
  then
    raise exception 'a client may decide outcomes in the sandbox only'
      using errcode = 'insufficient_privilege';
  end if;
  perform 1 from accounts where id = p_account for update;
  select fence into v_fence from payout_dispatches
  where account_id = p_account and payout_id = p_payout for update;
  select * into p from payouts where account_id = p_account and id = p_payout;
  if not found then return 'not_found'; end if;
  v_now := environment_now();
  v_at := coalesce(to_timestamp((p_extra ->> 'at')::numeric / 1000), v_now);
  v_rail := coalesce(p_extra ->> 'rail', p.rail);
  select * into a from attempts
  where account_id = p_account and payout_id = p_payout and rail = v_rail
    and (p_extra ->> 'reference' is null or reference = p_extra ->> 'reference')
  order by number desc limit 1;
  v_is_stale := p_fence is not null and v_fence is distinct from p_fence;
  v_is_past := v_is_rail and a.number is not null and (v_rail <> p.rail
    or a.payer_key <> p.payer_key
    or a.number < (select max(number) from attempts
      where account_id = p_account and payout_id = p_payout));
  v_is_disputed := exists (
    select from exceptions
    where account_id = p_account and payout_id = p_payout and closed_at is null
      and kind in ('paid_after_refusal', 'accepted_after_refusal', 'amount_differs'));
  -- An answer to a query has the total that was returned, a notification one part of it.
  v_answered := p.returned_told;
  v_notified := p.returned_heard;
  if v_outcome = 'returned' then
    if v_is_notification then v_notified := v_notified + coalesce(v_amount, p.destination_amount);
    else v_answered := greatest(v_answered, coalesce(v_amount, p.destination_amount));
    end if;
  end if;
  v_back := greatest(v_answered, v_notified) - greatest(p.returned_told, p.returned_heard);
  if v_outcome = 'rejected' and (p_extra ->> 'is_exhausted')::boolean and not v_is_past
    and plan_moves(p.status, 'exhausted') is not null
  then
    v_outcome := 'exhausted';
  end if;

  -- Classify.
  v_class := case
    when not v_is_rail and (plan_moves(p.status, v_outcome) is not null
      or (v_outcome = 'returned' and p.status = 'CANCELLED' and p.completed_at is not null
        and v_back > 0)) then 'apply'
    when not v_is_rail then 'illegal'
    -- The rail never received an instruction for this payout.
    when a.number is null and p_source not in ('send', 'query') then 'unmatched'
    else classify_report(p, a, v_outcome, v_is_past,
      case when v_is_stale then false when v_is_notification then v_at > a.reported_at
        else true end,
      v_is_stale, v_amount, v_back)
    end;
  if v_class = 'illegal' then return v_class; end if;

  -- Record.
  insert into observations (account_id, payout_id, id, source, outcome, reason, code, is_applied,
    observed_at)
  values (p_account, p_payout, p_observation, p_source, v_outcome, p_reason,
    coalesce(p_extra ->> 'code', ''), v_class = 'apply', v_now);
  if p_extra -> 'charges' is not null and a.number is not null then
    perform post_charges(p, v_rail, p_extra -> 'charges', v_now);
  end if;
  if v_outcome = 'returned' and v_class in ('apply', 'no_effect') and not v_is_past then
    update payout_states set returned_told = v_answered, returned_heard = v_notified
    where account_id = p_account and payout_id = p_payout;
  end if;
  if v_class = 'stale' then
    -- The rejection may be outdated: query the rail now.
    if v_outcome in ('rejected', 'exhausted') then
      update payout_dispatches set due_at = least(due_at, v_now)
      where account_id = p_account and payout_id = p_payout and due_at < 'infinity';
    end if;
    return 'stale';
  elsif v_class <> 'apply' then
    if v_class <> 'no_effect' then
      if v_class = 'amount_differs' then
        v_detail := concat_ws(', ', format('reported %s, instructed %s (minor units)', v_amount,
          p.destination_amount), nullif(v_detail, ''));
      end if;
      v_class := open_contradiction(p, a, v_class, v_rail, v_amount, v_detail,
        p_extra ->> 'provider_reference', v_now);
      select * into p from payouts where account_id = p_account and id = p_payout;
    end if;
    -- It answers the running claim, which ends here.
    if p_fence is not null and not v_is_stale and exists (
      select from payout_dispatches
      where account_id = p_account and payout_id = p_payout and fence = p_fence)
    then
      perform reschedule_dispatch(p, p_due_at, true, v_now);
    end if;
    return v_class;
  end if;

  -- Post. Where another attempt may have paid, nothing is refunded or sent before a decision.
  if v_is_disputed and v_is_rail and v_outcome in ('rejected', 'exhausted', 'retry') then
    v_moves := coalesce(plan_moves(p.status, 'park'), array[]::text[]);
    v_due_at := 'infinity';
  else
    v_moves := coalesce(plan_moves(p.status, v_outcome), array[]::text[]);
  end if;
  v_is_rerouted := p_extra ->> 'next_rail' is not null and not v_is_disputed
    and p.status in ('PROCESSING', 'HOLD') and v_outcome = 'rejected';
  if v_is_rerouted then
    v_moves := case p.status when 'HOLD' then array['PROCESSING'] else array[]::text[] end;
  end if;
  foreach v_move in array v_moves loop
    v_step := v_step + 1;
    p := move_payout(p, v_move, case
        when v_move = 'CANCELLED' and v_outcome = 'returned' then 'returned: ' || p_reason
        when v_move in ('CANCELLED', 'HOLD', 'ERROR') then p_reason
        else '' end, p_journals[v_step], v_now);
  end loop;
  if v_outcome = 'returned' then
    v_excess := post_return(p, v_back,
      case when v_step < cardinality(p_journals) then p_journals[v_step + 1]
        else gen_random_uuid() end, v_now);
  end if;
  if v_excess > 0 then
    perform post_aside(p, 'excess', p.rail, p.destination_currency, v_excess, v_now);
    perform open_exception(p_account, p_payout, v_rail, 'excess_return', v_detail,
      p.destination_currency, v_excess, v_now);
  end if;
  if p_extra ->> 'exception' is not null and p.status in ('HOLD', 'ERROR') then
    perform open_exception(p_account, p_payout, v_rail, p_extra ->> 'exception', v_detail,
      p.destination_currency, p.destination_amount, v_now);
  end if;
  perform record_attempt(p, a.number, v_outcome, p_reason, v_at, p_extra, v_now);
  perform record_routings(p, p_extra ->> 'first_routing',
    case when v_is_rerouted or v_outcome = 'exhausted' then p_extra ->> 'routing' end, v_now);

  -- Reschedule.
  if v_is_rerouted then
    perform reroute_payout(p, p_extra ->> 'next_rail', p_extra ->> 'next_payer', v_now);
    p.rail := p_extra ->> 'next_rail';
    perform reschedule_dispatch(p, v_now, false, v_now);
    update payout_dispatches set rail = p.rail
    where account_id = p_account and payout_id = p_payout;
  else
    perform reschedule_dispatch(p, v_due_at, v_outcome in ('retry', 'unknown', 'hold'), v_now);
  end if;
  return 'applied';
end
$$;
grant execute on function apply_observation to outlay_tenant;

-- Applies answers of rails that do not touch the wallet, many at once: those that leave the state,
-- or complete a payout, or make it READY_FOR_PICKUP, under the present fencing token. The caller
-- passes all others to apply_observation.
create function apply_observations(
  p_accounts uuid[], p_payouts uuid[], p_observations uuid[], p_sources text[], p_outcomes text[],
  p_reasons text[], p_codes text[], p_provider_references text[], p_standings uuid[],
  p_routings text[], p_fences bigint[], p_due_ats timestamptz[], p_journals uuid[],
  p_may_wait boolean
) returns table (ordinal integer, is_held boolean)
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set jit = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_locked uuid[];
  v_month date;
begin
  v_locked := lock_accounts(p_accounts, p_may_wait);
  -- Before the payouts are read, as take_dispatches expects.
  perform 1 from payout_dispatches d
  join unnest(p_accounts, p_payouts) r (account_id, payout_id)
    on d.account_id = r.account_id and d.payout_id = r.payout_id
  where r.account_id = any (v_locked)
  for update of d;
  v_now := environment_now();
  v_month := month_of(v_now);
  return query
  with reports as materialized (
    select r.*, q.user_id, q.notify_user, q.source_currency, q.source_amount, q.fee,
      q.destination_currency, q.destination_amount, coalesce(s.rail, q.rail) as rail,
      (plan_moves(s.status, r.outcome))[1] as move
    from unnest(p_accounts, p_payouts, p_observations, p_sources, p_outcomes, p_reasons, p_codes,
      p_provider_references, p_standings, p_routings, p_fences, p_due_ats, p_journals)
      with ordinality as r (account_id, payout_id, observation_id, source, outcome, reason, code,
        provider_reference, standing_id, routing, fence, due_at, journal_id, ord)
    join payout_dispatches d on d.account_id = r.account_id and d.payout_id = r.payout_id
      and d.fence = r.fence
    join payout_states s on s.account_id = r.account_id and s.payout_id = r.payout_id
    join payout_quotes q on q.account_id = r.account_id and q.id = r.payout_id
    where r.account_id = any (v_locked)
      and plan_moves(s.status, r.outcome) <@ array['COMPLETED', 'READY_FOR_PICKUP']
      and cardinality(plan_moves(s.status, r.outcome)) <= 1
      -- Only a payout that has ended may have no next call.
      and (r.due_at is not null or plan_moves(s.status, r.outcome) = array['COMPLETED'])
      -- Nothing is sent again while an exception is open.
      and (r.outcome <> 'retry' or not exists (
        select from exceptions e
        where e.account_id = r.account_id and e.payout_id = r.payout_id and e.closed_at is null))
  ), new_observations as (
    insert into observations (account_id, payout_id, id, source, outcome, reason, code, is_applied,
      observed_at)
    select account_id, payout_id, observation_id, source, outcome, reason, code, true, v_now
    from reports
  ), moved as (
    update payout_states s set status = r.move, updated_at = v_now, status_reason = '',
      completed_at = case when r.move = 'COMPLETED' then v_now else s.completed_at end
    from reports r
    where r.move is not null and s.account_id = r.account_id and s.payout_id = r.payout_id
  ), posted as (
    insert into ledger_journals (account_id, id, kind, payout_id, source_currency, source_amount,
      fee, destination_currency, destination_amount, rail, created_at)
    select account_id, journal_id, 'complete', payout_id, source_currency, source_amount, fee,
      destination_currency, destination_amount, rail, v_now
    from reports where move = 'COMPLETED'
  ), attempted as (
    update attempts a set
      state = attempt_state(r.outcome),
      reason = r.reason,
      taken_at = case
        when r.outcome in ('accepted', 'ready_for_pickup', 'paid') then coalesce(a.taken_at, v_now)
        else a.taken_at end,
      unknown_since = case
        when r.outcome in ('unknown', 'hold') then coalesce(a.unknown_since, v_now) end,
      answered_at = v_now,
      reported_at = v_now,
      provider_reference = coalesce(nullif(r.provider_reference, ''), a.provider_reference),
      standing_id = coalesce(a.standing_id, r.standing_id)
    from reports r
    where a.account_id = r.account_id and a.payout_id = r.payout_id
      and a.number = (select max(number) from attempts l
        where l.account_id = r.account_id and l.payout_id = r.payout_id)
  ), routed as (
    insert into payout_routings (account_id, payout_id, number, body, created_at)
    select account_id, payout_id, 1 + (select count(*) from payout_routings o
        where o.account_id = r.account_id and o.payout_id = r.payout_id), routing, v_now
    from reports r where routing is not null
  ), done as (
    delete from payout_dispatches d using reports r
    where r.due_at is null and d.account_id = r.account_id and d.payout_id = r.payout_id
  ), waiting as (
    update payout_dispatches d set due_at = r.due_at, lease_until = null, fence = d.fence + 1,
      faults = 0,
      tries = case when r.outcome in ('retry', 'unknown', 'hold') then d.tries else 0 end
    from reports r
    where r.due_at is not null and d.account_id = r.account_id and d.payout_id = r.payout_id
  ), numbered as (
    update accounts a set event_sequence = a.event_sequence + n.count
    from (select account_id, count(*) as count from reports where move is not null
      group by account_id) n
    where a.id = n.account_id
    returning a.id, a.event_sequence - n.count as before
  ), new_events as (
    insert into events (account_id, sequence, month, type, subject_id, detail, created_at)
    select r.account_id, n.before + row_number() over (partition by r.account_id order by r.ord),
      v_month, 'payout.' || lower(r.move), r.payout_id, '', v_now
    from reports r join numbered n on n.id = r.account_id
    where r.move is not null
  ), new_notifications as (
    insert into notifications (account_id, id, payout_id, user_id, kind, created_at)
    select account_id, gen_random_uuid(), payout_id, user_id, move, v_now
    from reports where notify_user and move in ('COMPLETED', 'READY_FOR_PICKUP')
  )
  select ord::integer, false from reports
  union all
  select ord::integer, true
  from unnest(p_accounts) with ordinality a (account_id, ord)
  where account_id <> all (v_locked);
end
$$;
