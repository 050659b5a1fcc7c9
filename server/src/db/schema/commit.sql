-- The newest complete version of the set that the payout names. Where it names none, or that one is
-- incomplete, a set for the same destination that was stored after the payout was created.
create function find_complete_attributes(p payouts, out set_id uuid, out version integer)
  language sql stable as $$
  select v.set_id, v.version
  from attribute_set_versions v
  join attribute_sets s on s.account_id = v.account_id and s.id = v.set_id
  where s.account_id = p.account_id and s.user_id = p.user_id
    and s.destination_token = p.destination_token and s.currency = p.destination_currency
    and v.is_complete and v.version = s.latest_version
    and (s.id = p.attr_set_id or s.touched_at >= p.created_at)
  order by (s.id = p.attr_set_id) desc nulls last, s.touched_at desc
  limit 1;
$$;

-- Posts a journal over all amounts of a payout. The caller holds the lock of the account's row.
create function post_journal(p payouts, p_kind text, p_journal uuid, p_at timestamptz) returns void
  language sql as $$
  insert into ledger_journals (account_id, id, kind, payout_id, source_currency, source_amount, fee,
    destination_currency, destination_amount, rail, wallet_balance, created_at)
  select p.account_id, journal_id(journal_time(), 0, p_journal), p_kind, p.id, p.source_currency,
    p.source_amount,
    case when p_kind = 'return' then 0 else p.fee end, p.destination_currency,
    p.destination_amount, p.rail,
    w.balance + case p_kind
      when 'commit' then -p.source_amount - p.fee
      when 'refund' then p.source_amount + p.fee
      when 'return' then p.source_amount end,
    p_at
  from ledger_accounts w
  where w.account_id = p.account_id and w.currency = p.source_currency and w.name = 'wallet';
$$;

-- Commits a payout, or returns the reason why not; nothing changes unless the result is 'success'.
-- The account's row is locked first, so commits of one account queue there and cannot deadlock.
create function commit_payout(
  p_account uuid, p_user uuid, p_payout uuid, p_journal uuid, p_pickup_code text,
  out result text, out detail text, out pickup_code text
)
  language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
  p payouts;
  v_now timestamptz;
  v_user users;
  v_first uuid;
  v_balance bigint;
begin
  detail := '';
  pickup_code := '';
  perform require_own_account(p_account);
  perform 1 from accounts where id = p_account for update;
  select * into p from payouts where account_id = p_account and id = p_payout and user_id = p_user;
  if not found then result := 'not_found'; return; end if;
  if p.status = 'CANCELLED' then
    result := 'ended'; detail := p.status_reason; return;
  end if;
  if p.committed_at is not null then
    result := 'success'; pickup_code := p.pickup_code; return;
  end if;
  v_now := environment_now();
  if v_now >= p.expires_at then result := 'ex_rate_expired'; return; end if;
  select payout_id into v_first from payout_states
  where account_id = p_account and client_transfer_id = p.client_transfer_id;
  if found then result := 'duplicate'; detail := v_first::text; return; end if;
  select * into strict v_user from users where account_id = p_account and id = p_user;
  if v_user.status <> 'ACTIVE' then
    result := 'user_not_active'; detail := v_user.status; return;
  end if;
  if p.needs_attributes and not exists (
    select from attribute_set_versions v
    where v.account_id = p_account and v.set_id = p.attr_set_id and v.version = p.attr_version
      and v.is_complete)
  then
    select f.set_id, f.version into p.attr_set_id, p.attr_version
    from find_complete_attributes(p) f;
    if p.attr_set_id is null then
      result := 'addtl_attr_req'; detail := 'attributes'; return;
    end if;
  end if;
  if p.needs_verification and v_user.kyc_status <> 'approved' then
    result := 'addtl_attr_req'; detail := 'verification'; return;
  end if;
  select balance into v_balance from ledger_accounts
  where account_id = p_account and currency = p.source_currency and name = 'wallet';
  if coalesce(v_balance, 0) < p.source_amount + p.fee then
    result := 'insufficient_funds'; return;
  end if;

  p.status := 'PROCESSING';
  p.pickup_code := case when p.delivery_type = 'CASH_PICKUP' then p_pickup_code else '' end;
  insert into payout_states (account_id, payout_id, status, client_transfer_id, attr_set_id,
    attr_version, pickup_code, committed_at, updated_at)
  values (p_account, p_payout, p.status, p.client_transfer_id, p.attr_set_id, p.attr_version,
    p.pickup_code, v_now, v_now);
  perform post_journal(p, 'commit', p_journal, v_now);
  insert into payout_dispatches (account_id, payout_id, rail, due_at)
  values (p_account, p_payout, p.rail, v_now);
  perform payout_event(p, v_now);
  result := 'success';
  pickup_code := p.pickup_code;
end
$$;
grant execute on function commit_payout to outlay_tenant;

-- Commits many payouts in one transaction, exactly as commit_payout does. It leaves whatever is not
-- in order (a refusal, a repeat, a known key, insufficient funds for all) to commit_payout, so that
-- a group costs one update for each balance and failures are isolated. Payouts of locked accounts
-- are returned as held.
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
  -- Every change of payouts or balances holds the account's row, so nothing read below can change.
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
      -- This also excludes a payout that is committed already.
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
    select account_id, journal_id(v_time, place, journal_id), 'commit', id, source_currency,
      source_amount, fee, destination_currency, destination_amount, rail, wallet_balance, v_now
    from chosen
  ), new_dispatches as (
    insert into payout_dispatches (account_id, payout_id, rail, due_at)
    select account_id, id, rail, v_now from chosen
  ), numbered as (
    update accounts a set event_sequence = a.event_sequence + n.count
    from (select account_id, count(*) as count from chosen group by account_id) n
    where a.id = n.account_id
    returning a.id, a.event_sequence - n.count as before
  ), new_events as (
    insert into events (account_id, sequence, month, type, subject_id, created_at)
    select c.account_id, n.before + row_number() over (partition by c.account_id order by c.place),
      v_month, 'payout.processing', c.id, v_now
    from chosen c join numbered n on n.id = c.account_id
  ), new_notifications as (
    insert into notifications (account_id, id, payout_id, user_id, kind, created_at)
    select account_id, gen_random_uuid(), id, user_id, 'PROCESSING', v_now
    from chosen where notify_user
  ), keyed as (
    -- The caller writes the response; % in it stands for the pickup code.
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
