-- Every observation of a payment, whether or not it had an effect.
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
  -- Paid or returned, in minor units; null: not reported.
  amount bigint,
  -- The reference of the rail for what it reports: the payment, or what came back.
  provider_reference text not null default '',
  -- Over source, outcome, reason, code and amount, under a key that the database does not have (`dispatch/observations.ts`). Null
  -- where a person decided it: the decision has one.
  mac bytea check (length(mac) = 36),
  primary key (account_id, payout_id, id),
  constraint observed_by_service check ((source = 'person') = (mac is null))
);
create trigger append_only before delete or truncate
  or update of account_id, payout_id, id, source, outcome, reason, is_applied, observed_at, code, amount,
    provider_reference
  on observations
  for each statement execute function refuse_change('observations are immutable');

-- As `renew_payout_decisions`.
create function renew_observations(
  p_accounts uuid[], p_payouts uuid[], p_ids uuid[], p_old bytea[], p_fresh bytea[]
) returns integer
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_count integer;
begin
  update observations o set mac = n.fresh
  from unnest(p_accounts, p_payouts, p_ids, p_old, p_fresh) n (account_id, payout_id, id, old, fresh)
  where o.account_id = n.account_id and o.payout_id = n.payout_id and o.id = n.id and o.mac = n.old;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

alter table observations enable row level security;
create policy own_account on observations using (account_id = current_account());
grant select on observations to outlay_tenant;

-- An observation with what is known of its payout: what the four steps (classify, record, post,
-- reschedule) hand on.
create type classified_observation as (
  ord integer,
  account_id uuid,
  payout_id uuid,
  observation_id uuid,
  source text,
  outcome text,
  reason text,
  fence bigint,
  due_at timestamptz,
  -- What came with it; its fields are those of observation_details.
  details jsonb,
  mac bytea,
  -- The rail that reports, and its attempt; null where it was never given one.
  rail text,
  attempt integer,
  payer_key text,
  happened_at timestamptz,
  returned_by_query bigint,
  returned_by_notification bigint,
  -- How much came back since the last observation.
  newly_returned bigint,
  -- The fence is that of an earlier claim.
  is_stale boolean,
  -- A later attempt has begun.
  is_past boolean,
  is_rerouted boolean,
  moves text[],
  -- apply, no_effect, stale, illegal, not_found, or the kind of exception to open.
  class text
);

-- What may come with an observation; all optional.
create type observation_details as (
  -- The rail that reports; the payout's present one when absent.
  rail text,
  -- Of the payment; the rail's latest attempt when absent.
  reference text,
  -- Milliseconds: when it happened, according to the rail.
  at numeric,
  code text,
  provider_reference text,
  -- Returned or paid, in minor units.
  amount bigint,
  charges json,
  standing uuid,
  first_routing text,
  routing text,
  -- Where a rejected payout continues.
  next_rail text,
  next_payer text,
  next_price text,
  -- No payer is left.
  is_exhausted boolean,
  -- The kind of exception to open with HOLD or ERROR.
  exception text,
  detail text
);

-- The state of an attempt after an outcome.
create function attempt_state(p_outcome text) returns text
  language sql immutable parallel safe
  return case p_outcome when 'ready_for_pickup' then 'accepted' when 'hold' then 'unknown'
    when 'park' then 'retry' when 'exhausted' then 'rejected' else p_outcome end;

-- What follows from what a rail reports: apply, no_effect, stale (the answer to an outdated claim,
-- which proves nothing), or the kind of exception that a contradiction opens, which moves nothing.
-- docs/guides/exceptions.md has the table, and a test checks each of its cells. p_is_past: a later
-- attempt has begun. p_is_newer: it happened after what is known. p_amount: the amount paid, if
-- reported. p_moves: of payout_outcomes.
create function classify_observation(
  payout payouts, p_attempt_state text, p_outcome text, p_is_past boolean, p_is_newer boolean,
  p_is_stale boolean, p_amount bigint, p_newly_returned bigint, p_moves text[]
) returns text
  language plpgsql immutable as $$
begin
  return case
    when p_is_stale and p_outcome in ('unknown', 'retry', 'hold', 'park') then 'stale'
    when p_outcome in ('paid', 'returned', 'accepted', 'ready_for_pickup')
      and (p_is_past or payout.status = 'ERROR'
        or (payout.status = 'CANCELLED' and payout.completed_at is null))
    then case
      when p_outcome = 'paid' then 'paid_after_refusal'
      when p_outcome = 'returned' then 'return_of_unpaid'
      when p_is_newer then 'accepted_after_refusal'
      else 'no_effect' end
    when p_is_past then 'no_effect'
    when p_outcome = 'paid' and p_amount <> payout.destination_amount
      and p_attempt_state is distinct from 'returned' then 'amount_differs'
    when p_outcome = 'paid' and payout.status = 'CANCELLED'
      then case when p_is_newer then 'paid_after_return' else 'no_effect' end
    when p_outcome in ('rejected', 'exhausted') and (payout.status = 'COMPLETED'
      or p_attempt_state = 'paid'
      or (payout.status = 'CANCELLED' and payout.completed_at is not null
        and payout.returned_amount < payout.destination_amount)) then 'refused_after_payment'
    -- The rejection may have preceded the acceptance of a later call: query again.
    when p_is_stale and p_outcome in ('rejected', 'exhausted') then 'stale'
    when p_outcome = 'hold' and payout.status = 'READY_FOR_PICKUP' then 'unknown_outcome'
    when p_outcome = 'returned' and payout.status = 'CANCELLED'
      then case when p_newly_returned > 0 then 'apply' else 'no_effect' end
    when p_moves is null then 'no_effect'
    else 'apply'
  end;
end
$$;

-- What came back in all, by either account of it, and how much of that is new. An answer to a query has
-- the total that was returned, a notification one part of it.
create function find_returned(
  payout payouts, p_outcome text, p_is_notification boolean, p_amount bigint,
  out by_query bigint, out by_notification bigint, out newly bigint
)
  language plpgsql immutable as $$
declare
  v_part constant bigint := case p_outcome when 'returned'
    then coalesce(p_amount, payout.destination_amount) else 0 end;
begin
  by_query := case when p_is_notification then payout.returned_by_query
    else greatest(payout.returned_by_query, v_part) end;
  by_notification := payout.returned_by_notification
    + case when p_is_notification then v_part else 0 end;
  newly := greatest(by_query, by_notification)
    - greatest(payout.returned_by_query, payout.returned_by_notification);
end
$$;

-- Whether an attempt is not the one by which the payout is paid. That is the one that completed it, which a
-- person may have decided of an earlier one; before, the last one through its present payer.
create function is_past_attempt(
  payout payouts, p_number integer, p_state text, p_rail text, p_payer_key text
) returns boolean
  language sql stable
  return case
    when payout.completed_at is not null and exists (
      select from attempts
      where account_id = payout.account_id and payout_id = payout.id and state in ('paid', 'returned'))
    then p_state not in ('paid', 'returned')
    else p_rail <> payout.rail or p_payer_key <> payout.payer_key or exists (
      select from attempts
      where account_id = payout.account_id and payout_id = payout.id and number > p_number)
    end;

-- For an exception: what the rail said about it.
create function describe_observation(o classified_observation) returns text
  language sql immutable
  return coalesce(o.details ->> 'detail', o.details ->> 'code', '');

-- Classifies observations: joins each with its payout, its attempt and its claim. The caller holds the
-- rows of the accounts and of the dispatches.
create function classify_observations(
  p_accounts uuid[], p_payouts uuid[], p_observations uuid[], p_sources text[], p_outcomes text[],
  p_reasons text[], p_fences bigint[], p_due_ats timestamptz[], p_details jsonb[], p_macs bytea[],
  p_at timestamptz
) returns setof classified_observation
  language sql stable as $$
  select r.ord::integer, r.account_id, r.payout_id, r.observation_id, r.source, o.outcome, r.reason,
    r.fence, case when m.is_blocked then 'infinity' when m.is_rerouted then p_at else r.due_at end,
    r.details, r.mac, c.rail, a.number, p.payer_key, c.happened_at, b.by_query, b.by_notification,
    b.newly, c.is_stale, k.is_past, m.is_rerouted, coalesce(effect.moves, '{}'),
    case
      when p.id is null then 'not_found'
      when c.is_rail and a.number is null and r.source not in ('send', 'query') then 'unmatched'
      when c.is_rail then classify_observation(p, a.state, o.outcome, k.is_past,
        not c.is_stale and (not c.is_notification or c.happened_at > a.reported_at), c.is_stale,
        d.amount, b.newly, plain.moves)
      when plain.moves is not null or (o.outcome = 'returned' and p.status = 'CANCELLED'
        and p.completed_at is not null and b.newly > 0) then 'apply'
      else 'illegal' end
  from unnest(p_accounts, p_payouts, p_observations, p_sources, p_outcomes, p_reasons, p_fences,
    p_due_ats, p_details, p_macs) with ordinality as r (account_id, payout_id, observation_id, source,
      outcome, reason, fence, due_at, details, mac, ord)
  left join payouts p on p.account_id = r.account_id and p.id = r.payout_id
  left join payout_dispatches q on q.account_id = r.account_id and q.payout_id = r.payout_id
  cross join lateral jsonb_populate_record(null::observation_details, r.details) d
  cross join lateral (
    select coalesce(d.rail, p.rail) as rail,
      coalesce(to_timestamp(d.at / 1000), p_at) as happened_at,
      r.fence is not null and q.fence is distinct from r.fence as is_stale,
      r.source not in ('sandbox', 'person') as is_rail,
      r.source in ('callback', 'file', 'poll') as is_notification,
      exists (
        select from exceptions e
        where e.account_id = r.account_id and e.payout_id = r.payout_id and e.closed_at is null
          and e.kind in ('paid_after_refusal', 'accepted_after_refusal', 'amount_differs')
      ) as is_disputed
  ) c
  left join lateral (
    select * from attempts t
    where t.account_id = r.account_id and t.payout_id = r.payout_id and t.rail = c.rail
      and (d.reference is null or t.reference = d.reference)
    order by number desc limit 1
  ) a on true
  cross join lateral (
    select c.is_rail and a.number is not null
      and is_past_attempt(p, a.number, a.state, c.rail, a.payer_key) as is_past
  ) k
  left join payout_outcomes exhausted on d.is_exhausted and r.outcome = 'rejected' and not k.is_past
    and exhausted.outcome = 'exhausted' and exhausted.from_status = p.status
  cross join lateral (select coalesce(exhausted.outcome, r.outcome) as outcome) o
  cross join lateral find_returned(p, r.outcome, c.is_notification, d.amount) b
  -- Where another attempt may have paid, nothing is refunded or sent before a decision.
  cross join lateral (
    select c.is_rail and c.is_disputed and o.outcome in ('rejected', 'exhausted', 'retry')
        as is_blocked,
      d.next_rail is not null and not c.is_disputed and o.outcome = 'rejected'
        and p.status in ('PROCESSING', 'HOLD') as is_rerouted
  ) m
  left join payout_outcomes plain on plain.outcome = o.outcome and plain.from_status = p.status
  left join payout_outcomes effect on effect.from_status = p.status
    and effect.outcome = case when m.is_blocked then 'park' when m.is_rerouted then 'rerouted'
      else o.outcome end;
$$;
