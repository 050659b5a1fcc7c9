-- How scheduled payouts run: those that are due are claimed, priced and judged, and then run, wait or end.

-- The scheduled payouts to try now, and no other process is trying: their time or deadline has come, the
-- balance covers what they wait for, or they wait for a change that causes no event.
create function find_due_schedules(p_count integer)
  returns table (account_id uuid, payout_id uuid)
  language plpgsql stable as $$
#variable_conflict use_column
declare
  v_now timestamptz := environment_now();
begin
  return query
  (select x.account_id, x.payout_id from payout_schedules x
    where x.due_at <= v_now and (x.lease_until is null or x.lease_until < clock_timestamp())
    order by x.due_at limit p_count)
  union
  (select x.account_id, x.payout_id from payout_schedules x
    where x.retry_at <= clock_timestamp()
      and (x.lease_until is null or x.lease_until < clock_timestamp())
    order by x.retry_at limit p_count)
  union
  (select x.account_id, x.payout_id
    from (
      -- One look at each wallet, however many payouts wait for it.
      select account_id, source_currency, min(needed) as least from payout_schedules
      where needed is not null group by account_id, source_currency
    ) unfunded
    join ledger_accounts w on w.account_id = unfunded.account_id
      and w.currency = unfunded.source_currency and w.name = 'wallet' and w.balance >= unfunded.least
    join payout_schedules x on x.account_id = w.account_id and x.source_currency = w.currency
      and x.needed <= w.balance
    where x.lease_until is null or x.lease_until < clock_timestamp()
    limit p_count);
end
$$;

-- Claims scheduled payouts to try, those of the earliest time first, with what their price follows from.
create function claim_schedules(p_count integer, p_lease_ms integer) returns table (
  account_id uuid, payout_id uuid, fence bigint, user_id uuid, destination_token uuid,
  source_currency text, source_amount bigint, destination_currency text, destination_amount bigint,
  given_side text, max_source_amount bigint, min_destination_amount bigint
)
  language plpgsql as $$
#variable_conflict use_column
begin
  -- Rails may have made payments that a restored database does not know.
  if is_recovering() then return; end if;
  return query
  with chosen as materialized (
    select x.account_id, x.payout_id, q.runs_at, q.user_id, q.destination_token, q.source_amount,
      q.destination_currency, q.destination_amount
    from find_due_schedules(p_count) d
    join payout_schedules x on x.account_id = d.account_id and x.payout_id = d.payout_id
    join payout_quotes q on q.account_id = d.account_id and q.id = d.payout_id
    where x.due_at is not null
    order by q.runs_at, x.payout_id
    limit p_count
    for update of x skip locked
  ), leased as (
    update payout_schedules x
    set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond', fence = x.fence + 1
    from chosen c
    where x.account_id = c.account_id and x.payout_id = c.payout_id
    returning x.*
  )
  select x.account_id, x.payout_id, x.fence, c.user_id, c.destination_token, x.source_currency,
    c.source_amount, c.destination_currency, c.destination_amount, x.given_side,
    x.max_source_amount, x.min_destination_amount
  from leased x join chosen c using (account_id, payout_id)
  order by c.runs_at, x.payout_id;
end
$$;

-- A try of a scheduled payout: its price, and the obstacles.
create type schedule_try as (
  payout_id uuid,
  fence bigint,
  source_amount bigint,
  fee bigint,
  destination_amount bigint,
  exchange_rate text,
  mid_rate text,
  rounding_nano bigint,
  estimated_availability timestamptz,
  needs_verification boolean,
  -- A code; null: nothing. Without a price there always is one.
  obstacle text,
  source_currency text,
  rail text,
  -- What the balance lacks, where the obstacle is the funds.
  shortfall bigint,
  provider_price text
);

-- Judges tries of one account as `judge_commits` judges commits: recipients first, then whether each
-- balance covers them, in the order of their times. The caller holds the account's row. A try under an
-- outdated claim is left out.
create function judge_schedules(p_account uuid, p_tries json) returns setof schedule_try
  language plpgsql stable as $$
declare
  t record;
  v_try schedule_try;
  v_currency text := '';
  v_balance bigint := 0;
begin
  for t in
    select r.payout_id, r.fence, r.source_amount, r.fee, r.destination_amount, r.exchange_rate,
      r.mid_rate, r.rounding_nano, r.estimated_availability, r.needs_verification, q.source_currency, q.rail,
      r.provider_price,
      coalesce(w.balance, 0) as balance,
      case
        when exists (
          select from freezes f
          where f.lifted_at is null and (f.scope = 'commits'
            or f.scope = 'account' and f.account_id = p_account)) then 'account_frozen'
        when u.status <> 'ACTIVE' then 'user_not_active'
        when q.needs_attributes and not exists (
          select from attribute_set_versions v
          where v.account_id = p_account and v.set_id = s.attr_set_id
            and v.version = s.attr_version and v.is_complete) then 'attributes_missing'
        when r.needs_verification and u.kyc_status <> 'approved' then 'identity_not_verified'
        else r.obstacle end as obstacle
    from json_populate_recordset(null::schedule_try, p_tries) r
    join payout_schedules x on x.account_id = p_account and x.payout_id = r.payout_id
      and x.fence = r.fence and x.due_at is not null
    join payout_states s on s.account_id = p_account and s.payout_id = r.payout_id
      and s.status = 'SCHEDULED'
    join payout_quotes q on q.account_id = p_account and q.id = r.payout_id
    join users u on u.account_id = p_account and u.id = q.user_id
    left join ledger_accounts w on w.account_id = p_account and w.currency = q.source_currency
      and w.name = 'wallet'
    order by q.source_currency, q.runs_at, r.payout_id
  loop
    if t.source_currency <> v_currency then
      v_currency := t.source_currency;
      v_balance := t.balance;
    end if;
    v_try := (t.payout_id, t.fence, t.source_amount, t.fee, t.destination_amount, t.exchange_rate,
      t.mid_rate, t.rounding_nano, t.estimated_availability, t.needs_verification, t.obstacle,
      t.source_currency, t.rail, null, t.provider_price);
    if t.obstacle is null and t.source_amount + t.fee > v_balance then
      v_try.obstacle := 'insufficient_funds';
      v_try.shortfall := t.source_amount + t.fee - v_balance;
    elsif t.obstacle is null then
      v_balance := v_balance - t.source_amount - t.fee;
    end if;
    return next v_try;
  end loop;
end
$$;

-- Commits tries that are in order at their price: quote, state, journal, event and due row.
create function start_schedules(p_account uuid, p_tries schedule_try[], p_at timestamptz)
  returns void
  language plpgsql as $$
begin
  update payout_schedules x set due_at = null, retry_at = null, needed = null, shortfall = null,
    lease_until = null, quoted_source_amount = q.source_amount, quoted_fee = q.fee,
    quoted_destination_amount = q.destination_amount, quoted_exchange_rate = q.exchange_rate,
    quoted_mid_rate = q.mid_rate,
    quoted_rounding_nano = q.rounding_nano, quoted_availability = q.estimated_availability
  from unnest(p_tries) t
  join payout_quotes q on q.account_id = p_account and q.id = t.payout_id
  where x.account_id = p_account and x.payout_id = t.payout_id;
  update payout_quotes q set source_amount = t.source_amount, fee = t.fee,
    destination_amount = t.destination_amount, exchange_rate = t.exchange_rate,
    mid_rate = t.mid_rate, rounding_nano = t.rounding_nano, estimated_availability = t.estimated_availability,
    needs_verification = t.needs_verification, provider_price = t.provider_price, ran_at = p_at
  from unnest(p_tries) t
  where q.account_id = p_account and q.id = t.payout_id;
  insert into payout_dispatches (account_id, payout_id, rail, due_at)
  select p_account, payout_id, rail, p_at from unnest(p_tries);
  perform move_payouts(array_agg(p_account), array_agg(payout_id), array_agg(text 'PROCESSING'),
    array_agg(text ''), p_at)
  from unnest(p_tries);
end
$$;

-- Cancels scheduled payouts that have not run.
create function end_schedules(
  p_account uuid, p_payouts uuid[], p_reasons text[], p_at timestamptz
) returns void
  language plpgsql as $$
begin
  update payout_schedules set due_at = null, retry_at = null, needed = null, shortfall = null,
    lease_until = null, ended_at = p_at
  where account_id = p_account and payout_id = any (p_payouts);
  perform move_payouts(array_agg(p_account), array_agg(payout_id), array_agg(text 'CANCELLED'),
    array_agg(reason), p_at)
  from unnest(p_payouts, p_reasons) r (payout_id, reason);
end
$$;

-- Lets tries wait that something stands in the way of, with an event where the reason is a new one.
create function delay_schedules(
  p_account uuid, p_tries schedule_try[], p_reasons json, p_retry_ms integer, p_at timestamptz
) returns void
  language plpgsql as $$
declare
  v_changed record;
begin
  update payout_schedules x set lease_until = null, shortfall = t.shortfall,
    needed = case when t.shortfall is not null then t.source_amount + t.fee end,
    retry_at = case when t.shortfall is null
      then clock_timestamp() + p_retry_ms * interval '1 millisecond' end,
    due_at = case when p_at < x.deadline_at then x.deadline_at else p_at + interval '1 day' end
  from unnest(p_tries) t
  where x.account_id = p_account and x.payout_id = t.payout_id;
  for v_changed in
    update payout_states s set status_reason = p_reasons -> t.obstacle ->> 'waiting',
      updated_at = p_at
    from unnest(p_tries) t
    where s.account_id = p_account and s.payout_id = t.payout_id
      and s.status_reason <> p_reasons -> t.obstacle ->> 'waiting'
    returning s.payout_id, s.status_reason, t.shortfall
  loop
    perform write_event(p_account, 'payout.scheduled', v_changed.payout_id,
      case when v_changed.shortfall is not null
        then json_build_object('shortfall', v_changed.shortfall::text)::text end,
      p_at, v_changed.status_reason);
  end loop;
end
$$;

-- Tries claimed payouts of one account: each runs, waits or, from its deadline on, is canceled. A payout
-- that a rail may have paid before a restore is not canceled. `p_reasons`: the sentences of each
-- obstacle, `waiting` and `ended`. Answers how many run.
create function run_schedules(p_account uuid, p_tries json, p_reasons json, p_retry_ms integer)
  returns integer
  language plpgsql as $$
declare
  v_now timestamptz;
  v_judged schedule_try[];
  v_ready schedule_try[];
  v_waiting schedule_try[];
  v_ended schedule_try[];
begin
  perform lock_accounts(array[p_account], true);
  if is_recovering() then return 0; end if;
  v_now := environment_now();
  v_judged := array(select t from judge_schedules(p_account, p_tries) t);
  v_ready := array(select t from unnest(v_judged) t where t.obstacle is null);
  v_ended := array(
    select t from unnest(v_judged) t
    join payout_schedules x on x.account_id = p_account and x.payout_id = t.payout_id
    where t.obstacle is not null and x.deadline_at <= v_now and not exists (
      select from exceptions e
      where e.account_id = p_account and e.payout_id = t.payout_id and e.closed_at is null));
  v_waiting := array(
    select t from unnest(v_judged) t
    where t.obstacle is not null and t.payout_id not in (select payout_id from unnest(v_ended)));
  if cardinality(v_ready) > 0 then perform start_schedules(p_account, v_ready, v_now); end if;
  if cardinality(v_waiting) > 0 then
    perform delay_schedules(p_account, v_waiting, p_reasons, p_retry_ms, v_now);
  end if;
  if cardinality(v_ended) > 0 then
    perform end_schedules(p_account, array_agg(payout_id),
      array_agg(p_reasons -> obstacle ->> 'ended'), v_now)
    from unnest(v_ended);
  end if;
  return cardinality(v_ready);
end
$$;

-- Cancels a payout that has not run, for its client: done; not_found; disputed: a rail may have paid it
-- before a restore, which a person decides; else not_scheduled, with the status.
create function cancel_schedule(
  p_account uuid, p_user uuid, p_payout uuid, p_reason text, out result text, out status text
)
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_payout payouts;
begin
  perform require_own_account(p_account);
  perform lock_accounts(array[p_account], true);
  select * into v_payout from payouts
  where account_id = p_account and user_id = p_user and id = p_payout;
  status := v_payout.status;
  if v_payout.id is null then
    result := 'not_found';
  elsif v_payout.status = 'CANCELLED' and v_payout.status_reason = p_reason then
    result := 'done';
  elsif v_payout.status <> 'SCHEDULED' then
    result := 'not_scheduled';
  elsif is_recovering() or exists (
    select from exceptions
    where account_id = p_account and payout_id = p_payout and closed_at is null)
  then
    result := 'disputed';
  else
    perform end_schedules(p_account, array[p_payout], array[p_reason], environment_now());
    result := 'done';
  end if;
end
$$;
grant execute on function cancel_schedule to outlay_tenant;
