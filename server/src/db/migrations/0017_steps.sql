-- The steps of a payout's money through more than one rail, back in parts, and at what cost.

-- The ledger learns what else happens to money on its way.
alter table ledger_accounts drop constraint ledger_accounts_name_check,
  drop constraint balance_covers;
alter table ledger_accounts
  add constraint ledger_accounts_name_check check (name
    ~ '^(wallet|reserved|fx|fees|costs|suspense|external|(in_transit|settlement):[a-z0-9_]{1,40})$'),
  add constraint balance_covers
    check (balance >= 0 or name in ('external', 'fx', 'costs', 'suspense'));
alter table ledger_journals drop constraint ledger_journals_kind_check,
  drop constraint wallet_or_not, drop constraint ledger_journals_source_amount_check;
alter table ledger_journals
  add constraint ledger_journals_kind_check check (kind in ('fund', 'commit', 'complete', 'refund',
    'return', 'reserve', 'batch_commit', 'release', 'unroute', 'route', 'charge', 'excess',
    'write_off', 'write_back')),
  add constraint wallet_or_not check (
    (kind in ('complete', 'batch_commit', 'unroute', 'route', 'charge', 'excess', 'write_off',
      'write_back'))
    = (wallet_balance is null)),
  -- A part so small that it is worth nothing in the source currency may come back.
  add constraint ledger_journals_source_amount_check
    check (source_amount > 0 or (kind = 'return' and source_amount = 0));

create or replace function journal_lines(
  p_kind text, p_source_currency text, p_source_amount bigint, p_fee bigint,
  p_destination_currency text, p_destination_amount bigint, p_rail text
) returns table (
  line smallint, currency text, from_name text, to_name text, amount bigint, wallet_after bigint
)
  language sql immutable parallel safe rows 3 as $$
  select l.line::smallint, l.currency, l.from_name, l.to_name, l.amount, l.wallet_after
  from (values
    ('fund', 1, p_source_currency, 'external', 'wallet', p_source_amount, 0::bigint),
    ('commit', 1, p_source_currency, 'wallet', 'fx', p_source_amount, -p_fee),
    ('commit', 2, p_source_currency, 'wallet', 'fees', p_fee, 0),
    ('commit', 3, p_destination_currency, 'fx', 'in_transit:' || p_rail, p_destination_amount, 0),
    ('complete', 1, p_destination_currency, 'in_transit:' || p_rail, 'settlement:' || p_rail,
      p_destination_amount, 0),
    ('refund', 1, p_destination_currency, 'in_transit:' || p_rail, 'fx', p_destination_amount, 0),
    ('refund', 2, p_source_currency, 'fx', 'wallet', p_source_amount, p_fee),
    ('refund', 3, p_source_currency, 'fees', 'wallet', p_fee, 0),
    -- In part: the amounts are those of the part.
    ('return', 1, p_destination_currency, 'settlement:' || p_rail, 'in_transit:' || p_rail,
      p_destination_amount, 0),
    ('return', 2, p_destination_currency, 'in_transit:' || p_rail, 'fx', p_destination_amount, 0),
    ('return', 3, p_source_currency, 'fx', 'wallet', p_source_amount, 0),
    -- A batch is paid for as a whole, and its payouts then from what was set aside.
    ('reserve', 1, p_source_currency, 'wallet', 'reserved', p_source_amount, 0),
    ('batch_commit', 1, p_source_currency, 'reserved', 'fx', p_source_amount, 0),
    ('batch_commit', 2, p_source_currency, 'reserved', 'fees', p_fee, 0),
    ('batch_commit', 3, p_destination_currency, 'fx', 'in_transit:' || p_rail,
      p_destination_amount, 0),
    ('release', 1, p_source_currency, 'reserved', 'wallet', p_source_amount, 0),
    -- From one rail to another.
    ('unroute', 1, p_destination_currency, 'in_transit:' || p_rail, 'fx', p_destination_amount, 0),
    ('route', 1, p_destination_currency, 'fx', 'in_transit:' || p_rail, p_destination_amount, 0),
    -- What a rail took of its own accord, in the currency of the charge.
    ('charge', 1, p_source_currency, 'costs', 'settlement:' || p_rail, p_source_amount, 0),
    -- Came back without having been paid; and was paid without belonging to a payout any more.
    ('excess', 1, p_source_currency, 'external', 'suspense', p_source_amount, 0),
    ('write_off', 1, p_source_currency, 'suspense', 'settlement:' || p_rail, p_source_amount, 0),
    ('write_back', 1, p_source_currency, 'settlement:' || p_rail, 'suspense', p_source_amount, 0)
  ) l (kind, line, currency, from_name, to_name, amount, wallet_after)
  where l.kind = p_kind and l.amount > 0;
$$;

-- Posts something that has one amount in one currency, and moves no wallet. The caller holds the
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

create function open_exception(
  p_account uuid, p_payout uuid, p_rail text, p_kind text, p_detail text, p_currency text,
  p_amount bigint, p_at timestamptz
) returns void
  language sql as $$
  insert into exceptions (account_id, id, payout_id, rail, kind, detail, currency, amount, opened_at)
  select p_account, gen_random_uuid(), p_payout, p_rail, p_kind, p_detail, p_currency, p_amount, p_at
  -- The same question is put once.
  where p_payout is null or not exists (
    select from exceptions
    where account_id = p_account and payout_id = p_payout and kind = p_kind and rail = p_rail
      and closed_at is null);
$$;

-- Beside what there was: `exhausted` is a refusal after which no payer is left, `park` puts a payout
-- that was not sent before a person.
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
      when p_status in ('PROCESSING', 'HOLD') then array[]::text[] end
    when 'retry' then case
      when p_status in ('PROCESSING', 'HOLD') then array[]::text[] end
  end;

create or replace function attempt_state(p_outcome text) returns text
  language sql immutable parallel safe
  return case p_outcome when 'ready_for_pickup' then 'accepted' when 'hold' then 'unknown'
    when 'park' then 'retry' when 'exhausted' then 'rejected' else p_outcome end;

-- Gives back what the rail sent back, in part or in whole, and answers what was more than it had.
-- What the parts are worth in the source currency adds up to the whole.
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
  -- Whoever was to decide need not any more.
  if p.status in ('HOLD', 'ERROR') then
    update exceptions set closed_at = p_at, resolution = 'the payout went on to ' || p_to
    where account_id = p.account_id and payout_id = p.id and closed_at is null
      and kind in ('unknown_outcome', 'not_sent', 'parked', 'routes_exhausted', 'rail_missing',
        'screening', 'velocity');
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

-- Sends a payout through another payer from now on. The caller holds the account's row, and nothing
-- of the payout is alive anywhere.
create function reroute_payout(
  p payouts, p_rail text, p_payer_key text, p_at timestamptz
) returns void
  language plpgsql as $$
begin
  update payout_states set rail = p_rail, payer_key = p_payer_key, updated_at = p_at
  where account_id = p.account_id and payout_id = p.id;
  if p_rail <> p.rail then
    perform post_aside(p, 'unroute', p.rail, p.destination_currency, p.destination_amount, p_at);
    perform post_aside(p, 'route', p_rail, p.destination_currency, p.destination_amount, p_at);
  end if;
  perform write_event(p.account_id, 'payout.processing', p.id, null, p_at,
    'goes through another payer');
end
$$;

-- Keeps the charges of a rail for a payout, each once, and posts them.
create function post_charges(
  p payouts, p_rail text, p_charges json, p_at timestamptz
) returns void
  language plpgsql as $$
declare
  c record;
begin
  for c in
    select * from json_to_recordset(p_charges)
      as x (id text, kind text, currency text, amount bigint)
  loop
    insert into payout_charges (account_id, payout_id, rail, id, kind, currency, amount, created_at)
    values (p.account_id, p.id, p_rail, c.id, c.kind, c.currency, c.amount, p_at)
    on conflict do nothing;
    if found then perform post_aside(p, 'charge', p_rail, c.currency, c.amount, p_at); end if;
  end loop;
end
$$;

-- What a payout earned (nothing where its fee went back) and what its rails took for it.
create view payout_margins with (security_invoker = true) as
select p.account_id, p.id as payout_id, p.source_currency,
  case
    when p.committed_at is null or (p.status = 'CANCELLED' and p.completed_at is null) then 0
    else p.fee
  end as fee_earned,
  coalesce(c.charges, '[]'::json) as charges
from payouts p
left join lateral (
  select json_agg(json_build_object('rail', rail, 'kind', kind, 'currency', currency,
      'amount', amount::text) order by created_at, id) as charges
  from payout_charges c where c.account_id = p.account_id and c.payout_id = p.id
) c on true;

revoke execute on all functions in schema public from public;
