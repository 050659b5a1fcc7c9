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

-- The user whose key seals the answer; null where it is about no single user, and sealed under the
-- environment's key (or plain, as of a commit, which tells nothing of a person).
alter table idempotency_records add column user_id uuid;

-- The answer to a key, if it was given within the last thirty days, with what opens it. Replaces
-- find_idempotency_record, which stays for a process of the version before.
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

-- As store_idempotency_records, which stays for a process of the version before, with the user of
-- each answer.
create function store_idempotency_answers(
  p_accounts uuid[], p_keys text[], p_fingerprints bytea[], p_bodies bytea[], p_users uuid[]
) returns boolean
  language plpgsql
  set plan_cache_mode = force_generic_plan
  as $$
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
  -- Only one of the first day of a month that has thirty-one is in the way.
  on conflict (account_id, key, month) do update
    set fingerprint = excluded.fingerprint, body = excluded.body, user_id = excluded.user_id,
      created_at = excluded.created_at;
  return true;
end
$$;

revoke execute on all functions in schema public from public;
grant execute on function find_idempotency_answer, store_idempotency_answers to outlay_tenant;
