-- Reports of rails: references that a restored database derives again, a classification of every
-- report against what is known, and a next step for every payout that has not ended.

-- The reference under which a rail and its counterpart know a payment. It is a function of the account,
-- the client's own identifier and the try, so that a client who repeats a payout after the database was
-- restored to an earlier moment meets the counterpart's duplicate check. A new try follows a definite
-- refusal by the same rail. 128 bits of SHA-256 in the layout of a UUID of version 5, which every rail
-- can carry.
create function payment_reference(p_account uuid, p_client_transfer_id text, p_try integer) returns text
  language sql immutable parallel safe
  return (
    select substr(h, 1, 12) || '5' || substr(h, 14, 3)
      || substr('89ab', 1 + (get_byte(decode('0' || substr(h, 17, 1), 'hex'), 0) & 3), 1)
      || substr(h, 18, 15)
    from (select encode(sha256(convert_to(
      p_account::text || '/' || p_try || '/' || p_client_transfer_id, 'UTF8')), 'hex') as h) d
  );

create index attempts_reference on attempts (reference);
drop index attempts_payout;
-- When what is known of the attempt happened, by the rail's account: an older report that arrives later
-- contradicts nothing.
alter table attempts add column reported_at timestamptz;

-- Reports of one payment are applied in their own order, whoever takes them.
drop index rail_observations_unapplied;
create index rail_observations_unapplied on rail_observations (rail, reference)
  where state = 'waiting';

alter table exceptions drop constraint exceptions_kind_check,
  add constraint exceptions_kind_check check (kind in ('unmatched', 'unreadable', 'not_understood',
    'paid_after_refusal', 'accepted_after_refusal', 'paid_after_return', 'refused_after_payment',
    'return_of_unpaid', 'excess_return', 'amount_differs', 'unknown_outcome', 'not_sent', 'parked',
    'routes_exhausted', 'screening', 'velocity', 'rail_missing', 'overdue', 'unscheduled',
    'report_changed', 'recovered'));

-- A report that is doubtful leaves a payout that is ready for pickup where it is; it is asked about.
create or replace function plan_moves(p_status text, p_outcome text) returns text[]
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
    when 'exhausted' then case p_status
      when 'PROCESSING' then array['ERROR']
      when 'HOLD' then array['PROCESSING', 'ERROR'] end
    when 'returned' then case p_status
      when 'COMPLETED' then array['CANCELLED']
      when 'PROCESSING' then array['COMPLETED', 'CANCELLED']
      when 'READY_FOR_PICKUP' then array['COMPLETED', 'CANCELLED']
      when 'HOLD' then array['PROCESSING', 'COMPLETED', 'CANCELLED'] end
    when 'hold' then case p_status when 'PROCESSING' then array['HOLD'] end
    when 'park' then case p_status when 'PROCESSING' then array['HOLD'] end
    when 'accepted' then case p_status
      when 'HOLD' then array['PROCESSING']
      when 'PROCESSING' then array[]::text[]
      when 'READY_FOR_PICKUP' then array[]::text[] end
    when 'unknown' then case
      when p_status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD') then array[]::text[] end
    when 'retry' then case
      when p_status in ('PROCESSING', 'HOLD') then array[]::text[] end
  end;

-- What follows from a rail's report: `apply`, `no_effect`, `stale` (the answer to a claim that is
-- outdated and proves nothing), or the kind of exception that a contradiction opens; then nothing moves
-- and a person decides. The table that it implements is in docs/guides/exceptions.md and is tested cell
-- by cell. `p_is_past`: the payout has gone on to another attempt since. `p_is_newer`: the report is of
-- a later moment than what is known. `p_back`: how much more than known came back. `p_amount`: what was
-- paid, where the report says so.
drop function find_contradiction;
create function classify_report(
  p payouts, a attempts, p_outcome text, p_is_past boolean, p_is_newer boolean, p_is_stale boolean,
  p_amount bigint, p_back bigint
) returns text
  language sql immutable as $$
  select case
    when p_is_stale and p_outcome in ('unknown', 'retry', 'hold', 'park') then 'stale'
    -- Money that left after a refusal, through whichever attempt.
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
    -- Who refused may have answered before the payment was taken by a later call: it is asked again.
    when p_is_stale and p_outcome in ('rejected', 'exhausted') then 'stale'
    when p_outcome = 'hold' and p.status = 'READY_FOR_PICKUP' then 'unknown_outcome'
    when p_outcome = 'returned' and p.status = 'CANCELLED'
      then case when p_back > 0 then 'apply' else 'no_effect' end
    when plan_moves(p.status, p_outcome) is null then 'no_effect'
    else 'apply'
  end;
$$;

-- Whether something will happen to a payout by itself, or a person is asked.
create function has_next_step(p_account uuid, p_payout uuid) returns boolean
  language sql stable as $$
  select exists (
    select from payout_dispatches
    where account_id = p_account and payout_id = p_payout and due_at < 'infinity'
  ) or exists (
    select from exceptions
    where account_id = p_account and payout_id = p_payout and closed_at is null
  );
$$;

-- When a rail is asked again. A payout that has not ended keeps a row here, and a time unless a person
-- is asked; one that has ended is only asked about where a time is given.
create function reschedule_dispatch(
  p payouts, p_due_at timestamptz, p_keeps_tries boolean, p_at timestamptz
) returns void
  language plpgsql as $$
declare
  v_due_at timestamptz := p_due_at;
begin
  if p.status = 'CANCELLED'
    or (p.status = 'COMPLETED' and coalesce(v_due_at, 'infinity') = 'infinity')
  then
    delete from payout_dispatches where account_id = p.account_id and payout_id = p.id;
    return;
  end if;
  if p.status = 'ERROR' then v_due_at := 'infinity'; end if;
  if coalesce(v_due_at, 'infinity') = 'infinity' and not exists (
    select from exceptions
    where account_id = p.account_id and payout_id = p.id and closed_at is null)
  then
    if p.status in ('PROCESSING', 'READY_FOR_PICKUP') then
      v_due_at := p_at + interval '15 minutes';
    else
      perform open_exception(p.account_id, p.id, p.rail, 'unscheduled',
        'nothing was due and no other question was open', null, null, p_at);
    end if;
  end if;
  v_due_at := coalesce(v_due_at, 'infinity');
  insert into payout_dispatches (account_id, payout_id, rail, due_at, is_checked)
  values (p.account_id, p.id, p.rail, v_due_at, true)
  on conflict (account_id, payout_id) do update set
    due_at = v_due_at, lease_until = null, fence = payout_dispatches.fence + 1, faults = 0,
    tries = case when p_keeps_tries then payout_dispatches.tries else 0 end;
end
$$;

-- Moves a committed payout one step, with the postings and the event of that step. The caller holds
-- the account's row. What comes back after completion is posted by `post_return`.
create or replace function move_payout(
  p payouts, p_to text, p_reason text, p_journal uuid, p_at timestamptz
) returns payouts
  language plpgsql as $$
declare
  v_kind text := case
    when p_to = 'COMPLETED' then 'complete'
    when p_to = 'CANCELLED' and p.status <> 'COMPLETED' then 'refund' end;
begin
  update payout_states set status = p_to, status_reason = p_reason, updated_at = p_at,
    completed_at = case when p_to = 'COMPLETED' then p_at else completed_at end
  where account_id = p.account_id and payout_id = p.id and status = p.status;
  if not found then raise exception 'the payout is not %', p.status; end if;
  if v_kind is not null then perform post_journal(p, v_kind, p_journal, p_at); end if;
  -- Questions that this answers.
  if p.status in ('HOLD', 'ERROR') or p_to in ('COMPLETED', 'CANCELLED') then
    update exceptions set closed_at = p_at, resolution = 'the payout went on to ' || p_to
    where account_id = p.account_id and payout_id = p.id and closed_at is null
      and kind in ('unknown_outcome', 'not_sent', 'parked', 'routes_exhausted', 'rail_missing',
        'screening', 'velocity', 'overdue', 'unscheduled');
  end if;
  if p_to = 'CANCELLED' then
    update velocity_entries set is_void = true
    where account_id = p.account_id and payout_id = p.id;
  end if;
  p.status := p_to;
  p.status_reason := p_reason;
  perform payout_event(p, p_at);
  return p;
end
$$;

-- Puts a contradiction before a person, with what has to stop meanwhile. Answers the result of the
-- report.
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
    -- It left, so it is never sent again; whether it is done is for a person to say.
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
    -- No later attempt has begun: it waits for the person.
    p := move_payout(p, 'HOLD', 'an earlier payer reports that it has the payment', null, p_at);
    perform reschedule_dispatch(p, 'infinity', false, p_at);
  end if;
  return 'exception';
end
$$;

-- Stores what follows from an applied report for its attempt.
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

create function record_routings(p payouts, p_first text, p_next text, p_at timestamptz) returns void
  language sql as $$
  insert into payout_routings (account_id, payout_id, number, body, created_at)
  select p.account_id, p.id, n.before + row_number() over (order by r.place), r.body, p_at
  from (values (1, p_first), (2, p_next)) r (place, body)
  cross join (
    select count(*) as before from payout_routings
    where account_id = p.account_id and payout_id = p.id
  ) n
  where r.body is not null;
$$;

-- Records a report about a payout and does what follows from it, in one transaction: state, postings,
-- events, attempt, and when to ask again (null: when nothing else is said). A fence is given by the
-- dispatch loop; without one (callbacks, files, the sandbox's calls, persons) a claim that may be
-- running becomes outdated. The answer to an outdated claim still counts where money is concerned.
--
-- `p_extra`, an object: `rail` that reports (the payout's present one when absent), `reference` of the
-- payment (the rail's latest attempt when absent), `at` (milliseconds: when it happened by the rail's
-- account), `code`, `provider_reference`, `amount` (text; of a return or of what was paid), `charges`,
-- `standing`, `first_routing`, `routing`, `next_rail` and `next_payer` (where a refused payout goes on),
-- `is_exhausted` (no payer is left), `exception` (the kind, where a hold or a parking asks a person),
-- `detail`.
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
  v_at timestamptz;
  v_fence bigint;
  v_rail text;
  v_outcome text := p_outcome;
  v_is_rail boolean := p_source not in ('sandbox', 'person');
  v_is_unasked boolean := p_source in ('callback', 'file', 'poll');
  v_is_stale boolean;
  v_is_past boolean;
  v_is_disputed boolean;
  v_is_rerouted boolean;
  v_amount bigint := p_extra ->> 'amount';
  v_moves text[];
  v_move text;
  v_step integer := 0;
  v_told bigint;
  v_heard bigint;
  v_back bigint;
  v_excess bigint := 0;
  v_class text;
  v_detail text := coalesce(p_extra ->> 'detail', p_extra ->> 'code', '');
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
  -- An answer says what came back in all, an unasked report what came back this time.
  v_told := p.returned_told;
  v_heard := p.returned_heard;
  if v_outcome = 'returned' then
    if v_is_unasked then v_heard := v_heard + coalesce(v_amount, p.destination_amount);
    else v_told := greatest(v_told, coalesce(v_amount, p.destination_amount));
    end if;
  end if;
  v_back := greatest(v_told, v_heard) - greatest(p.returned_told, p.returned_heard);
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
    -- A rail reports what it was never given.
    when a.number is null and p_source not in ('send', 'query') then 'unmatched'
    else classify_report(p, a, v_outcome, v_is_past,
      case when v_is_stale then false when v_is_unasked then v_at > a.reported_at else true end,
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
    update payout_states set returned_told = v_told, returned_heard = v_heard
    where account_id = p_account and payout_id = p_payout;
  end if;
  if v_class = 'stale' then
    -- A refusal that may be outdated: the rail is asked now.
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
    -- Of a running claim this was the answer: it ends here.
    if p_fence is not null and not v_is_stale and exists (
      select from payout_dispatches
      where account_id = p_account and payout_id = p_payout and fence = p_fence)
    then
      perform reschedule_dispatch(p, p_due_at, true, v_now);
    end if;
    return v_class;
  end if;

  -- Post.
  -- Another attempt may have paid: nothing is refunded or sent before a person has decided.
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

-- What rails answered, many at once. It takes what leaves the wallet alone: no move at all, or one to
-- COMPLETED or READY_FOR_PICKUP; under the fence of the present claim.
create or replace function apply_observations(
  p_accounts uuid[], p_payouts uuid[], p_observations uuid[], p_sources text[], p_outcomes text[],
  p_reasons text[], p_codes text[], p_provider_references text[], p_standings uuid[],
  p_routings text[], p_fences bigint[], p_due_ats timestamptz[], p_journals uuid[], p_may_wait boolean
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
  with heard as materialized (
    select r.*, q.user_id, q.notify_user, q.source_currency, q.source_amount, q.fee,
      q.destination_currency, q.destination_amount, coalesce(s.rail, q.rail) as rail,
      (plan_moves(s.status, r.outcome))[1] as move
    from unnest(p_accounts, p_payouts, p_observations, p_sources, p_outcomes, p_reasons, p_codes,
      p_provider_references, p_standings, p_routings, p_fences, p_due_ats, p_journals) with ordinality
      as r (account_id, payout_id, observation_id, source, outcome, reason, code,
        provider_reference, standing_id, routing, fence, due_at, journal_id, ord)
    join payout_dispatches d on d.account_id = r.account_id and d.payout_id = r.payout_id
      and d.fence = r.fence
    join payout_states s on s.account_id = r.account_id and s.payout_id = r.payout_id
    join payout_quotes q on q.account_id = r.account_id and q.id = r.payout_id
    where r.account_id = any (v_locked)
      and plan_moves(s.status, r.outcome) <@ array['COMPLETED', 'READY_FOR_PICKUP']
      and cardinality(plan_moves(s.status, r.outcome)) <= 1
      -- Only one that has ended may have no next step.
      and (r.due_at is not null or plan_moves(s.status, r.outcome) = array['COMPLETED'])
      -- What would be sent again waits where an earlier payer says that it paid.
      and (r.outcome <> 'retry' or not exists (
        select from exceptions e
        where e.account_id = r.account_id and e.payout_id = r.payout_id and e.closed_at is null))
  ), noticed as (
    insert into observations (account_id, payout_id, id, source, outcome, reason, code, is_applied,
      observed_at)
    select account_id, payout_id, observation_id, source, outcome, reason, code, true, v_now
    from heard
  ), moved as (
    update payout_states s set status = h.move, updated_at = v_now, status_reason = '',
      completed_at = case when h.move = 'COMPLETED' then v_now else s.completed_at end
    from heard h
    where h.move is not null and s.account_id = h.account_id and s.payout_id = h.payout_id
  ), posted as (
    insert into ledger_journals (account_id, id, kind, payout_id, source_currency, source_amount,
      fee, destination_currency, destination_amount, rail, created_at)
    select account_id, journal_id, 'complete', payout_id, source_currency, source_amount, fee,
      destination_currency, destination_amount, rail, v_now
    from heard where move = 'COMPLETED'
  ), attempted as (
    update attempts a set
      state = attempt_state(h.outcome),
      reason = h.reason,
      taken_at = case
        when h.outcome in ('accepted', 'ready_for_pickup', 'paid') then coalesce(a.taken_at, v_now)
        else a.taken_at end,
      unknown_since = case
        when h.outcome in ('unknown', 'hold') then coalesce(a.unknown_since, v_now) end,
      answered_at = v_now,
      reported_at = v_now,
      provider_reference = coalesce(nullif(h.provider_reference, ''), a.provider_reference),
      standing_id = coalesce(a.standing_id, h.standing_id)
    from heard h
    where a.account_id = h.account_id and a.payout_id = h.payout_id
      and a.number = (select max(number) from attempts l
        where l.account_id = h.account_id and l.payout_id = h.payout_id)
  ), routed as (
    insert into payout_routings (account_id, payout_id, number, body, created_at)
    select account_id, payout_id, 1 + (select count(*) from payout_routings r
        where r.account_id = h.account_id and r.payout_id = h.payout_id), routing, v_now
    from heard h where routing is not null
  ), done as (
    delete from payout_dispatches d using heard h
    where h.due_at is null and d.account_id = h.account_id and d.payout_id = h.payout_id
  ), waiting as (
    update payout_dispatches d set due_at = h.due_at, lease_until = null, fence = d.fence + 1,
      faults = 0,
      tries = case when h.outcome in ('retry', 'unknown', 'hold') then d.tries else 0 end
    from heard h
    where h.due_at is not null and d.account_id = h.account_id and d.payout_id = h.payout_id
  ), counted as (
    update accounts a set event_sequence = a.event_sequence + n.count
    from (select account_id, count(*) as count from heard where move is not null
      group by account_id) n
    where a.id = n.account_id
    returning a.id, a.event_sequence - n.count as before
  ), told as (
    insert into events (account_id, sequence, month, type, subject_id, detail, created_at)
    select h.account_id, n.before + row_number() over (partition by h.account_id order by h.ord),
      v_month, 'payout.' || lower(h.move), h.payout_id, '', v_now
    from heard h join counted n on n.id = h.account_id
    where h.move is not null
  ), noted as (
    insert into notifications (account_id, id, payout_id, user_id, kind, created_at)
    select account_id, gen_random_uuid(), payout_id, user_id, move, v_now
    from heard where notify_user and move in ('COMPLETED', 'READY_FOR_PICKUP')
  )
  select ord::integer, false from heard
  union all
  select ord::integer, true
  from unnest(p_accounts) with ordinality a (account_id, ord)
  where account_id <> all (v_locked);
end
$$;


-- Takes payouts that are due, of each rail as many as it has room for: each gets a lease by the
-- database's own time, a fence (a later claim has a higher one, and only the newest may record
-- anything), and what it needs: 'check' while the rules have not let it pass, 'send' with its attempt
-- written, or 'query' where an earlier attempt may be alive. One payout, due or not, where it is
-- named. Whoever records something of a payout locks its dispatch before it reads the payout, so that
-- what is decided here holds.
drop function take_dispatches;
create function take_dispatches(
  p_rails text[], p_counts integer[], p_are_shaken boolean[], p_lease_ms integer,
  p_has_rules boolean,
  p_account uuid default null, p_payout uuid default null
) returns table (
  account_id uuid, payout_id uuid, fence bigint, tries integer, mode text,
  attempt_count integer, was_taken boolean, unknown_since timestamptz, first_tried_at timestamptz, now timestamptz, rail text,
  payer_key text, destination_token uuid, country text, delivery_type text,
  source_currency text, source_amount bigint, fee bigint, destination_currency text, destination_amount bigint, pickup_code text,
  committed_at timestamptz, estimated_availability timestamptz, user_id uuid, attr_set_id uuid,
  attributes bytea, data_key bytea, person bytea, user_country text, is_verified boolean,
  account_name text, reference text
)
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set jit = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := environment_now();
  v_taken payout_dispatches[] := array[]::payout_dispatches[];
  v_some payout_dispatches[];
  v_place integer;
begin
  for v_place in 1 .. coalesce(cardinality(p_rails), 0) loop
    if p_are_shaken[v_place] then
      -- Any of the 500 oldest: references that hang must not keep the others waiting in their order.
      with due as (
        select d.account_id, d.payout_id from (
          select account_id, payout_id from payout_dispatches
          where rail = p_rails[v_place] and due_at <= v_now
            and (lease_until is null or lease_until < clock_timestamp())
          order by due_at
          limit 500
        ) oldest
        join payout_dispatches d
          on d.account_id = oldest.account_id and d.payout_id = oldest.payout_id
        where d.rail = p_rails[v_place] and d.due_at <= v_now
          and (d.lease_until is null or d.lease_until < clock_timestamp())
        order by random()
        limit p_counts[v_place]
        for update of d skip locked
      ), taken as (
        update payout_dispatches d
        set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond',
          fence = d.fence + 1, tries = d.tries + 1
        from due t
        where d.account_id = t.account_id and d.payout_id = t.payout_id
        returning d.*
      )
      select array_agg(row(t.*)::payout_dispatches) into v_some from taken t;
    else
      with due as (
        select account_id, payout_id from payout_dispatches
        where rail = p_rails[v_place] and due_at <= v_now
          and (lease_until is null or lease_until < clock_timestamp())
        order by due_at
        limit p_counts[v_place]
        for update skip locked
      ), taken as (
        update payout_dispatches d
        set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond',
          fence = d.fence + 1, tries = d.tries + 1
        from due t
        where d.account_id = t.account_id and d.payout_id = t.payout_id
        returning d.*
      )
      select array_agg(row(t.*)::payout_dispatches) into v_some from taken t;
    end if;
    v_taken := v_taken || coalesce(v_some, array[]::payout_dispatches[]);
  end loop;
  if p_payout is not null then
    with named as (
      select account_id, payout_id from payout_dispatches
      where account_id = p_account and payout_id = p_payout
        and (lease_until is null or lease_until < clock_timestamp())
      for update skip locked
    ), taken as (
      update payout_dispatches d
      set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond',
        fence = d.fence + 1, tries = d.tries + 1
      from named t
      where d.account_id = t.account_id and d.payout_id = t.payout_id
      returning d.*
    )
    select array_agg(row(t.*)::payout_dispatches) into v_some from taken t;
    v_taken := v_taken || coalesce(v_some, array[]::payout_dispatches[]);
  end if;
  if cardinality(v_taken) = 0 then return; end if;
  if exists (select from exceptions where closed_at is null and kind = 'rail_missing') then
    update exceptions e set closed_at = v_now, resolution = 'the rail is there again'
    from unnest(v_taken) t
    where e.account_id = t.account_id and e.payout_id = t.payout_id and e.kind = 'rail_missing'
      and e.closed_at is null;
  end if;

  return query
  with taken as materialized (
    select * from unnest(v_taken)
  ), judged as materialized (
    select t.account_id, t.payout_id, t.fence, t.tries, coalesce(l.number, 0) as number,
      coalesce(l.is_present and l.taken_at is not null, false) as was_taken,
      case when l.is_present then l.unknown_since end as unknown_since,
      first.started_at as first_tried_at, p.rail, p.payer_key, p.destination_token,
      p.country, p.delivery_type, p.source_currency, p.source_amount, p.fee, p.destination_currency,
      p.destination_amount, p.pickup_code, p.committed_at, p.estimated_availability, p.user_id,
      p.attr_set_id, p.attr_version,
      -- That of the attempt that is asked about; else of the next one.
      case when l.state not in ('retry', 'rejected') then l.reference
        else payment_reference(p.account_id, p.client_transfer_id, 1 + (
          select count(distinct a.reference)::integer from attempts a
          where a.account_id = t.account_id and a.payout_id = t.payout_id
            and a.rail = p.rail and a.state = 'rejected'))
      end as reference,
      case
        when p.status not in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD', 'COMPLETED') then 'ended'
        when l.state not in ('retry', 'rejected') then 'query'
        when p.status = 'COMPLETED' then 'ended'
        when p.status <> 'PROCESSING' then 'held'
        when p_has_rules and not t.is_checked then 'check'
        else 'send'
      end as mode
    from taken t
    join payouts p on p.account_id = t.account_id and p.id = t.payout_id
    left join lateral (
      -- What was tried through an earlier payer says nothing of the present one.
      select number, state, reference, taken_at, unknown_since,
        a.rail = p.rail and a.payer_key = p.payer_key as is_present
      from attempts a
      where a.account_id = t.account_id and a.payout_id = t.payout_id
      order by number desc limit 1
    ) l on true
    left join lateral (
      select started_at from attempts a
      where l.is_present and a.account_id = t.account_id and a.payout_id = t.payout_id
        and a.rail = p.rail and a.payer_key = p.payer_key
      order by number limit 1
    ) first on true
  ), begun as (
    insert into attempts (account_id, payout_id, number, rail, payer_key, reference, state, fence,
      started_at)
    select account_id, payout_id, number + 1, rail, payer_key,
      reference, 'sending', fence, v_now
    from judged where mode = 'send'
  ), ended as (
    delete from payout_dispatches d using judged j
    where j.mode = 'ended' and d.account_id = j.account_id and d.payout_id = j.payout_id
  ), held as (
    -- Held with nothing sent: whoever releases it makes it due again.
    update payout_dispatches d set due_at = 'infinity', lease_until = null from judged j
    where j.mode = 'held' and d.account_id = j.account_id and d.payout_id = j.payout_id
  ), asked as (
    select open_exception(account_id, payout_id, rail, 'unscheduled',
      'held, and no other question was open', null, null, v_now)
    from judged j
    where mode = 'held' and not exists (
      select from exceptions e
      where e.account_id = j.account_id and e.payout_id = j.payout_id and e.closed_at is null)
  )
  select j.account_id, j.payout_id, j.fence, j.tries, j.mode, j.number, j.was_taken, j.unknown_since,
    j.first_tried_at, v_now, j.rail, j.payer_key, j.destination_token, j.country, j.delivery_type, j.source_currency,
    j.source_amount, j.fee, j.destination_currency, j.destination_amount, j.pickup_code,
    j.committed_at, j.estimated_availability, j.user_id, j.attr_set_id, v.sealed, u.data_key,
    u.sealed, u.country, u.kyc_status = 'approved', a.name, j.reference
  from judged j
  join users u on u.account_id = j.account_id and u.id = j.user_id
  join accounts a on a.id = j.account_id
  left join attribute_set_versions v
    on v.account_id = j.account_id and v.set_id = j.attr_set_id and v.version = j.attr_version
  where j.mode in ('check', 'send', 'query') and (select count(*) from asked) >= 0;
end
$$;

drop function payout_reference;

-- What a person decides about a payout that the machinery must not decide. `release` goes on with it,
-- `refund` ends it where nothing of it is alive, `paid`, `not_paid` and `returned` say what the rail
-- would not, `retry` sends an exhausted one through the payer that is named, `write_off` books what
-- was paid without belonging to a payout any more (and refunds what is still held), `dismiss` only
-- closes questions that leave nothing open. It takes effect when as many different persons as are
-- needed have said the same.
--
-- Answers done, waiting (for another person), illegal or not_found.
create or replace function decide_payout(
  p_account uuid, p_payout uuid, p_id uuid, p_action text, p_by text, p_reason text,
  p_needed integer, p_next_rail text, p_next_payer text, p_journals uuid[]
) returns text
  language plpgsql as $$
declare
  p payouts;
  v_now timestamptz;
  v_alive text;
  v_kinds text[];
  v_asked exceptions;
  v_persons integer;
  v_result text := 'applied';
  v_resolution text := p_action || ' by ' || p_by;
begin
  perform 1 from accounts where id = p_account for update;
  perform 1 from payout_dispatches
  where account_id = p_account and payout_id = p_payout for update;
  select * into p from payouts where account_id = p_account and id = p_payout;
  if not found then return 'not_found'; end if;
  v_now := environment_now();
  select rail into v_alive from attempts
  where account_id = p_account and payout_id = p_payout
    and state in ('sending', 'unknown', 'accepted', 'paid');
  v_kinds := case p_action
    when 'write_off' then array['paid_after_refusal', 'paid_after_return']
    when 'paid' then array['paid_after_refusal', 'amount_differs', 'unknown_outcome', 'parked']
    when 'not_paid' then array['amount_differs', 'unknown_outcome', 'parked']
    when 'returned' then array['refused_after_payment']
    when 'dismiss' then array['paid_after_refusal', 'accepted_after_refusal', 'paid_after_return',
      'refused_after_payment', 'return_of_unpaid', 'excess_return', 'unmatched', 'rail_missing',
      'overdue', 'report_changed', 'recovered']
    else array[]::text[] end;
  select * into v_asked from exceptions
  where account_id = p_account and payout_id = p_payout and closed_at is null
    and kind = any (v_kinds)
  order by opened_at desc limit 1;
  if not (case p_action
    when 'release' then p.status = 'HOLD'
    when 'refund' then v_alive is null
      and p.status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD', 'ERROR')
    when 'retry' then p.status = 'ERROR' and v_alive is null and p_next_rail is not null
    when 'paid' then p.status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD', 'ERROR')
      and coalesce(v_alive, v_asked.rail) is not null
      and (v_asked.kind is distinct from 'paid_after_refusal'
        or coalesce(v_alive, v_asked.rail) = v_asked.rail)
    when 'not_paid' then p.status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD')
      and v_alive is not null
    when 'returned' then (p.status = 'COMPLETED' and v_asked.id is not null)
      or (p.status = 'CANCELLED' and p.completed_at is not null
        and p.returned_amount < p.destination_amount)
    when 'write_off' then v_asked.id is not null
      and (p.status in ('CANCELLED', 'COMPLETED') or v_alive is null)
    when 'dismiss' then v_asked.id is not null and (p.status in ('PENDING', 'COMPLETED', 'CANCELLED')
      or exists (
        select from payout_dispatches
        where account_id = p_account and payout_id = p_payout and due_at < 'infinity')
      or exists (
        select from exceptions
        where account_id = p_account and payout_id = p_payout and closed_at is null
          and kind <> all (v_kinds)))
    else false end)
    -- While an earlier payer says that it paid, nothing goes out.
    or (p_action in ('release', 'retry') and exists (
      select from exceptions
      where account_id = p_account and payout_id = p_payout and closed_at is null
        and kind in ('paid_after_refusal', 'accepted_after_refusal', 'amount_differs')))
  then
    return 'illegal';
  end if;
  select count(distinct lower(trim(decided_by))) into v_persons from (
    select decided_by from payout_decisions
    where account_id = p_account and payout_id = p_payout and action = p_action
      and not is_effective and decided_at >= greatest(p.updated_at, v_asked.opened_at)
    union all select p_by
  ) said;
  insert into payout_decisions (account_id, payout_id, id, action, decided_by, reason, is_effective,
    decided_at)
  values (p_account, p_payout, p_id, p_action, p_by, p_reason, v_persons >= p_needed, v_now);
  if v_persons < p_needed then return 'waiting'; end if;

  if p_action = 'paid' and v_alive is null then
    -- Through the rail that says so, whichever it was to go through now.
    if p.status in ('HOLD', 'ERROR') then
      p := move_payout(p, 'PROCESSING', '', null, v_now);
    end if;
    if p.rail <> v_asked.rail then
      perform reroute_payout(p, v_asked.rail, (
        select payer_key from attempts
        where account_id = p_account and payout_id = p_payout and rail = v_asked.rail
        order by number desc limit 1), v_now);
    end if;
  end if;
  if p_action in ('paid', 'not_paid', 'returned') then
    -- The questions that this answers, so that they do not stand in its way.
    update exceptions set closed_at = v_now, resolution = v_resolution
    where account_id = p_account and payout_id = p_payout and closed_at is null
      and kind = any (v_kinds);
    v_result := apply_observation(p_account, p_payout, p_id, 'person',
      case p_action when 'not_paid' then 'rejected' else p_action end, 'decided by a person', null,
      null, p_journals, null);
    if v_result <> 'applied' then raise exception 'a decision came out as %', v_result; end if;
  elsif p_action in ('refund', 'write_off') then
    if p.status not in ('CANCELLED', 'COMPLETED') then
      perform move_payout(p, 'CANCELLED', 'decided by a person', p_journals[1], v_now);
      delete from payout_dispatches where account_id = p_account and payout_id = p_payout;
    end if;
    if p_action = 'write_off' then
      perform post_aside(p, 'write_off', v_asked.rail, v_asked.currency, v_asked.amount, v_now);
      update exceptions set closed_at = v_now, resolution = v_resolution
      where account_id = p_account and id = v_asked.id;
    end if;
  elsif p_action in ('release', 'retry') then
    insert into payout_dispatches (account_id, payout_id, rail, due_at, is_checked)
    -- What the rules themselves had stopped, they do not stop again; all else they look at.
    values (p_account, p_payout, coalesce(p_next_rail, p.rail), v_now, exists (
      select from exceptions
      where account_id = p_account and payout_id = p_payout and closed_at is null
        and kind in ('screening', 'velocity')))
    on conflict (account_id, payout_id) do update set rail = excluded.rail, due_at = v_now,
      is_checked = payout_dispatches.is_checked or excluded.is_checked, lease_until = null,
      fence = payout_dispatches.fence + 1, tries = 0, faults = 0;
    p := move_payout(p, 'PROCESSING', '', null, v_now);
    if p_action = 'retry' then perform reroute_payout(p, p_next_rail, p_next_payer, v_now); end if;
  else
    update exceptions set closed_at = v_now, resolution = v_resolution
    where account_id = p_account and payout_id = p_payout and closed_at is null
      and kind = any (v_kinds);
  end if;
  return 'done';
end
$$;


-- Every payout that has not ended has a time at which something happens by itself, or an open exception.
-- Checked at the end of each transaction that could end either.
create function require_next_step() returns trigger
  language plpgsql as $$
begin
  if exists (
    select from payout_states
    where account_id = old.account_id and payout_id = old.payout_id
      and status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD', 'ERROR')
  ) and not has_next_step(old.account_id, old.payout_id) then
    raise exception 'payout % has not ended, nothing is due and no exception is open', old.payout_id
      using errcode = 'check_violation';
  end if;
  return null;
end
$$;
create constraint trigger next_step_kept after delete on payout_dispatches
  deferrable initially deferred for each row execute function require_next_step();
create constraint trigger next_step_due after update of due_at on payout_dispatches
  deferrable initially deferred for each row
  when (new.due_at = 'infinity' and old.due_at < 'infinity') execute function require_next_step();
create constraint trigger next_step_asked after update of closed_at on exceptions
  deferrable initially deferred for each row
  when (old.closed_at is null and new.closed_at is not null and new.payout_id is not null)
  execute function require_next_step();
create constraint trigger next_step_moved after update of status on payout_states
  deferrable initially deferred for each row
  when (new.status in ('READY_FOR_PICKUP', 'HOLD', 'ERROR')
    or (new.status = 'PROCESSING' and old.status <> 'PROCESSING'))
  execute function require_next_step();

-- What earlier versions may have left without a next step.
select open_exception(s.account_id, s.payout_id, coalesce(s.rail, q.rail), 'unscheduled',
  'found without a next step during an upgrade', null, null, environment_now())
from payout_states s
join payout_quotes q on q.account_id = s.account_id and q.id = s.payout_id
where s.status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD', 'ERROR')
  and not has_next_step(s.account_id, s.payout_id);

revoke execute on all functions in schema public from public;
grant execute on function apply_observation to outlay_tenant;
