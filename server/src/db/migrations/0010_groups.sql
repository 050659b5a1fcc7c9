-- Many at once, in one transaction: quotes, commits and what rails answered, each with one statement
-- over sets. Each takes only what is in order, exactly as its counterpart for one does; everything
-- out of the ordinary (a refusal, a repeat, a key that is known, funds that do not cover all) it
-- leaves untouched, and the caller does that one alone. So a batch costs one update per balance,
-- and one client's trouble is never its neighbours'. Where it may not wait, the accounts that
-- somebody holds are left out and told.

-- The answer to a key, if it was given within the last thirty days.
create function find_idempotency_record(p_account uuid, p_key text)
  returns table (fingerprint bytea, status smallint, body bytea)
  language plpgsql stable as $$
#variable_conflict use_column
declare
  v_since timestamptz := environment_now() - interval '30 days';
begin
  return query
  select fingerprint, status, body from idempotency_records
  where account_id = p_account and key = p_key and month >= month_of(v_since)
    and created_at > v_since;
end
$$;

-- Stores answers, all of them or none: false where one of the keys is known already. Keys of an
-- account are stored under the lock of its row, because no unique key spans the months.
create function store_idempotency_records(
  p_accounts uuid[], p_keys text[], p_fingerprints bytea[], p_bodies bytea[]
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
  insert into idempotency_records (account_id, key, month, fingerprint, status, body, created_at)
  select account_id, key, month_of(v_now), fingerprint, 200, body, v_now
  from unnest(p_accounts, p_keys, p_fingerprints, p_bodies) r (account_id, key, fingerprint, body)
  -- Only one of the first day of a month that has thirty-one is in the way.
  on conflict (account_id, key, month) do update
    set fingerprint = excluded.fingerprint, body = excluded.body, created_at = excluded.created_at;
  return true;
end
$$;

create function commit_payouts(
  p_accounts uuid[], p_users uuid[], p_payouts uuid[], p_journals uuid[], p_pickup_codes text[],
  p_keys text[], p_fingerprints bytea[], p_answers text[], p_may_wait boolean
) returns table (ordinal integer, pickup_code text, is_held boolean)
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set jit = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_since timestamptz;
  v_locked uuid[];
  v_month date;
  v_time text;
begin
  -- Whoever changes payouts or balances of an account holds its row, so that nothing read below
  -- changes meanwhile.
  v_locked := lock_accounts(p_accounts, p_may_wait);
  v_now := environment_now();
  v_month := month_of(v_now);
  v_time := journal_time();
  v_since := v_now - interval '30 days';
  return query
  with request as materialized (
    select * from unnest(p_accounts, p_users, p_payouts, p_journals, p_pickup_codes, p_keys,
      p_fingerprints, p_answers) with ordinality
      as r (account_id, user_id, payout_id, journal_id, pickup_code, key, fingerprint, answer, ord)
    where account_id = any (v_locked)
  ), eligible as (
    select r.ord, r.journal_id, r.key, r.fingerprint, r.answer,
      case when q.delivery_type = 'CASH_PICKUP' then r.pickup_code else '' end as pickup_code,
      q.account_id, q.id, q.user_id, q.source_currency, q.source_amount, q.fee,
      q.destination_currency, q.destination_amount, q.rail, q.client_transfer_id, q.attr_set_id,
      q.attr_version, q.notify_user,
      row_number() over (partition by q.account_id, q.client_transfer_id order by r.ord) as turn
    from request r
    join payout_quotes q
      on q.account_id = r.account_id and q.id = r.payout_id and q.user_id = r.user_id
    join users u on u.account_id = q.account_id and u.id = q.user_id
    where v_now < q.expires_at and u.status = 'ACTIVE'
      and (not q.needs_verification or u.kyc_status = 'approved')
      and (not q.needs_attributes or exists (
        select from attribute_set_versions v
        where v.account_id = q.account_id and v.set_id = q.attr_set_id
          and v.version = q.attr_version and v.is_complete))
      -- The payout itself has no state either then.
      and not exists (
        select from payout_states s
        where s.account_id = q.account_id and s.client_transfer_id = q.client_transfer_id)
      and (r.key is null or not exists (
        select from idempotency_records i
        where i.account_id = r.account_id and i.key = r.key and i.month >= month_of(v_since)
          and i.created_at > v_since))
  ), wanted as materialized (
    select *, sum(source_amount + fee) over wallet as needed,
      sum(source_amount + fee) over (wallet order by ord) as taken,
      row_number() over (partition by account_id order by ord) as place
    from eligible where turn = 1
    window wallet as (partition by account_id, source_currency)
  ), chosen as materialized (
    select w.*, (l.balance - w.taken)::bigint as wallet_balance from wanted w
    join ledger_accounts l on l.account_id = w.account_id
      and l.currency = w.source_currency and l.name = 'wallet'
    where l.balance >= w.needed
  ), committed as (
    insert into payout_states (account_id, payout_id, status, client_transfer_id, attr_set_id,
      attr_version, pickup_code, committed_at, updated_at)
    select account_id, id, 'PROCESSING', client_transfer_id, attr_set_id, attr_version,
      pickup_code, v_now, v_now
    from chosen
  ), posted as (
    insert into ledger_journals (account_id, id, kind, payout_id, source_currency, source_amount,
      fee, destination_currency, destination_amount, rail, wallet_balance, created_at)
    select account_id, journal_id(v_time, place, journal_id), 'commit', id, source_currency, source_amount, fee,
      destination_currency, destination_amount, rail, wallet_balance, v_now
    from chosen
  ), due as (
    insert into payout_dispatches (account_id, payout_id, due_at)
    select account_id, id, v_now from chosen
  ), counted as (
    update accounts a set event_sequence = a.event_sequence + n.count
    from (select account_id, count(*) as count from chosen group by account_id) n
    where a.id = n.account_id
    returning a.id, a.event_sequence - n.count as before
  ), told as (
    insert into events (account_id, sequence, month, type, subject_id, created_at)
    select c.account_id, n.before + row_number() over (partition by c.account_id order by c.place),
      v_month, 'payout.processing', c.id, v_now
    from chosen c join counted n on n.id = c.account_id
  ), noted as (
    insert into notifications (account_id, id, payout_id, user_id, kind, created_at)
    select account_id, gen_random_uuid(), id, user_id, 'PROCESSING', v_now
    from chosen where notify_user
  ), keyed as (
    -- In the text of the answer, which the caller writes, % stands for the pickup code.
    insert into idempotency_records (account_id, key, month, fingerprint, status, body, created_at)
    select account_id, key, v_month, fingerprint, 200,
      convert_to(replace(answer, '%', pickup_code), 'UTF8'), v_now
    from chosen where key is not null
    on conflict (account_id, key, month) do update
      set fingerprint = excluded.fingerprint, body = excluded.body,
        created_at = excluded.created_at
  )
  select ord::integer, pickup_code, false from chosen
  union all
  select ord::integer, null, true
  from unnest(p_accounts) with ordinality a (account_id, ord)
  where account_id <> all (v_locked);
end
$$;

-- Each becomes a payout with the newest attribute set of its destination pinned (or the one that it
-- names), its metadata findable, and its event; what the database decided of it is answered. The
-- arrays run side by side, but for the three of metadata entries.
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
      where s.account_id = r.account_id and s.user_id = r.user_id
        and s.destination_token = r.destination_token and s.currency = r.destination_currency
        and (r.set_id is null or s.id = r.set_id)
      order by s.touched_at desc, s.id desc limit 1
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

-- What rails answered. It takes what leaves the wallet alone: no move at all, or one to COMPLETED,
-- READY_FOR_PICKUP or HOLD; under the fence of the present claim.
create function apply_observations(
  p_accounts uuid[], p_payouts uuid[], p_observations uuid[], p_sources text[], p_outcomes text[],
  p_reasons text[], p_fences bigint[], p_due_ats timestamptz[], p_journals uuid[],
  p_may_wait boolean
) returns table (ordinal integer, is_held boolean)
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set jit = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_locked uuid[];
  v_month date;
begin
  v_locked := lock_accounts(p_accounts, p_may_wait);
  -- Before the payouts are read, as take_dispatches expects.
  perform 1 from payout_dispatches d
  join unnest(p_accounts, p_payouts) r (account_id, payout_id)
    on d.account_id = r.account_id and d.payout_id = r.payout_id
  where r.account_id = any (v_locked)
  for update of d;
  v_now := environment_now();
  v_month := month_of(v_now);
  return query
  with heard as materialized (
    select r.*, q.user_id, q.notify_user, q.source_currency, q.source_amount, q.fee,
      q.destination_currency, q.destination_amount, q.rail,
      (plan_moves(s.status, r.outcome))[1] as move
    from unnest(p_accounts, p_payouts, p_observations, p_sources, p_outcomes, p_reasons, p_fences,
      p_due_ats, p_journals) with ordinality
      as r (account_id, payout_id, observation_id, source, outcome, reason, fence, due_at,
        journal_id, ord)
    join payout_dispatches d on d.account_id = r.account_id and d.payout_id = r.payout_id
      and d.fence = r.fence
    join payout_states s on s.account_id = r.account_id and s.payout_id = r.payout_id
    join payout_quotes q on q.account_id = r.account_id and q.id = r.payout_id
    where r.account_id = any (v_locked)
      and plan_moves(s.status, r.outcome) <@ array['COMPLETED', 'READY_FOR_PICKUP', 'HOLD']
      and cardinality(plan_moves(s.status, r.outcome)) <= 1
  ), noticed as (
    insert into observations (account_id, payout_id, id, source, outcome, reason, is_applied,
      observed_at)
    select account_id, payout_id, observation_id, source, outcome, reason, true, v_now from heard
  ), moved as (
    update payout_states s set status = h.move, updated_at = v_now,
      status_reason = case when h.move = 'HOLD' then h.reason else '' end,
      completed_at = case when h.move = 'COMPLETED' then v_now else s.completed_at end
    from heard h
    where h.move is not null and s.account_id = h.account_id and s.payout_id = h.payout_id
  ), posted as (
    insert into ledger_journals (account_id, id, kind, payout_id, source_currency, source_amount,
      fee, destination_currency, destination_amount, rail, created_at)
    select account_id, journal_id, 'complete', payout_id, source_currency, source_amount, fee,
      destination_currency, destination_amount, rail, v_now
    from heard where move = 'COMPLETED'
  ), attempted as (
    update attempts a set
      state = attempt_state(h.outcome),
      reason = h.reason,
      taken_at = case
        when h.outcome in ('accepted', 'ready_for_pickup', 'paid') then coalesce(a.taken_at, v_now)
        else a.taken_at end,
      unknown_since = case
        when h.outcome in ('unknown', 'hold') then coalesce(a.unknown_since, v_now) end,
      answered_at = v_now
    from heard h
    where a.account_id = h.account_id and a.payout_id = h.payout_id
      and a.number = (select max(number) from attempts l
        where l.account_id = h.account_id and l.payout_id = h.payout_id)
  ), done as (
    delete from payout_dispatches d using heard h
    where h.due_at is null and d.account_id = h.account_id and d.payout_id = h.payout_id
  ), waiting as (
    update payout_dispatches d set due_at = h.due_at, lease_until = null, fence = d.fence + 1,
      tries = case when h.outcome in ('retry', 'unknown', 'hold') then d.tries else 0 end
    from heard h
    where h.due_at is not null and d.account_id = h.account_id and d.payout_id = h.payout_id
  ), counted as (
    update accounts a set event_sequence = a.event_sequence + n.count
    from (select account_id, count(*) as count from heard where move is not null
      group by account_id) n
    where a.id = n.account_id
    returning a.id, a.event_sequence - n.count as before
  ), told as (
    insert into events (account_id, sequence, month, type, subject_id, detail, created_at)
    select h.account_id, n.before + row_number() over (partition by h.account_id order by h.ord),
      v_month, 'payout.' || lower(h.move), h.payout_id,
      case when h.move = 'HOLD' then h.reason else '' end, v_now
    from heard h join counted n on n.id = h.account_id
    where h.move is not null
  ), noted as (
    insert into notifications (account_id, id, payout_id, user_id, kind, created_at)
    select account_id, gen_random_uuid(), payout_id, user_id, move, v_now
    from heard where notify_user and move in ('COMPLETED', 'READY_FOR_PICKUP')
  )
  select ord::integer, false from heard
  union all
  select ord::integer, true
  from unnest(p_accounts) with ordinality a (account_id, ord)
  where account_id <> all (v_locked);
end
$$;

-- A tenant calls what is made for it, and nothing else.
revoke execute on all functions in schema public from public;
grant execute on function month_of, journal_lines, write_event, payout_event, fund_balance,
  commit_payout, apply_observation, create_payouts, find_idempotency_record,
  store_idempotency_records, is_legal_batch_move
  to outlay_tenant;
