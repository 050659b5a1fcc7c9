-- A payout is a quote, which never changes (but for the price of a scheduled one, when it runs), and a
-- state from its commit on, so that a commit writes a narrow row. No foreign keys to user and
-- attributes: only functions that have just read them insert.
create table payout_quotes (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  client_transfer_id text not null check (length(client_transfer_id) between 1 and 50),
  source_token uuid not null,
  source_currency text not null,
  source_amount bigint not null check (source_amount > 0),
  fee bigint not null check (fee >= 0),
  destination_token uuid not null,
  destination_currency text not null,
  destination_amount bigint not null check (destination_amount > 0),
  exchange_rate text not null,
  -- The market rate at which the quote was priced.
  mid_rate text not null,
  -- What it is worth as an open quote, in cents of USD; 0: it is none, or its currency has no price.
  usd_amount bigint not null default 0 check (usd_amount >= 0),
  -- Billionths of the minor unit of the destination that rounding added to the exchange position.
  rounding_nano bigint not null check (rounding_nano >= 0),
  rail text not null,
  payer_key text not null,
  -- JSON, where the payer's provider quotes prices: the price from which this one was computed.
  provider_price text,
  payer_name text not null,
  delivery_type text not null,
  country text not null,
  attr_set_id uuid,
  attr_version integer,
  needs_attributes boolean not null,
  needs_verification boolean not null,
  notify_user boolean not null,
  metadata text not null default '{}',
  created_at timestamptz not null,
  expires_at timestamptz not null,
  estimated_availability timestamptz not null,
  -- When a scheduled payout is to run, and when it ran; null for one that runs when it is committed.
  runs_at timestamptz,
  ran_at timestamptz,
  -- The credential or the operator that asked for it.
  created_by uuid,
  -- The batch that it came in.
  batch_id uuid,
  primary key (account_id, id)
);
create index payouts_user on payout_quotes (account_id, user_id, id desc);
create index payout_quotes_verification on payout_quotes (account_id, user_id)
  where needs_verification;
-- Includes quotes that were never committed; the unique key of payout_states finds the committed one.
create index payout_quotes_transfer on payout_quotes (account_id, client_transfer_id);
create index payout_quotes_created on payout_quotes (account_id, created_at, id);
alter table payout_quotes enable row level security;
create policy own_account on payout_quotes using (account_id = current_account());
grant select on payout_quotes to outlay_tenant;

create trigger append_only before delete or truncate on payout_quotes
  for each statement execute function refuse_change('quotes are immutable');
create trigger fixed_terms before update of account_id, id, user_id, client_transfer_id, source_token,
  source_currency, destination_token, destination_currency, rail, payer_key, payer_name, delivery_type,
  country, attr_set_id, attr_version, needs_attributes, notify_user, metadata, created_at, expires_at,
  runs_at, created_by, batch_id on payout_quotes
  for each statement execute function refuse_change('quotes are immutable');

create table payout_states (
  account_id uuid not null,
  payout_id uuid not null,
  -- Reached by a row of payout_transitions; a foreign key would cost each commit a look-up.
  status text not null,
  status_reason text not null default '',
  client_transfer_id text not null,
  -- The attribute version of the commit.
  attr_set_id uuid,
  attr_version integer,
  pickup_code text not null default '',
  committed_at timestamptz not null,
  completed_at timestamptz,
  updated_at timestamptz not null,
  committed_by uuid,
  -- The present route; null: as quoted.
  rail text,
  payer_key text,
  -- The provider's price at which it was given to the present route, or a person accepted it; null: as
  -- quoted, or its payer's provider quotes none.
  provider_price text,
  -- In the destination's minor units; never more than was paid.
  returned_amount bigint not null default 0 check (returned_amount >= 0),
  -- A rail's answers give the total that came back, its notifications the parts. Both report the same
  -- money, so the larger total counts.
  returned_by_query bigint not null default 0 check (returned_by_query >= 0),
  returned_by_notification bigint not null default 0 check (returned_by_notification >= 0),
  primary key (account_id, payout_id),
  -- A client_transfer_id is committed once; quotes may repeat it.
  constraint committed_transfer unique (account_id, client_transfer_id),
  constraint completed_once check (case status
    when 'COMPLETED' then completed_at is not null
    when 'CANCELLED' then true
    else completed_at is null end),
  constraint route_all_or_none check ((rail is null) = (payer_key is null))
) with (fillfactor = 85);
alter table payout_states enable row level security;
create policy own_account on payout_states using (account_id = current_account());
grant select on payout_states to outlay_tenant;

-- No foreign key leads to the quote: the commit has just read it under the account's lock, and a
-- look-up for each payout is a good part of the cost of a commit in a batch.

-- A payout begins and moves along payout_transitions only. Checked once for each statement.
create function require_legal_start() returns trigger
  language plpgsql as $$
declare
  v_status text;
begin
  select n.status into v_status
  from new_states n
  where not exists (
    select from payout_transitions t where t.from_status = 'PENDING' and t.to_status = n.status)
  limit 1;
  if found then
    raise exception 'payout_states: illegal transition from PENDING to %', v_status
      using errcode = 'restrict_violation';
  end if;
  return null;
end
$$;

create function require_legal_move() returns trigger
  language plpgsql as $$
declare
  v_move text;
begin
  select format('%s to %s', o.status, n.status) into v_move
  from new_states n
  join old_states o on o.account_id = n.account_id and o.payout_id = n.payout_id
  where n.status <> o.status and not exists (
      select from payout_transitions t
      where t.from_status = o.status and t.to_status = n.status)
    or n.completed_at is distinct from o.completed_at
      and (o.completed_at is not null or n.status <> 'COMPLETED')
  limit 1;
  if found then
    raise exception 'payout_states: illegal transition from %', v_move
      using errcode = 'restrict_violation';
  end if;
  return null;
end
$$;

create trigger legal_start after insert on payout_states
  referencing new table as new_states
  for each statement execute function require_legal_start();
create trigger legal_move after update on payout_states
  referencing old table as old_states new table as new_states
  for each statement execute function require_legal_move();
create trigger fixed_commit before update of account_id, payout_id, client_transfer_id, attr_set_id,
  attr_version, pickup_code, committed_at, committed_by on payout_states
  for each statement execute function refuse_change('the terms of a commit are immutable');
create trigger never_removed before delete or truncate on payout_states
  for each statement execute function refuse_change('payouts must not be deleted');

-- Payouts as all readers see them.
create view payouts with (security_invoker = true) as
select q.account_id, q.id, q.user_id, coalesce(s.status, 'PENDING') as status,
  coalesce(s.status_reason, '') as status_reason, q.client_transfer_id, q.source_token,
  q.source_currency, q.source_amount, q.fee, q.destination_token, q.destination_currency,
  q.destination_amount, q.exchange_rate, q.rounding_nano, coalesce(s.rail, q.rail) as rail,
  coalesce(s.payer_key, q.payer_key) as payer_key, q.payer_name, q.delivery_type, q.country,
  case when s.payout_id is null then q.attr_set_id else s.attr_set_id end as attr_set_id,
  case when s.payout_id is null then q.attr_version else s.attr_version end as attr_version,
  q.needs_attributes, q.needs_verification, q.notify_user, q.metadata,
  coalesce(s.pickup_code, '') as pickup_code, q.created_at, q.expires_at,
  q.estimated_availability, q.runs_at, q.ran_at, s.committed_at, s.completed_at,
  coalesce(s.updated_at, q.created_at) as updated_at,
  coalesce(s.returned_amount, 0) as returned_amount,
  coalesce(s.returned_by_query, 0) as returned_by_query,
  coalesce(s.returned_by_notification, 0) as returned_by_notification, q.mid_rate,
  case when s.rail is null then coalesce(s.provider_price, q.provider_price)
    else s.provider_price end as provider_price
from payout_quotes q
left join payout_states s on s.account_id = q.account_id and s.payout_id = q.id;
grant select on payouts to outlay_tenant;

-- The index of payouts by metadata: one row per key and value, both only as a hash.
create table payout_metadata (
  account_id uuid not null,
  entry_hash bytea not null check (length(entry_hash) = 16),
  payout_id uuid not null,
  primary key (account_id, entry_hash, payout_id),
  foreign key (account_id, payout_id) references payout_quotes (account_id, id)
);
alter table payout_metadata enable row level security;
create policy own_account on payout_metadata using (account_id = current_account());
grant select, insert on payout_metadata to outlay_tenant;

-- Writes the events of payouts that have reached a state, and the notices to their recipients, in the
-- order of the arrays. `p_recipients`: the user to notify, or null. The caller holds the accounts'
-- rows.
create function write_payout_events(
  p_accounts uuid[], p_payouts uuid[], p_statuses text[], p_details text[], p_recipients uuid[],
  p_at timestamptz
) returns void
  language plpgsql as $$
begin
  -- One look at each account: its changes travel in arrays through the update that numbers them.
  with counted as (
    update accounts a set event_sequence = a.event_sequence + c.count
    from (
      select account_id, count(*) as count, array_agg(payout_id order by ord) as payouts,
        array_agg(status order by ord) as statuses, array_agg(detail order by ord) as details
      from unnest(p_accounts, p_payouts, p_statuses, p_details)
        with ordinality as c (account_id, payout_id, status, detail, ord)
      group by account_id
    ) c
    where a.id = c.account_id
    returning a.id, a.event_sequence - c.count as before, c.payouts, c.statuses, c.details
  )
  insert into events (account_id, sequence, month, type, subject_id, detail, created_at)
  select n.id, n.before + c.ord, month_of(p_at), 'payout.' || lower(c.status), c.payout_id, c.detail,
    p_at
  from counted n
  cross join lateral unnest(n.payouts, n.statuses, n.details)
    with ordinality as c (payout_id, status, detail, ord);
  if array_remove(p_recipients, null) = '{}' then return; end if;
  insert into notices (account_id, id, month, payout_id, user_id, channel, payout_status, due_at,
    created_at, expires_at)
  select c.account_id, gen_random_uuid(), month_of(p_at), c.payout_id, c.user_id, n.channel,
    c.status, p_at, p_at, p_at + interval '3 days'
  from unnest(p_accounts, p_payouts, p_statuses, p_recipients)
    as c (account_id, payout_id, status, user_id)
  join payout_statuses s on s.status = c.status and s.notifies_recipient
  cross join notice_channels n
  where c.user_id is not null;
end
$$;

-- Until when a quote is counted: its expiry, rounded up to half a minute, or to half an hour where it is
-- valid for long, so that an account has a hundred counts at most.
create function open_quote_end(p_created_at timestamptz, p_expires_at timestamptz)
  returns timestamptz
  language sql stable parallel safe
  return case when p_expires_at - p_created_at <= interval '30 minutes'
    then date_bin('30 seconds', p_expires_at, 'epoch') + interval '30 seconds'
    else date_bin('30 minutes', p_expires_at, 'epoch') + interval '30 minutes' end;

-- Quotes to store, as parallel arrays; the entries of their metadata index are three more.
create type new_payouts as (
  accounts uuid[], ids uuid[], users uuid[], transfer_ids text[], source_tokens uuid[],
  source_currencies text[], source_amounts bigint[], fees bigint[], destination_tokens uuid[],
  destination_currencies text[], destination_amounts bigint[], rates text[], mid_rates text[],
  rounding_nanos bigint[], rails text[], payer_keys text[], payer_names text[], sets uuid[],
  delivery_types text[], countries text[], needs_attributes boolean[], needs_verification boolean[],
  notify_users boolean[], metadata text[], lock_seconds integer[], availabilities timestamptz[],
  runs timestamptz[], usd_amounts bigint[], makers uuid[], provider_prices text[],
  entry_accounts uuid[], entry_ids uuid[], entry_hashes bytea[]
);

-- Stores quotes, indexes their metadata and writes their events. `is_refused`: the account has too many
-- open quotes, and nothing was stored.
create function create_payouts(p_new new_payouts, p_may_wait boolean) returns table (
  id uuid, attr_set_id uuid, attr_version integer, created_at timestamptz, expires_at timestamptz,
  sealed bytea, data_key bytea, is_refused boolean
)
  language plpgsql as $$
#variable_conflict use_column
declare
  v_judged record;
begin
  v_judged := admit_quotes(p_new.accounts, p_new.ids, p_new.usd_amounts,
    p_new.lock_seconds, p_new.runs, p_may_wait);
  return query
  with request as materialized (
    select r.*, v_judged.at, u.data_key, pinned.set_id as attr_set_id, pinned.version as attr_version,
      not is_admitted as is_refused
    from unnest(p_new.accounts, p_new.ids, p_new.users, p_new.transfer_ids, p_new.source_tokens,
      p_new.source_currencies, p_new.source_amounts, p_new.fees, p_new.destination_tokens,
      p_new.destination_currencies, p_new.destination_amounts, p_new.rates, p_new.mid_rates,
      p_new.rounding_nanos, p_new.rails, p_new.payer_keys, p_new.payer_names, p_new.sets,
      p_new.delivery_types, p_new.countries, p_new.needs_attributes, p_new.needs_verification,
      p_new.notify_users, p_new.metadata, p_new.lock_seconds, p_new.availabilities, p_new.runs,
      p_new.usd_amounts, p_new.makers, p_new.provider_prices, v_judged.verdicts)
      as r (account_id, id, user_id, client_transfer_id, source_token, source_currency,
        source_amount, fee, destination_token, destination_currency, destination_amount,
        exchange_rate, mid_rate, rounding_nano, rail, payer_key, payer_name, set_id, delivery_type,
        country, needs_attributes, needs_verification, notify_user, metadata, seconds, available, runs_at,
        usd_amount, maker, provider_price, is_admitted)
    join users u on u.account_id = r.account_id and u.id = r.user_id
    left join lateral find_attribute_set(r.account_id, r.user_id, r.destination_token,
      r.destination_currency, r.set_id) pinned on true
    where r.is_admitted is not null
  ), stored as (
    insert into payout_quotes (account_id, id, user_id, client_transfer_id, source_token,
      source_currency, source_amount, fee, destination_token, destination_currency,
      destination_amount, exchange_rate, mid_rate, rounding_nano, rail, payer_key, payer_name,
      attr_set_id, attr_version, delivery_type, country, needs_attributes, needs_verification,
      notify_user, metadata, created_at, expires_at, estimated_availability, runs_at, usd_amount,
      created_by, provider_price)
    select account_id, id, user_id, client_transfer_id, source_token, source_currency, source_amount,
      fee, destination_token, destination_currency, destination_amount, exchange_rate, mid_rate,
      rounding_nano, rail, payer_key, payer_name, attr_set_id, attr_version, delivery_type, country,
      needs_attributes, needs_verification, notify_user, metadata, at,
      date_trunc('second', at + seconds * interval '1 second'), available, runs_at,
      case when runs_at is null then usd_amount else 0 end, maker, provider_price
    from request where not is_refused
  ), new_metadata as (
    insert into payout_metadata (account_id, entry_hash, payout_id)
    select distinct account_id, hash, payout_id
    from unnest(p_new.entry_accounts, p_new.entry_ids, p_new.entry_hashes)
      e (account_id, payout_id, hash)
    where v_judged.verdicts[array_position(p_new.ids, payout_id)]
  )
  select r.id, r.attr_set_id, r.attr_version, r.at,
    date_trunc('second', r.at + r.seconds * interval '1 second'), with_version(v.version, v.sealed),
    r.data_key, r.is_refused
  from request r left join attribute_set_versions v
    on v.account_id = r.account_id and v.set_id = r.attr_set_id and v.version = r.attr_version;
end
$$;
-- The same for a client's own connection. Groups do not use it: statements inside a function with the
-- owner's rights are planned again whenever the connection goes from one role to the other.
create function create_own_payouts(p_new new_payouts) returns table (
  id uuid, attr_set_id uuid, attr_version integer, created_at timestamptz, expires_at timestamptz,
  sealed bytea, data_key bytea, is_refused boolean
)
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform require_own_account(account_id) from unnest(p_new.accounts) a (account_id);
  return query select * from create_payouts(p_new, true);
end
$$;
grant execute on function create_own_payouts to outlay_tenant;
