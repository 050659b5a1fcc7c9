-- The states that an outcome leads to, in order. Null: the outcome cannot apply. Empty: the state
-- remains. A doubtful report leaves READY_FOR_PICKUP as it is, and the rail is queried.
create function plan_moves(p_status text, p_outcome text) returns text[]
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

-- Posts one amount in one currency that does not touch the wallet. The caller holds the lock of the
-- account's row.
create function post_aside(
  p payouts, p_kind text, p_rail text, p_currency text, p_amount bigint, p_at timestamptz
) returns void
  language sql as $$
  insert into ledger_journals (account_id, id, kind, payout_id, source_currency, source_amount,
    destination_currency, destination_amount, rail, created_at)
  values (p.account_id, journal_id(journal_time(), 0, gen_random_uuid()), p_kind, p.id, p_currency,
    p_amount, p_currency, p_amount, p_rail, p_at);
$$;

-- Posts a full or partial return and returns the amount in excess of what was paid. The parts in
-- the source currency add up to the whole.
create function post_return(
  p payouts, p_amount bigint, p_journal uuid, p_at timestamptz
) returns bigint
  language plpgsql as $$
declare
  v_part bigint := least(p_amount, p.destination_amount - p.returned_amount);
  v_source bigint;
begin
  if v_part <= 0 then return p_amount; end if;
  v_source := trunc(p.source_amount::numeric * (p.returned_amount + v_part) / p.destination_amount)
    - trunc(p.source_amount::numeric * p.returned_amount / p.destination_amount);
  update payout_states set returned_amount = returned_amount + v_part
  where account_id = p.account_id and payout_id = p.id;
  insert into ledger_journals (account_id, id, kind, payout_id, source_currency, source_amount,
    destination_currency, destination_amount, rail, wallet_balance, created_at)
  select p.account_id, journal_id(journal_time(), 0, p_journal), 'return', p.id, p.source_currency,
    v_source, p.destination_currency, v_part, p.rail, w.balance + v_source, p_at
  from ledger_accounts w
  where w.account_id = p.account_id and w.currency = p.source_currency and w.name = 'wallet';
  return p_amount - v_part;
end
$$;

-- Moves a committed payout to a state, with its journal and event. The caller holds the lock of the
-- account's row. post_return posts what comes back after completion.
create function move_payout(
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
  if not found then raise exception 'the payout must be %', p.status; end if;
  if v_kind is not null then perform post_journal(p, v_kind, p_journal, p_at); end if;
  -- Closes exceptions that the new state answers.
  if p.status in ('HOLD', 'ERROR') or p_to in ('COMPLETED', 'CANCELLED') then
    update exceptions set closed_at = p_at, resolution = 'the payout went on to ' || p_to
    where account_id = p.account_id and payout_id = p.id and closed_at is null
      and kind in ('unknown_outcome', 'not_sent', 'parked', 'routes_exhausted', 'rail_missing',
        'screening', 'velocity', 'overdue', 'unscheduled', 'recovered');
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
