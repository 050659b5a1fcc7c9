-- Attribute sets, payouts, and what is kept of their way.

create table attribute_sets (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  destination_token uuid not null,
  currency text not null,
  latest_version integer not null default 0,
  touched_at timestamptz not null,
  created_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users (account_id, id)
);
create index attribute_sets_owner
  on attribute_sets (account_id, user_id, destination_token, currency);
alter table attribute_sets enable row level security;
create policy own_account on attribute_sets using (account_id = current_account());
grant select, insert, update on attribute_sets to outlay_tenant;

create table attribute_set_versions (
  account_id uuid not null,
  set_id uuid not null,
  version integer not null check (version > 0),
  profile_version text not null,
  fingerprint bytea not null check (length(fingerprint) = 32),
  sealed bytea not null,
  is_complete boolean not null,
  created_at timestamptz not null,
  primary key (account_id, set_id, version),
  foreign key (account_id, set_id) references attribute_sets (account_id, id)
);
alter table attribute_set_versions enable row level security;
create policy own_account on attribute_set_versions using (account_id = current_account());
grant select, insert on attribute_set_versions to outlay_tenant;
create trigger append_only before update or delete or truncate on attribute_set_versions
  for each statement execute function refuse_change('a version never changes');

create table payouts (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  status text not null default 'PENDING' check (status in ('PENDING', 'PROCESSING', 'COMPLETED',
    'CANCELLED', 'SCHEDULED', 'READY_FOR_PICKUP', 'HOLD', 'ERROR')),
  status_reason text not null default '',
  client_transfer_id text not null check (length(client_transfer_id) between 1 and 50),
  source_token uuid not null,
  source_currency text not null,
  source_amount bigint not null check (source_amount > 0),
  fee bigint not null check (fee >= 0),
  destination_token uuid not null,
  destination_currency text not null,
  destination_amount bigint not null check (destination_amount > 0),
  exchange_rate text not null,
  -- Billionths of the destination's minor unit that the exchange position gained by rounding.
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
  pickup_code text not null default '',
  created_at timestamptz not null,
  expires_at timestamptz not null,
  estimated_availability timestamptz not null,
  committed_at timestamptz,
  completed_at timestamptz,
  updated_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users (account_id, id),
  foreign key (account_id, attr_set_id, attr_version)
    references attribute_set_versions (account_id, set_id, version),
  constraint committed_or_pending check ((committed_at is null) = (status = 'PENDING')),
  constraint completed_once check (case status
    when 'COMPLETED' then completed_at is not null
    when 'CANCELLED' then true
    else completed_at is null end)
);
create index payouts_user on payouts (account_id, user_id, id desc);
-- Which quotes ask for a verification.
create index payouts_verification on payouts (account_id, user_id)
  where status = 'PENDING' and needs_verification;
-- By which destination a user was paid last.
create index payouts_paid on payouts (account_id, user_id, id desc) where committed_at is not null;
-- A client_transfer_id is committed once, for ever; quotes may repeat it.
create unique index payouts_committed_transfer on payouts (account_id, client_transfer_id)
  where committed_at is not null;
alter table payouts enable row level security;
create policy own_account on payouts using (account_id = current_account());
grant select, insert on payouts to outlay_tenant;

-- Where a payout's metadata can be found: one row per key and value, both only as a hash.
create table payout_metadata (
  account_id uuid not null,
  entry_hash bytea not null check (length(entry_hash) = 16),
  payout_id uuid not null,
  primary key (account_id, entry_hash, payout_id),
  foreign key (account_id, payout_id) references payouts (account_id, id)
);
alter table payout_metadata enable row level security;
create policy own_account on payout_metadata using (account_id = current_account());
grant select, insert on payout_metadata to outlay_tenant;

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

create trigger begins_pending before insert on payouts
  for each row when (new.status <> 'PENDING')
  execute function refuse_change('a payout begins as PENDING');
create trigger legal_move before update on payouts
  for each row when (new.status <> old.status and not is_legal_move(old.status, new.status))
  execute function refuse_change('that cannot follow from the present status');
create trigger fixed_terms before update on payouts
  for each row when (
    (new.account_id, new.id, new.user_id, new.client_transfer_id, new.source_token,
      new.source_currency, new.source_amount, new.fee, new.destination_token,
      new.destination_currency, new.destination_amount, new.exchange_rate, new.rounding_nano,
      new.rail, new.payer_key, new.payer_name, new.delivery_type, new.country,
      new.needs_attributes, new.needs_verification, new.notify_user, new.metadata, new.created_at,
      new.expires_at, new.estimated_availability)
    is distinct from
    (old.account_id, old.id, old.user_id, old.client_transfer_id, old.source_token,
      old.source_currency, old.source_amount, old.fee, old.destination_token,
      old.destination_currency, old.destination_amount, old.exchange_rate, old.rounding_nano,
      old.rail, old.payer_key, old.payer_name, old.delivery_type, old.country,
      old.needs_attributes, old.needs_verification, old.notify_user, old.metadata, old.created_at,
      old.expires_at, old.estimated_availability))
  execute function refuse_change('the terms of a payout never change');
create trigger fixed_commit before update on payouts
  for each row when (old.committed_at is not null
    and (new.committed_at, new.pickup_code, new.attr_set_id, new.attr_version)
      is distinct from (old.committed_at, old.pickup_code, old.attr_set_id, old.attr_version))
  execute function refuse_change('what was committed never changes');
create trigger fixed_completion before update on payouts
  for each row when (new.completed_at is distinct from old.completed_at
    and (old.completed_at is not null or new.status <> 'COMPLETED'))
  execute function refuse_change('a completion comes with COMPLETED, once');
create trigger never_removed before delete or truncate on payouts
  for each statement execute function refuse_change('a payout is never removed');

-- What is due: one row per payout with work left, claimed with a lease by the database's own time
-- and a fencing number that outdates every earlier claim.
create table payout_dispatches (
  account_id uuid not null,
  payout_id uuid not null,
  due_at timestamptz not null,
  tries integer not null default 0,
  fence bigint not null default 0,
  lease_until timestamptz,
  primary key (account_id, payout_id)
);
create index payout_dispatches_due on payout_dispatches (due_at);

-- Each try to pay, written before the rail is called.
create table attempts (
  account_id uuid not null,
  payout_id uuid not null,
  number integer not null check (number > 0),
  rail text not null,
  payer_key text not null,
  reference text not null,
  state text not null
    check (state in ('sending', 'unknown', 'accepted', 'rejected', 'paid', 'returned', 'retry')),
  reason text not null default '',
  fence bigint not null,
  started_at timestamptz not null,
  -- When the rail first said that it had it: from then on it is never sent again.
  taken_at timestamptz,
  unknown_since timestamptz,
  answered_at timestamptz,
  primary key (account_id, payout_id, number),
  foreign key (account_id, payout_id) references payouts (account_id, id)
);
-- No second instruction while an earlier one is not definitely dead.
create unique index attempts_one_alive on attempts (account_id, payout_id)
  where state in ('sending', 'unknown', 'accepted', 'paid');
create trigger never_removed before delete or truncate on attempts
  for each statement execute function refuse_change('what was sent stays known');
alter table attempts enable row level security;
create policy own_account on attempts using (account_id = current_account());
grant select on attempts to outlay_tenant;

-- What was heard of a payout, whether or not it had an effect.
create table observations (
  account_id uuid not null,
  payout_id uuid not null,
  id uuid not null,
  source text not null check (source in ('send', 'query', 'sandbox')),
  outcome text not null,
  reason text not null default '',
  is_applied boolean not null,
  observed_at timestamptz not null,
  primary key (account_id, payout_id, id)
);
alter table observations enable row level security;
create policy own_account on observations using (account_id = current_account());
grant select on observations to outlay_tenant;

-- Messages to recipients that notify_user asks for, recorded in the transaction of their cause.
create table notifications (
  account_id uuid not null,
  id uuid not null,
  payout_id uuid not null,
  user_id uuid not null,
  kind text not null check (kind in ('PROCESSING', 'READY_FOR_PICKUP', 'COMPLETED', 'CANCELLED')),
  status text not null default 'recorded' check (status in ('recorded', 'sent', 'failed')),
  created_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, payout_id) references payouts (account_id, id)
);
create index notifications_payout on notifications (account_id, payout_id);
alter table notifications enable row level security;
create policy own_account on notifications using (account_id = current_account());
grant select on notifications to outlay_tenant;

-- Simulated outcomes that a client of the sandbox asked for; no row ever in live.
create table sandbox_scripts (
  account_id uuid not null,
  payout_id uuid not null,
  outcome text not null
    check (outcome in ('ready_for_pickup', 'completed', 'rejected', 'returned', 'unknown')),
  created_at timestamptz not null,
  primary key (account_id, payout_id)
);
-- The simulated network knows a payout by its reference alone.
create index sandbox_scripts_payout on sandbox_scripts (payout_id);
