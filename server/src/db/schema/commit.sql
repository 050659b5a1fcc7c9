-- The commit: the client's decision to pay, and the journal that takes the money from its wallet.

-- The attribute values that a quote is committed with, where it needs any: the version that it names if
-- that is complete, else the newest complete one of the same set or of one stored since.
create function find_complete_attributes(
  p_is_needed boolean, p_account uuid, p_user uuid, p_set uuid, p_version integer,
  p_destination uuid, p_currency text, p_quoted_at timestamptz
) returns table (set_id uuid, version integer)
  language sql stable rows 1 as $$
  select v.set_id, v.version
  from attribute_set_versions v
  where p_is_needed and v.account_id = p_account and v.set_id = p_set and v.version = p_version
    and v.is_complete
  union all (
    select v.set_id, v.version
    from attribute_set_versions v
    join attribute_sets s on s.account_id = v.account_id and s.id = v.set_id
    where p_is_needed and s.account_id = p_account and s.user_id = p_user
      and s.destination_token = p_destination and s.currency = p_currency
      and v.is_complete and v.version = s.latest_version
      and (s.id = p_set or s.touched_at >= p_quoted_at)
    order by (s.id = p_set) desc nulls last, s.touched_at desc
    limit 1)
  limit 1;
$$;

-- Eight uniformly random digits (the remainder of 48 random bits is biased by a millionth). The code
-- that the recipient gets differs from them by a number under the recipient's key (`core/pickup-code.ts`).
create function new_pickup_code() returns text
  language sql volatile
  return lpad((('x' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 12))::bit(48)::bigint
    % 100000000)::text, 8, '0');

-- Whether an Idempotency-Key of the account has an answer.
create function has_answer(p_account uuid, p_key text, p_now timestamptz) returns boolean
  language sql stable
  return exists (
    select from idempotency_records
    where account_id = p_account and key = p_key and month >= month_of(p_now - interval '30 days')
      and created_at > p_now - interval '30 days');

-- Judges commits. `result` is null for those that are in order, and else `success` (it was committed
-- before), why it is refused, `scheduled` (in order, and for a later time), or `alone`: it has to be judged
-- by itself, because another commit of the group has its client_transfer_id, its Idempotency-Key has an
-- answer, or several commits share a wallet that does not cover all of them. The caller holds the
-- accounts' rows, so that nothing read here changes meanwhile. The look-ups aside are by key in every
-- plan, also in one that was made while the tables were empty.
create function judge_commits(
  p_accounts uuid[], p_users uuid[], p_payouts uuid[], p_keys text[], p_now timestamptz
) returns table (
  ord bigint, account_id uuid, payout_id uuid, user_id uuid, client_transfer_id text,
  source_currency text, source_amount bigint, fee bigint, destination_currency text,
  destination_amount bigint, rail text, delivery_type text, notify_user boolean,
  attr_set_id uuid, attr_version integer, result text, detail text, pickup_code text,
  wallet_balance bigint, open_until timestamptz, usd_amount bigint
)
  language sql stable as $$
  with stops as materialized (
    select scope, account_id from freezes where lifted_at is null
  ), judged as (
    select r.ord, r.account_id, r.payout_id, r.user_id, q.client_transfer_id, q.source_currency,
      q.source_amount, q.fee, q.destination_currency, q.destination_amount, q.rail, q.delivery_type,
      q.notify_user, coalesce(v.set_id, q.attr_set_id) as attr_set_id,
      coalesce(v.version, q.attr_version) as attr_version,
      case
        when q.id is null then 'not_found'
        when s.payout_id = q.id and s.status = 'CANCELLED' then 'ended'
        when s.payout_id = q.id then 'success'
        when exists (select from stops where scope = 'account' and account_id = q.account_id)
        then 'account_frozen'
        when exists (select from stops where scope = 'commits') then 'commits_stopped'
        when p_now >= q.expires_at then 'ex_rate_expired'
        when s.payout_id is not null then 'duplicate'
        when u.status <> 'ACTIVE' then 'user_not_active'
        when q.needs_attributes and v.set_id is null
          or q.needs_verification and u.kyc_status <> 'approved' then 'addtl_attr_req'
        when q.runs_at is not null then 'scheduled'
        when row_number() over (partition by q.account_id, q.client_transfer_id order by r.ord) > 1
          or r.key is not null and has_answer(r.account_id, r.key, p_now) then 'alone'
      end as result,
      case
        when s.payout_id = q.id then s.status_reason
        when p_now >= q.expires_at then ''
        when s.payout_id is not null then s.payout_id::text
        when u.status <> 'ACTIVE' then u.status
        when q.needs_attributes and v.set_id is null then 'attributes'
        when q.needs_verification and u.kyc_status <> 'approved' then 'verification'
        else ''
      end as detail,
      case when s.payout_id = q.id then s.pickup_code else '' end as pickup_code,
      open_quote_end(q.created_at, q.expires_at) as open_until, q.usd_amount
    from unnest(p_accounts, p_users, p_payouts, p_keys) with ordinality
      as r (account_id, user_id, payout_id, key, ord)
    left join lateral (select * from payout_quotes x where x.account_id = r.account_id
      and x.id = r.payout_id and x.user_id = r.user_id offset 0) q on true
    left join lateral (select * from users x
      where x.account_id = q.account_id and x.id = q.user_id offset 0) u on true
    left join lateral (select * from payout_states x where x.account_id = q.account_id
      and x.client_transfer_id = q.client_transfer_id offset 0) s on true
    left join lateral find_complete_attributes(q.needs_attributes, q.account_id, q.user_id,
      q.attr_set_id, q.attr_version, q.destination_token, q.destination_currency, q.created_at)
      v on true
  )
  select j.ord, j.account_id, j.payout_id, j.user_id, j.client_transfer_id, j.source_currency,
    j.source_amount, j.fee, j.destination_currency, j.destination_amount, j.rail, j.delivery_type,
    j.notify_user, j.attr_set_id, j.attr_version,
    case
      when j.result is not null or w.balance >= sum(source_amount + fee) over wallet then j.result
      when count(*) over wallet = 1 then 'insufficient_funds'
      else 'alone' end,
    j.detail, j.pickup_code, (w.balance - sum(source_amount + fee) over (wallet order by j.ord))::bigint,
    j.open_until, j.usd_amount
  from judged j
  left join lateral (select * from ledger_accounts x where j.result is null and x.name = 'wallet'
    and x.account_id = j.account_id and x.currency = j.source_currency offset 0) w on true
  window wallet as (partition by j.account_id, j.source_currency, j.result is null);
$$;

-- Stores the answers to commits that came with an Idempotency-Key and were made.
create function store_commit_answers(
  p_accounts uuid[], p_users uuid[], p_keys text[], p_fingerprints bytea[], p_answers text[],
  p_results text[], p_codes text[], p_at timestamptz
) returns void
  language plpgsql as $$
begin
  insert into idempotency_records (account_id, key, month, fingerprint, status, body, user_id,
    created_at)
  select r.account_id, r.key, month_of(p_at), r.fingerprint, 200,
    convert_to(replace(r.answer, '%', r.code), 'UTF8'), case when r.code <> '' then r.user_id end,
    p_at
  from unnest(p_accounts, p_users, p_keys, p_fingerprints, p_answers, p_results, p_codes)
    as r (account_id, user_id, key, fingerprint, answer, result, code)
  where r.result = 'committed' and r.key is not null
  on conflict (account_id, key, month) do update
    set fingerprint = excluded.fingerprint, body = excluded.body, user_id = excluded.user_id,
      created_at = excluded.created_at;
end
$$;

-- Commits payouts together; each wallet pays for all of its commits that are in order, or for none. Every
-- request gets its result: `committed`; `held`: another transaction has the account; else as
-- `judge_commits` says. The answer to a request with an Idempotency-Key is stored with the commit, and
-- % in its text stands for the pickup code.
create function commit_payouts(
  p_accounts uuid[], p_users uuid[], p_payouts uuid[], p_keys text[], p_fingerprints bytea[],
  p_answers text[], p_may_wait boolean, p_traces text[] default null, p_makers uuid[] default null
) returns table (ordinal integer, result text, detail text, pickup_code text)
  language plpgsql as $$
#variable_conflict use_column
declare
  v_locked uuid[] := lock_accounts(p_accounts, p_may_wait);
  v_now timestamptz := environment_now();
  v_time text := next_journal_time(variadic v_locked);
  v_judged record;
begin
  with judged as materialized (
    select *, result is null and account_id = any (v_locked) as is_chosen,
      case when result is null and delivery_type = 'CASH_PICKUP' then new_pickup_code()
        else pickup_code end as code
    from judge_commits(p_accounts, p_users, p_payouts, p_keys, v_now)
  ), committed as (
    insert into payout_states (account_id, payout_id, status, client_transfer_id, attr_set_id,
      attr_version, pickup_code, committed_at, updated_at, committed_by)
    select account_id, payout_id, 'PROCESSING', client_transfer_id, attr_set_id, attr_version, code,
      v_now, v_now, p_makers[ord] from judged where is_chosen
  ), posted as (
    insert into ledger_journals (account_id, id, kind, payout_id, source_currency, source_amount,
      fee, destination_currency, destination_amount, rail, wallet_balance, created_at)
    select account_id, journal_id(v_time, ord, gen_random_uuid()), 'commit', payout_id,
      source_currency, source_amount, fee, destination_currency, destination_amount, rail,
      wallet_balance, v_now from judged where is_chosen
  ), due as (
    insert into payout_dispatches (account_id, payout_id, rail, due_at)
    select account_id, payout_id, rail, v_now from judged where is_chosen
  ), closed as (
    update open_quotes o set quote_count = quote_count - c.count, usd_amount = usd_amount - c.usd
    from (select account_id, open_until as ends_at, count(*) as count, sum(usd_amount) as usd
      from judged where is_chosen group by 1, 2) c
    where o.account_id = c.account_id and o.ends_at = c.ends_at
  )
  select array_agg(case when is_chosen then 'committed' when account_id <> all (v_locked)
      then 'held' else result end) as results,
    array_agg(detail) as details, array_agg(code) as codes,
    array_agg(account_id) filter (where is_chosen) as accounts,
    array_agg(payout_id) filter (where is_chosen) as payouts,
    array_agg(text 'PROCESSING') filter (where is_chosen) as statuses,
    array_agg(text '') filter (where is_chosen) as reasons,
    array_agg(case when notify_user then user_id end) filter (where is_chosen) as recipients
  into v_judged from (select * from judged order by ord) j;
  perform write_payout_events(v_judged.accounts, v_judged.payouts, v_judged.statuses,
    v_judged.reasons, v_judged.recipients, v_now);
  perform store_commit_answers(p_accounts, p_users, p_keys, p_fingerprints, p_answers,
    v_judged.results, v_judged.codes, v_now) where array_remove(p_keys, null) <> '{}';
  if p_traces is not null then
    insert into trace_contexts (account_id, subject_id, traceparent, created_at)
    select r.account_id, r.payout_id, r.traceparent, v_now
    from unnest(p_accounts, p_payouts, p_traces, v_judged.results)
      as r (account_id, payout_id, traceparent, result)
    where r.result = 'committed' and r.traceparent is not null;
  end if;
  return query select r.ord::integer, r.result, r.detail, r.code
  from unnest(v_judged.results, v_judged.details, v_judged.codes)
    with ordinality as r (result, detail, code, ord);
end
$$;

-- Commits one payout for a client's own connection, now or for later: `success`, or as `judge_commits`
-- says.
create function commit_payout(
  p_account uuid, p_user uuid, p_payout uuid, p_maker uuid,
  out result text, out detail text, out pickup_code text
)
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform require_own_account(p_account);
  select case c.result when 'committed' then 'success' else c.result end, c.detail, c.pickup_code
  into strict result, detail, pickup_code
  from commit_payouts(array[p_account], array[p_user], array[p_payout], array[null],
    array[null::bytea], array[null], true, null, array[p_maker]) c;
  if result = 'scheduled' then
    result := 'success';
    pickup_code := schedule_payout(p_account, p_user, p_payout, p_maker);
  end if;
end
$$;
grant execute on function commit_payout to outlay_tenant;
