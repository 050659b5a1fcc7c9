-- What rails answered, many at once. It takes what leaves the wallet alone: no move at all, or one to
-- COMPLETED or READY_FOR_PICKUP; under the fence of the present claim.
drop function apply_observations;
create function apply_observations(
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

revoke execute on all functions in schema public from public;
