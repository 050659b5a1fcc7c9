-- Exchange rates as the sources gave them: 1 base = digits x 10^-scale quote. Market data belongs
-- to no account, so this is the one table of the service whose key does not begin with one.
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

-- Counts the imports that changed something, so that a process learns from one row whether the
-- rates it holds are still the newest. The transaction of an import holds the row until it commits.
create table rates_revision (
  is_only_row boolean primary key default true check (is_only_row),
  revision bigint not null check (revision >= 0)
);

insert into rates_revision (revision) values (0);

-- Limits against abuse: how far an exchange rate may move over several imports.

-- The first rate of each pair, source and day that an import stored. A new rate is compared with
-- those of the last days, so that several imports together move a rate no further than one may.
create table rate_checkpoints (
  base text not null,
  quote text not null,
  source text not null,
  day date not null,
  digits bigint not null check (digits between 1 and 999999999999999999),
  scale smallint not null check (scale between 0 and 24),
  primary key (base, quote, source, day)
);
