-- Decisions of operators, and the approvals that they needed.
create table payout_decisions (
  account_id uuid not null,
  payout_id uuid not null,
  id uuid not null,
  action text not null,
  decided_by text not null check (length(decided_by) between 1 and 100),
  reason text not null check (length(reason) between 1 and 1000),
  is_effective boolean not null,
  decided_at timestamptz not null,
  operator_id uuid not null,
  -- Digest of what was decided about (`decision_subject`).
  about bytea not null check (length(about) = 32),
  -- Over the row, under a key that the database does not have.
  mac bytea not null check (length(mac) = 36),
  primary key (account_id, payout_id, id)
);
alter table payout_decisions enable row level security;
create policy own_account on payout_decisions using (account_id = current_account());
grant select on payout_decisions to outlay_tenant;

create trigger append_only before delete or truncate
  or update of account_id, payout_id, id, action, decided_by, reason, is_effective, decided_at,
    operator_id, about
  on payout_decisions
  for each statement execute function refuse_change('decisions are immutable');

-- Replaces the codes of decisions, where they are still the old ones, with the keys of the environment.
create function renew_payout_decisions(
  p_accounts uuid[], p_payouts uuid[], p_ids uuid[], p_old bytea[], p_fresh bytea[]
) returns integer
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_count integer;
begin
  update payout_decisions d set mac = n.fresh
  from unnest(p_accounts, p_payouts, p_ids, p_old, p_fresh) n (account_id, payout_id, id, old, fresh)
  where d.account_id = n.account_id and d.payout_id = n.payout_id and d.id = n.id and d.mac = n.old;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- The exceptions that a decision answers. Another amount may only be dismissed once the payout has ended:
-- before, that would let it be sent again.
create function list_answered_kinds(p_action text, p_status text) returns text[]
  language sql immutable parallel safe
  return case p_action
    when 'write_off' then array['paid_after_refusal', 'paid_after_return']
    when 'paid' then array['paid_after_refusal', 'amount_differs', 'unknown_outcome', 'parked',
      'recovered']
    when 'not_paid' then array['amount_differs', 'unknown_outcome', 'parked']
    when 'returned' then array['refused_after_payment']
    when 'dismiss' then array['paid_after_refusal', 'accepted_after_refusal', 'paid_after_return',
      'refused_after_payment', 'return_of_unpaid', 'excess_return', 'unmatched', 'rail_missing',
      'overdue', 'report_changed', 'recovered']
      || case when p_status in ('COMPLETED', 'CANCELLED') then array['amount_differs'] end
    else array[]::text[] end;

-- Whether a person may decide this now. `p_alive`: the rail of an attempt that may be in flight or was
-- paid, or null. `p_asked`: the newest open exception that the action answers.
create function is_decision_legal(
  payout payouts, p_action text, p_alive text, p_asked exceptions, p_has_next boolean
) returns boolean
  language sql stable as $$
  with open as materialized (
    select kind from exceptions
    where account_id = payout.account_id and payout_id = payout.id and closed_at is null
  )
  select case p_action
    when 'release' then payout.status = 'HOLD'
    when 'retry' then payout.status = 'ERROR' and p_alive is null and p_has_next
    when 'refund' then p_alive is null
      and payout.status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD', 'ERROR')
    when 'paid' then payout.status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD', 'ERROR')
      and coalesce(p_alive, p_asked.rail) is not null
      and (p_asked.kind is distinct from 'paid_after_refusal'
        or coalesce(p_alive, p_asked.rail) = p_asked.rail)
    when 'not_paid' then payout.status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD')
      and p_alive is not null
    when 'returned' then (payout.status = 'COMPLETED' and p_asked.id is not null)
      or (payout.status = 'CANCELLED' and payout.completed_at is not null
        and payout.returned_amount < payout.destination_amount)
    when 'write_off' then p_asked.id is not null
      and (payout.status in ('CANCELLED', 'COMPLETED') or p_alive is null)
    when 'dismiss' then p_asked.id is not null
      and (payout.status in ('PENDING', 'SCHEDULED', 'COMPLETED', 'CANCELLED') or exists (
          select from payout_dispatches
          where account_id = payout.account_id and payout_id = payout.id and due_at < 'infinity')
        or exists (select from open where kind <> all (
          list_answered_kinds(p_action, payout.status))))
    else false end
    -- Nothing is sent while an earlier payer claims to have paid.
    and (p_action not in ('release', 'retry') or not exists (
      select from open
      where kind in ('paid_after_refusal', 'accepted_after_refusal', 'amount_differs')));
$$;

-- Sends a payout on hold or in ERROR again; with a next payer, through that one, at the price of its
-- provider. That may be the present payer, at a price that was too high before a person accepted it.
create function resume_payout(
  payout payouts, p_next_rail text, p_next_payer text, p_next_price text, p_at timestamptz
) returns void
  language plpgsql as $$
begin
  -- It states that payments which a rail listed in a recovery belong to another payout.
  update recovered_payments set result = 'dismissed'
  where result in ('found', 'linked', 'unmatched') and reference in (
    select payment_reference(payout.account_id, payout.client_transfer_id, t.try)
    from generate_series(1, 4) t (try))
    and not exists (
      select from attempts
      where account_id = payout.account_id and payout_id = payout.id
        and reference = recovered_payments.reference);
  insert into payout_dispatches (account_id, payout_id, rail, due_at, is_checked)
  -- The checks that stopped it do not stop it again; the others still apply.
  values (payout.account_id, payout.id, coalesce(p_next_rail, payout.rail), p_at, exists (
    select from exceptions
    where account_id = payout.account_id and payout_id = payout.id and closed_at is null
      and kind in ('screening', 'velocity')))
  on conflict (account_id, payout_id) do update set rail = excluded.rail, due_at = p_at,
    is_checked = payout_dispatches.is_checked or excluded.is_checked, lease_until = null,
    fence = nextval('dispatch_fences'), tries = 0, faults = 0, frozen_by = null;
  payout := move_payout(payout, 'PROCESSING', '', p_at);
  if p_next_rail = payout.rail and p_next_payer = payout.payer_key then
    update payout_states set provider_price = p_next_price
    where account_id = payout.account_id and payout_id = payout.id;
  elsif p_next_rail is not null then
    perform reroute_payout(payout, p_next_rail, p_next_payer, p_next_price, p_at);
  end if;
end
$$;

-- Supplies the outcome that the rail does not report. A payment without an attempt in flight was made
-- by the attempt of the exception, to whose rail the payout is assigned.
create function supply_outcome(
  payout payouts, p_id uuid, p_action text, p_alive text, p_asked exceptions, p_at timestamptz
) returns void
  language plpgsql as $$
declare
  v_result text;
  v_details jsonb;
begin
  if p_action = 'paid' and p_alive is null then
    select jsonb_build_object('rail', rail, 'reference', reference) into v_details from attempts
    where account_id = payout.account_id and payout_id = payout.id and number = p_asked.attempt;
    if payout.status in ('HOLD', 'ERROR') then
      payout := move_payout(payout, 'PROCESSING', '', p_at);
    end if;
    if payout.rail <> p_asked.rail then
      perform reroute_payout(payout, p_asked.rail, coalesce((
        select payer_key from attempts
        where account_id = payout.account_id and payout_id = payout.id and rail = p_asked.rail
        order by number desc limit 1), payout.payer_key), null, p_at);
    end if;
  end if;
  v_result := apply_observation(payout.account_id, payout.id, p_id, 'person',
    case p_action when 'not_paid' then 'rejected' else p_action end, 'decided by a person', null,
    null, v_details, null);
  if v_result <> 'applied' then
    raise exception 'unexpected result of a decision: %', v_result;
  end if;
end
$$;

-- The listed entries of screening hits, each with its content, in one order.
create function list_hit_entries(p_hits jsonb) returns jsonb
  language sql immutable parallel safe
  return (
    select jsonb_agg(entry order by entry)
    from jsonb_array_elements(p_hits) hit,
      jsonb_build_array(hit -> 'list', hit -> 'entryId', hit -> 'entryHash') entry);

-- Of what a person decides about: it changes with the state of the payout and of its last attempt, with its
-- open exceptions, and with what screening has found, so that a decision can be bound to what the person
-- saw. Null without such a payout.
create function payout_version(p_account uuid, p_payout uuid) returns text
  language sql stable
  return (
    select encode(substring(sha256(convert_to(jsonb_build_array(p.status, p.rail, p.payer_key,
      p.destination_amount, p.returned_amount,
      (select jsonb_build_array(number, state) from attempts
       where account_id = p_account and payout_id = p_payout order by number desc limit 1),
      (select jsonb_agg(jsonb_build_array(id, kind, rail, detail, currency, amount, approvers)
         order by id)
       from exceptions
       where account_id = p_account and payout_id = p_payout and closed_at is null),
      (select jsonb_build_array(state, list_hit_entries(hits)) from screenings
       where account_id = p_account and user_id = p.user_id order by sequence desc limit 1),
      (select jsonb_build_array(is_passed, list_hit_entries(hits)) from payout_screenings
       where account_id = p_account and payout_id = p_payout order by sequence desc limit 1),
      (select jsonb_build_array(service, state) from screening_opinions
       where account_id = p_account and payout_id = p_payout order by sequence desc limit 1)
      )::text, 'UTF8')) for 16), 'hex')
    from payouts p where p.account_id = p_account and p.id = p_payout);

-- What a decision is about: a vote counts for exactly what was open when it was given, and for no attempt
-- that began later. A price only where a person accepts one above the quoted cost.
create function decision_subject(
  payout payouts, p_action text, p_next_rail text, p_next_payer text, p_next_price text
) returns bytea
  language sql stable
  return sha256(convert_to(jsonb_build_array(p_action, payout.id,
    payout_version(payout.account_id, payout.id), p_next_rail, p_next_payer,
    case when p_next_rail = payout.rail and p_next_payer = payout.payer_key then p_next_price end
    )::text, 'UTF8'));

-- Locks the payout for a decision in the same transaction, and answers what it is about, and the version
-- of the payout; nulls where there is no such payout.
create function open_decision(
  p_account uuid, p_payout uuid, p_action text, p_next_rail text, p_next_payer text,
  p_next_price text, out about bytea, out version text
)
  language plpgsql as $$
declare
  v_payout payouts;
begin
  perform 1 from accounts where id = p_account for update;
  perform 1 from payout_dispatches
  where account_id = p_account and payout_id = p_payout for update;
  select * into v_payout from payouts where account_id = p_account and id = p_payout;
  if not found then return; end if;
  about := decision_subject(v_payout, p_action, p_next_rail, p_next_payer, p_next_price);
  version := payout_version(p_account, p_payout);
end
$$;

-- Records the decision of an operator and applies it once enough different people have made it:
-- - release: continue a payout on hold
-- - refund: cancel it where no attempt is in flight
-- - paid, not_paid, returned: supply the outcome that the rail does not report
-- - retry: send a payout in ERROR through the named payer, at the named price of its provider
-- - write_off: post what was paid for a payout that has ended, and refund what is still reserved
-- - dismiss: close exceptions that leave nothing open
-- `p_about` is from `open_decision`; `p_votes` are the earlier decisions that the service has verified.
-- Returns done, waiting (for another person), claimed (a process works on it), illegal or not_found.
create function decide_payout(
  p_account uuid, p_payout uuid, p_id uuid, p_action text, p_by text, p_operator uuid,
  p_reason text, p_about bytea, p_mac bytea, p_votes uuid[], p_needed integer, p_next_rail text,
  p_next_payer text, p_next_price text
) returns text
  language plpgsql as $$
declare
  v_payout payouts;
  v_now timestamptz;
  v_alive text;
  v_asked exceptions;
  v_persons integer;
  v_needed integer;
begin
  select * into v_payout from payouts where account_id = p_account and id = p_payout;
  if not found then return 'not_found'; end if;
  v_now := environment_now();
  select rail into v_alive from attempts
  where account_id = p_account and payout_id = p_payout
    and state in ('sending', 'unknown', 'accepted', 'paid');
  select * into v_asked from exceptions
  where account_id = p_account and payout_id = p_payout and closed_at is null
    and kind = any (list_answered_kinds(p_action, v_payout.status))
  order by opened_at desc limit 1;
  if not is_decision_legal(v_payout, p_action, v_alive, v_asked, p_next_rail is not null) then
    return 'illegal';
  end if;
  -- The process may be about to call the rail, so that what the person knows may be outdated.
  if p_action in ('paid', 'not_paid') and is_claimed(p_account, p_payout) then return 'claimed'; end if;
  select count(distinct operator_id) into v_persons from (
    select operator_id from payout_decisions
    where account_id = p_account and payout_id = p_payout and action = p_action
      and id = any (p_votes) and about = p_about and not is_effective
      and decided_at >= greatest(v_payout.updated_at, v_asked.opened_at)
    union all select p_operator
  ) deciding;
  -- A rule may ask for more persons than the operators' policy.
  select greatest(p_needed, max(approvers)) into v_needed from exceptions
  where account_id = p_account and payout_id = p_payout and closed_at is null
    and p_action = 'release';
  insert into payout_decisions (account_id, payout_id, id, action, decided_by, reason, is_effective,
    decided_at, operator_id, about, mac)
  values (p_account, p_payout, p_id, p_action, p_by, p_reason, v_persons >= v_needed, v_now,
    p_operator, p_about, p_mac);
  if v_persons < v_needed then return 'waiting'; end if;

  -- Closed first, so that the exceptions which the decision answers do not block it. One payment completes
  -- the payout: what another payer paid as well stays open.
  update exceptions set closed_at = v_now, resolution = p_action || ' by ' || p_by
  where account_id = p_account and payout_id = p_payout and closed_at is null
    and case when p_action = 'write_off' or p_action = 'paid' and kind = 'paid_after_refusal'
      then id = v_asked.id
      else kind = any (list_answered_kinds(p_action, v_payout.status)) end;
  if p_action in ('paid', 'not_paid', 'returned') then
    perform supply_outcome(v_payout, p_id, p_action, v_alive, v_asked, v_now);
  elsif p_action in ('release', 'retry') then
    perform resume_payout(v_payout, p_next_rail, p_next_payer, p_next_price, v_now);
  elsif p_action in ('refund', 'write_off') then
    if v_payout.status not in ('CANCELLED', 'COMPLETED') then
      perform move_payout(v_payout, 'CANCELLED', 'decided by a person', v_now);
      delete from payout_dispatches where account_id = p_account and payout_id = p_payout;
    end if;
    if p_action = 'write_off' then
      perform post_amount(v_payout, 'write_off', v_asked.rail, v_asked.currency, v_asked.amount,
        v_now);
    end if;
  end if;
  return 'done';
end
$$;
