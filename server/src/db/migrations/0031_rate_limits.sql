-- What each process has let through in the last seconds, so that a rate limit holds over all of
-- them. Rows live for seconds and need not survive a crash. Keys are hashed with the master key.
create unlogged table rate_limit_use (
  id uuid primary key,
  process_id uuid not null,
  keys bytea[] not null,
  counts integer[] not null check (cardinality(counts) = cardinality(keys)),
  created_at timestamptz not null default clock_timestamp()
);

create index on rate_limit_use (created_at);
