-- Locks accounts in the order of their ids, so that two batches cannot wait in a circle; or, where
-- it may not wait, those that nobody holds. Answers which are locked.
create function lock_accounts(p_accounts uuid[], p_may_wait boolean) returns uuid[]
  language plpgsql as $$
declare
  v_locked uuid[];
begin
  if p_may_wait then
    select array_agg(id) into v_locked from (
      select id from accounts where id = any (p_accounts) order by id for update) a;
  else
    select array_agg(id) into v_locked from (
      select id from accounts where id = any (p_accounts) order by id for update skip locked) a;
  end if;
  return coalesce(v_locked, '{}');
end
$$;

-- Many commits in one transaction. What this function takes it commits, exactly as commit_payout
-- does, and answers with the text of the client's answer; everything out of the ordinary (a
-- refusal, a repeat, a key that is known, funds that do not cover all, a ledger account still to be
-- opened) it leaves untouched, and the caller does it alone. So a batch costs one update per
-- balance, and one client's trouble is never its neighbours'.
create function commit_payouts(
  p_accounts uuid[], p_users uuid[], p_payouts uuid[], p_journals uuid[], p_pickup_codes text[],
  p_keys text[], p_fingerprints bytea[], p_may_wait boolean
) returns table (ordinal integer, body text, is_held boolean)
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set jit = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_locked uuid[];
begin
  -- Whoever changes payouts or balances of an account holds its row, so that nothing read below
  -- changes meanwhile.
  v_locked := lock_accounts(p_accounts, p_may_wait);
  v_now := environment_now();
  return query
  with request as materialized (
    select * from unnest(p_accounts, p_users, p_payouts, p_journals, p_pickup_codes, p_keys,
      p_fingerprints) with ordinality
      as r (account_id, user_id, payout_id, journal_id, pickup_code, key, fingerprint, ord)
    where account_id = any (v_locked)
  ), eligible as (
    select r.ord, r.journal_id, r.key, r.fingerprint,
      case when p.delivery_type = 'CASH_PICKUP' then r.pickup_code else '' end as pickup_code,
      p.account_id, p.id, p.user_id, p.source_currency, p.source_amount, p.fee,
      p.destination_currency, p.destination_amount, p.rail, p.client_transfer_id, p.notify_user,
      row_number() over (partition by p.account_id, p.client_transfer_id order by r.ord) as turn
    from request r
    join payouts p
      on p.account_id = r.account_id and p.id = r.payout_id and p.user_id = r.user_id
    join users u on u.account_id = p.account_id and u.id = p.user_id
    where p.status = 'PENDING' and v_now < p.expires_at and u.status = 'ACTIVE'
      and (not p.needs_verification or u.kyc_status = 'approved')
      and (not p.needs_attributes or exists (
        select from attribute_set_versions v
        where v.account_id = p.account_id and v.set_id = p.attr_set_id
          and v.version = p.attr_version and v.is_complete))
      and not exists (
        select from payouts c
        where c.account_id = p.account_id and c.client_transfer_id = p.client_transfer_id
          and c.committed_at is not null)
      and (r.key is null or not exists (
        select from idempotency_records i where i.account_id = r.account_id and i.key = r.key))
  ), wanted as materialized (
    select *, sum(source_amount + fee) over wallet as needed,
      sum(source_amount + fee) over (wallet order by ord) as taken
    from eligible where turn = 1
    window wallet as (partition by account_id, source_currency)
  ), chosen as materialized (
    select w.*, (wallet.balance - w.taken)::bigint as wallet_balance from wanted w
    join ledger_accounts wallet on wallet.account_id = w.account_id
      and wallet.currency = w.source_currency and wallet.name = 'wallet'
    where wallet.balance >= w.needed
      and (
        select count(*) from ledger_accounts l
        where l.account_id = w.account_id and (
          (l.currency = w.source_currency and l.name in ('fx', 'fees'))
          or (l.currency = w.destination_currency and l.name in ('fx', 'in_transit:' || w.rail)))
      ) = case when w.source_currency = w.destination_currency then 3 else 4 end
  ), leg as materialized (
    select c.account_id, currency, c.journal_id, line, from_name, to_name, amount, balance, c.id
    from chosen c cross join lateral (values
      (1::smallint, c.source_currency, 'wallet', 'fx', c.source_amount, c.wallet_balance + c.fee),
      (2::smallint, c.source_currency, 'wallet', 'fees', c.fee, c.wallet_balance),
      (3::smallint, c.destination_currency, 'fx', 'in_transit:' || c.rail, c.destination_amount,
        null::bigint)
    ) l (line, currency, from_name, to_name, amount, balance)
    where amount > 0
  ), balances as (
    update ledger_accounts l set balance = l.balance + d.total
    from (
      select account_id, currency, name, sum(delta)::bigint as total
      from (
        select account_id, currency, from_name as name, -amount as delta from leg
        union all
        select account_id, currency, to_name, amount from leg
      ) side
      group by account_id, currency, name
    ) d
    where l.account_id = d.account_id and l.currency = d.currency and l.name = d.name
  ), transfers as (
    insert into ledger_transfers (account_id, currency, journal_id, line, kind, from_name, to_name,
      amount, wallet_balance, payout_id, created_at)
    select account_id, currency, journal_id, line, 'commit', from_name, to_name, amount, balance,
      id, v_now
    from leg
  ), committed as (
    update payouts p set status = 'PROCESSING', status_reason = '', committed_at = v_now,
      updated_at = v_now, pickup_code = c.pickup_code
    from chosen c where p.account_id = c.account_id and p.id = c.id
  ), due as (
    insert into payout_dispatches (account_id, payout_id, due_at)
    select account_id, id, v_now from chosen
  ), told as (
    insert into events (account_id, sequence, type, subject_id, payload, created_at)
    select c.account_id,
      a.event_sequence + row_number() over (partition by c.account_id order by c.ord),
      'payout.processing', c.id,
      json_build_object('payout_token', 'payout_' || c.id, 'user_token', 'usr_' || c.user_id,
        'client_transfer_id', c.client_transfer_id, 'status', 'PROCESSING',
        'status_reason', '')::text, v_now
    from chosen c join accounts a on a.id = c.account_id
  ), counted as (
    update accounts a set event_sequence = a.event_sequence + n.count
    from (select account_id, count(*) as count from chosen group by account_id) n
    where a.id = n.account_id
  ), noted as (
    insert into notifications (account_id, id, payout_id, user_id, kind, created_at)
    select account_id, gen_random_uuid(), id, user_id, 'PROCESSING', v_now
    from chosen where notify_user
  ), answered as materialized (
    select account_id, ord, key, fingerprint, '{"payout_token":"payout_' || id
      || '","status":"success","pickup_code":"' || pickup_code || '","errors":""}' as text
    from chosen
  ), keyed as (
    -- A key that another process stores at this moment ends the batch with a unique violation.
    insert into idempotency_records (account_id, key, fingerprint, status, body, created_at)
    select account_id, key, fingerprint, 200, convert_to(text, 'UTF8'), v_now
    from answered where key is not null
  )
  select ord::integer, text, false from answered
  union all
  select ord::integer, null, true
  from unnest(p_accounts) with ordinality a (account_id, ord)
  where account_id <> all (v_locked);
end
$$;
revoke execute on function commit_payouts, lock_accounts from public;
grant execute on function lock_accounts to outlay_tenant;

-- Many quotes in one transaction: each becomes a PENDING payout with the newest attribute set of
-- its destination pinned (or the one that it names), its metadata findable, and its event. The
-- arrays run side by side, but for the three of metadata entries. Without waiting, the quotes of
-- accounts that somebody holds are left out.
create function create_payouts(
  p_accounts uuid[], p_ids uuid[], p_users uuid[], p_transfer_ids text[], p_source_tokens uuid[],
  p_source_currencies text[], p_source_amounts bigint[], p_fees bigint[],
  p_destination_tokens uuid[], p_destination_currencies text[], p_destination_amounts bigint[],
  p_rates text[], p_rounding_nanos bigint[], p_rails text[], p_payer_keys text[],
  p_payer_names text[], p_sets uuid[], p_delivery_types text[], p_countries text[],
  p_needs_attributes boolean[], p_needs_verification boolean[], p_notify_users boolean[],
  p_metadata text[], p_lock_seconds integer[], p_availabilities timestamptz[],
  p_entry_accounts uuid[], p_entry_ids uuid[], p_entry_hashes bytea[], p_may_wait boolean
) returns setof payouts
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set jit = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_locked uuid[];
begin
  v_locked := lock_accounts(p_accounts, p_may_wait);
  v_now := environment_now();
  return query
  with request as materialized (
    select * from unnest(p_accounts, p_ids, p_users, p_transfer_ids, p_source_tokens,
      p_source_currencies, p_source_amounts, p_fees, p_destination_tokens,
      p_destination_currencies, p_destination_amounts, p_rates, p_rounding_nanos, p_rails,
      p_payer_keys, p_payer_names, p_sets, p_delivery_types, p_countries, p_needs_attributes,
      p_needs_verification, p_notify_users, p_metadata, p_lock_seconds, p_availabilities)
      as r (account_id, id, user_id, client_transfer_id, source_token, source_currency,
        source_amount, fee, destination_token, destination_currency, destination_amount,
        exchange_rate, rounding_nano, rail, payer_key, payer_name, set_id, delivery_type, country,
        needs_attributes, needs_verification, notify_user, metadata, lock_seconds, available_at)
    where account_id = any (v_locked)
  ), made as (
    insert into payouts (account_id, id, user_id, client_transfer_id, source_token,
      source_currency, source_amount, fee, destination_token, destination_currency,
      destination_amount, exchange_rate, rounding_nano, rail, payer_key, payer_name,
      attr_set_id, attr_version, delivery_type, country, needs_attributes, needs_verification,
      notify_user, metadata, created_at, expires_at, estimated_availability, updated_at)
    select r.account_id, r.id, r.user_id, r.client_transfer_id, r.source_token,
      r.source_currency, r.source_amount, r.fee, r.destination_token, r.destination_currency,
      r.destination_amount, r.exchange_rate, r.rounding_nano, r.rail, r.payer_key, r.payer_name,
      pinned.id, pinned.latest_version, r.delivery_type, r.country, r.needs_attributes,
      r.needs_verification, r.notify_user, r.metadata, v_now,
      date_trunc('second', v_now + r.lock_seconds * interval '1 second'), r.available_at, v_now
    from request r
    left join lateral (
      select s.id, s.latest_version from attribute_sets s
      where s.account_id = r.account_id and s.user_id = r.user_id
        and s.destination_token = r.destination_token and s.currency = r.destination_currency
        and (r.set_id is null or s.id = r.set_id)
      order by s.touched_at desc, s.id desc limit 1
    ) pinned on true
    returning *
  ), found as (
    insert into payout_metadata (account_id, entry_hash, payout_id)
    select distinct account_id, hash, payout_id
    from unnest(p_entry_accounts, p_entry_ids, p_entry_hashes) e (account_id, payout_id, hash)
    where account_id = any (v_locked)
  ), told as (
    insert into events (account_id, sequence, type, subject_id, payload, created_at)
    select m.account_id,
      a.event_sequence + row_number() over (partition by m.account_id order by m.id),
      'payout.pending', m.id,
      json_build_object('payout_token', 'payout_' || m.id, 'user_token', 'usr_' || m.user_id,
        'client_transfer_id', m.client_transfer_id, 'status', m.status,
        'status_reason', '')::text, v_now
    from made m join accounts a on a.id = m.account_id
  ), counted as (
    update accounts a set event_sequence = a.event_sequence + n.count
    from (select account_id, count(*) as count from made group by account_id) n
    where a.id = n.account_id
  )
  select * from made;
end
$$;
revoke execute on function create_payouts from public;
grant execute on function create_payouts to outlay_tenant;
