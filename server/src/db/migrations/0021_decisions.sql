-- What a person decides about a payout that the machinery must not decide. `release` goes on with it,
-- `refund` ends it where nothing of it is alive, `paid`, `not_paid` and `returned` say what the rail
-- would not, `retry` sends an exhausted one through the payer that is named, `write_off` books what
-- was paid without belonging to a payout any more (and refunds what is still held), `dismiss` only
-- closes questions that leave nothing open. It takes effect when as many different persons as are
-- needed have said the same.
--
-- Answers done, waiting (for another person), illegal or not_found.
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
    when 'write_off' then array['paid_after_refusal']
    when 'paid' then array['paid_after_refusal', 'amount_differs', 'unknown_outcome', 'parked']
    when 'not_paid' then array['amount_differs', 'unknown_outcome', 'parked']
    when 'returned' then array['refused_after_payment']
    when 'dismiss' then array['paid_after_refusal', 'refused_after_payment', 'return_of_unpaid',
      'excess_return', 'unmatched', 'rail_missing']
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
    when 'dismiss' then v_asked.id is not null
    else false end)
    -- While an earlier payer says that it paid, nothing goes out.
    or (p_action in ('release', 'retry') and exists (
      select from exceptions
      where account_id = p_account and payout_id = p_payout and closed_at is null
        and kind in ('paid_after_refusal', 'amount_differs')))
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

revoke execute on all functions in schema public from public;
