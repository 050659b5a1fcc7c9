-- Less to write for each payout, and an end to what need not be kept for ever: what is quoted and
-- what became of it lie apart, a journal is one row, events hold only what cannot be looked up, and
-- events and idempotency records lie in one partition per month.

-- Goes with the tables; 0009 has its successors.
drop function create_payouts, commit_payouts, apply_observation, begin_attempt, move_payout,
  post_refund, commit_payout, find_complete_attributes, payout_event, fund_balance, post_transfer,
  write_event, claim_dispatches, postpone_dispatch;

-- A payout is a locked quote, which never changes, and from its commit on a state. A commit writes
-- a narrow row then, instead of the wide one again with all its index entries.
alter table payouts rename to payout_quotes;
drop trigger legal_move on payout_quotes;
drop trigger fixed_terms on payout_quotes;
drop trigger fixed_commit on payout_quotes;
drop trigger fixed_completion on payout_quotes;
drop trigger begins_pending on payout_quotes;
drop trigger never_removed on payout_quotes;
drop index payouts_paid, payouts_committed_transfer, payouts_verification;

create table payout_states (
  account_id uuid not null,
  payout_id uuid not null,
  status text not null check (status in ('PROCESSING', 'COMPLETED', 'CANCELLED', 'SCHEDULED',
    'READY_FOR_PICKUP', 'HOLD', 'ERROR')),
  status_reason text not null default '',
  client_transfer_id text not null,
  -- The attribute values that it was committed with.
  attr_set_id uuid,
  attr_version integer,
  pickup_code text not null default '',
  committed_at timestamptz not null,
  completed_at timestamptz,
  updated_at timestamptz not null,
  primary key (account_id, payout_id),
  -- A client_transfer_id is committed once, for ever; quotes may repeat it.
  constraint committed_transfer unique (account_id, client_transfer_id),
  constraint completed_once check (case status
    when 'COMPLETED' then completed_at is not null
    when 'CANCELLED' then true
    else completed_at is null end)
) with (fillfactor = 85);
insert into payout_states
select account_id, id, status, status_reason, client_transfer_id, attr_set_id, attr_version,
  pickup_code, committed_at, completed_at, updated_at
from payout_quotes where committed_at is not null;
alter table payout_states enable row level security;
create policy own_account on payout_states using (account_id = current_account());
grant select on payout_states to outlay_tenant;

alter table payout_quotes
  drop column status, drop column status_reason, drop column pickup_code,
  drop column committed_at, drop column completed_at, drop column updated_at;
-- Which quotes ask for a verification.
create index payout_quotes_verification on payout_quotes (account_id, user_id)
  where needs_verification;
create trigger append_only before update or delete or truncate on payout_quotes
  for each statement execute function refuse_change('the terms of a payout never change');

-- No foreign key leads to the quote: whoever commits has just read it under the account's lock, and
-- a look-up for each payout is a good part of the cost of a commit in a batch.
create trigger begins_committed before insert on payout_states
  for each row when (new.status not in ('PROCESSING', 'SCHEDULED'))
  execute function refuse_change('a commit begins as PROCESSING or SCHEDULED');
create trigger legal_move before update on payout_states
  for each row when (new.status <> old.status and not is_legal_move(old.status, new.status))
  execute function refuse_change('that cannot follow from the present status');
create trigger fixed_commit before update of account_id, payout_id, client_transfer_id, attr_set_id,
  attr_version, pickup_code, committed_at on payout_states
  for each statement execute function refuse_change('what was committed never changes');
create trigger fixed_completion before update of completed_at on payout_states
  for each row when (new.completed_at is distinct from old.completed_at
    and (old.completed_at is not null or new.status <> 'COMPLETED'))
  execute function refuse_change('a completion comes with COMPLETED, once');
create trigger never_removed before delete or truncate on payout_states
  for each statement execute function refuse_change('a payout is never removed');

-- A payout as everybody reads it.
create view payouts with (security_invoker = true) as
select q.account_id, q.id, q.user_id, coalesce(s.status, 'PENDING') as status,
  coalesce(s.status_reason, '') as status_reason, q.client_transfer_id, q.source_token,
  q.source_currency, q.source_amount, q.fee, q.destination_token, q.destination_currency,
  q.destination_amount, q.exchange_rate, q.rounding_nano, q.rail, q.payer_key, q.payer_name,
  q.delivery_type, q.country,
  case when s.payout_id is null then q.attr_set_id else s.attr_set_id end as attr_set_id,
  case when s.payout_id is null then q.attr_version else s.attr_version end as attr_version,
  q.needs_attributes, q.needs_verification, q.notify_user, q.metadata,
  coalesce(s.pickup_code, '') as pickup_code, q.created_at, q.expires_at,
  q.estimated_availability, s.committed_at, s.completed_at,
  coalesce(s.updated_at, q.created_at) as updated_at
from payout_quotes q
left join payout_states s on s.account_id = q.account_id and s.payout_id = q.id;
grant select on payouts to outlay_tenant;

-- A quote is made by functions that have just read its user and its values, so that it is written by
-- these only; attempts and notifications are written by functions that have just read the payout.
revoke insert on payout_quotes from outlay_tenant;
alter table payout_quotes drop constraint payouts_account_id_user_id_fkey,
  drop constraint payouts_account_id_attr_set_id_attr_version_fkey;
create trigger never_removed before delete or truncate on users
  for each statement execute function refuse_change('a user is never removed');
alter table attempts drop constraint attempts_account_id_payout_id_fkey;
alter table notifications drop constraint notifications_account_id_payout_id_fkey;

-- A queue: its rows are changed twice and removed, so they are given room for it.
alter table payout_dispatches set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- The ledger: a journal is one row with its amounts, and its kind names the transfers that it
-- consists of. Each transfer has both its sides and one currency, so that no journal can be out of
-- balance; the rules are the function below and nothing else.
create table ledger_journals (
  account_id uuid not null,
  id uuid not null,
  kind text not null check (kind in ('fund', 'commit', 'complete', 'refund', 'return',
    'reserve', 'batch_commit', 'release')),
  payout_id uuid,
  -- What it is reserved for.
  batch_id uuid,
  source_currency text not null,
  source_amount bigint not null check (source_amount > 0),
  fee bigint not null default 0 check (fee >= 0),
  destination_currency text,
  destination_amount bigint check (destination_amount > 0),
  rail text,
  -- What the wallet of the source currency held after it; null where it touches no wallet.
  wallet_balance bigint,
  created_at timestamptz not null,
  -- The order in which a balance's statement is read.
  primary key (account_id, source_currency, id),
  constraint whole_payout check (
    (kind in ('fund', 'reserve', 'release')) = (payout_id is null)
    and num_nulls(payout_id, destination_currency, destination_amount, rail) in (0, 4)),
  constraint known_batch check (
    (kind in ('reserve', 'batch_commit', 'release')) = (batch_id is not null)),
  constraint wallet_or_not check (
    (kind in ('complete', 'batch_commit')) = (wallet_balance is null))
);
alter table ledger_journals enable row level security;
create policy own_account on ledger_journals using (account_id = current_account());
grant select on ledger_journals to outlay_tenant;

-- Journals are read in the order of their ids, so an id is made when the account's row is held: the
-- time in microseconds, the place in the transaction, and random digits (a UUID of version 7). The
-- first part is the same for all journals of a statement.
create function journal_time() returns text
  language sql volatile
  return (
    select substr(hex, 1, 8) || '-' || substr(hex, 9, 4) || '-7'
      || lpad(to_hex(us % 1000 * 4), 3, '0') || '-8'
    from (
      select us, lpad(to_hex(us / 1000), 12, '0') as hex
      from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as us) clock
    ) milliseconds
  );
create function journal_id(p_time text, p_place bigint, p_random uuid) returns uuid
  language sql immutable parallel safe
  return (p_time || lpad(to_hex(p_place), 3, '0') || right(p_random::text, 13))::uuid;

-- The posting rules: which transfers a journal of a kind is. One of an amount of zero is none.
-- `wallet_after` is what later lines of the same journal still add to the wallet.
create function journal_lines(
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
    ('release', 1, p_source_currency, 'reserved', 'wallet', p_source_amount, 0)
  ) l (kind, line, currency, from_name, to_name, amount, wallet_after)
  where l.kind = p_kind and l.amount > 0;
$$;

alter table ledger_accounts drop constraint ledger_accounts_name_check;
alter table ledger_accounts add constraint ledger_accounts_name_check check (name
  ~ '^(wallet|reserved|fx|fees|suspense|external|(in_transit|settlement):[a-z0-9_]{1,40})$');

insert into ledger_journals (account_id, id, kind, payout_id, source_currency, source_amount, fee,
  destination_currency, destination_amount, rail, wallet_balance, created_at)
select t.account_id, t.journal_id, t.kind, t.payout_id, coalesce(q.source_currency, t.currency),
  coalesce(q.source_amount, t.amount),
  case when t.kind = 'return' then 0 else coalesce(q.fee, 0) end,
  q.destination_currency, q.destination_amount, q.rail, t.wallet_balance, t.created_at
from (
  select distinct on (account_id, journal_id) *
  from ledger_transfers
  order by account_id, journal_id, (wallet_balance is null), line desc
) t
left join payout_quotes q on q.account_id = t.account_id and q.id = t.payout_id;
drop table ledger_transfers;
create trigger append_only before update or delete or truncate on ledger_journals
  for each statement execute function refuse_change('what was posted stays');

-- The journals taken apart: one row for each transfer, with what the wallet held after it.
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

-- Every balance follows from the journals in the statement that writes them, whoever writes them.
create function keep_balances() returns trigger
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set jit = off
  as $$
begin
  with posted as materialized (
    select account_id, kind, source_currency, destination_currency, rail, max(created_at) as at,
      sum(source_amount)::bigint as source_amount, sum(fee)::bigint as fee,
      sum(destination_amount)::bigint as destination_amount
    from written group by account_id, kind, source_currency, destination_currency, rail
  ), moved as (
    select p.account_id, l.currency, side.name, side.amount, p.at
    from posted p
    cross join lateral journal_lines(p.kind, p.source_currency, p.source_amount, p.fee,
      p.destination_currency, p.destination_amount, p.rail) l
    cross join lateral (values (l.from_name, -l.amount), (l.to_name, l.amount)) side (name, amount)
  ), summed as materialized (
    select account_id, currency, name, sum(amount)::bigint as amount, max(at) as at
    from moved group by account_id, currency, name
  ), opened as (
    -- A balance that is touched for the first time. Only these two may begin below zero, the others
    -- are refused by their check.
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
create trigger keep_balances after insert on ledger_journals
  referencing new table as written
  for each statement execute function keep_balances();

-- Events and idempotency records, a partition for each month (UTC).
create function month_of(p_at timestamptz) returns date
  language sql immutable parallel safe
  return date_trunc('month', p_at at time zone 'UTC')::date;

alter table events rename to old_events;
alter table old_events rename constraint events_pkey to old_events_pkey;
create table events (
  account_id uuid not null,
  sequence bigint not null,
  month date not null,
  type text not null,
  subject_id uuid not null,
  -- Null for a payout's event: the terms of the payout, its type and its detail tell everything.
  payload text,
  detail text not null default '',
  created_at timestamptz not null,
  primary key (account_id, sequence, month)
) partition by range (month);
alter table events enable row level security;
create policy own_account on events using (account_id = current_account());
grant select, insert on events to outlay_tenant;

alter table idempotency_records rename to old_idempotency_records;
alter table old_idempotency_records
  rename constraint idempotency_records_pkey to old_idempotency_records_pkey;
-- Who stores a key holds the account's row and has looked for the key in the month before, too.
create table idempotency_records (
  account_id uuid not null,
  key text not null check (length(key) between 1 and 255),
  month date not null,
  fingerprint bytea not null check (length(fingerprint) = 32),
  status smallint not null,
  body bytea,
  created_at timestamptz not null,
  primary key (account_id, key, month)
) partition by range (month);
alter table idempotency_records enable row level security;
create policy own_account on idempotency_records using (account_id = current_account());
grant select, insert, update on idempotency_records to outlay_tenant;

-- Makes sure that a month and the two after it have their partitions. It attaches them, so that
-- nobody who reads or writes waits.
create function open_months(p_at timestamptz) returns void
  language plpgsql as $$
declare
  v_table text;
  v_month date;
  v_name text;
begin
  -- Two processes begin a month at the same time: the second one waits, and finds it made.
  perform 1 from environment for update;
  foreach v_table in array array['events', 'idempotency_records'] loop
    for v_month in
      select month_of(p_at + n * interval '1 month') from generate_series(0, 2) n
    loop
      v_name := v_table || '_' || to_char(v_month, 'YYYY_MM');
      if to_regclass('public.' || v_name) is null then
        execute format('create table %I (like %I including all)', v_name, v_table);
        execute format('alter table %I enable row level security', v_name);
        execute format('alter table %I alter account_id set (n_distinct = 1)', v_name);
        execute format('alter table %I attach partition %I for values from (%L) to (%L)',
          v_table, v_name, v_month, (v_month + interval '1 month')::date);
      end if;
    end loop;
  end loop;
end
$$;
select open_months(month)
from generate_series(
  (select min(created_at) from (
    select created_at from old_events union all select created_at from old_idempotency_records) e),
  environment_now(), interval '1 month') month;
select open_months(environment_now());

insert into events (account_id, sequence, month, type, subject_id, payload, detail, created_at)
select account_id, sequence, month_of(created_at), type, subject_id,
  case when type not like 'payout.%' then payload end,
  case when type like 'payout.%' then payload::json ->> 'status_reason' else '' end, created_at
from old_events;
create trigger append_only before update on events
  for each row execute function refuse_change('what happened stays');
create trigger never_emptied before truncate on events
  for each statement execute function refuse_change('what happened stays');
insert into idempotency_records (account_id, key, month, fingerprint, status, body, created_at)
select account_id, key, month_of(created_at), fingerprint, status, body, created_at
from old_idempotency_records;
drop table old_events, old_idempotency_records;

-- The sandbox's clock may jump by years: the partitions of its new month are there before anybody
-- sees the new time.
create function follow_clock() returns trigger
  language plpgsql as $$
begin
  perform open_months(environment_now());
  return null;
end
$$;
create trigger follow_clock after insert or update of clock_offset_us on environment
  for each row execute function follow_clock();
