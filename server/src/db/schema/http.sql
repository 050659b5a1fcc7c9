-- The stored response to an idempotency key. No unique key spans the months, so a key is stored
-- under the lock of the account's row, after the month before was searched.
create table idempotency_records (
  account_id uuid not null,
  key text not null check (length(key) between 1 and 255),
  month date not null,
  -- The digest of the request, sealed under the environment's keys.
  fingerprint bytea not null check (length(fingerprint) = 65),
  status smallint not null,
  body bytea,
  created_at timestamptz not null,
  -- The user whose key seals the response. Null where it concerns no single user: then it is sealed
  -- under the environment's keys, or plain (a commit, which holds no personal data).
  user_id uuid,
  primary key (account_id, key, month)
) partition by range (month);
alter table idempotency_records enable row level security;
create policy own_account on idempotency_records using (account_id = current_account());
grant select, insert, update on idempotency_records to outlay_tenant;

-- The response to a key that was stored within thirty days, with the key that opens it.
create function find_idempotency_answer(p_account uuid, p_key text)
  returns table (fingerprint bytea, status smallint, body bytea, user_id uuid, data_key bytea)
  language plpgsql stable as $$
#variable_conflict use_column
declare
  v_since timestamptz := environment_now() - interval '30 days';
begin
  return query
  select i.fingerprint, i.status, i.body, i.user_id, u.data_key
  from idempotency_records i
  left join users u on u.account_id = i.account_id and u.id = i.user_id
  where i.account_id = p_account and i.key = p_key and i.month >= month_of(v_since)
    and i.created_at > v_since;
end
$$;
grant execute on function find_idempotency_answer to outlay_tenant;

-- Stores responses, all of them or none: false where a key exists already.
create function store_idempotency_answers(
  p_accounts uuid[], p_keys text[], p_fingerprints bytea[], p_bodies bytea[], p_users uuid[]
) returns boolean
  language plpgsql as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_since timestamptz;
begin
  perform lock_accounts(p_accounts, true);
  v_now := environment_now();
  v_since := v_now - interval '30 days';
  if exists (
    select from unnest(p_accounts, p_keys) r (account_id, key)
    join idempotency_records i on i.account_id = r.account_id and i.key = r.key
    where i.month >= month_of(v_since) and i.created_at > v_since)
  then
    return false;
  end if;
  insert into idempotency_records (account_id, key, month, fingerprint, status, body, user_id,
    created_at)
  select account_id, key, month_of(v_now), fingerprint, 200, body, user_id, v_now
  from unnest(p_accounts, p_keys, p_fingerprints, p_bodies, p_users)
    r (account_id, key, fingerprint, body, user_id)
  -- The only possible conflict is a key of the first day of a month with 31 days.
  on conflict (account_id, key, month) do update
    set fingerprint = excluded.fingerprint, body = excluded.body, user_id = excluded.user_id,
      created_at = excluded.created_at;
  return true;
end
$$;
grant execute on function store_idempotency_answers to outlay_tenant;

-- What each process admitted in the last seconds, so that a rate limit holds across processes. Rows
-- live for seconds and need not survive a crash. Keys are hashed with the master key.
create unlogged table rate_limit_use (
  id uuid primary key,
  process_id uuid not null,
  keys bytea[] not null,
  counts integer[] not null check (cardinality(counts) = cardinality(keys)),
  created_at timestamptz not null default clock_timestamp()
);
create index on rate_limit_use (created_at);
