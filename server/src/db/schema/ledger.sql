-- An account of the ledger is named by currency and purpose. Only money from outside, the exchange
-- position (which owes one currency while it holds another), costs and suspense may be negative.
create table ledger_accounts (
  account_id uuid not null references accounts (id),
  currency text not null,
  name text not null,
  token uuid not null,
  balance bigint not null default 0,
  created_at timestamptz not null,
  primary key (account_id, currency, name),
  constraint ledger_accounts_token unique (account_id, token),
  constraint balance_covers check (balance >= 0 or name in ('external', 'fx', 'costs', 'suspense'))
-- Every journal updates its balances, so pages leave room for new versions of their rows.
) with (fillfactor = 50);
alter table ledger_accounts enable row level security;
create policy own_account on ledger_accounts using (account_id = current_account());
grant select on ledger_accounts to outlay_tenant;

-- A check constraint would match the patterns again whenever a balance changes.
create trigger known_name before insert on ledger_accounts
  for each row when (new.currency !~ '^[A-Z0-9]{3,5}$' or new.name !~
    '^(wallet|reserved|fx|fees|costs|suspense|external|(in_transit|settlement):[a-z0-9_]{1,40})$')
  execute function refuse_change('a ledger account must have a known name and a currency code');
create trigger fixed_name before update of account_id, currency, name, token on ledger_accounts
  for each statement execute function refuse_change('the names of ledger accounts are immutable');
create trigger never_emptied before delete or truncate on ledger_accounts
  for each statement execute function refuse_change('balances must not be deleted');

-- A journal is one row. Its kind determines its transfers (see journal_lines); each transfer has
-- two sides and one currency, so a journal cannot be out of balance.
create table ledger_journals (
  account_id uuid not null,
  id uuid not null,
  kind text not null check (kind in ('fund', 'adjust_credit', 'adjust_debit', 'commit', 'complete', 'refund', 'return',
    'reserve', 'batch_commit', 'release', 'unroute', 'route', 'charge', 'excess', 'write_off',
    'write_back', 'suspense_credit', 'suspense_debit')),
  payout_id uuid,
  -- The batch that the amount is reserved for.
  batch_id uuid,
  source_currency text not null,
  source_amount bigint not null,
  fee bigint not null default 0 check (fee >= 0),
  destination_currency text,
  destination_amount bigint check (destination_amount > 0),
  rail text,
  -- The balance of the source wallet afterwards. Null where the journal does not touch it.
  wallet_balance bigint,
  created_at timestamptz not null,
  -- The order of a balance statement.
  primary key (account_id, source_currency, id),
  constraint whole_payout check (
    (kind in ('fund', 'adjust_credit', 'adjust_debit', 'reserve', 'release', 'suspense_credit',
      'suspense_debit')) = (payout_id is null)
    and num_nulls(payout_id, destination_currency, destination_amount, rail) in (0, 4)),
  constraint known_batch check (
    (kind in ('reserve', 'batch_commit', 'release')) = (batch_id is not null)),
  constraint wallet_or_not check (
    (kind in ('complete', 'batch_commit', 'unroute', 'route', 'charge', 'excess', 'write_off',
      'write_back', 'suspense_credit', 'suspense_debit')) = (wallet_balance is null)),
  -- A returned part may be worth less than one minor unit of the source currency.
  constraint ledger_journals_source_amount_check
    check (source_amount > 0 or (kind = 'return' and source_amount = 0))
);
alter table ledger_journals enable row level security;
create policy own_account on ledger_journals using (account_id = current_account());
grant select on ledger_journals to outlay_tenant;

create trigger append_only before update or delete or truncate on ledger_journals
  for each statement execute function refuse_change('posted journals are immutable');

-- The posting rules: the transfers of each kind of journal; transfers of zero are left out. The currency
-- and the amount are those of the journal's source or destination. A name that ends with a colon is
-- followed by the rail. wallet_after is what later lines of the journal still add to the wallet, here in
-- fees. The rules are constants, because rows of VALUES that have parameters in them are prepared anew for
-- each journal: 20 times the cost of reading the ledger.
create function journal_lines(
  p_kind text, p_source_currency text, p_source_amount bigint, p_fee bigint,
  p_destination_currency text, p_destination_amount bigint, p_rail text
) returns table (
  line smallint, currency text, from_name text, to_name text, amount bigint, wallet_after bigint
)
  language sql immutable parallel safe rows 3 as $$
  select r.line::smallint,
    case r.side when 'source' then p_source_currency else p_destination_currency end,
    case when r.from_name like '%:' then r.from_name || p_rail else r.from_name end,
    case when r.to_name like '%:' then r.to_name || p_rail else r.to_name end,
    m.amount, r.wallet_after * p_fee
  from (values
    ('fund', 1, 'source', 'external', 'wallet', 'source', 0),
    -- A correction by operators.
    ('adjust_credit', 1, 'source', 'external', 'wallet', 'source', 0),
    ('adjust_debit', 1, 'source', 'wallet', 'external', 'source', 0),
    ('commit', 1, 'source', 'wallet', 'fx', 'source', -1),
    ('commit', 2, 'source', 'wallet', 'fees', 'fee', 0),
    ('commit', 3, 'destination', 'fx', 'in_transit:', 'destination', 0),
    ('complete', 1, 'destination', 'in_transit:', 'settlement:', 'destination', 0),
    ('refund', 1, 'destination', 'in_transit:', 'fx', 'destination', 0),
    ('refund', 2, 'source', 'fx', 'wallet', 'source', 1),
    ('refund', 3, 'source', 'fees', 'wallet', 'fee', 0),
    -- Full or partial: the amounts are those of the returned part.
    ('return', 1, 'destination', 'settlement:', 'in_transit:', 'destination', 0),
    ('return', 2, 'destination', 'in_transit:', 'fx', 'destination', 0),
    ('return', 3, 'source', 'fx', 'wallet', 'source', 0),
    -- A batch is reserved as a whole, and its payouts are committed from the reserve.
    ('reserve', 1, 'source', 'wallet', 'reserved', 'source', 0),
    ('batch_commit', 1, 'source', 'reserved', 'fx', 'source', 0),
    ('batch_commit', 2, 'source', 'reserved', 'fees', 'fee', 0),
    ('batch_commit', 3, 'destination', 'fx', 'in_transit:', 'destination', 0),
    ('release', 1, 'source', 'reserved', 'wallet', 'source', 0),
    -- From one rail to another.
    ('unroute', 1, 'destination', 'in_transit:', 'fx', 'destination', 0),
    ('route', 1, 'destination', 'fx', 'in_transit:', 'destination', 0),
    -- A charge that a rail deducted, in its own currency.
    ('charge', 1, 'source', 'costs', 'settlement:', 'source', 0),
    -- Returned more than was paid; and paid for a payout that has ended.
    ('excess', 1, 'source', 'external', 'suspense', 'source', 0),
    ('write_off', 1, 'source', 'suspense', 'settlement:', 'source', 0),
    ('write_back', 1, 'source', 'settlement:', 'suspense', 'source', 0),
    -- Cleared by operators: a loss that was covered or recovered; an excess that was repaid or kept.
    ('suspense_credit', 1, 'source', 'external', 'suspense', 'source', 0),
    ('suspense_debit', 1, 'source', 'suspense', 'external', 'source', 0)
  ) r (kind, line, side, from_name, to_name, amount_of, wallet_after)
  cross join lateral (
    select case r.amount_of when 'source' then p_source_amount when 'fee' then p_fee
      else p_destination_amount end as amount
  ) m
  where r.kind = p_kind and m.amount > 0;
$$;
grant execute on function journal_lines to outlay_tenant;

-- Updates every balance in the statement that inserts the journals.
create function update_balances() returns trigger
  language plpgsql as $$
begin
  with posted as materialized (
    select account_id, kind, source_currency, destination_currency, rail, max(created_at) as at,
      sum(source_amount)::bigint as source_amount, sum(fee)::bigint as fee,
      sum(destination_amount)::bigint as destination_amount
    from written group by account_id, kind, source_currency, destination_currency, rail
  ), moved as (
    select p.account_id, l.currency, side.sign * l.amount as amount, p.at,
      case side.sign when -1 then l.from_name else l.to_name end as name
    from posted p
    cross join lateral journal_lines(p.kind, p.source_currency, p.source_amount, p.fee,
      p.destination_currency, p.destination_amount, p.rail) l
    cross join (values (-1), (1)) side (sign)
  ), summed as materialized (
    select account_id, currency, name, sum(amount)::bigint as amount, max(at) as at
    from moved group by account_id, currency, name
  ), opened as (
    -- A balance that does not exist yet. A check refuses a negative one where it may not be.
    insert into ledger_accounts (account_id, currency, name, token, balance, created_at)
    select account_id, currency, name, gen_random_uuid(), amount, at
    from summed s
    where not exists (
      select from ledger_accounts l
      where l.account_id = s.account_id and l.currency = s.currency and l.name = s.name)
  )
  update ledger_accounts l set balance = l.balance + s.amount
  from summed s
  where l.account_id = s.account_id and l.currency = s.currency and l.name = s.name;
  return null;
end
$$;

create trigger update_balances after insert on ledger_journals
  referencing new table as written
  for each statement execute function update_balances();

-- The transfers of each journal, one row each, with the balance of the wallet after it.
create view ledger_transfers with (security_invoker = true) as
select j.account_id, l.currency, j.id as journal_id, l.line, j.kind, l.from_name, l.to_name,
  l.amount,
  case when 'wallet' in (l.from_name, l.to_name) then j.wallet_balance - l.wallet_after end
    as wallet_balance,
  j.payout_id, j.batch_id, j.created_at
from ledger_journals j
cross join lateral journal_lines(j.kind, j.source_currency, j.source_amount, j.fee,
  j.destination_currency, j.destination_amount, j.rail) l;
grant select on ledger_transfers to outlay_tenant;

-- Both sides of each transfer: what it takes from one ledger account (negative) and adds to another.
create view ledger_sides with (security_invoker = true) as
select t.account_id, t.currency, case side.sign when -1 then t.from_name else t.to_name end as name,
  side.sign * t.amount as amount, t.kind, t.payout_id, t.created_at
from ledger_transfers t
cross join (values (-1), (1)) side (sign);

-- Statements are read in the order of journal ids, and a link of the chain is over a range of them. An
-- id is therefore made while the account's row is locked: the time in microseconds, the place in the
-- transaction, and random digits (UUID version 7). journal_time is the part that all journals of a
-- statement share.
create function format_journal_time(p_us bigint) returns text
  language plpgsql immutable parallel safe as $$
declare
  v_ms constant text := lpad(to_hex(p_us / 1000), 12, '0');
begin
  return substr(v_ms, 1, 8) || '-' || substr(v_ms, 9, 4) || '-7'
    || lpad(to_hex(p_us % 1000 * 4), 3, '0') || '-8';
end
$$;

create function journal_time(p_at timestamptz default clock_timestamp()) returns text
  language sql volatile
  return format_journal_time((extract(epoch from p_at) * 1000000)::bigint);

-- journal_time for the next journals of accounts whose rows are locked: later than that of their last
-- ones, also after a step back of the clock, as by a failover to a server that is behind.
create function next_journal_time(variadic p_accounts uuid[]) returns text
  language plpgsql volatile as $$
declare
  v_next constant text := journal_time();
  v_last text;
begin
  select l.last_id::text into v_last
  from unnest(p_accounts) a (id)
  cross join lateral (
    select last_id from ledger_links where account_id = a.id order by number desc limit 1
  ) l
  order by l.last_id desc limit 1;
  if v_last is null or v_next > left(v_last, 20) collate "C" then return v_next; end if;
  return format_journal_time(1
    + ('x0000' || left(v_last, 8) || substr(v_last, 10, 4))::bit(64)::bigint * 1000
    + ('x' || substr(v_last, 16, 3))::bit(12)::integer / 4);
end
$$;

create function journal_id(p_time text, p_place bigint, p_random uuid) returns uuid
  language sql immutable parallel safe
  return (p_time || lpad(to_hex(p_place), 3, '0') || right(p_random::text, 13))::uuid;

-- Creates a ledger account unless it exists; the token is used only then.
create function open_ledger_account(
  p_account uuid, p_currency text, p_name text, p_token uuid, p_at timestamptz
) returns void
  language sql as $$
  insert into ledger_accounts (account_id, currency, name, token, created_at)
  values (p_account, p_currency, p_name, p_token, p_at)
  on conflict (account_id, currency, name) do nothing;
$$;

-- Funds a balance from outside, and opens it if it does not exist. An amount of zero only opens it.
-- A tenant may do this in the sandbox only.
create function fund_balance(
  p_account uuid, p_currency text, p_amount bigint, p_token uuid, p_journal uuid
) returns ledger_accounts
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_now timestamptz;
  v_wallet ledger_accounts;
begin
  perform require_own_account(p_account);
  if is_tenant() and (select name from environment) <> 'staging' then
    raise exception 'a client may fund a balance in the sandbox only'
      using errcode = 'insufficient_privilege';
  end if;
  perform 1 from accounts where id = p_account for update;
  -- After the lock: a day whose statement exists takes no further journal.
  v_now := environment_now();
  perform open_ledger_account(p_account, p_currency, 'wallet', p_token, v_now);
  if p_amount > 0 then
    insert into ledger_journals (account_id, id, kind, source_currency, source_amount,
      wallet_balance, created_at)
    select p_account, journal_id(next_journal_time(p_account), 0, p_journal), 'fund', p_currency,
      p_amount, balance + p_amount, v_now
    from ledger_accounts
    where account_id = p_account and currency = p_currency and name = 'wallet';
  end if;
  select * into strict v_wallet from ledger_accounts
  where account_id = p_account and currency = p_currency and name = 'wallet';
  perform write_event(p_account, 'balance.funded', v_wallet.token,
    json_build_object('currency', p_currency, 'balance', v_wallet.balance::text)::text, v_now);
  return v_wallet;
end
$$;
grant execute on function fund_balance to outlay_tenant;

-- What operators booked on balances, and on what payouts left in suspense, with who decided it and why. A
-- reference is booked once.
create table balance_bookings (
  account_id uuid not null references accounts (id),
  reference text not null check (length(reference) between 1 and 100),
  kind text not null check (kind in ('fund', 'adjust', 'suspense')),
  currency text not null,
  -- Whose amount in suspense it clears.
  payout_id uuid check ((payout_id is not null) = (kind = 'suspense')),
  -- Minor units; negative: taken from the balance.
  amount bigint not null check (amount <> 0 and (kind <> 'fund' or amount > 0)),
  reason text not null check (length(reason) between 1 and 1000),
  -- The person whose decision booked it.
  booked_by text not null check (length(booked_by) between 1 and 100),
  -- Of the balance, or of the payout in suspense.
  balance_after bigint not null,
  booked_at timestamptz not null,
  -- Over the row, under a key that the database does not have (`ledger/bookings.ts`).
  mac bytea not null check (length(mac) = 36),
  primary key (account_id, reference)
);
create index balance_bookings_time on balance_bookings (account_id, booked_at, reference);
create index balance_bookings_suspense on balance_bookings (payout_id, account_id)
  where kind = 'suspense';
-- What one person recorded within a day.
create index balance_bookings_by on balance_bookings (booked_by, booked_at);
alter table balance_bookings enable row level security;
create trigger append_only before delete or truncate
  or update of account_id, reference, kind, currency, payout_id, amount, reason, booked_by, balance_after,
    booked_at
  on balance_bookings
  for each statement execute function refuse_change('bookings are immutable');

-- As `renew_payout_decisions`.
create function renew_balance_bookings(
  p_accounts uuid[], p_references text[], p_old bytea[], p_fresh bytea[]
) returns integer
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_count integer;
begin
  update balance_bookings b set mac = n.fresh
  from unnest(p_accounts, p_references, p_old, p_fresh) n (account_id, reference, old, fresh)
  where b.account_id = n.account_id and b.reference = n.reference and b.mac = n.old;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- Books money from outside, or a correction, on a balance that it opens where there is none; or, with a
-- payout, brings what it left in suspense closer to zero. Returns booked, booked_before (the same reference
-- with the same values), reference_used (with others), or not_covered: the balance does not have what would
-- be taken, or suspense would not come closer to zero. What batches have reserved is no part of the balance.
create function book_balance(
  p_account uuid, p_kind text, p_reference text, p_currency text, p_payout uuid, p_amount bigint, p_by text,
  p_reason text, p_token uuid, p_mac bytea, out result text, out balance bigint, out token uuid
)
  language plpgsql as $$
declare
  v_now timestamptz;
  v_known balance_bookings;
begin
  perform 1 from accounts where id = p_account for update;
  select * into v_known from balance_bookings
  where account_id = p_account and reference = p_reference;
  if found then
    balance := v_known.balance_after;
    result := case
      when (v_known.kind, v_known.currency, v_known.amount) = (p_kind, p_currency, p_amount)
        and v_known.payout_id is not distinct from p_payout
      then 'booked_before' else 'reference_used' end;
    return;
  end if;
  v_now := environment_now();
  if p_payout is null then
    perform open_ledger_account(p_account, p_currency, 'wallet', p_token, v_now);
    select w.balance + p_amount, w.token into balance, token from ledger_accounts w
    where account_id = p_account and currency = p_currency and name = 'wallet';
  else
    select coalesce(sum(amount), 0) + p_amount into balance from suspense_parts
    where account_id = p_account and payout_id = p_payout and currency = p_currency;
  end if;
  if p_payout is null and balance < 0 or p_payout is not null
    and p_amount not between least(p_amount - balance, 0) and greatest(p_amount - balance, 0)
  then
    result := 'not_covered';
    return;
  end if;
  insert into ledger_journals (account_id, id, kind, source_currency, source_amount,
    wallet_balance, created_at)
  values (p_account, journal_id(next_journal_time(p_account), 0, gen_random_uuid()),
    case when p_kind = 'fund' then p_kind when p_amount > 0 then p_kind || '_credit' else p_kind || '_debit' end,
    p_currency, abs(p_amount), case when p_payout is null then balance end, v_now);
  insert into balance_bookings (account_id, reference, kind, currency, payout_id, amount, reason, booked_by,
    balance_after, booked_at, mac)
  values (p_account, p_reference, p_kind, p_currency, p_payout, p_amount, p_reason, p_by, balance, v_now,
    p_mac);
  if p_payout is null then
    perform write_event(p_account,
      case p_kind when 'fund' then 'balance.funded' else 'balance.adjusted' end, token,
      json_build_object('currency', p_currency, 'balance', balance::text)::text, v_now);
  end if;
  result := 'booked';
end
$$;
