-- Webhooks: events of an account, sent to the endpoints that it registered. An endpoint has a cursor on
-- the account's sequence of events, so nothing is written for it when an event happens: while an
-- endpoint is down, its backlog is the event log.
create table webhook_endpoints (
  account_id uuid not null references accounts (id),
  id uuid not null,
  url text not null check (length(url) between 1 and 2000),
  description text not null,
  -- Types or prefixes such as payout.*; empty for all.
  event_types text[] not null,
  status text not null default 'ENABLED' check (status in ('ENABLED', 'PAUSED', 'DISABLED')),
  status_reason text not null default '',
  -- Every event up to this one was sent, filtered out or stored in webhook_retries.
  cursor bigint not null check (cursor >= 0),
  -- Events to send again, if any: those after replay_cursor, up to replay_end.
  replay_cursor bigint,
  replay_end bigint,
  replay_types text[] not null default '{}',
  -- When something stored is due, or a probe of an endpoint that fails.
  next_at timestamptz,
  -- Whether new events wait for next_at too: the endpoint fails, or too many of its deliveries do.
  is_backing_off boolean not null default false,
  -- Since the last success: the first failure, and how often the endpoint backed off.
  failing_since timestamptz,
  back_offs integer not null default 0 check (back_offs >= 0),
  -- The process that sends holds the lease, by real time. An outdated fencing token changes nothing.
  lease_until timestamptz,
  fence bigint not null default 0,
  -- Counts changes by the client, which the process that sends must notice.
  revision integer not null default 0,
  created_at timestamptz not null,
  primary key (account_id, id),
  constraint replay_has_its_end check ((replay_cursor is null) = (replay_end is null)),
  constraint backs_off_until_then check (not is_backing_off or next_at is not null)
);
alter table webhook_endpoints enable row level security;
create policy own_account on webhook_endpoints using (account_id = current_account());
grant select, insert, update, delete on webhook_endpoints to outlay_tenant;

-- The newest secret has no end; after a rotation the one before it signs too, until its end.
create table webhook_secrets (
  account_id uuid not null,
  endpoint_id uuid not null,
  id uuid not null,
  algorithm text not null check (algorithm in ('hmac-sha256', 'ed25519')),
  -- Sealed under the keys of the environment.
  sealed bytea not null,
  public_key text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  primary key (account_id, endpoint_id, id),
  foreign key (account_id, endpoint_id) references webhook_endpoints (account_id, id)
    on delete cascade
);
create unique index webhook_secrets_newest on webhook_secrets (account_id, endpoint_id)
  where expires_at is null;
alter table webhook_secrets enable row level security;
create policy own_account on webhook_secrets using (account_id = current_account());
grant select, insert, update, delete on webhook_secrets to outlay_tenant;

-- Events that could not be delivered yet, and events of the same object that wait behind them.
create table webhook_retries (
  account_id uuid not null,
  endpoint_id uuid not null,
  is_replay boolean not null,
  sequence bigint not null,
  subject_id uuid not null,
  tries integer not null check (tries >= 0),
  first_at timestamptz not null,
  due_at timestamptz not null,
  primary key (account_id, endpoint_id, is_replay, sequence),
  foreign key (account_id, endpoint_id) references webhook_endpoints (account_id, id)
    on delete cascade
);
alter table webhook_retries enable row level security;
create policy own_account on webhook_retries using (account_id = current_account());
grant select, update on webhook_retries to outlay_tenant;

-- Test deliveries that were requested and not sent yet, one for each endpoint.
create table webhook_tests (
  account_id uuid not null,
  endpoint_id uuid not null,
  id uuid not null,
  created_at timestamptz not null,
  primary key (account_id, endpoint_id),
  foreign key (account_id, endpoint_id) references webhook_endpoints (account_id, id)
    on delete cascade
);
alter table webhook_tests enable row level security;
create policy own_account on webhook_tests using (account_id = current_account());
grant select, insert, update on webhook_tests to outlay_tenant;

-- The log: one row for each request to an endpoint.
create table webhook_deliveries (
  account_id uuid not null,
  endpoint_id uuid not null,
  id uuid not null,
  month date not null,
  -- The header webhook-id. Empty if the event was no longer kept.
  message_id text not null,
  kind text not null check (kind in ('event', 'replay', 'test')),
  -- Null for a test.
  sequence bigint,
  event_type text not null,
  -- 1 for the first request about the event.
  try integer not null check (try > 0),
  result text not null check (result in ('delivered', 'failed', 'abandoned')),
  -- Null if there was no answer.
  status_code integer,
  -- Why it failed, in our words.
  error text not null,
  -- The beginning of the answer's body, sealed. Null if it is empty.
  answer bytea,
  answer_type text not null,
  duration_ms integer not null check (duration_ms >= 0),
  url text not null,
  started_at timestamptz not null,
  retry_at timestamptz,
  primary key (account_id, endpoint_id, id, month)
) partition by range (month);
alter table webhook_deliveries enable row level security;
create policy own_account on webhook_deliveries using (account_id = current_account());
grant select on webhook_deliveries to outlay_tenant;

create trigger append_only
  before update of account_id, endpoint_id, id, month, message_id, kind, sequence, event_type, try,
    result, status_code, error, answer_type, duration_ms, url, started_at, retry_at
  on webhook_deliveries
  for each row execute function refuse_change('deliveries are immutable');

-- Seals the answers of endpoints anew, where they are still the old ones, with the keys of the
-- environment.
create function renew_webhook_deliveries(
  p_accounts uuid[], p_endpoints uuid[], p_ids uuid[], p_months date[], p_old bytea[], p_fresh bytea[]
) returns integer
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_count integer;
begin
  update webhook_deliveries d set answer = n.fresh
  from unnest(p_accounts, p_endpoints, p_ids, p_months, p_old, p_fresh)
    n (account_id, endpoint_id, id, month, old, fresh)
  where d.account_id = n.account_id and d.endpoint_id = n.endpoint_id and d.id = n.id
    and d.month = n.month and d.answer = n.old;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- Stops sending to an endpoint, with an event. Does nothing if it is not enabled, if another process has
-- claimed it since, or if the client has changed it.
create function stop_webhook(
  p_account uuid, p_endpoint uuid, p_fence bigint, p_revision integer, p_status text, p_reason text
) returns void
  language plpgsql as $$
declare
  v_now timestamptz;
begin
  -- The account's row first, as every writer of events does.
  perform lock_accounts(array[p_account], true);
  v_now := environment_now();
  update webhook_endpoints
  set status = p_status, status_reason = p_reason
  where account_id = p_account and id = p_endpoint and status = 'ENABLED' and fence = p_fence
    and revision = p_revision;
  if not found then
    return;
  end if;
  perform write_event(p_account, 'webhook.' || lower(p_status), p_endpoint, json_build_object(
    'webhook_token', 'webhook_' || p_endpoint, 'status', p_status, 'status_reason', p_reason
  )::text, v_now);
end
$$;

-- Writes an event for each delivery that is not tried again.
create function write_abandoned_deliveries(
  p_account uuid, p_endpoint uuid, p_deliveries json
) returns void
  language plpgsql as $$
begin
  -- The account's row first, as every writer of events does.
  perform lock_accounts(array[p_account], true);
  perform write_event(p_account, 'webhook.delivery_abandoned', p_endpoint, d::text, environment_now())
  from json_array_elements(p_deliveries) d;
end
$$;
