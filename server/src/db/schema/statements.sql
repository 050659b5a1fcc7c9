-- Statements of balances. The entries of a period are the journals from the first one at or after its
-- beginning to the last one before the first at or after its end, in the order of their ids, so that
-- statements of consecutive periods have every entry once, and each begins with the closing balance of
-- the one before.

-- Finds the last journal of a currency before the first one that was posted at or after a time; the
-- lowest id where there is none. Journals of an account are posted in the order of their ids, which
-- begin with a time in milliseconds. Halving that range takes some fifty look-ups in the primary
-- key, and finds the same journal whatever is posted later.
create function find_last_journal_before(p_account uuid, p_currency text, p_at timestamptz)
  returns uuid
  language plpgsql stable as $$
declare
  v_low bigint := 0;
  v_high bigint := 1::bigint << 48;
  v_middle bigint;
  v_posted_at timestamptz;
  v_first uuid;
  v_last uuid;
begin
  while v_low < v_high loop
    v_middle := (v_low + v_high) / 2;
    select created_at into v_posted_at from ledger_journals
    where account_id = p_account and source_currency = p_currency
      and id >= (lpad(to_hex(v_middle), 12, '0') || repeat('0', 20))::uuid
    order by id limit 1;
    if not found or v_posted_at >= p_at then v_high := v_middle; else v_low := v_middle + 1; end if;
  end loop;
  -- The millisecond before may end with journals of the time or later.
  select id into v_first from ledger_journals
  where account_id = p_account and source_currency = p_currency and created_at >= p_at
    and id >= (lpad(to_hex(greatest(v_low - 1, 0)), 12, '0') || repeat('0', 20))::uuid
  order by id limit 1;
  -- Not within the query: behind row-level security the index is not used with an expression that
  -- might leak.
  v_first := coalesce(v_first, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
  select id into v_last from ledger_journals
  where account_id = p_account and source_currency = p_currency and id < v_first
  order by id desc limit 1;
  return coalesce(v_last, '00000000-0000-0000-0000-000000000000');
end
$$;
grant execute on function find_last_journal_before to outlay_tenant;

-- The balance of a wallet after a journal.
create function find_balance_after(p_account uuid, p_currency text, p_journal uuid) returns bigint
  language sql stable as $$
  select coalesce((
    select wallet_balance from ledger_journals
    where account_id = p_account and source_currency = p_currency and id <= p_journal
      and wallet_balance is not null
    order by id desc limit 1), 0);
$$;
grant execute on function find_balance_after to outlay_tenant;

-- Where statements ended: what was posted later belongs to the next one, also after a step back of the
-- clock, as by a failover to a server that is behind.
create table statement_ends (
  account_id uuid not null,
  currency text not null,
  at timestamptz not null,
  -- The last journal before the end; the nil UUID for none.
  last_id uuid not null,
  primary key (account_id, currency, at)
);
alter table statement_ends enable row level security;
create policy own_account on statement_ends using (account_id = current_account());
create trigger append_only before update or delete or truncate on statement_ends
  for each statement execute function refuse_change('the ends of statements are immutable');

-- The last journal of a statement that ends at a time that has passed, the same whenever it is read, and
-- not before that of an earlier end or after that of a later one. The caller holds the account's row.
create function find_statement_end(p_account uuid, p_currency text, p_at timestamptz) returns uuid
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_known statement_ends;
  v_last uuid;
begin
  perform require_own_account(p_account);
  select * into v_known from statement_ends
  where account_id = p_account and currency = p_currency and at <= p_at order by at desc limit 1;
  if v_known.at = p_at then return v_known.last_id; end if;
  v_last := greatest(find_last_journal_before(p_account, p_currency, p_at), v_known.last_id);
  v_last := least(v_last, (
    select last_id from statement_ends
    where account_id = p_account and currency = p_currency and at > p_at order by at limit 1));
  insert into statement_ends (account_id, currency, at, last_id)
  values (p_account, p_currency, p_at, v_last)
  on conflict do nothing;
  return v_last;
end
$$;
grant execute on function find_statement_end to outlay_tenant;

-- Closes a period: it has the journals after `after_id` up to `last_id`. No row while it has not ended.
-- Journals take their time while the account's row is locked. So once this has had that row after the
-- end, no journal can be posted into the period.
create function close_period(
  p_account uuid, p_currency text, p_from timestamptz, p_to timestamptz
) returns table (after_id uuid, last_id uuid, opening_balance bigint, closing_balance bigint)
  language plpgsql as $$
begin
  perform 1 from accounts where id = p_account for share;
  if environment_now() < p_to then return; end if;
  after_id := find_statement_end(p_account, p_currency, p_from);
  last_id := find_statement_end(p_account, p_currency, p_to);
  opening_balance := find_balance_after(p_account, p_currency, after_id);
  closing_balance := find_balance_after(p_account, p_currency, last_id);
  return next;
end
$$;
grant execute on function close_period to outlay_tenant;

-- Counts and adds up the entries of at most `p_count` journals; `next_id` is the last of them, or null
-- where there is none.
create function sum_wallet_entries(
  p_account uuid, p_currency text, p_after uuid, p_last uuid, p_count integer
) returns table (next_id uuid, credits bigint, credit_total bigint, debits bigint, debit_total bigint)
  language sql stable rows 1 as $$
  with journal as materialized (
    select * from ledger_journals
    where account_id = p_account and source_currency = p_currency
      and id > p_after and id <= p_last and wallet_balance is not null
    order by id limit p_count
  )
  select (select id from journal order by id desc limit 1),
    count(*) filter (where l.to_name = 'wallet'),
    coalesce(sum(l.amount) filter (where l.to_name = 'wallet'), 0)::bigint,
    count(*) filter (where l.from_name = 'wallet'),
    coalesce(sum(l.amount) filter (where l.from_name = 'wallet'), 0)::bigint
  from journal j
  cross join lateral journal_lines(j.kind, j.source_currency, j.source_amount, j.fee,
    j.destination_currency, j.destination_amount, j.rail) l
  where 'wallet' in (l.from_name, l.to_name);
$$;
grant execute on function sum_wallet_entries to outlay_tenant;
