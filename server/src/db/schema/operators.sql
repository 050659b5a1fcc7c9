-- The persons who work for the operator of this installation, what they may do, and what needs two.
-- The service seals each row with a code (`mac`) that it can compute and the database cannot, so that
-- a row that was written past the service does not authenticate.

create table operators (
  id uuid primary key,
  -- In lower case, unique forever: decisions name it.
  name text collate "C" not null unique check (name ~ '^[a-z][a-z0-9._-]{1,39}$'),
  role text not null check (role in ('owner', 'operator', 'approver', 'compliance', 'viewer')),
  secret_hash bytea not null check (length(secret_hash) = 32),
  -- Empty once the operator is revoked, so that clearing revoked_at does not bring the row back.
  mac bytea not null check (length(mac) in (0, 36)),
  created_at timestamptz not null,
  created_by uuid references operators (id),
  key_created_at timestamptz not null,
  revoked_at timestamptz
);
-- Names must not be mistaken for one another in decisions and the audit log.
create unique index operators_similar_name on operators (translate(name, '._-', ''));

-- For which actions two people are needed.
create table policies (
  action text collate "C" primary key,
  persons integer not null check (persons in (1, 2)),
  -- Whole USD; two people are needed from just above it. 0 where the action has no amount.
  above_usd bigint not null check (above_usd >= 0),
  mac bytea not null check (length(mac) = 36),
  changed_at timestamptz not null
);

-- Actions that wait for a second person, or had one.
create table approvals (
  id uuid primary key,
  action text not null,
  -- What would be done, as JSON: the second person must want exactly this.
  parameters text not null,
  requested_by uuid not null references operators (id),
  reason text not null,
  requested_at timestamptz not null,
  expires_at timestamptz not null,
  -- Null while it waits.
  ended_at timestamptz,
  -- lapsed: who requested it was revoked, or the row was written past the service.
  result text not null default ''
    check (result in ('', 'approved', 'withdrawn', 'expired', 'lapsed')),
  approved_by uuid references operators (id) check (approved_by <> requested_by),
  -- Over the row, under a key that the database does not have; empty once it has ended.
  mac bytea not null check (length(mac) in (0, 36)),
  check ((ended_at is null) = (result = '')),
  check ((result = 'approved') = (approved_by is not null))
);
create unique index approvals_open on approvals (action, md5(parameters)) where ended_at is null;
create index approvals_time on approvals (requested_at, id);

-- How an operator logs in to the console, apart from the key.
create table operator_logins (
  operator_id uuid primary key references operators (id),
  -- Argon2id in its standard form, with its parameters; "" where none is set.
  password_hash text not null,
  -- The secret of the second factor (RFC 6238), sealed; null where none is set.
  totp_secret bytea,
  -- The newest time step whose code was accepted: each code is accepted once.
  totp_step bigint not null default 0,
  mac bytea not null check (length(mac) = 36),
  changed_at timestamptz not null
);

-- Links that log in once.
create table operator_links (
  token_hash bytea primary key check (length(token_hash) = 32),
  operator_id uuid not null references operators (id),
  expires_at timestamptz not null,
  used_at timestamptz,
  -- SHA-256 of the operator's row (`fingerprintOperator`): a new key or role ends the link.
  operator_fingerprint bytea not null check (length(operator_fingerprint) = 32),
  mac bytea not null check (length(mac) = 36)
);
create index operator_links_time on operator_links (expires_at);

-- Sessions of browsers.
create table operator_sessions (
  id uuid primary key,
  operator_id uuid not null references operators (id),
  token_hash bytea not null unique check (length(token_hash) = 32),
  method text not null check (method in ('link', 'key', 'password')),
  -- May only set up a password and a second factor.
  is_restricted boolean not null,
  address text not null,
  created_at timestamptz not null,
  used_at timestamptz not null,
  ends_at timestamptz not null,
  ended_at timestamptz,
  -- As of `operator_links`.
  operator_fingerprint bytea not null check (length(operator_fingerprint) = 32),
  mac bytea not null check (length(mac) = 36)
);
create index operator_sessions_operator on operator_sessions (operator_id) where ended_at is null;
create index operator_sessions_time on operator_sessions (ends_at);

-- Attempts to log in, by the hash of an operator's name or of an address, in a window of time.
create table login_attempts (
  key bytea primary key check (length(key) = 32),
  attempts integer not null check (attempts > 0),
  since timestamptz not null
);
create index login_attempts_time on login_attempts (since);

alter table operators enable row level security;
alter table policies enable row level security;
alter table approvals enable row level security;
alter table operator_logins enable row level security;
alter table operator_links enable row level security;
alter table operator_sessions enable row level security;
alter table login_attempts enable row level security;

create trigger never_removed before delete or truncate on operators
  for each statement execute function refuse_change('operators are revoked, never deleted');
create function refuse_revival() returns trigger
  language plpgsql as $$
begin
  if old.revoked_at is not null then
    raise exception 'a revoked operator stays revoked: create one of another name'
      using errcode = 'restrict_violation';
  end if;
  return new;
end
$$;
create trigger stays_revoked before update on operators
  for each row execute function refuse_revival();
create trigger never_removed before delete or truncate on approvals
  for each statement execute function refuse_change('approvals must not be deleted');
