-- What observations do once they are classified (observations.sql): recorded, posted, refused.

-- Stores observations, and what applied ones say about their attempts.
create function record_observations(p_observed classified_observation[], p_at timestamptz)
  returns void
  language plpgsql as $$
begin
  insert into observations (account_id, payout_id, id, source, outcome, reason, code, amount, is_applied,
    observed_at, provider_reference, mac)
  select account_id, payout_id, observation_id, source, outcome, reason,
    coalesce(details ->> 'code', ''), (details ->> 'amount')::bigint, class = 'apply', p_at,
    coalesce(details ->> 'provider_reference', ''), mac
  from unnest(p_observed);
  update attempts a set
    state = attempt_state(o.outcome),
    reason = o.reason,
    taken_at = case
      when o.outcome in ('accepted', 'ready_for_pickup', 'paid') then coalesce(a.taken_at, p_at)
      else a.taken_at end,
    unknown_since = case
      when o.outcome in ('unknown', 'hold') then coalesce(a.unknown_since, p_at) end,
    answered_at = p_at,
    reported_at = greatest(a.reported_at, least(o.happened_at, p_at)),
    -- What came back has a reference of its own, which only its observation has.
    provider_reference = case
      when o.outcome = 'returned' and a.provider_reference <> '' then a.provider_reference
      else coalesce(o.details ->> 'provider_reference', a.provider_reference) end,
    referenced_at = coalesce(a.referenced_at,
      case when o.details ->> 'provider_reference' <> '' then p_at end),
    standing_id = coalesce((o.details ->> 'standing')::uuid, a.standing_id)
  from unnest(p_observed) o
  where o.class = 'apply' and a.account_id = o.account_id and a.payout_id = o.payout_id
    and a.number = o.attempt and a.payer_key = o.payer_key;
  update payout_states s set returned_by_query = o.returned_by_query,
    returned_by_notification = o.returned_by_notification
  from unnest(p_observed) o
  where o.outcome = 'returned' and o.class in ('apply', 'no_effect') and not o.is_past
    and s.account_id = o.account_id and s.payout_id = o.payout_id;
  perform record_routings(o.account_id, o.payout_id, o.details ->> 'first_routing',
    case when o.is_rerouted or o.outcome = 'exhausted' then o.details ->> 'routing' end, p_at)
  from unnest(p_observed) o
  where o.class = 'apply' and (o.details ? 'first_routing' or o.details ? 'routing');
  perform post_charges(o.account_id, o.payout_id, o.rail, o.details -> 'charges', p_at)
  from unnest(p_observed) o
  where o.details ? 'charges' and o.attempt is not null;
end
$$;

-- Moves the payouts of applied observations, and posts what a move alone does not: returns, their
-- excess, the route to another payer, and the exception that a hold asks about.
create function post_observations(p_observed classified_observation[], p_at timestamptz)
  returns void
  language plpgsql as $$
declare
  o classified_observation;
  v_payout payouts;
  v_excess bigint;
begin
  for v_step in 1 .. (
    select coalesce(max(cardinality(moves)), 0) from unnest(p_observed) where class = 'apply')
  loop
    perform move_payouts(array_agg(account_id), array_agg(payout_id), array_agg(moves[v_step]),
      array_agg(case
        when moves[v_step] = 'CANCELLED' and outcome = 'returned' then 'returned: ' || reason
        when moves[v_step] in ('CANCELLED', 'HOLD', 'ERROR') then reason
        else '' end), p_at)
    from unnest(p_observed)
    where class = 'apply' and cardinality(moves) >= v_step;
  end loop;
  for o in
    select * from unnest(p_observed)
    where class = 'apply' and (outcome = 'returned' or is_rerouted or details ? 'exception')
  loop
    select * into v_payout from payouts where account_id = o.account_id and id = o.payout_id;
    if o.outcome = 'returned' then
      v_excess := post_return(v_payout, o.newly_returned, p_at);
      -- An excess over what was paid may be a second payment, which was written off.
      v_excess := v_excess - post_write_back(v_payout, o.rail, 'excess_return', v_excess, p_at);
      if v_excess > 0 then
        perform post_amount(v_payout, 'excess', v_payout.rail, v_payout.destination_currency,
          v_excess, p_at);
        perform open_exception(o.account_id, o.payout_id, o.rail, 'excess_return',
          describe_observation(o), v_payout.destination_currency, v_excess, p_at, o.attempt, true);
      end if;
    end if;
    if o.details ? 'exception' and v_payout.status in ('HOLD', 'ERROR') then
      perform open_exception(o.account_id, o.payout_id, o.rail, o.details ->> 'exception',
        describe_observation(o), v_payout.destination_currency, v_payout.destination_amount, p_at);
    end if;
    if o.is_rerouted then
      perform reroute_payout(v_payout, o.details ->> 'next_rail', o.details ->> 'next_payer',
        o.details ->> 'next_price', p_at);
    end if;
  end loop;
end
$$;

-- The amount of payments through a rail that was written off and has not come back.
create function sum_written_off(payout payouts, p_rail text) returns bigint
  language sql stable
  return (
    select coalesce(sum(case resolution when 'written back' then -amount else amount end), 0)
    from exceptions
    where account_id = payout.account_id and payout_id = payout.id and rail = p_rail
      and (resolution like 'write_off by %' or resolution = 'written back'));

-- Posts a return of a payment that was written off to suspense, with a closed exception of the kind that
-- the return would open by itself. Returns the amount.
create function post_write_back(
  payout payouts, p_rail text, p_kind text, p_amount bigint, p_at timestamptz
) returns bigint
  language plpgsql as $$
declare
  v_part bigint;
begin
  v_part := least(p_amount, sum_written_off(payout, p_rail));
  if v_part <= 0 then return 0; end if;
  perform post_amount(payout, 'write_back', p_rail, payout.destination_currency, v_part, p_at);
  insert into exceptions (account_id, id, payout_id, rail, kind, currency, amount, opened_at,
    closed_at, resolution)
  values (payout.account_id, gen_random_uuid(), payout.id, p_rail, p_kind,
    payout.destination_currency, v_part, p_at, p_at, 'written back');
  return v_part;
end
$$;

-- Opens an exception for a contradiction and stops what must not go on meanwhile. Returns the
-- result of the observation.
create function open_contradiction(
  payout payouts, o classified_observation, p_at timestamptz
) returns text
  language plpgsql as $$
declare
  v_amount bigint := coalesce((o.details ->> 'amount')::bigint, payout.destination_amount);
  v_detail text := describe_observation(o);
begin
  -- Reported again by another message: a second write-off would book it twice.
  if o.class in ('paid_after_refusal', 'paid_after_return') and sum_written_off(payout, o.rail) > 0 and exists (
    select from exceptions
    where account_id = payout.account_id and payout_id = payout.id and rail = o.rail
      and attempt is not distinct from o.attempt and kind = o.class and amount = v_amount
      and resolution like 'write_off by %')
  then return 'no_effect'; end if;
  if o.class = 'amount_differs' then
    v_detail := concat_ws(', ', format('reported %s, instructed %s (minor units)', v_amount,
      payout.destination_amount), nullif(v_detail, ''));
  end if;
  if o.class = 'return_of_unpaid' then
    v_amount := v_amount - post_write_back(payout, o.rail, o.class, v_amount, p_at);
    if v_amount = 0 then return 'applied'; end if;
  end if;
  perform open_exception(payout.account_id, payout.id, o.rail, o.class, v_detail, payout.destination_currency,
    v_amount, p_at, o.attempt,
    o.class = 'return_of_unpaid' and o.source in ('callback', 'file', 'poll'));
  if o.class = 'amount_differs' and payout.status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD') then
    -- It was sent, so it is never sent again. An operator decides whether it is complete.
    update attempts set state = 'paid', taken_at = coalesce(taken_at, p_at), answered_at = p_at,
      provider_reference = coalesce(o.details ->> 'provider_reference', provider_reference),
      referenced_at = coalesce(referenced_at,
        case when o.details ->> 'provider_reference' <> '' then p_at end)
    where account_id = payout.account_id and payout_id = payout.id and number = o.attempt;
    perform reschedule_dispatches(array[payout.account_id], array[payout.id],
      array['infinity'::timestamptz], array[false], p_at);
  elsif o.class in ('paid_after_refusal', 'accepted_after_refusal') and payout.status = 'PROCESSING'
    and not exists (
      select from attempts
      where account_id = payout.account_id and payout_id = payout.id
        and state in ('sending', 'unknown', 'accepted', 'paid'))
  then
    -- No later attempt has begun: hold it for the operator.
    perform move_payout(payout, 'HOLD', 'an earlier payer reports that it has the payment', p_at);
    perform reschedule_dispatches(array[payout.account_id], array[payout.id],
      array['infinity'::timestamptz], array[false], p_at);
  end if;
  return 'exception';
end
$$;

-- Deals with observations that do not apply, and answers their results: stale rejections are queried
-- again now, contradictions open an exception, and a claim that was answered ends.
create function refuse_observation(o classified_observation, p_at timestamptz) returns text
  language plpgsql as $$
declare
  v_payout payouts;
  v_result text := o.class;
begin
  if o.class = 'stale' then
    if o.outcome in ('rejected', 'exhausted') then
      update payout_dispatches set due_at = least(due_at, p_at)
      where account_id = o.account_id and payout_id = o.payout_id and due_at < 'infinity';
    end if;
    return o.class;
  end if;
  if o.class <> 'no_effect' then
    select * into v_payout from payouts where account_id = o.account_id and id = o.payout_id;
    v_result := open_contradiction(v_payout, o, p_at);
  end if;
  if exists (
    select from payout_dispatches
    where account_id = o.account_id and payout_id = o.payout_id and fence = o.fence)
  then
    perform reschedule_dispatches(array[o.account_id], array[o.payout_id], array[o.due_at],
      array[true], p_at);
  end if;
  return v_result;
end
$$;

-- Records observations and applies them in one transaction: state, journals, events, attempt and the
-- next call (due at null: as the state requires). Each payout may be named once. The dispatcher passes
-- the fencing token of its claim; an observation without one (a notification, the sandbox, a person)
-- invalidates a claim that may be running. The answer to an outdated claim still counts where money is
-- concerned.
--
-- Results: applied, no_effect, exception, stale (outdated token), illegal (the sandbox or a person
-- requests an impossible move), not_found, and held (another transaction has the account).
create function apply_observations(
  p_accounts uuid[], p_payouts uuid[], p_observations uuid[], p_sources text[], p_outcomes text[],
  p_reasons text[], p_fences bigint[], p_due_ats timestamptz[], p_details jsonb[], p_macs bytea[],
  p_may_wait boolean
) returns table (ordinal integer, result text)
  language plpgsql as $$
#variable_conflict use_column
declare
  v_locked uuid[] := lock_accounts(p_accounts, p_may_wait);
  v_now timestamptz;
  v_observed classified_observation[];
  v_known classified_observation[];
begin
  -- Before the payouts are read, as claim_dispatches expects.
  perform 1 from payout_dispatches d
  join unnest(p_accounts, p_payouts) r (account_id, payout_id)
    on d.account_id = r.account_id and d.payout_id = r.payout_id
  where r.account_id = any (v_locked)
  for update of d;
  v_now := environment_now();
  v_observed := array(
    select c from classify_observations(p_accounts, p_payouts, p_observations, p_sources, p_outcomes,
      p_reasons, p_fences, p_due_ats, p_details, p_macs, v_now) c
    where c.account_id = any (v_locked));
  v_known := array(
    select o from unnest(v_observed) o where o.class not in ('not_found', 'illegal'));
  perform record_observations(v_known, v_now);
  perform post_observations(v_known, v_now);
  perform reschedule_dispatches(array_agg(account_id), array_agg(payout_id), array_agg(due_at),
    array_agg(outcome in ('retry', 'unknown', 'hold')), v_now)
  from unnest(v_known) where class = 'apply';
  return query
  select o.ord, case
      when o.class = 'apply' then 'applied'
      when o.class in ('not_found', 'illegal') then o.class
      else refuse_observation(o, v_now) end
  from unnest(v_observed) o
  union all
  select ord::integer, 'held' from unnest(p_accounts) with ordinality a (account_id, ord)
  where account_id <> all (v_locked);
end
$$;

-- Applies one observation. A client may decide outcomes of the simulated network, and speaks for no
-- other rail.
create function apply_observation(
  p_account uuid, p_payout uuid, p_observation uuid, p_source text, p_outcome text, p_reason text,
  p_fence bigint, p_due_at timestamptz, p_details jsonb, p_mac bytea
) returns text
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform require_own_account(p_account);
  if is_tenant() and (p_source <> 'sandbox' or p_fence is not null or p_details is not null
    or (select name from environment) <> 'staging')
  then
    raise exception 'a client may decide outcomes in the sandbox only'
      using errcode = 'insufficient_privilege';
  end if;
  return coalesce((
    select result from apply_observations(array[p_account], array[p_payout], array[p_observation],
      array[p_source], array[p_outcome], array[p_reason], array[p_fence], array[p_due_at],
      array[p_details], array[p_mac], true)), 'not_found');
end
$$;
grant execute on function apply_observation to outlay_tenant;
