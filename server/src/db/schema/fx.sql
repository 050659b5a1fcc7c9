-- Exchange rates as their sources published them: 1 base = digits x 10^-scale quote. Market data
-- belongs to no account.
create table rates (
  base text not null check (base ~ '^[A-Z0-9]{3,5}$'),
  quote text not null check (quote ~ '^[A-Z0-9]{3,5}$'),
  source text not null check (source ~ '^[a-z][a-z0-9_]{0,29}$'),
  as_of timestamptz not null check (isfinite(as_of)),
  digits bigint not null check (digits between 1 and 999999999999999999),
  scale smallint not null check (scale between 0 and 24),
  imported_at timestamptz not null default now(),
  primary key (base, quote, source, as_of),
  check (base <> quote)
);

-- Counts imports that changed a rate, so that a process learns from one row whether its rates are
-- current. An import holds the row until it commits.
create table rates_revision (
  is_only_row boolean primary key default true check (is_only_row),
  revision bigint not null check (revision >= 0)
);

insert into rates_revision (revision) values (0);

-- The first rate of each pair, source and day. A new rate is compared with those of the last days,
-- so that several imports together cannot exceed the limit of one.
create table rate_checkpoints (
  base text not null,
  quote text not null,
  source text not null,
  day date not null,
  digits bigint not null check (digits between 1 and 999999999999999999),
  scale smallint not null check (scale between 0 and 24),
  primary key (base, quote, source, day)
);
