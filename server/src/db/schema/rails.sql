-- State and inbound messages of rails. None of it belongs to an account: a rail knows references
-- only, and a report finds its account when it is applied.

-- Sealed values. Keys and states are references, numbers and codes, compared byte by byte.
create table rail_records (
  rail text collate "C" not null check (rail ~ '^[a-z0-9_]{1,40}$'),
  collection text collate "C" not null,
  key text collate "C" not null,
  state text collate "C" not null,
  revision bigint not null check (revision > 0),
  -- Of the payment that it is about, where it holds data of a person.
  reference text,
  -- The person under whose key it is sealed; null: under the environment's keys.
  account_id uuid,
  user_id uuid,
  -- Empty after the erasure of that person.
  sealed bytea not null,
  primary key (rail, collection, key),
  check ((account_id is null) = (user_id is null))
);
create index rail_records_reference on rail_records (reference) where reference is not null;
create index rail_records_state on rail_records (rail, collection, state, key);
alter table rail_records enable row level security;

-- The recipients of payments by their references at a rail, in either encoding of
-- `rails/contract/references.ts`. The key is empty where the person's data was erased.
create function find_payment_recipients(p_rail text, p_references text[])
  returns table (reference text, account_id uuid, user_id uuid, data_key bytea)
  language sql stable as $$
  select r.reference, u.account_id, u.id, u.data_key
  from (select distinct x as reference from unnest(p_references) x where x is not null) r
  cross join lateral (
    select a.account_id, a.payout_id from attempts a
    where a.reference in (r.reference, replace(lower(r.reference), '-', '')) and a.rail = p_rail
    limit 1
  ) a
  join payout_quotes q on q.account_id = a.account_id and q.id = a.payout_id
  join users u on u.account_id = q.account_id and u.id = q.user_id;
$$;

-- The persons under whose keys records are, or would be, sealed. Those without one are left out.
create function find_record_owners(
  p_rail text, p_collections text[], p_keys text[], p_references text[]
) returns table (ordinal integer, account_id uuid, user_id uuid, data_key bytea)
  language sql stable as $$
  with c as (
    select ord, coalesce(c.reference, r.reference) as reference, r.user_id, r.account_id,
      r.key is not null as is_stored
    from unnest(p_collections, p_keys, p_references) with ordinality
      c (collection, key, reference, ord)
    left join rail_records r
      on r.rail = p_rail and r.collection = c.collection and r.key = c.key
  )
  select c.ord::integer, u.account_id, u.id, u.data_key
  from c join users u on u.account_id = c.account_id and u.id = c.user_id
  union all
  select c.ord::integer, p.account_id, p.user_id, p.data_key
  from c
  join find_payment_recipients(p_rail, array(select c.reference from c where not is_stored)) p
    on p.reference = c.reference
  where not is_stored;
$$;

-- Applies all changes or none: false where a record is not at the expected revision (0: absent). A
-- null state removes it. Records are locked in order, so that writers cannot deadlock.
create function write_rail_records(
  p_rail text, p_collections text[], p_keys text[], p_revisions bigint[], p_states text[],
  p_sealed bytea[], p_references text[], p_accounts uuid[], p_users uuid[]
) returns boolean
  language plpgsql as $$
declare
  v_expected integer;
  v_found integer;
begin
  select count(*) filter (where revision > 0), count(*)
  into v_expected, v_found
  from unnest(p_collections, p_keys, p_revisions) c (collection, key, revision);
  if v_found <> (select count(distinct (collection, key))
    from unnest(p_collections, p_keys) c (collection, key))
  then
    raise exception 'a write must name each record once';
  end if;
  select count(*) into v_found from (
    select r.key from rail_records r
    join unnest(p_collections, p_keys, p_revisions) c (collection, key, revision)
      on c.collection = r.collection and c.key = r.key and c.revision = r.revision
    where r.rail = p_rail
    order by r.collection, r.key
    for update of r
  ) held;
  if v_found <> v_expected then return false; end if;
  insert into rail_records (rail, collection, key, state, revision, sealed, reference, account_id,
    user_id)
  select p_rail, collection, key, state, 1, sealed, reference, account_id, user_id
  from unnest(p_collections, p_keys, p_revisions, p_states, p_sealed, p_references, p_accounts,
    p_users) c (collection, key, revision, state, sealed, reference, account_id, user_id)
  where revision = 0
  order by collection, key
  on conflict do nothing;
  get diagnostics v_found = row_count;
  if v_found <> cardinality(p_keys) - v_expected then
    raise exception using errcode = 'OL001', message = 'the record already exists';
  end if;
  update rail_records r set state = c.state, sealed = c.sealed, revision = r.revision + 1,
    account_id = c.account_id, user_id = c.user_id
  from unnest(p_collections, p_keys, p_revisions, p_states, p_sealed, p_accounts, p_users)
    c (collection, key, revision, state, sealed, account_id, user_id)
  where c.revision > 0 and c.state is not null
    and r.rail = p_rail and r.collection = c.collection and r.key = c.key;
  delete from rail_records r
  using unnest(p_collections, p_keys, p_revisions, p_states) c (collection, key, revision, state)
  where c.revision > 0 and c.state is null
    and r.rail = p_rail and r.collection = c.collection and r.key = c.key;
  return true;
exception when sqlstate 'OL001' then
  return false;
end
$$;

-- An inbound message, sealed because it names people, stored verbatim exactly once.
create table rail_messages (
  rail text collate "C" not null,
  id text collate "C" not null,
  channel text not null check (channel in ('callback', 'file', 'poll')),
  -- Empty after the erasure of a person in it.
  sealed bytea not null,
  -- The persons under whose keys together it is sealed; none: under the environment's keys.
  user_ids uuid[] not null default '{}',
  times integer not null default 1,
  received_at timestamptz not null,
  primary key (rail, id)
);
alter table rail_messages enable row level security;

create trigger never_removed before delete or truncate on rail_messages
  for each statement execute function refuse_change('inbound messages must not be deleted');

-- Its reports about single payments: waiting until applied to a payout, then whether they had an
-- effect or opened an exception.
create table rail_observations (
  rail text collate "C" not null,
  id text collate "C" not null,
  message_id text collate "C" not null,
  reference text not null,
  outcome text not null
    check (outcome in ('accepted', 'ready_for_pickup', 'paid', 'rejected', 'returned')),
  reason text not null default '',
  code text not null default '',
  provider_reference text not null default '',
  amount bigint check (amount > 0),
  -- JSON array of { id, kind, currency, amount }.
  charges text not null default '[]',
  happened_at timestamptz not null,
  received_at timestamptz not null,
  state text not null default 'waiting'
    check (state in ('waiting', 'applied', 'no_effect', 'exception')),
  tries integer not null default 0,
  due_at timestamptz not null,
  primary key (rail, id)
);
create index rail_observations_waiting on rail_observations (due_at) where state = 'waiting';
create index rail_observations_reference on rail_observations (rail, reference);
alter table rail_observations enable row level security;

create trigger never_removed before delete or truncate on rail_observations
  for each statement execute function refuse_change('inbound messages must not be deleted');

-- Stores a message with its reports and problems; true when it is new. Reports and problems of
-- earlier messages are not repeated. A known report with other content is not applied: the message
-- is stored beside the first one and an exception is opened. Messages with the same report wait for each
-- other, so that the second one sees the first.
create function store_inbound_message(
  p_rail text, p_id text, p_channel text, p_sealed bytea, p_ids text[], p_references text[],
  p_outcomes text[], p_reasons text[], p_codes text[], p_provider_references text[],
  p_amounts bigint[], p_charges text[], p_ats timestamptz[], p_problems json, p_users uuid[]
) returns boolean
  language plpgsql as $$
declare
  v_now timestamptz := environment_now();
  v_id text := p_id;
  v_changed json;
  v_is_new boolean;
begin
  perform pg_advisory_xact_lock(hashtext(p_rail), b.bucket)
  from (select distinct hashtext(id) & 63 as bucket from unnest(p_ids) id order by 1) b;
  select json_agg(json_build_object(
    'id', 'changed/' || o.id || '/' || left(md5(concat_ws('|', o.reference, o.outcome, o.reason,
      o.amount)), 12),
    'detail', format('%s was %s, came again as %s', o.id,
      concat_ws(' ', r.reference, r.outcome, nullif(r.reason, ''), r.amount),
      concat_ws(' ', o.reference, o.outcome, nullif(o.reason, ''), o.amount))))
  into v_changed
  from unnest(p_ids, p_references, p_outcomes, p_reasons, p_amounts)
    o (id, reference, outcome, reason, amount)
  join rail_observations r on r.rail = p_rail and r.id = o.id
  where (r.reference, r.outcome, r.reason, r.amount)
    is distinct from (o.reference, o.outcome, o.reason, o.amount);
  if v_changed is not null then
    v_id := p_id || '~' || left(md5(v_changed::text), 12);
  end if;
  insert into rail_messages (rail, id, channel, sealed, user_ids, received_at)
  values (p_rail, v_id, p_channel, p_sealed, p_users, v_now)
  on conflict (rail, id) do update set times = rail_messages.times + 1
  returning times = 1 into v_is_new;
  if not v_is_new then return false; end if;
  insert into rail_observations (rail, id, message_id, reference, outcome, reason, code,
    provider_reference, amount, charges, happened_at, received_at, due_at)
  select p_rail, id, v_id, reference, outcome, reason, code, provider_reference, amount, charges,
    at, v_now, v_now
  from unnest(p_ids, p_references, p_outcomes, p_reasons, p_codes, p_provider_references, p_amounts,
    p_charges, p_ats) o (id, reference, outcome, reason, code, provider_reference, amount, charges,
    at)
  on conflict (rail, id) do nothing;
  insert into exceptions (account_id, id, rail, kind, detail, currency, amount, opened_at,
    problem_id)
  select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), p_rail,
    coalesce(kind, 'report_changed'), left(detail, 500), currency, amount, v_now, id
  from (
    select * from json_to_recordset(p_problems)
      as x (id text, kind text, detail text, currency text, amount bigint)
    union all
    select id, null, detail, null, null from json_to_recordset(coalesce(v_changed, '[]'))
      as x (id text, detail text)
  ) problems
  on conflict (rail, problem_id) where problem_id is not null do nothing;
  return true;
end
$$;

-- Counts reports that wait to be applied and open exceptions about inbound messages.
create function count_unresolved_inbound(p_rail text) returns bigint
  language sql stable as $$
  select (select count(*) from rail_observations where rail = p_rail and state = 'waiting')
    + (select count(*) from exceptions
      where rail = p_rail and closed_at is null
        and kind in ('unmatched', 'unreadable', 'not_understood', 'report_missing',
          'report_changed'));
$$;

-- The process that runs a rail's pass. Leases run by real time, because the sandbox's clock may
-- jump.
create table rail_passes (
  rail text collate "C" primary key,
  holder uuid,
  lease_until timestamptz
);
alter table rail_passes enable row level security;

-- Whether a rail's passes must rest.
create function is_rail_stopped(p_rail text) returns boolean
  language sql stable as $$
  select exists (
    select from freezes
    where lifted_at is null and (scope = 'sending' or scope = 'rail' and rail = p_rail));
$$;

-- Succeeds where no lease on the rail's pass is valid and the rail is not stopped. A stop that another
-- transaction is making is waited for, and then applies.
create function claim_rail_pass(p_rail text, p_holder uuid, p_lease_ms integer) returns boolean
  language plpgsql as $$
begin
  perform share_freezes();
  if is_rail_stopped(p_rail) then return false; end if;
  insert into rail_passes (rail, holder, lease_until)
  values (p_rail, p_holder, clock_timestamp() + p_lease_ms * interval '1 millisecond')
  on conflict (rail) do update
    set holder = excluded.holder, lease_until = excluded.lease_until
    where rail_passes.lease_until is null or rail_passes.lease_until < clock_timestamp();
  return found;
end
$$;

-- The reading of a rail's prices: which process reads them, under a lease by real time, and when they
-- were last read. Each reading raises the revision, so that a process learns from these rows whether its
-- prices are current.
create table rail_price_readings (
  rail text collate "C" primary key,
  revision bigint not null default 0,
  -- The environment's time at which the last reading began.
  read_at timestamptz,
  holder uuid,
  lease_until timestamptz
);
alter table rail_price_readings enable row level security;

-- What counterparties ask now: the newest price of each payer and pair of currencies. They are market
-- data of the operator's contracts and belong to no account.
create table rail_prices (
  rail text collate "C" not null,
  payer_key text collate "C" not null,
  source_currency text not null,
  destination_currency text not null,
  -- In the order in which the rail listed it: its preferred source currency comes first.
  place integer not null check (place > 0),
  -- Decimal text: units of the destination for one of the source.
  rate text not null,
  -- JSON array of { upTo, fixed, basisPoints }, in units of the source.
  fee text not null,
  read_at timestamptz not null,
  holds_until timestamptz,
  delivery_seconds integer check (delivery_seconds >= 0),
  primary key (rail, payer_key, source_currency, destination_currency)
);
alter table rail_prices enable row level security;

-- Stores a reading and ends its lease; false, and nothing stored, where another process has taken it over.
-- A price that the rail did not list again stays until it is too old to be used.
create function store_rail_prices(
  p_rail text, p_holder uuid, p_read_at timestamptz, p_payer_keys text[], p_sources text[],
  p_destinations text[], p_rates text[], p_fees text[], p_holds_until timestamptz[],
  p_delivery_seconds integer[]
) returns boolean
  language plpgsql as $$
begin
  update rail_price_readings set revision = revision + 1, read_at = p_read_at, holder = null,
    lease_until = null
  where rail = p_rail and holder = p_holder;
  if not found then return false; end if;
  insert into rail_prices (rail, payer_key, source_currency, destination_currency, place, rate, fee,
    read_at, holds_until, delivery_seconds)
  select p_rail, payer_key, source, destination, place, rate, fee, p_read_at, holds_until, seconds
  from unnest(p_payer_keys, p_sources, p_destinations, p_rates, p_fees, p_holds_until,
    p_delivery_seconds) with ordinality
    as r (payer_key, source, destination, rate, fee, holds_until, seconds, place)
  on conflict (rail, payer_key, source_currency, destination_currency) do update
    set place = excluded.place, rate = excluded.rate, fee = excluded.fee,
      read_at = excluded.read_at, holds_until = excluded.holds_until,
      delivery_seconds = excluded.delivery_seconds;
  delete from rail_prices where rail = p_rail and read_at < p_read_at - interval '7 days';
  return true;
end
$$;

-- Amounts sent through a rail on a day (UTC), for its daily limit. A reference counts once.
create table rail_day_amounts (
  rail text collate "C" not null,
  day date not null,
  currency text not null,
  reference text not null,
  amount bigint not null check (amount > 0),
  primary key (rail, day, currency, reference)
);
alter table rail_day_amounts enable row level security;

create table rail_days (
  rail text collate "C" not null,
  day date not null,
  currency text not null,
  amount bigint not null default 0 check (amount >= 0),
  primary key (rail, day, currency)
);
alter table rail_days enable row level security;

-- Counts an amount towards a rail's daily limit; false where it does not fit. The row of the day
-- stays locked, so that two processes cannot both take the rest.
create function take_rail_day_amount(
  p_rail text, p_currency text, p_reference text, p_amount bigint, p_limit bigint
) returns boolean
  language plpgsql as $$
declare
  v_day date := (environment_now() at time zone 'UTC')::date;
  v_taken bigint;
begin
  insert into rail_days (rail, day, currency) values (p_rail, v_day, p_currency)
  on conflict do nothing;
  select amount into strict v_taken from rail_days
  where rail = p_rail and day = v_day and currency = p_currency for update;
  perform 1 from rail_day_amounts
  where rail = p_rail and day = v_day and currency = p_currency and reference = p_reference;
  if found then return true; end if;
  if v_taken + p_amount > p_limit then return false; end if;
  insert into rail_day_amounts (rail, day, currency, reference, amount)
  values (p_rail, v_day, p_currency, p_reference, p_amount);
  update rail_days set amount = amount + p_amount
  where rail = p_rail and day = v_day and currency = p_currency;
  return true;
end
$$;
