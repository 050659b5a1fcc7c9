-- What clients look up and read back: payouts by their own identifier and by time, the newest
-- complete details of a recipient, and the first answer of a batch upload.

-- Every payout of an identifier, quotes that were never committed included. The unique key of
-- payout_states finds the committed one only.
create index payout_quotes_transfer on payout_quotes (account_id, client_transfer_id);
create index payout_quotes_created on payout_quotes (account_id, created_at, id);

-- Whether a row names the details of its recipient itself or takes those that were stored earlier,
-- and how many valid rows do the latter: a draft says so before anything is paid.
alter table batch_rows add column details text check (details in ('row', 'stored'));
alter table batches add column stored_details_count integer not null default 0
  check (stored_details_count >= 0);

-- Each quote is stored with the attribute set that it names, or with the newest complete one of its
-- destination and currency, or with the newest one where none is complete: a set that was stored in
-- part must not hide the details that are ready to be used. The rest is as in 0010: metadata is made
-- findable, the event is written, and what the database decided is returned. The arrays run side by
-- side, but for the three of metadata entries.
create or replace function create_payouts(
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
  ), found as (
    insert into payout_metadata (account_id, entry_hash, payout_id)
    select distinct account_id, hash, payout_id
    from unnest(p_entry_accounts, p_entry_ids, p_entry_hashes) e (account_id, payout_id, hash)
    where account_id = any (v_locked)
  ), counted as (
    update accounts a set event_sequence = a.event_sequence + n.count
    from (select account_id, count(*) as count from request group by account_id) n
    where a.id = n.account_id
    returning a.id, a.event_sequence - n.count as before
  ), told as (
    insert into events (account_id, sequence, month, type, subject_id, created_at)
    select r.account_id, n.before + row_number() over (partition by r.account_id order by r.id),
      v_month, 'payout.pending', r.id, v_now
    from request r join counted n on n.id = r.account_id
  )
  select r.id, r.attr_set_id, r.attr_version, v_now,
    date_trunc('second', v_now + r.lock_seconds * interval '1 second'), v.sealed, r.data_key
  from request r
  left join attribute_set_versions v
    on v.account_id = r.account_id and v.set_id = r.attr_set_id and v.version = r.attr_version;
end
$$;

revoke execute on all functions in schema public from public;
grant execute on function create_payouts to outlay_tenant;
