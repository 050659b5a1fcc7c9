create table accounts (
  id uuid primary key,
  name text not null check (length(name) between 1 and 200),
  accept_both_tokens boolean not null default false,
  event_sequence bigint not null default 0 check (event_sequence >= 0),
  created_at timestamptz not null,
  -- Whether a decision about a recipient's identity needs two people.
  identity_two_persons boolean not null default false,
  -- Limits on quotes that are neither committed nor expired: an open quote is an option on its rate
  -- for which the client pays nothing. The value in whole USD.
  open_quotes_max bigint not null default 10000 check (open_quotes_max >= 0),
  open_quotes_usd_max bigint not null default 25000000
    check (open_quotes_usd_max between 0 and 1000000000000),
  -- How receipts and pages show the sender; '' for each where nothing is set.
  display_name text not null default '' check (length(display_name) <= 200),
  brand_color text not null default '' check (brand_color ~ '^(#[0-9a-f]{6})?$'),
  -- PNG.
  brand_logo bytea not null default '' check (length(brand_logo) <= 200000),
  -- The sender's notice about data protection, to which the pages of recipients link.
  privacy_url text not null default ''
    check (privacy_url ~ '^(https://[^[:space:]]+)?$' and length(privacy_url) <= 500)
-- Every event updates its account's row.
) with (fillfactor = 50);
create index accounts_time on accounts (created_at, id);
create index accounts_name on accounts ((lower(name) collate "C"));
alter table accounts enable row level security;
create policy own_account on accounts using (id = current_account());
grant select on accounts to outlay_tenant;
grant update (event_sequence) on accounts to outlay_tenant;

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
  -- Over the row, under a key that the database does not have; empty once it is revoked.
  mac bytea not null check (length(mac) in (0, 36)),
  -- By a rotation, after which it expires.
  replaced_by uuid,
  primary key (account_id, id)
);
create index credentials_expiry on credentials (expires_at)
  where revoked_at is null and expires_at is not null;
alter table credentials enable row level security;
create policy own_account on credentials using (account_id = current_account());
grant select on credentials to outlay_tenant;

-- How often credentials have changed. A process that has authenticated a token trusts the result until
-- this moves: one look-up for all tokens of a moment instead of one for each.
create table credential_revision (
  only_row boolean primary key default true check (only_row),
  revision bigint not null default 0
);
insert into credential_revision default values;
alter table credential_revision enable row level security;

create function advance_credential_revision() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update credential_revision set revision = revision + 1;
  return null;
end
$$;

-- New credentials are not cached yet. A code that is replaced with the keys of the environment changes
-- nothing of what it covers.
create trigger advance_revision after delete
  or update of account_id, id, kind, secret_hash, scopes, allowed_addresses, expires_at, revoked_at
  on credentials
  for each statement execute function advance_credential_revision();

create table access_tokens (
  account_id uuid not null,
  token_hash bytea not null check (length(token_hash) = 32),
  credential_id uuid not null,
  scopes text[] not null,
  expires_at timestamptz not null,
  mac bytea not null check (length(mac) = 36),
  primary key (account_id, token_hash),
  foreign key (account_id, credential_id) references credentials (account_id, id)
);
create index access_tokens_expiry on access_tokens (expires_at);
create trigger advance_revision
  after update of account_id, token_hash, credential_id, scopes, expires_at on access_tokens
  for each statement execute function advance_credential_revision();
alter table access_tokens enable row level security;
create policy own_account on access_tokens using (account_id = current_account());
grant select, insert on access_tokens to outlay_tenant;

-- Locks the rows of accounts in the order of their ids, so that transactions cannot deadlock.
-- Without permission to wait it skips accounts that are locked. Returns those that it locked.
create function lock_accounts(p_accounts uuid[], p_may_wait boolean) returns uuid[]
  language plpgsql as $$
declare
  v_locked uuid[];
begin
  if p_may_wait then
    select array_agg(id) into v_locked from (
      select id from accounts where id = any (p_accounts) order by id for update) a;
  else
    select array_agg(id) into v_locked from (
      select id from accounts where id = any (p_accounts) order by id for update skip locked) a;
  end if;
  return coalesce(v_locked, '{}');
end
$$;
grant execute on function lock_accounts to outlay_tenant;
