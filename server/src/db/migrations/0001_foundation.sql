-- The ground: the environment and its clock, accounts and credentials, users, the ledger,
-- events and idempotency records. Every key begins with the account, so that tenants stay
-- apart and the tables can be distributed by account.

-- Roles belong to the whole server: an administrator, or another database of it, may have made
-- this one already; then being a member of it is enough.
do $$
begin
  if not exists (select from pg_roles where rolname = 'outlay_tenant') then
    begin
      create role outlay_tenant nologin;
    exception
      when duplicate_object or unique_violation then null;
    end;
  end if;
  -- From 16 on, who makes a role is a member of it without the right to act as it.
  if not pg_has_role(current_user, 'outlay_tenant',
      case when current_setting('server_version_num')::integer >= 160000 then 'set' else 'member' end)
    or (select rolsuper from pg_roles where rolname = current_user)
  then
    execute format('grant outlay_tenant to %I', current_user);
  end if;
end
$$;

grant usage on schema public to outlay_tenant;

-- The account of a tenant connection; null where none is set, which no row equals.
create function current_account() returns uuid
  language sql stable parallel safe
  return nullif(current_setting('outlay.account', true), '')::uuid;

-- Whether the statement comes from a tenant connection, also inside a function that runs with the
-- owner's rights: the role that a connection has set stays what it is.
create function is_tenant() returns boolean
  language sql stable parallel safe
  return current_setting('role', true) = 'outlay_tenant';

-- For functions that run with the owner's rights: a tenant connection acts for its account only.
create function require_own_account(p_account uuid) returns void
  language plpgsql stable as $$
begin
  if is_tenant() and current_account() is distinct from p_account then
    raise exception 'the connection belongs to another account'
      using errcode = 'insufficient_privilege';
  end if;
end
$$;

-- What a trigger refuses; its argument says why.
create function refuse_change() returns trigger
  language plpgsql as $$
begin
  raise exception '%: %', tg_table_name, tg_argv[0] using errcode = 'restrict_violation';
end
$$;

-- One row: which environment this database is, and how far its clock is moved.
create table environment (
  only_row boolean primary key default true check (only_row),
  name text not null check (name in ('staging', 'live')),
  clock_offset_us bigint not null default 0 check (clock_offset_us >= 0),
  -- Where the sandbox wants the clock to be; whoever moves it stops at what is due on the way.
  clock_target_us bigint not null default 0,
  master_key_id text not null,
  created_at timestamptz not null default now(),
  constraint live_clock_is_real
    check (name = 'staging' or (clock_offset_us = 0 and clock_target_us = 0)),
  constraint target_lies_ahead check (clock_target_us >= clock_offset_us)
);
grant select on environment to outlay_tenant;
create trigger fixed_name before update on environment
  for each row when (new.name <> old.name)
  execute function refuse_change('an environment stays what it is');
create trigger forward_clock before update on environment
  for each row when (new.clock_offset_us >= 0 and new.clock_offset_us < old.clock_offset_us)
  execute function refuse_change('the clock does not go backwards');

-- The environment's time. It is read anew at each call: a transaction that waited for a lock
-- must not decide by the time at which it began.
create function environment_now() returns timestamptz
  language sql volatile
  return clock_timestamp()
    + coalesce((select clock_offset_us from environment), 0) * interval '1 microsecond';

create table accounts (
  id uuid primary key,
  name text not null check (length(name) between 1 and 200),
  accept_both_tokens boolean not null default false,
  event_sequence bigint not null default 0 check (event_sequence >= 0),
  created_at timestamptz not null
);
alter table accounts enable row level security;
create policy own_account on accounts using (id = current_account());
grant select, update (event_sequence) on accounts to outlay_tenant;

create table credentials (
  account_id uuid not null references accounts (id),
  id uuid not null,
  kind text not null check (kind in ('client', 'api_key')),
  secret_hash bytea not null check (length(secret_hash) = 32),
  scopes text[] not null,
  allowed_addresses cidr[] not null default '{}',
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  primary key (account_id, id)
);
alter table credentials enable row level security;
create policy own_account on credentials using (account_id = current_account());
grant select on credentials to outlay_tenant;

create table access_tokens (
  account_id uuid not null,
  token_hash bytea not null check (length(token_hash) = 32),
  credential_id uuid not null,
  scopes text[] not null,
  expires_at timestamptz not null,
  primary key (account_id, token_hash),
  foreign key (account_id, credential_id) references credentials (account_id, id)
);
create index access_tokens_expiry on access_tokens (expires_at);
alter table access_tokens enable row level security;
create policy own_account on access_tokens using (account_id = current_account());
grant select, insert on access_tokens to outlay_tenant;

-- A recipient. What is personal is sealed under the user's own key; equality of e-mail addresses
-- is decided on a keyed hash.
create table users (
  account_id uuid not null references accounts (id),
  id uuid not null,
  internal_user_id text not null check (internal_user_id ~ '^[A-Za-z0-9+,./_~|-]{1,75}$'),
  email_index bytea not null check (length(email_index) = 32),
  status text not null default 'ACTIVE' check (status in ('ACTIVE', 'LOCKED', 'DEACTIVE')),
  country text not null check (country ~ '^[A-Z]{3}$'),
  kyc_status text not null default 'none'
    check (kyc_status in ('none', 'pending', 'approved', 'declined')),
  data_key bytea not null,
  sealed bytea not null,
  metadata text not null default '{}',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id),
  constraint users_internal_user_id unique (account_id, internal_user_id),
  constraint users_email unique (account_id, email_index)
);
alter table users enable row level security;
create policy own_account on users using (account_id = current_account());
grant select, insert, update on users to outlay_tenant;

-- The ledger. An account of it is named by currency and purpose; only money from outside and the
-- exchange position, which owes one currency while it holds the other, may be below zero.
create table ledger_accounts (
  account_id uuid not null references accounts (id),
  currency text not null check (currency ~ '^[A-Z0-9]{3,5}$'),
  name text not null
    check (name ~ '^(wallet|fx|fees|suspense|external|(in_transit|settlement):[a-z0-9_]{1,40})$'),
  token uuid not null,
  balance bigint not null default 0,
  created_at timestamptz not null,
  primary key (account_id, currency, name),
  constraint ledger_accounts_token unique (account_id, token),
  constraint balance_covers check (balance >= 0 or name in ('external', 'fx'))
);
alter table ledger_accounts enable row level security;
create policy own_account on ledger_accounts using (account_id = current_account());
grant select on ledger_accounts to outlay_tenant;

-- A transfer moves an amount from one ledger account to another of the same currency and client
-- account: both sides share the columns, so an entry without its counter-entry, a mixed currency
-- or a sum other than zero cannot be written. No foreign key leads to the two balances: whoever
-- posts has just changed both in the same transaction, and six look-ups per payout were a third of
-- the cost of a commit in a batch. The proof of the books finds a transfer without its balance.
create table ledger_transfers (
  account_id uuid not null,
  currency text not null,
  journal_id uuid not null,
  line smallint not null check (line > 0),
  kind text not null check (kind in ('fund', 'commit', 'complete', 'refund', 'return')),
  from_name text not null,
  to_name text not null check (to_name <> from_name),
  amount bigint not null check (amount > 0),
  -- What the wallet held after it; null where the transfer touches no wallet.
  wallet_balance bigint check ((wallet_balance is not null) = ('wallet' in (from_name, to_name))),
  payout_id uuid,
  created_at timestamptz not null,
  primary key (account_id, currency, journal_id, line)
);
create index ledger_transfers_payout on ledger_transfers (account_id, payout_id)
  where payout_id is not null;
alter table ledger_transfers enable row level security;
create policy own_account on ledger_transfers using (account_id = current_account());
grant select on ledger_transfers to outlay_tenant;

create trigger append_only before update or delete or truncate on ledger_transfers
  for each statement execute function refuse_change('what was posted stays');
create trigger never_emptied before delete or truncate on ledger_accounts
  for each statement execute function refuse_change('a balance is never removed');

-- Makes sure that a ledger account exists. The token is used only if it has to be made.
create function open_ledger_account(
  p_account uuid, p_currency text, p_name text, p_token uuid, p_at timestamptz
) returns void
  language sql as $$
  insert into ledger_accounts (account_id, currency, name, token, created_at)
  values (p_account, p_currency, p_name, p_token, p_at)
  on conflict (account_id, currency, name) do nothing;
$$;

-- Posts one transfer and keeps both balances, in one go. A balance that would fall below zero is
-- refused by the table.
create function post_transfer(
  p_account uuid, p_currency text, p_journal uuid, p_line smallint, p_kind text,
  p_from text, p_to text, p_amount bigint, p_payout uuid, p_at timestamptz
) returns void
  language plpgsql as $$
declare
  v_from_balance bigint;
  v_to_balance bigint;
begin
  update ledger_accounts set balance = balance - p_amount
  where account_id = p_account and currency = p_currency and name = p_from
  returning balance into v_from_balance;
  if not found then
    perform open_ledger_account(p_account, p_currency, p_from, gen_random_uuid(), p_at);
    update ledger_accounts set balance = balance - p_amount
    where account_id = p_account and currency = p_currency and name = p_from
    returning balance into strict v_from_balance;
  end if;
  update ledger_accounts set balance = balance + p_amount
  where account_id = p_account and currency = p_currency and name = p_to
  returning balance into v_to_balance;
  if not found then
    perform open_ledger_account(p_account, p_currency, p_to, gen_random_uuid(), p_at);
    update ledger_accounts set balance = balance + p_amount
    where account_id = p_account and currency = p_currency and name = p_to
    returning balance into strict v_to_balance;
  end if;
  insert into ledger_transfers (account_id, currency, journal_id, line, kind, from_name, to_name,
    amount, wallet_balance, payout_id, created_at)
  values (p_account, p_currency, p_journal, p_line, p_kind, p_from, p_to,
    p_amount,
    case 'wallet' when p_from then v_from_balance when p_to then v_to_balance end, p_payout, p_at);
end
$$;

-- Brings money in from outside and opens the balance where there is none yet; an amount of zero
-- only opens it. Answers the balance's row. A tenant may do this in the sandbox only.
create function fund_balance(
  p_account uuid, p_currency text, p_amount bigint, p_token uuid, p_journal uuid
) returns ledger_accounts
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_now timestamptz := environment_now();
  v_wallet ledger_accounts;
begin
  perform require_own_account(p_account);
  if is_tenant() and (select name from environment) <> 'staging' then
    raise exception 'a client funds a balance in the sandbox only'
      using errcode = 'insufficient_privilege';
  end if;
  perform 1 from accounts where id = p_account for update;
  perform open_ledger_account(p_account, p_currency, 'wallet', p_token, v_now);
  if p_amount > 0 then
    perform post_transfer(p_account, p_currency, p_journal, 1::smallint, 'fund',
      'external', 'wallet', p_amount, null, v_now);
  end if;
  select * into strict v_wallet from ledger_accounts
  where account_id = p_account and currency = p_currency and name = 'wallet';
  perform write_event(p_account, 'balance.funded', v_wallet.token,
    json_build_object('token', v_wallet.token, 'currency_code', p_currency)::text, v_now);
  return v_wallet;
end
$$;

-- Events: a sequence without gaps per account, because the number is taken from the account's row
-- in the transaction of the change. The account's row is the first lock of every transaction that
-- writes an event after a wallet was touched, so two of them cannot wait for each other.
create table events (
  account_id uuid not null,
  sequence bigint not null,
  type text not null,
  subject_id uuid not null,
  payload text not null,
  created_at timestamptz not null,
  primary key (account_id, sequence)
);
alter table events enable row level security;
create policy own_account on events using (account_id = current_account());
grant select, insert on events to outlay_tenant;
create trigger append_only before update or truncate on events
  for each statement execute function refuse_change('what happened stays');

create function write_event(
  p_account uuid, p_type text, p_subject uuid, p_payload text, p_at timestamptz
) returns bigint
  language plpgsql as $$
declare
  v_sequence bigint;
begin
  update accounts set event_sequence = event_sequence + 1
  where id = p_account
  returning event_sequence into strict v_sequence;
  insert into events (account_id, sequence, type, subject_id, payload, created_at)
  values (p_account, v_sequence, p_type, p_subject, p_payload, p_at);
  return v_sequence;
end
$$;

-- The first answer to an idempotency key, written in the transaction of its effect. The body is
-- sealed, because answers carry personal data; only those of commits in groups, which do not, are
-- plain.
create table idempotency_records (
  account_id uuid not null references accounts (id),
  key text not null check (length(key) between 1 and 255),
  fingerprint bytea not null check (length(fingerprint) = 32),
  status smallint not null,
  body bytea,
  created_at timestamptz not null,
  primary key (account_id, key)
);
create index idempotency_records_age on idempotency_records (created_at);
alter table idempotency_records enable row level security;
create policy own_account on idempotency_records using (account_id = current_account());
grant select, insert, update on idempotency_records to outlay_tenant;
