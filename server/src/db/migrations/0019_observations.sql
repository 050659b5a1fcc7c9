-- Everything that can be heard of a payment, one at a time, in any order.

-- What a word means that contradicts what is known; nothing moves by it, a person decides. `p_is_past`:
-- it comes from a rail that had refused the payout, which has gone on since.
create function find_contradiction(
  p payouts, p_state text, p_outcome text, p_is_past boolean
) returns text
  language sql immutable as $$
  select case
    when p_outcome = 'rejected' and not p_is_past and p_state in ('paid', 'returned')
      and p.status <> 'CANCELLED' then 'refused_after_payment'
    when p_outcome = 'paid' and p_state in ('rejected', 'retry')
      and (p_is_past or p.status in ('CANCELLED', 'ERROR')) then 'paid_after_refusal'
    when p_outcome = 'returned' and (p_is_past or p.status in ('CANCELLED', 'ERROR'))
      and (p_is_past or p.completed_at is null) then 'return_of_unpaid'
    when p_outcome = 'hold' and p.status = 'READY_FOR_PICKUP' then 'unknown_outcome'
  end;
$$;

-- Money that came back from a rail of which we had written off that it was paid: back to suspense.
-- Answers how much of it that is.
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

-- Records what was heard of a payout and does what follows from it, in one transaction: state,
-- postings, events, attempt, and when to ask again (null: never). A fence is given by the dispatch
-- loop; without one (callbacks, files, the sandbox's calls, persons) the claim that may be running is
-- outdated instead. An outdated claim may still say that money is there. What does not fit is kept
-- without effect, or put before a person.
--
-- `p_extra`, an object: `rail` whom it was heard from (its present one when absent), `code`,
-- `provider_reference`, `amount` (text; of a return or of what was paid), `charges`, `standing`,
-- `first_routing`, `routing`, `next_rail` and `next_payer` (where a refused payout goes on),
-- `is_exhausted` (nobody is left to go on with), `exception` (the kind, where a hold or a parking
-- asks a person), `detail`.
--
-- Answers applied, no_effect, exception, stale (an outdated fence), illegal (the sandbox or a person
-- wants what cannot follow) or not_found.
create or replace function apply_observation(
  p_account uuid, p_payout uuid, p_observation uuid, p_source text, p_outcome text, p_reason text,
  p_fence bigint, p_due_at timestamptz, p_journals uuid[], p_extra json
) returns text
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  p payouts;
  a attempts;
  v_now timestamptz;
  v_fence bigint;
  v_rail text;
  v_outcome text := p_outcome;
  v_is_rail boolean := p_source not in ('sandbox', 'person');
  -- The rail speaks of an attempt of its own that the payout has left behind.
  v_is_past boolean;
  v_is_disputed boolean;
  v_amount bigint := p_extra ->> 'amount';
  v_moves text[];
  v_move text;
  v_step integer := 0;
  v_told bigint;
  v_heard bigint;
  v_back bigint;
  v_excess bigint := 0;
  v_exception text;
  v_detail text := coalesce(p_extra ->> 'detail', p_extra ->> 'code', '');
  v_result text := 'applied';
  v_is_rerouted boolean := false;
  v_due_at timestamptz := p_due_at;
begin
  perform require_own_account(p_account);
  -- A tenant may let the simulated network say something; it never speaks for a rail.
  if is_tenant() and (p_source <> 'sandbox' or p_fence is not null or p_extra is not null
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
  v_rail := coalesce(p_extra ->> 'rail', p.rail);
  select * into a from attempts
  where account_id = p_account and payout_id = p_payout and rail = v_rail
  order by number desc limit 1;
  v_is_past := v_is_rail and a.number is not null and (v_rail <> p.rail
    or a.payer_key <> p.payer_key
    or a.number < (select max(number) from attempts
      where account_id = p_account and payout_id = p_payout));
  v_is_disputed := exists (
    select from exceptions
    where account_id = p_account and payout_id = p_payout and closed_at is null
      and kind in ('paid_after_refusal', 'amount_differs'));
  -- An answer tells what came back in all, an observation what came back this time (or all of it).
  v_told := p.returned_told;
  v_heard := p.returned_heard;
  if v_outcome = 'returned' then
    if p_source in ('callback', 'file', 'poll') then
      v_heard := case when v_amount is null then greatest(v_heard, p.destination_amount)
        else v_heard + v_amount end;
    else
      v_told := greatest(v_told, coalesce(v_amount, p.destination_amount));
    end if;
  end if;
  v_back := greatest(v_told, v_heard) - greatest(p.returned_told, p.returned_heard);

  if p_fence is not null and v_fence is distinct from p_fence then
    -- Nobody waits for it any more, but money that is there is there.
    if v_outcome in ('accepted', 'ready_for_pickup', 'paid', 'returned') then p_fence := null;
    else v_result := 'stale';
    end if;
  end if;
  if v_result = 'stale' then
    null;
  elsif a.number is null and v_is_rail and p_source not in ('send', 'query') then
    -- A rail speaks of what it was never given.
    v_exception := 'unmatched';
  elsif v_is_past then
    v_exception := find_contradiction(p, a.state, v_outcome, true);
    if v_exception is null then v_result := 'no_effect'; end if;
  elsif v_is_rail and find_contradiction(p, a.state, v_outcome, false) is not null then
    v_exception := find_contradiction(p, a.state, v_outcome, false);
  else
    -- Nobody is left to go on with: only who still holds the money can keep it for a decision.
    if v_outcome = 'rejected' and (p_extra ->> 'is_exhausted')::boolean
      and plan_moves(p.status, 'exhausted') is not null
    then
      v_outcome := 'exhausted';
    end if;
    -- An earlier rail says that it paid: nothing is refunded or sent before a person has decided.
    if v_is_disputed and v_is_rail and v_outcome in ('rejected', 'exhausted', 'retry') then
      v_moves := plan_moves(p.status, 'park');
      v_due_at := 'infinity';
      if v_moves is null then v_moves := array[]::text[]; end if;
    else
      v_moves := plan_moves(p.status, v_outcome);
    end if;
    if v_outcome = 'paid' and v_moves is not null and v_is_rail
      and v_amount <> p.destination_amount
    then
      v_moves := null;
      v_exception := 'amount_differs';
    elsif v_moves is null and v_outcome = 'returned' and p.status = 'CANCELLED'
      and p.completed_at is not null and v_back > 0
    then
      -- Another part of it, or more than there was.
      v_moves := array[]::text[];
    elsif v_moves is null then
      if not v_is_rail then return 'illegal'; end if;
      v_result := 'no_effect';
    end if;
  end if;
  if v_exception is not null then v_result := 'exception'; end if;

  insert into observations (account_id, payout_id, id, source, outcome, reason, code, is_applied,
    observed_at)
  values (p_account, p_payout, p_observation, p_source, v_outcome, p_reason,
    coalesce(p_extra ->> 'code', ''), v_result = 'applied', v_now);
  if p_extra -> 'charges' is not null and a.number is not null then
    perform post_charges(p, v_rail, p_extra -> 'charges', v_now);
  end if;

  if v_outcome = 'returned' and v_result <> 'stale' and v_exception is null and not v_is_past then
    update payout_states set returned_told = v_told, returned_heard = v_heard
    where account_id = p_account and payout_id = p_payout;
  end if;

  if v_result in ('stale', 'no_effect') then
    -- Of a running claim this was the answer: it ends here.
    if v_result = 'no_effect' and p_fence is not null then
      update payout_dispatches set due_at = coalesce(p_due_at, 'infinity'), lease_until = null
      where account_id = p_account and payout_id = p_payout;
    end if;
    return v_result;
  end if;

  if v_result = 'exception' then
    v_amount := coalesce(v_amount, p.destination_amount);
    if v_exception = 'return_of_unpaid' then
      v_amount := v_amount - post_write_back(p, v_rail, v_amount, v_now);
      if v_amount = 0 then return 'applied'; end if;
    end if;
    perform open_exception(p_account, p_payout, v_rail, v_exception, v_detail,
      p.destination_currency, v_amount, v_now);
    if v_exception = 'amount_differs' then
      -- It left, so it is never sent again; whether it is done is for a person to say.
      update attempts set state = 'paid', taken_at = coalesce(taken_at, v_now), answered_at = v_now,
        provider_reference = coalesce(p_extra ->> 'provider_reference', provider_reference)
      where account_id = p_account and payout_id = p_payout and number = a.number;
      update payout_dispatches set due_at = 'infinity', lease_until = null, fence = fence + 1
      where account_id = p_account and payout_id = p_payout;
    elsif v_exception = 'paid_after_refusal' and p.status = 'PROCESSING' and not exists (
      select from attempts
      where account_id = p_account and payout_id = p_payout
        and state in ('sending', 'unknown', 'accepted', 'paid'))
    then
      -- Nothing of it is alive elsewhere yet: it waits for the person.
      perform move_payout(p, 'HOLD', 'an earlier payer says that it was paid', null, v_now);
      update payout_dispatches set due_at = 'infinity', lease_until = null, fence = fence + 1
      where account_id = p_account and payout_id = p_payout;
    elsif p_fence is not null then
      update payout_dispatches set due_at = coalesce(p_due_at, 'infinity'), lease_until = null
      where account_id = p_account and payout_id = p_payout;
    end if;
    return v_result;
  end if;

  if p_extra ->> 'next_rail' is not null and not v_is_disputed
    and p.status in ('PROCESSING', 'HOLD') and v_outcome = 'rejected'
  then
    v_is_rerouted := true;
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
  update attempts set
    state = attempt_state(v_outcome),
    reason = p_reason,
    taken_at = case
      when v_outcome in ('accepted', 'ready_for_pickup', 'paid') then coalesce(taken_at, v_now)
      else taken_at end,
    unknown_since = case
      when v_outcome in ('unknown', 'hold') then coalesce(unknown_since, v_now) end,
    answered_at = v_now,
    provider_reference = coalesce(p_extra ->> 'provider_reference', provider_reference),
    standing_id = coalesce((p_extra ->> 'standing')::uuid, standing_id)
  where account_id = p_account and payout_id = p_payout and number = a.number
    and a.payer_key = p.payer_key;
  insert into payout_routings (account_id, payout_id, number, body, created_at)
  select p_account, p_payout, n.before + row_number() over (order by r.place), r.body, v_now
  from (values (1, p_extra ->> 'first_routing'),
    (2, case when v_is_rerouted or v_outcome = 'exhausted' then p_extra ->> 'routing' end)
  ) r (place, body)
  cross join (
    select count(*) as before from payout_routings
    where account_id = p_account and payout_id = p_payout
  ) n
  where r.body is not null;

  if v_is_rerouted then
    perform reroute_payout(p, p_extra ->> 'next_rail', p_extra ->> 'next_payer', v_now);
    update payout_dispatches set rail = p_extra ->> 'next_rail', due_at = v_now, lease_until = null,
      fence = fence + 1, tries = 0, faults = 0
    where account_id = p_account and payout_id = p_payout;
  elsif v_due_at is null or p.status = 'CANCELLED' then
    delete from payout_dispatches where account_id = p_account and payout_id = p_payout;
  else
    update payout_dispatches set
      due_at = case when p.status = 'ERROR' then 'infinity' else v_due_at end,
      lease_until = null, fence = fence + 1, faults = 0,
      tries = case when v_outcome in ('retry', 'unknown', 'hold') then tries else 0 end
    where account_id = p_account and payout_id = p_payout;
  end if;
  return v_result;
end
$$;
drop function apply_observation(uuid, uuid, uuid, text, text, text, bigint, timestamptz, uuid[]);

revoke execute on all functions in schema public from public;
grant execute on function apply_observation to outlay_tenant;
