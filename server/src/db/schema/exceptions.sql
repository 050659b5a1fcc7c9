-- What an operator must decide. Exceptions that belong to no account have the nil account.
create table exceptions (
  account_id uuid not null,
  id uuid not null,
  payout_id uuid,
  rail text not null default '',
  kind text not null check (kind in ('unmatched', 'unreadable', 'not_understood',
    'paid_after_refusal', 'accepted_after_refusal', 'paid_after_return', 'refused_after_payment',
    'return_of_unpaid', 'excess_return', 'amount_differs', 'unknown_outcome', 'not_sent', 'parked',
    'routes_exhausted', 'screening', 'velocity', 'rail_missing', 'overdue', 'unscheduled',
    'report_changed', 'recovered', 'approval', 'price_worse')),
  -- References, codes and our own words; no personal data.
  detail text not null default '',
  currency text,
  amount bigint,
  opened_at timestamptz not null,
  closed_at timestamptz,
  resolution text not null default '',
  problem_id text collate "C",
  -- Of an approval: how many persons must release it, and when it is cancelled without.
  approvers smallint check (approvers > 0),
  expires_at timestamptz,
  primary key (account_id, id),
  check ((closed_at is null) = (resolution = '')),
  check ((kind = 'approval') = (approvers is not null and expires_at is not null))
);
create index exceptions_payout on exceptions (payout_id, account_id);
create index exceptions_missing on exceptions (rail)
  where closed_at is null and kind = 'rail_missing';
create unique index exceptions_problem on exceptions (rail, problem_id)
  where problem_id is not null;
create index exceptions_inbound on exceptions (rail)
  where closed_at is null
    and kind in ('unmatched', 'unreadable', 'not_understood', 'report_changed');
create index exceptions_expiry on exceptions (expires_at)
  where closed_at is null and expires_at is not null;
-- For the operators' list and the gauges.
create index exceptions_open on exceptions (opened_at, id) where closed_at is null;
-- For the lists with closed ones.
create index exceptions_time on exceptions (opened_at, id);
create index exceptions_account on exceptions (account_id, opened_at, id);
create index exceptions_kind on exceptions (kind, opened_at, id);
create index exceptions_rail on exceptions (rail, opened_at, id);
alter table exceptions enable row level security;
create policy own_account on exceptions using (account_id = current_account());
grant select on exceptions to outlay_tenant;

create trigger never_removed before delete or truncate on exceptions
  for each statement execute function refuse_change('exceptions must not be deleted');

create function open_exception(
  p_account uuid, p_payout uuid, p_rail text, p_kind text, p_detail text, p_currency text,
  p_amount bigint, p_at timestamptz
) returns void
  language sql as $$
  insert into exceptions (account_id, id, payout_id, rail, kind, detail, currency, amount,
    opened_at)
  select p_account, gen_random_uuid(), p_payout, p_rail, p_kind, p_detail, p_currency, p_amount,
    p_at
  -- An open exception is not repeated.
  where p_payout is null or not exists (
    select from exceptions
    where account_id = p_account and payout_id = p_payout and kind = p_kind and rail = p_rail
      and closed_at is null);
$$;

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
  mac bytea not null check (length(mac) = 32),
  primary key (account_id, payout_id, id)
);
alter table payout_decisions enable row level security;
create policy own_account on payout_decisions using (account_id = current_account());
grant select on payout_decisions to outlay_tenant;

create trigger append_only before update or delete or truncate on payout_decisions
  for each statement execute function refuse_change('decisions are immutable');

-- The exceptions that a decision answers.
create function list_answered_kinds(p_action text) returns text[]
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
        or exists (select from open where kind <> all (list_answered_kinds(p_action))))
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
    fence = payout_dispatches.fence + 1, tries = 0, faults = 0, frozen_by = null;
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
-- through the rail of the exception, to which the payout is assigned.
create function supply_outcome(
  payout payouts, p_id uuid, p_action text, p_alive text, p_asked exceptions, p_at timestamptz
) returns void
  language plpgsql as $$
declare
  v_result text;
begin
  if p_action = 'paid' and p_alive is null then
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
    null, null);
  if v_result <> 'applied' then
    raise exception 'unexpected result of a decision: %', v_result;
  end if;
end
$$;

-- What a decision is about: a vote counts for exactly what was open when it was given. A price only
-- where a person accepts one above the quoted cost.
create function decision_subject(
  payout payouts, p_action text, p_next_rail text, p_next_payer text, p_next_price text
) returns bytea
  language sql stable
  return sha256(convert_to(jsonb_build_array(p_action, payout.id, payout.status, payout.rail,
    payout.payer_key, payout.destination_amount, payout.returned_amount, p_next_rail, p_next_payer,
    case when p_next_rail = payout.rail and p_next_payer = payout.payer_key then p_next_price end,
    (select jsonb_agg(jsonb_build_array(id, kind, rail, detail, currency, amount, approvers) order by id)
     from exceptions
     where account_id = payout.account_id and payout_id = payout.id and closed_at is null))::text,
    'UTF8'));

-- Locks the payout for a decision in the same transaction, and answers what it is about; null where
-- there is no such payout.
create function open_decision(
  p_account uuid, p_payout uuid, p_action text, p_next_rail text, p_next_payer text,
  p_next_price text
) returns bytea
  language plpgsql as $$
declare
  v_payout payouts;
begin
  perform 1 from accounts where id = p_account for update;
  perform 1 from payout_dispatches
  where account_id = p_account and payout_id = p_payout for update;
  select * into v_payout from payouts where account_id = p_account and id = p_payout;
  if not found then return null; end if;
  return decision_subject(v_payout, p_action, p_next_rail, p_next_payer, p_next_price);
end
$$;

-- Records the decision of an operator and applies it once enough different persons have made it:
-- - release: continue a payout on hold
-- - refund: cancel it where no attempt is in flight
-- - paid, not_paid, returned: supply the outcome that the rail does not report
-- - retry: send a payout in ERROR through the named payer, at the named price of its provider
-- - write_off: post what was paid for a payout that has ended, and refund what is still reserved
-- - dismiss: close exceptions that leave nothing open
-- `p_about` is from `open_decision`; `p_votes` are the earlier decisions that the service has verified.
-- Returns done, waiting (for another person), illegal or not_found.
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
    and kind = any (list_answered_kinds(p_action))
  order by opened_at desc limit 1;
  if not is_decision_legal(v_payout, p_action, v_alive, v_asked, p_next_rail is not null) then
    return 'illegal';
  end if;
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

  -- Closed first, so that the exceptions which the decision answers do not block it.
  update exceptions set closed_at = v_now, resolution = p_action || ' by ' || p_by
  where account_id = p_account and payout_id = p_payout and closed_at is null
    and case p_action when 'write_off' then id = v_asked.id
      else kind = any (list_answered_kinds(p_action)) end;
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

-- Whether a payout is due at some time, waits for the end of a freeze, or has an open exception.
create function has_next_step(p_account uuid, p_payout uuid) returns boolean
  language sql stable as $$
  select exists (
    select from payout_dispatches
    where account_id = p_account and payout_id = p_payout
      and (due_at < 'infinity' or frozen_by is not null)
  ) or exists (
    select from exceptions
    where account_id = p_account and payout_id = p_payout and closed_at is null
  );
$$;

-- Schedules the next calls for payouts. One that has not ended keeps its row, with a time unless an
-- exception is open. One that has ended is only queried where a time is given.
create function reschedule_dispatches(
  p_accounts uuid[], p_payouts uuid[], p_due_ats timestamptz[], p_keep_tries boolean[],
  p_at timestamptz
) returns void
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set jit = off
  as $$
begin
  with wanted as materialized (
    select r.account_id, r.payout_id, p.rail, r.keeps_tries, a.is_asked,
      case
        when p.status = 'CANCELLED'
          or (p.status = 'COMPLETED' and coalesce(r.due_at, 'infinity') = 'infinity') then null
        when p.status <> 'ERROR' and r.due_at < 'infinity' then r.due_at
        when p.status in ('PROCESSING', 'READY_FOR_PICKUP') and not a.is_asked
          then p_at + interval '15 minutes'
        else 'infinity' end as due_at
    from unnest(p_accounts, p_payouts, p_due_ats, p_keep_tries)
      r (account_id, payout_id, due_at, keeps_tries)
    join payouts p on p.account_id = r.account_id and p.id = r.payout_id
    cross join lateral (
      select exists (
        select from exceptions e
        where e.account_id = r.account_id and e.payout_id = r.payout_id and e.closed_at is null
      ) as is_asked
    ) a
  ), asked as (
    insert into exceptions (account_id, id, payout_id, rail, kind, detail, opened_at)
    select account_id, gen_random_uuid(), payout_id, rail, 'unscheduled',
      'nothing was due and no exception was open', p_at
    from wanted where due_at = 'infinity' and not is_asked
  ), ended as (
    delete from payout_dispatches d using wanted w
    where w.due_at is null and d.account_id = w.account_id and d.payout_id = w.payout_id
  )
  insert into payout_dispatches (account_id, payout_id, rail, due_at, is_checked, tries)
  select w.account_id, w.payout_id, w.rail, w.due_at, true,
    coalesce(case when w.keeps_tries then d.tries end, 0)
  from wanted w
  left join payout_dispatches d on d.account_id = w.account_id and d.payout_id = w.payout_id
  where w.due_at is not null
  on conflict (account_id, payout_id) do update set rail = excluded.rail, due_at = excluded.due_at,
    tries = excluded.tries, lease_until = null, faults = 0, fence = payout_dispatches.fence + 1,
    frozen_by = null;
end
$$;

-- Every payout that has not ended is due at some time or has an open exception: checked at the end
-- of each transaction that could violate it.
create function require_next_step() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (
    select from payout_states
    where account_id = old.account_id and payout_id = old.payout_id
      and status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD', 'ERROR')
  ) and not has_next_step(old.account_id, old.payout_id) then
    raise exception 'payout % has not ended and needs a due time or an open exception',
      old.payout_id using errcode = 'check_violation';
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
