-- The moves of committed payouts: their states, the journals that follow, and the events. The caller
-- holds the accounts' rows.

-- Moves payouts one step each, along payout_transitions, in the order of the arrays; a payout may be
-- named once.
create function move_payouts(
  p_accounts uuid[], p_payouts uuid[], p_to text[], p_reasons text[], p_at timestamptz
) returns void
  language plpgsql as $$
#variable_conflict use_column
declare
  v_time text := next_journal_time(variadic array(select distinct unnest(p_accounts)));
  v_recipients uuid[];
begin
  with move as materialized (
    select m.ord, m.account_id, m.payout_id, m.to_status, m.reason,
      p.status as from_status, p.source_currency, p.source_amount, p.fee, p.destination_currency,
      p.destination_amount, p.rail, t.journal_kind,
      -- A recipient gets no notice of a payout that never ran.
      case when p.notify_user and (p.status <> 'SCHEDULED' or m.to_status <> 'CANCELLED')
        then p.user_id end as recipient
    from unnest(p_accounts, p_payouts, p_to, p_reasons) with ordinality
      as m (account_id, payout_id, to_status, reason, ord)
    join payouts p on p.account_id = m.account_id and p.id = m.payout_id
    left join payout_transitions t on t.from_status = p.status and t.to_status = m.to_status
  ), moved as (
    update payout_states s set status = m.to_status, status_reason = m.reason, updated_at = p_at,
      completed_at = case when m.to_status = 'COMPLETED' then p_at else s.completed_at end
    from move m
    where s.account_id = m.account_id and s.payout_id = m.payout_id
  ), posted as (
    insert into ledger_journals (account_id, id, kind, payout_id, source_currency, source_amount,
      fee, destination_currency, destination_amount, rail, wallet_balance, created_at)
    select m.account_id, journal_id(v_time, m.ord, gen_random_uuid()), journal_kind, payout_id,
      source_currency, source_amount, fee, destination_currency, destination_amount, rail,
      w.balance + sum(case journal_kind when 'refund' then source_amount + fee
        else -source_amount - fee end) over (
        partition by m.account_id, source_currency, journal_kind order by m.ord),
      p_at
    from move m
    left join ledger_accounts w on journal_kind in ('refund', 'commit') and w.account_id = m.account_id
      and w.currency = m.source_currency and w.name = 'wallet'
    where journal_kind is not null
  ), answered as (
    -- Questions about the state that the payout leaves, or about how it ends.
    update exceptions e set closed_at = p_at, resolution = 'the payout moved to ' || m.to_status
    from move m
    join payout_statuses s on s.status = m.to_status
    where (m.from_status in ('HOLD', 'ERROR') or s.has_ended)
      and e.account_id = m.account_id and e.payout_id = m.payout_id and e.closed_at is null
      and e.kind in ('unknown_outcome', 'not_sent', 'parked', 'routes_exhausted', 'price_worse',
        'rail_missing', 'screening', 'velocity', 'approval', 'overdue', 'unscheduled', 'recovered')
  ), voided as (
    update velocity_entries v set is_void = true
    from move m
    where m.to_status = 'CANCELLED' and v.account_id = m.account_id and v.payout_id = m.payout_id
  )
  select array_agg(recipient order by ord) into v_recipients from move;
  perform write_payout_events(p_accounts, p_payouts, p_to, p_reasons, v_recipients, p_at);
end
$$;

-- Moves one payout, and answers it as it is then.
create function move_payout(
  payout payouts, p_to text, p_reason text, p_at timestamptz
) returns payouts
  language plpgsql as $$
begin
  perform move_payouts(array[payout.account_id], array[payout.id], array[p_to], array[p_reason],
    p_at);
  select * into payout from payouts p where p.account_id = payout.account_id and p.id = payout.id;
  return payout;
end
$$;

-- Posts a journal of one amount in one currency that moves no wallet.
create function post_amount(
  payout payouts, p_kind text, p_rail text, p_currency text, p_amount bigint, p_at timestamptz
) returns void
  language sql as $$
  insert into ledger_journals (account_id, id, kind, payout_id, source_currency, source_amount,
    destination_currency, destination_amount, rail, created_at)
  values (payout.account_id, journal_id(next_journal_time(payout.account_id), 0, gen_random_uuid()), p_kind,
    payout.id, p_currency, p_amount, p_currency, p_amount, p_rail, p_at);
$$;

-- Gives back to the wallet what a rail returned, in part or in whole, and answers the excess over what
-- was paid. The source amounts of the parts add up to the whole.
create function post_return(
  payout payouts, p_amount bigint, p_at timestamptz
) returns bigint
  language plpgsql as $$
declare
  v_part bigint := least(p_amount, payout.destination_amount - payout.returned_amount);
  v_source bigint;
begin
  if v_part <= 0 then return p_amount; end if;
  v_source := div(payout.source_amount::numeric * (payout.returned_amount + v_part), payout.destination_amount)
    - div(payout.source_amount::numeric * payout.returned_amount, payout.destination_amount);
  update payout_states set returned_amount = returned_amount + v_part
  where account_id = payout.account_id and payout_id = payout.id;
  insert into ledger_journals (account_id, id, kind, payout_id, source_currency, source_amount,
    destination_currency, destination_amount, rail, wallet_balance, created_at)
  select payout.account_id, journal_id(next_journal_time(payout.account_id), 0, gen_random_uuid()),
    'return', payout.id, payout.source_currency, v_source, payout.destination_currency, v_part,
    payout.rail, w.balance + v_source, p_at
  from ledger_accounts w
  where w.account_id = payout.account_id and w.currency = payout.source_currency and w.name = 'wallet';
  return p_amount - v_part;
end
$$;
