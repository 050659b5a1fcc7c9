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

insert into rate_checkpoints (base, quote, source, day, digits, scale)
select distinct on (base, quote, source, day) base, quote, source, day, digits, scale
from (
  select base, quote, source, (as_of at time zone 'UTC')::date as day, as_of, digits, scale
  from rates
  where as_of > now() - interval '7 days'
) r
order by base, quote, source, day, as_of;
