-- The money of batches: reserved for a quoted one, paid row by row, and released.

-- Why a batch cannot be committed now, or `success` where it is committed already; null: it is in order.
-- `p_quote_number`: the only quote that may be committed; null: the newest.
create function judge_batch_commit(
  b batches, p_mode text, p_quote_number integer, p_now timestamptz,
  out result text, out detail text
)
  language plpgsql stable as $$
begin
  detail := '';
  if b.status not in ('QUOTED', 'COMMITTING', 'COMMITTED') then
    result := 'not_quoted'; detail := b.status;
  elsif p_quote_number <> b.quote_number then
    result := case b.status when 'QUOTED' then 'quote_changed' else 'other_quote' end;
    detail := b.quote_number::text;
  elsif b.status <> 'QUOTED' then
    result := 'success';
  elsif p_mode = 'all' and b.invalid_count > 0 then
    result := 'invalid_rows'; detail := b.invalid_count::text;
  elsif b.valid_count = 0 then
    result := 'nothing_to_pay';
  else
    select case scope when 'account' then 'account_frozen' else 'commits_stopped' end into result
    from freezes
    where lifted_at is null and (scope = 'commits' or scope = 'account' and account_id = b.account_id)
    order by scope limit 1;
    if result is null and p_now >= b.expires_at then result := 'ex_rate_expired'; end if;
  end if;
end
$$;

-- Reserves the cost of all valid rows of a quoted batch, or returns the reason why not.
create function begin_batch_commit(
  p_account uuid, p_batch uuid, p_mode text, p_quote_number integer, p_maker uuid,
  out result text, out detail text
)
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  b batches;
  v_now timestamptz;
  v_short text;
  v_time text;
begin
  perform require_own_account(p_account);
  perform 1 from accounts where id = p_account for update;
  select * into b from batches where account_id = p_account and id = p_batch for update;
  if not found then result := 'not_found'; detail := ''; return; end if;
  v_now := environment_now();
  v_time := next_journal_time(p_account);
  select j.result, j.detail into result, detail
  from judge_batch_commit(b, p_mode, p_quote_number, v_now) j;
  if result is not null then return; end if;

  with needed as (
    select source_currency as currency, sum(source_amount::numeric + fee) as amount
    from batch_rows
    where account_id = p_account and batch_id = p_batch and status = 'VALID'
      and number <= b.row_count
    group by source_currency
  )
  select json_agg(json_build_object('currency', n.currency, 'needed', n.amount::text,
    'available', coalesce(w.balance, 0)::text) order by n.currency)::text
  into v_short
  from needed n
  left join ledger_accounts w
    on w.account_id = p_account and w.currency = n.currency and w.name = 'wallet'
  where coalesce(w.balance, 0) < n.amount;
  if v_short is not null then result := 'insufficient_funds'; detail := v_short; return; end if;

  insert into ledger_journals (account_id, id, kind, batch_id, source_currency, source_amount,
    wallet_balance, created_at)
  select p_account, journal_id(v_time, row_number() over (order by n.currency), gen_random_uuid()),
    'reserve', p_batch, n.currency, n.amount, w.balance - n.amount, v_now
  from (
    select source_currency as currency, sum(source_amount + fee)::bigint as amount
    from batch_rows
    where account_id = p_account and batch_id = p_batch and status = 'VALID'
      and number <= b.row_count
    group by source_currency
  ) n
  join ledger_accounts w
    on w.account_id = p_account and w.currency = n.currency and w.name = 'wallet';
  update batches set status = 'COMMITTING', mode = p_mode, committed_at = v_now, updated_at = v_now,
    committed_by = p_maker
  where account_id = p_account and id = p_batch;
  result := 'success';
end
$$;
grant execute on function begin_batch_commit to outlay_tenant;

-- Refuses rows of a batch that can no longer be committed: the user was locked since, asks for more
-- than is stored, or the client_transfer_id was committed elsewhere. Their money goes back to the
-- wallet. Answers how many.
create function refuse_batch_rows(
  p_account uuid, p_batch uuid, p_first integer, p_last integer, p_at timestamptz
) returns integer
  language plpgsql as $$
declare
  v_refused integer;
begin
  -- The look-up aside and the row's place spare the planner a guess about the whole batch.
  with judged as materialized (
    select r.ctid as place_of_row, case
        when u.status = 'DEACTIVE' then 'user_erased'
        when u.status <> 'ACTIVE' then 'user_not_active'
        when r.needs_verification and u.kyc_status <> 'approved' then 'addtl_attr_req'
        when (r.needs_attributes or r.attr_set_id is not null) and not exists (
          select from attribute_set_versions v
          where v.account_id = p_account and v.set_id = r.attr_set_id
            and v.version = r.attr_version and (v.is_complete or not r.needs_attributes))
        then 'addtl_attr_req'
        when s.payout_id is not null then 'duplicate_transfer'
      end as refusal,
      s.payout_id
    from batch_rows r
    join users u on u.account_id = p_account and u.id = r.user_id
    left join lateral (
      select x.payout_id from payout_states x
      where x.account_id = p_account and x.client_transfer_id = r.client_transfer_id
      offset 0
    ) s on true
    where r.account_id = p_account and r.batch_id = p_batch
      and r.number between p_first and p_last and r.status = 'VALID'
  )
  update batch_rows r set status = 'REFUSED',
    faults = json_build_array(json_build_object(
      'column', case j.refusal when 'duplicate_transfer' then 'client_transfer_id'
        when 'addtl_attr_req' then 'destination_token' else 'user_token' end,
      'code', j.refusal,
      'detail', case j.refusal
        when 'duplicate_transfer' then 'this client_transfer_id was committed as payout_'
          || j.payout_id
        when 'addtl_attr_req' then 'the destination asks for more of the user'
        when 'user_erased' then 'the data of the user was erased'
        else 'the user is locked' end))::text
  from judged j
  where j.refusal is not null and r.ctid = j.place_of_row;
  get diagnostics v_refused = row_count;
  if v_refused > 0 then
    insert into ledger_journals (account_id, id, kind, batch_id, source_currency, source_amount,
      wallet_balance, created_at)
    select p_account, journal_id(next_journal_time(p_account), row_number() over (order by n.currency),
      gen_random_uuid()), 'release', p_batch, n.currency, n.amount, w.balance + n.amount, p_at
    from (
      select source_currency as currency, sum(source_amount + fee)::bigint as amount
      from batch_rows
      where account_id = p_account and batch_id = p_batch
        and number between p_first and p_last and status = 'REFUSED'
      group by source_currency
    ) n
    join ledger_accounts w
      on w.account_id = p_account and w.currency = n.currency and w.name = 'wallet';
  end if;
  return v_refused;
end
$$;

-- Makes committed payouts of the valid rows of a part of a batch, paid from what was reserved for it.
-- They are due at `p_due_at`. Answers how many.
create function pay_batch_rows(
  b batches, p_first integer, p_last integer, p_due_at timestamptz, p_at timestamptz
) returns integer
  language plpgsql as $$
declare
  v_time text := next_journal_time(b.account_id);
  v_paid record;
begin
  with chosen as materialized (
    select *, case when delivery_type = 'CASH_PICKUP' then new_pickup_code() else '' end as code
    from batch_rows
    where account_id = b.account_id and batch_id = b.id and number between p_first and p_last
      and status = 'VALID'
    order by number
  ), quoted as (
    insert into payout_quotes (account_id, id, user_id, client_transfer_id, source_token,
      source_currency, source_amount, fee, destination_token, destination_currency,
      destination_amount, exchange_rate, mid_rate, rounding_nano, rail, payer_key, payer_name,
      attr_set_id, attr_version, delivery_type, country, needs_attributes, needs_verification,
      notify_user, metadata, created_at, expires_at, estimated_availability, created_by,
      provider_price, batch_id)
    select account_id, payout_id, user_id, client_transfer_id, source_token, source_currency,
      source_amount, fee, destination_token, destination_currency, destination_amount,
      exchange_rate, mid_rate, rounding_nano, rail, payer_key, payer_name, attr_set_id,
      attr_version, delivery_type, country, needs_attributes, needs_verification, notify_user,
      coalesce(metadata, '{}'), b.committed_at, b.expires_at, estimated_availability,
      b.created_by, provider_price, b.id
    from chosen
  ), indexed as (
    insert into payout_metadata (account_id, entry_hash, payout_id)
    select distinct account_id, hash, payout_id
    from chosen cross join lateral unnest(metadata_hashes) h (hash)
    where metadata_hashes is not null
  ), committed as (
    insert into payout_states (account_id, payout_id, status, client_transfer_id, attr_set_id,
      attr_version, pickup_code, committed_at, updated_at, committed_by)
    select account_id, payout_id, 'PROCESSING', client_transfer_id, attr_set_id, attr_version,
      code, p_at, p_at, b.committed_by
    from chosen
  ), posted as (
    insert into ledger_journals (account_id, id, kind, payout_id, batch_id, source_currency,
      source_amount, fee, destination_currency, destination_amount, rail, created_at)
    select account_id, journal_id(v_time, number - p_first, payout_id), 'batch_commit', payout_id, b.id, source_currency,
      source_amount, fee, destination_currency, destination_amount, rail, p_at
    from chosen
  ), due as (
    insert into payout_dispatches (account_id, payout_id, rail, due_at)
    select account_id, payout_id, rail, p_due_at from chosen
  )
  select array_agg(account_id) as accounts, array_agg(payout_id) as payouts,
    array_agg(text 'PROCESSING') as statuses, array_agg(text '') as reasons,
    array_agg(case when notify_user then user_id end) as recipients, count(*)::integer as count
  into v_paid
  from chosen;
  perform write_payout_events(v_paid.accounts, v_paid.payouts, v_paid.statuses, v_paid.reasons,
    v_paid.recipients, p_at);
  return v_paid.count;
end
$$;

-- Commits the next rows of a batch, renews the lease, and answers how many rows it went through; none when
-- the batch is through, or the claim is outdated.
create function commit_batch_rows(
  p_account uuid, p_batch uuid, p_fence bigint, p_count integer, p_lease_ms integer
) returns integer
  language plpgsql as $$
declare
  b batches;
  v_now timestamptz;
  v_last integer;
  v_refused integer;
  v_committed integer;
begin
  perform 1 from accounts where id = p_account for update;
  select * into b from batches where account_id = p_account and id = p_batch for update;
  if not found or b.status <> 'COMMITTING' or b.fence <> p_fence then return 0; end if;
  v_now := environment_now();
  v_last := least(b.next_row + p_count - 1, b.row_count);
  v_refused := refuse_batch_rows(p_account, p_batch, b.next_row, v_last, v_now);
  -- Due when the last row will be a payout, by the pace so far, but within a minute: sending the first
  -- ones meanwhile would make both wait for the account's row.
  v_committed := pay_batch_rows(b, b.next_row, v_last, v_now + least(interval '1 minute',
    (v_now - b.committed_at) * ((b.row_count - v_last)::float8 / v_last)), v_now);
  update batches set next_row = v_last + 1, committed_count = committed_count + v_committed,
    refused_count = refused_count + v_refused, updated_at = v_now,
    lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond',
    status = case when v_last = b.row_count then 'COMMITTED' else 'COMMITTING' end,
    completed_at = case when v_last = b.row_count then v_now end
  where account_id = p_account and id = p_batch;
  return v_last - b.next_row + 1;
end
$$;
