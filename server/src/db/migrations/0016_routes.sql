-- Payouts through more than one rail: which one has it now, why, what came back in parts, what it
-- cost, and what only a person can decide.

-- Where a payout goes is a part of its state: it begins as quoted (null) and may be changed while
-- nothing of it is alive anywhere.
alter table payout_states
  add column rail text,
  add column payer_key text,
  -- Of the destination's minor units; more than was paid never counts.
  add column returned_amount bigint not null default 0 check (returned_amount >= 0),
  -- What came back in all by a rail's answers, and by what it told part by part: the same money, told
  -- in two ways, so that the larger one counts.
  add column returned_told bigint not null default 0 check (returned_told >= 0),
  add column returned_heard bigint not null default 0 check (returned_heard >= 0),
  add constraint whole_route check ((rail is null) = (payer_key is null));

update payout_states s set returned_amount = q.destination_amount,
  returned_told = q.destination_amount
from payout_quotes q
where q.account_id = s.account_id and q.id = s.payout_id
  and s.status = 'CANCELLED' and s.completed_at is not null;

create or replace view payouts with (security_invoker = true) as
select q.account_id, q.id, q.user_id, coalesce(s.status, 'PENDING') as status,
  coalesce(s.status_reason, '') as status_reason, q.client_transfer_id, q.source_token,
  q.source_currency, q.source_amount, q.fee, q.destination_token, q.destination_currency,
  q.destination_amount, q.exchange_rate, q.rounding_nano, coalesce(s.rail, q.rail) as rail,
  coalesce(s.payer_key, q.payer_key) as payer_key, q.payer_name, q.delivery_type, q.country,
  case when s.payout_id is null then q.attr_set_id else s.attr_set_id end as attr_set_id,
  case when s.payout_id is null then q.attr_version else s.attr_version end as attr_version,
  q.needs_attributes, q.needs_verification, q.notify_user, q.metadata,
  coalesce(s.pickup_code, '') as pickup_code, q.created_at, q.expires_at,
  q.estimated_availability, s.committed_at, s.completed_at,
  coalesce(s.updated_at, q.created_at) as updated_at,
  coalesce(s.returned_amount, 0) as returned_amount, coalesce(s.returned_told, 0) as returned_told,
  coalesce(s.returned_heard, 0) as returned_heard
from payout_quotes q
left join payout_states s on s.account_id = q.account_id and s.payout_id = q.id;

-- A queue for each rail, so that one that is slow or cannot be reached is nobody else's trouble.
alter table payout_dispatches
  add column rail text,
  -- Whether the rules that come before the first sending let it pass.
  add column is_checked boolean not null default false,
  -- How often working on it failed in a row for reasons of ours.
  add column faults integer not null default 0;
update payout_dispatches d set rail = p.rail, is_checked = true
from payouts p where p.account_id = d.account_id and p.id = d.payout_id;
alter table payout_dispatches alter column rail set not null;
drop index payout_dispatches_due;
create index payout_dispatches_due on payout_dispatches (rail, due_at);

-- The three functions that commit name the rail now; and a payout without a payer left (ERROR) is a
-- committed one that holds its funds, so that committing it again is told so. Nothing else of them
-- changes.
do $$
declare
  v_function regprocedure;
  v_old text;
  v_new text;
begin
  foreach v_function in array array[
    'commit_payout(uuid,uuid,uuid,uuid,text)'::regprocedure,
    'commit_payouts(uuid[],uuid[],uuid[],uuid[],text[],text[],bytea[],text[],boolean)'::regprocedure,
    'commit_batch_rows(uuid,uuid,bigint,integer)'::regprocedure]
  loop
    v_old := pg_get_functiondef(v_function);
    v_new := replace(v_old, 'insert into payout_dispatches (account_id, payout_id, due_at)',
      'insert into payout_dispatches (account_id, payout_id, rail, due_at)');
    v_new := replace(v_new, 'values (p_account, p_payout, v_now);',
      'values (p_account, p_payout, p.rail, v_now);');
    v_new := replace(v_new, 'select account_id, id, v_now from chosen',
      'select account_id, id, rail, v_now from chosen');
    v_new := replace(v_new, 'select account_id, payout_id, v_due from chosen',
      'select account_id, payout_id, rail, v_due from chosen');
    v_new := replace(v_new, 'if p.status in (''CANCELLED'', ''ERROR'') then',
      'if p.status = ''CANCELLED'' then');
    if v_new ~ '''CANCELLED'', ''ERROR''' or v_new !~ 'rail, (v_now|v_due)' then
      raise exception '% does not queue its payouts as expected', v_function;
    end if;
    execute v_new;
  end loop;
end
$$;

-- An attempt also says how the rail calls the payment, and on what its payer was judged then.
alter table attempts
  add column provider_reference text not null default '',
  add column standing_id uuid;
-- What a rail tells unasked finds its account by the payout alone.
create index attempts_payout on attempts (payout_id);
alter table observations
  add column code text not null default '',
  drop constraint observations_source_check,
  add constraint observations_source_check
    check (source in ('send', 'query', 'sandbox', 'callback', 'file', 'poll', 'person'));

-- How payers stood when they were chosen: terms, limits, health, availability, rating. Content by its
-- hash; many payouts share one.
create table payer_standings (
  id uuid primary key,
  body text not null,
  created_at timestamptz not null
);
alter table payer_standings enable row level security;
create policy everybody on payer_standings using (true);
grant select on payer_standings to outlay_tenant;

-- Where several payers were candidates: what each would have cost and why it was chosen or not.
create table payout_routings (
  account_id uuid not null,
  payout_id uuid not null,
  number integer not null check (number > 0),
  body text not null,
  created_at timestamptz not null,
  primary key (account_id, payout_id, number)
);
alter table payout_routings enable row level security;
create policy own_account on payout_routings using (account_id = current_account());
grant select on payout_routings to outlay_tenant;

-- What rails took for a payout: margin is the fee and what the exchange kept, less this.
create table payout_charges (
  account_id uuid not null,
  payout_id uuid not null,
  rail text not null,
  id text not null,
  kind text not null check (kind in ('network', 'bank', 'partner')),
  currency text not null,
  amount bigint not null check (amount > 0),
  created_at timestamptz not null,
  primary key (account_id, payout_id, rail, id)
);
alter table payout_charges enable row level security;

-- What a payer did over a day (UTC), by our own attempts; ratings come from it.
create table payer_days (
  rail text not null,
  payer_key text not null,
  day date not null,
  paid bigint not null default 0,
  refused bigint not null default 0,
  -- Refusals that lie with the recipient say nothing about the payer.
  refused_by_payer bigint not null default 0,
  unknown bigint not null default 0,
  unreached bigint not null default 0,
  returned bigint not null default 0,
  late bigint not null default 0,
  primary key (rail, payer_key, day)
);
alter table payer_days enable row level security;

-- What a person must decide. Those that belong to no account have the nil account.
create table exceptions (
  account_id uuid not null,
  id uuid not null,
  payout_id uuid,
  rail text not null default '',
  kind text not null check (kind in ('unmatched', 'paid_after_refusal', 'refused_after_payment',
    'return_of_unpaid', 'excess_return', 'amount_differs', 'unknown_outcome', 'not_sent', 'parked',
    'routes_exhausted', 'screening', 'velocity', 'rail_missing')),
  -- Words of ours, references and codes; nothing of a person.
  detail text not null default '',
  currency text,
  amount bigint,
  opened_at timestamptz not null,
  closed_at timestamptz,
  resolution text not null default '',
  primary key (account_id, id),
  check ((closed_at is null) = (resolution = ''))
);
create index exceptions_payout on exceptions (account_id, payout_id);
create index exceptions_missing on exceptions (rail)
  where closed_at is null and kind = 'rail_missing';
alter table exceptions enable row level security;
create policy own_account on exceptions using (account_id = current_account());
grant select on exceptions to outlay_tenant;
create trigger never_removed before delete or truncate on exceptions
  for each statement execute function refuse_change('what had to be decided stays known');

-- What persons decided, and those who had to agree.
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
  for each statement execute function refuse_change('what was decided stays');

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
