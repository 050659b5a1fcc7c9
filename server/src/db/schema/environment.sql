-- One row: the environment of this database, and by how much its clock is ahead.
create table environment (
  only_row boolean primary key default true check (only_row),
  name text not null check (name in ('staging', 'live')),
  clock_offset_us bigint not null default 0 check (clock_offset_us >= 0),
  -- The offset that the sandbox requested. The clock stops on the way there wherever work is due.
  clock_target_us bigint not null default 0,
  -- The newest master key, which wraps the keys below and those of users.
  master_key_id text not null,
  -- A random key, wrapped: of the keyed hashes by which equal values are found. A rotation replaces it
  -- together with all of them, while no process holds it.
  index_key bytea not null default '',
  index_generation integer not null default 1 check (index_generation > 0),
  created_at timestamptz not null default now(),
  -- Advanced before the first instruction of each second and also written to a file outside of the
  -- database: a file that is ahead shows that the database was restored.
  send_marker bigint not null default 0,
  -- When the last pass began that signed the heads of all chains that had moved.
  heads_signed_at timestamptz,
  constraint live_clock_is_real
    check (name = 'staging' or (clock_offset_us = 0 and clock_target_us = 0)),
  constraint target_lies_ahead check (clock_target_us >= clock_offset_us)
);
grant select on environment to outlay_tenant;

-- The keys of the environment, a generation to a row: one that seals, one that authenticates rows and one
-- that signs, each random and wrapped by a master key. Ciphertexts and codes begin with the number of
-- their generation (4 bytes).
create table environment_keys (
  generation integer primary key check (generation > 0),
  -- Empty once the generation is destroyed.
  sealing_key bytea not null,
  authentication_key bytea not null,
  signing_key bytea not null,
  -- SPKI, PEM: it stays, so that what was signed verifies.
  public_key text not null,
  -- By the generation before it: a database that was restored from before the rotation trusts by it what
  -- was signed since. Empty for the first one.
  endorsement bytea not null,
  announced_at timestamptz not null,
  -- From when on it writes. Every process has read it by then.
  active_at timestamptz not null,
  -- When all rows were found to be under this generation or a later one.
  renewed_at timestamptz,
  destroyed_at timestamptz,
  -- Over the public key and these times.
  mac bytea not null check (length(mac) = 36),
  constraint announced_first check (active_at >= announced_at),
  constraint destroyed_whole check (
    (destroyed_at is not null) = (sealing_key = '' and authentication_key = '' and signing_key = ''))
);
alter table environment_keys enable row level security;
create trigger never_removed before delete or truncate on environment_keys
  for each statement execute function refuse_change('keys are destroyed, and their public keys stay');
create trigger stays_destroyed before update on environment_keys
  for each row when (old.destroyed_at is not null and new.destroyed_at is null
    or new.public_key <> old.public_key or new.active_at <> old.active_at)
  execute function refuse_change('a generation keeps its public key, and a destroyed one is gone');

-- The environment's time, read again at each call: a transaction that waited for a lock must not
-- decide by the time at which it began.
create function environment_now() returns timestamptz
  language sql volatile
  return clock_timestamp()
    + coalesce((select clock_offset_us from environment), 0) * interval '1 microsecond';
grant execute on function environment_now to outlay_tenant;

-- Behind a pooler by transaction, where a connection cannot hold a lock: refuses a transaction while the
-- index key is replaced, and one of a process that has another generation of it.
create function hold_index_key(p_generation integer) returns void
  language plpgsql as $$
begin
  if not pg_try_advisory_xact_lock_shared(hashtext('outlay index key'), 0) then
    raise exception 'the index key is being replaced' using errcode = 'OI001';
  end if;
  -- Another statement than the lock: it sees what was committed before.
  if coalesce((select index_generation from environment), 1) <> p_generation then
    raise exception 'the index key was replaced' using errcode = 'OI002';
  end if;
end
$$;
grant execute on function hold_index_key to outlay_tenant;

create trigger fixed_name before update on environment
  for each row when (new.name <> old.name)
  execute function refuse_change('the name of an environment is immutable');
create trigger forward_index before update on environment
  for each row when (new.index_generation < old.index_generation)
  execute function refuse_change('the generation of the index key must not go back');
create trigger forward_clock before update on environment
  for each row when (new.clock_offset_us >= 0 and new.clock_offset_us < old.clock_offset_us)
  execute function refuse_change('the clock must not go back');

-- Only the sandbox lets a client approve its own recipients.
create function refuse_live_tenant() returns trigger
  language plpgsql as $$
begin
  if is_tenant() and (select name from environment) <> 'staging' then
    raise exception 'a client may approve its users in the sandbox only'
      using errcode = 'insufficient_privilege';
  end if;
  return new;
end
$$;
