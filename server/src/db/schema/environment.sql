-- One row: the environment of this database, and by how much its clock is ahead.
create table environment (
  only_row boolean primary key default true check (only_row),
  name text not null check (name in ('staging', 'live')),
  clock_offset_us bigint not null default 0 check (clock_offset_us >= 0),
  -- The offset that the sandbox requested. The clock stops on the way there wherever work is due.
  clock_target_us bigint not null default 0,
  -- The newest master key, which wraps the keys below and those of users.
  master_key_id text not null,
  -- A random key, wrapped: from it follow all keys but those of users.
  root_key bytea not null default '',
  created_at timestamptz not null default now(),
  -- Advanced before the first instruction of each second and also written to a file outside of the
  -- database: a file that is ahead shows that the database was restored.
  send_marker bigint not null default 0,
  constraint live_clock_is_real
    check (name = 'staging' or (clock_offset_us = 0 and clock_target_us = 0)),
  constraint target_lies_ahead check (clock_target_us >= clock_offset_us)
);
grant select on environment to outlay_tenant;

-- The environment's time, read again at each call: a transaction that waited for a lock must not
-- decide by the time at which it began.
create function environment_now() returns timestamptz
  language sql volatile
  return clock_timestamp()
    + coalesce((select clock_offset_us from environment), 0) * interval '1 microsecond';
grant execute on function environment_now to outlay_tenant;

create trigger fixed_name before update on environment
  for each row when (new.name <> old.name)
  execute function refuse_change('the name of an environment is immutable');
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
