-- A payout is a quote, which never changes, and a state from its commit on, so that a commit writes
-- a narrow row. No foreign keys to user and attributes: only functions that have just read them
-- insert.
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
  -- Billionths of the minor unit of the destination that rounding added to the exchange position.
  rounding_nano bigint not null check (rounding_nano >= 0),
  rail text not null,
  payer_key text not null,
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
  primary key (account_id, id)
);
create index payouts_user on payout_quotes (account_id, user_id, id desc);
-- Finds quotes that require identity verification.
create index payout_quotes_verification on payout_quotes (account_id, user_id)
  where needs_verification;
-- Finds all payouts of a client_transfer_id, uncommitted quotes included. The unique key of
-- payout_states finds the committed one only.
create index payout_quotes_transfer on payout_quotes (account_id, client_transfer_id);
create index payout_quotes_created on payout_quotes (account_id, created_at, id);
alter table payout_quotes enable row level security;
create policy own_account on payout_quotes using (account_id = current_account());
grant select on payout_quotes to outlay_tenant;

create trigger append_only before update or delete or truncate on payout_quotes
  for each statement execute function refuse_change('quotes are immutable');

create function is_legal_move(p_from text, p_to text) returns boolean
  language sql immutable parallel safe
  return case p_from
    when 'PENDING' then p_to in ('PROCESSING', 'SCHEDULED')
    when 'SCHEDULED' then p_to in ('PROCESSING')
    when 'PROCESSING' then
      p_to in ('HOLD', 'READY_FOR_PICKUP', 'COMPLETED', 'CANCELLED', 'ERROR')
    when 'READY_FOR_PICKUP' then p_to in ('COMPLETED', 'CANCELLED')
    when 'HOLD' then p_to in ('PROCESSING', 'CANCELLED')
    when 'ERROR' then p_to in ('PROCESSING', 'CANCELLED')
    when 'COMPLETED' then p_to in ('CANCELLED')
    else false
  end;

create table payout_states (
  account_id uuid not null,
  payout_id uuid not null,
  status text not null check (status in ('PROCESSING', 'COMPLETED', 'CANCELLED', 'SCHEDULED',
    'READY_FOR_PICKUP', 'HOLD', 'ERROR')),
  status_reason text not null default '',
  client_transfer_id text not null,
  -- The attribute version of the commit.
  attr_set_id uuid,
  attr_version integer,
  pickup_code text not null default '',
  committed_at timestamptz not null,
  completed_at timestamptz,
  updated_at timestamptz not null,
  -- The present payer; the quoted one while null.
  rail text,
  payer_key text,
  -- Minor units of the destination; never more than was paid.
  returned_amount bigint not null default 0 check (returned_amount >= 0),
  -- The sum of returns according to the rail's answers to queries, and according to its
  -- notifications. Both report the same money, so the larger one counts.
  returned_told bigint not null default 0 check (returned_told >= 0),
  returned_heard bigint not null default 0 check (returned_heard >= 0),
  primary key (account_id, payout_id),
  -- A client_transfer_id is committed once. Quotes may repeat it.
  constraint committed_transfer unique (account_id, client_transfer_id),
  constraint completed_once check (case status
    when 'COMPLETED' then completed_at is not null
    when 'CANCELLED' then true
    else completed_at is null end),
  constraint whole_route check ((rail is null) = (payer_key is null))
) with (fillfactor = 85);
alter table payout_states enable row level security;
create policy own_account on payout_states using (account_id = current_account());
grant select on payout_states to outlay_tenant;

-- No foreign key to the quote: the commit has just read it under the account's lock, and a look-up
-- for each payout is a large part of the cost of a batch.
create trigger begins_committed before insert on payout_states
  for each row when (new.status not in ('PROCESSING', 'SCHEDULED'))
  execute function refuse_change('a new state must be PROCESSING or SCHEDULED');
create trigger legal_move before update on payout_states
  for each row when (new.status <> old.status and not is_legal_move(old.status, new.status))
  execute function refuse_change('illegal move from the present status');
create trigger fixed_commit before update of account_id, payout_id, client_transfer_id, attr_set_id,
  attr_version, pickup_code, committed_at on payout_states
  for each statement execute function refuse_change('the terms of a commit are immutable');
create trigger fixed_completion before update of completed_at on payout_states
  for each row when (new.completed_at is distinct from old.completed_at
    and (old.completed_at is not null or new.status <> 'COMPLETED'))
  execute function refuse_change('completed_at must be set once, with COMPLETED');
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
  q.estimated_availability, s.committed_at, s.completed_at,
  coalesce(s.updated_at, q.created_at) as updated_at,
  coalesce(s.returned_amount, 0) as returned_amount, coalesce(s.returned_told, 0) as returned_told,
  coalesce(s.returned_heard, 0) as returned_heard
from payout_quotes q
left join payout_states s on s.account_id = q.account_id and s.payout_id = q.id;
grant select on payouts to outlay_tenant;

-- Finds payouts by metadata: one row for each key and value, hashed together.
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

-- Messages to recipients that notify_user requests, recorded in the transaction that causes them.
create table notifications (
  account_id uuid not null,
  id uuid not null,
  payout_id uuid not null,
  user_id uuid not null,
  kind text not null check (kind in ('PROCESSING', 'READY_FOR_PICKUP', 'COMPLETED', 'CANCELLED')),
  status text not null default 'recorded' check (status in ('recorded', 'sent', 'failed')),
  created_at timestamptz not null,
  primary key (account_id, id)
);
create index notifications_payout on notifications (account_id, payout_id);
alter table notifications enable row level security;
create policy own_account on notifications using (account_id = current_account());
grant select on notifications to outlay_tenant;

create function payout_event(p payouts, p_at timestamptz) returns void
  language plpgsql as $$
begin
  perform write_event(p.account_id, 'payout.' || lower(p.status), p.id, null, p_at,
    p.status_reason);
  if p.notify_user and p.status in ('PROCESSING', 'READY_FOR_PICKUP', 'COMPLETED', 'CANCELLED') then
    insert into notifications (account_id, id, payout_id, user_id, kind, created_at)
    values (p.account_id, gen_random_uuid(), p.id, p.user_id, p.status, p_at);
  end if;
end
$$;
grant execute on function payout_event to outlay_tenant;

-- Stores quotes. Each gets the attribute set that it names, or else the newest complete one of its
-- destination and currency, or else the newest one: a set that was stored in part must not hide
-- complete details. The arrays run in parallel, except the three of metadata entries.
create function create_payouts(
  p_accounts uuid[], p_ids uuid[], p_users uuid[], p_transfer_ids text[], p_source_tokens uuid[],
  p_source_currencies text[], p_source_amounts bigint[], p_fees bigint[],
  p_destination_tokens uuid[], p_destination_currencies text[], p_destination_amounts bigint[],
  p_rates text[], p_rounding_nanos bigint[], p_rails text[], p_payer_keys text[],
  p_payer_names text[], p_sets uuid[], p_delivery_types text[], p_countries text[],
  p_needs_attributes boolean[], p_needs_verification boolean[], p_notify_users boolean[],
  p_metadata text[], p_lock_seconds integer[], p_availabilities timestamptz[],
  p_entry_accounts uuid[], p_entry_ids uuid[], p_entry_hashes bytea[], p_may_wait boolean
) returns table (
  id uuid, attr_set_id uuid, attr_version integer, created_at timestamptz, expires_at timestamptz,
  sealed bytea, data_key bytea
)
  language plpgsql security definer set search_path = public, pg_temp
  set plan_cache_mode = force_generic_plan
  set jit = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_locked uuid[];
  v_month date;
begin
  perform require_own_account(account_id) from unnest(p_accounts) a (account_id);
  v_locked := lock_accounts(p_accounts, p_may_wait);
  v_now := environment_now();
  v_month := month_of(v_now);
  return query
  with request as materialized (
    select r.*, u.data_key, pinned.id as attr_set_id, pinned.latest_version as attr_version
    from unnest(p_accounts, p_ids, p_users, p_transfer_ids, p_source_tokens,
      p_source_currencies, p_source_amounts, p_fees, p_destination_tokens,
      p_destination_currencies, p_destination_amounts, p_rates, p_rounding_nanos, p_rails,
      p_payer_keys, p_payer_names, p_sets, p_delivery_types, p_countries, p_needs_attributes,
      p_needs_verification, p_notify_users, p_metadata, p_lock_seconds, p_availabilities)
      as r (account_id, id, user_id, client_transfer_id, source_token, source_currency,
        source_amount, fee, destination_token, destination_currency, destination_amount,
        exchange_rate, rounding_nano, rail, payer_key, payer_name, set_id, delivery_type, country,
        needs_attributes, needs_verification, notify_user, metadata, lock_seconds, available_at)
    join users u on u.account_id = r.account_id and u.id = r.user_id
    left join lateral (
      select s.id, s.latest_version from attribute_sets s
      left join attribute_set_versions l
        on l.account_id = s.account_id and l.set_id = s.id and l.version = s.latest_version
      where s.account_id = r.account_id and s.user_id = r.user_id
        and s.destination_token = r.destination_token and s.currency = r.destination_currency
        and (r.set_id is null or s.id = r.set_id)
      order by coalesce(l.is_complete, false) desc, s.touched_at desc, s.id desc limit 1
    ) pinned on true
    where r.account_id = any (v_locked)
  ), made as (
    insert into payout_quotes (account_id, id, user_id, client_transfer_id, source_token,
      source_currency, source_amount, fee, destination_token, destination_currency,
      destination_amount, exchange_rate, rounding_nano, rail, payer_key, payer_name,
      attr_set_id, attr_version, delivery_type, country, needs_attributes, needs_verification,
      notify_user, metadata, created_at, expires_at, estimated_availability)
    select account_id, id, user_id, client_transfer_id, source_token, source_currency,
      source_amount, fee, destination_token, destination_currency, destination_amount,
      exchange_rate, rounding_nano, rail, payer_key, payer_name, attr_set_id, attr_version,
      delivery_type, country, needs_attributes, needs_verification, notify_user, metadata, v_now,
      date_trunc('second', v_now + lock_seconds * interval '1 second'), available_at
    from request
  ), new_metadata as (
    insert into payout_metadata (account_id, entry_hash, payout_id)
    select distinct account_id, hash, payout_id
    from unnest(p_entry_accounts, p_entry_ids, p_entry_hashes) e (account_id, payout_id, hash)
    where account_id = any (v_locked)
  ), numbered as (
    update accounts a set event_sequence = a.event_sequence + n.count
    from (select account_id, count(*) as count from request group by account_id) n
    where a.id = n.account_id
    returning a.id, a.event_sequence - n.count as before
  ), new_events as (
    insert into events (account_id, sequence, month, type, subject_id, created_at)
    select r.account_id, n.before + row_number() over (partition by r.account_id order by r.id),
      v_month, 'payout.pending', r.id, v_now
    from request r join numbered n on n.id = r.account_id
  )
  select r.id, r.attr_set_id, r.attr_version, v_now,
    date_trunc('second', v_now + r.lock_seconds * interval '1 second'), v.sealed, r.data_key
  from request r
  left join attribute_set_versions v
    on v.account_id = r.account_id and v.set_id = r.attr_set_id and v.version = r.attr_version;
end
$$;
grant execute on function create_payouts to outlay_tenant;
