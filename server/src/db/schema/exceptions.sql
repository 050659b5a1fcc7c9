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
    'report_changed', 'recovered')),
  -- References, codes and our own words; no personal data.
  detail text not null default '',
  currency text,
  amount bigint,
  opened_at timestamptz not null,
  closed_at timestamptz,
  resolution text not null default '',
  problem_id text collate "C",
  primary key (account_id, id),
  check ((closed_at is null) = (resolution = ''))
);
create index exceptions_payout on exceptions (account_id, payout_id);
create index exceptions_missing on exceptions (rail)
  where closed_at is null and kind = 'rail_missing';
create unique index exceptions_problem on exceptions (rail, problem_id)
  where problem_id is not null;
create index exceptions_inbound on exceptions (rail)
  where closed_at is null
    and kind in ('unmatched', 'unreadable', 'not_understood', 'report_changed');
-- For the operators' list and the gauges.
create index exceptions_open on exceptions (opened_at, id) where closed_at is null;
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
  primary key (account_id, payout_id, id)
);
alter table payout_decisions enable row level security;
create policy own_account on payout_decisions using (account_id = current_account());
grant select on payout_decisions to outlay_tenant;

create trigger append_only before update or delete or truncate on payout_decisions
  for each statement execute function refuse_change('decisions are immutable');

-- The form in which names of persons are compared: letters and digits only, so that invisible
-- characters, case and spaces do not make a second person.
create function person_key(p_name text) returns text
  language sql immutable as $$
  select lower(regexp_replace(normalize(p_name, NFKC), '[^[:alnum:]]', '', 'g'));
$$;

-- Records the decision of an operator and applies it once enough different persons have made it:
-- - release: continue a payout on hold
-- - refund: cancel it where no attempt is in flight
-- - paid, not_paid, returned: supply the outcome that the rail does not report
-- - retry: send a payout in ERROR through the named payer
-- - write_off: post what was paid for a payout that has ended, and refund what is still reserved
-- - dismiss: close exceptions that leave nothing open
-- Returns done, waiting (for another person), illegal or not_found.
create function decide_payout(
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
    when 'paid' then array['paid_after_refusal', 'amount_differs', 'unknown_outcome', 'parked',
      'recovered']
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
    when 'dismiss' then v_asked.id is not null and (
      p.status in ('PENDING', 'COMPLETED', 'CANCELLED') or exists (
        select from payout_dispatches
        where account_id = p_account and payout_id = p_payout and due_at < 'infinity')
      or exists (
        select from exceptions
        where account_id = p_account and payout_id = p_payout and closed_at is null
          and kind <> all (v_kinds)))
    else false end)
    -- Nothing is sent while an earlier payer claims to have paid.
    or (p_action in ('release', 'retry') and exists (
      select from exceptions
      where account_id = p_account and payout_id = p_payout and closed_at is null
        and kind in ('paid_after_refusal', 'accepted_after_refusal', 'amount_differs')))
  then
    return 'illegal';
  end if;
  select count(distinct person_key(decided_by)) into v_persons from (
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
    -- Switch to the payer that reports the payment.
    if p.status in ('HOLD', 'ERROR') then
      p := move_payout(p, 'PROCESSING', '', null, v_now);
    end if;
    if p.rail <> v_asked.rail then
      perform reroute_payout(p, v_asked.rail, coalesce((
        select payer_key from attempts
        where account_id = p_account and payout_id = p_payout and rail = v_asked.rail
        order by number desc limit 1), p.payer_key), v_now);
    end if;
  end if;
  if p_action in ('paid', 'not_paid', 'returned') then
    -- Close the exceptions that the decision answers, so that they do not block it.
    update exceptions set closed_at = v_now, resolution = v_resolution
    where account_id = p_account and payout_id = p_payout and closed_at is null
      and kind = any (v_kinds);
    v_result := apply_observation(p_account, p_payout, p_id, 'person',
      case p_action when 'not_paid' then 'rejected' else p_action end, 'decided by a person', null,
      null, p_journals, null);
    if v_result <> 'applied' then
      raise exception 'unexpected result of a decision: %', v_result;
    end if;
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
    -- The release states that payments which a rail listed belong to another payout.
    update recovered_payments set result = 'dismissed'
    where result in ('found', 'linked', 'unmatched') and reference in (
      select payment_reference(p_account, p.client_transfer_id, t.try)
      from generate_series(1, 4) t (try))
      and not exists (
        select from attempts
        where account_id = p_account and payout_id = p_payout
          and reference = recovered_payments.reference);
    insert into payout_dispatches (account_id, payout_id, rail, due_at, is_checked)
    -- The checks that stopped it do not stop it again; the others still apply.
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

-- Whether a payout is due at some time or has an open exception.
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

-- Schedules the next call for a payout. One that has not ended keeps its row, with a time unless an
-- exception is open. One that has ended is only queried where a time is given.
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

-- Every payout that has not ended is due at some time or has an open exception: checked at the end
-- of each transaction that could violate it.
create function require_next_step() returns trigger
  language plpgsql as $$
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
