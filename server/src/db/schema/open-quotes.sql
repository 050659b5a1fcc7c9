-- Limits on open quotes: those that are neither committed nor expired.

-- Open quotes by the time at which they have expired, so that neither a limit nor an expiry reads the
-- quotes themselves. Changed only while the account's row is locked.
create table open_quotes (
  account_id uuid not null references accounts (id),
  ends_at timestamptz not null,
  quote_count bigint not null check (quote_count >= 0),
  usd_amount bigint not null check (usd_amount >= 0),
  primary key (account_id, ends_at)
) with (fillfactor = 50);
create index open_quotes_ended on open_quotes (ends_at);
alter table open_quotes enable row level security;
create policy own_account on open_quotes using (account_id = current_account());
grant select on open_quotes to outlay_tenant;

-- What an account may still quote. A quoted batch counts as one quote with the value of its valid rows.
create function measure_open_quotes(p_account uuid, p_now timestamptz, p_except_batch uuid)
  returns table (count_left bigint, usd_left numeric)
  language sql stable rows 1
  begin atomic
    select (a.open_quotes_max - q.count - b.count)::bigint,
      a.open_quotes_usd_max * 100 - q.usd - b.usd
    from accounts a
    cross join lateral (
      select coalesce(sum(quote_count), 0) as count, coalesce(sum(usd_amount), 0) as usd
      from open_quotes where account_id = a.id and ends_at > p_now) q
    cross join lateral (
      select count(*) as count, coalesce(sum(usd_amount), 0) as usd
      from batches where account_id = a.id and status = 'QUOTED' and expires_at > p_now
        and id is distinct from p_except_batch) b
    where a.id = p_account;
  end;

-- Counts new quotes as open, in the order of the arrays and as far as their accounts may have more;
-- scheduled ones are priced when they run and are not counted. Quotes of accounts that it could not lock
-- are in neither answer.
-- Writes the events of those that are admitted.
create function admit_quotes(
  p_accounts uuid[], p_ids uuid[], p_usd_amounts bigint[], p_seconds integer[],
  p_runs timestamptz[], p_may_wait boolean, out admitted uuid[], out refused uuid[],
  out at timestamptz
)
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set jit = off
  as $$
declare
  v_locked uuid[] := lock_accounts(p_accounts, p_may_wait);
begin
  at := environment_now();
  with request as materialized (
    select r.*, open_quote_end(at, date_trunc('second', at + seconds * interval '1 second'))
      as ends_at
    from unnest(p_accounts, p_ids, p_usd_amounts, p_seconds, p_runs) with ordinality
      as r (account_id, id, usd_amount, seconds, runs_at, ord)
    where r.account_id = any (v_locked)
  ), room as materialized (
    select a.account_id, m.count_left, m.usd_left
    from (select distinct account_id from request where runs_at is null) a
    cross join lateral measure_open_quotes(a.account_id, at, null) m
  ), ranked as (
    -- A quote that is too large by itself takes no room from the others.
    select r.account_id, r.id, r.ends_at, r.usd_amount, m.count_left, m.usd_left,
      row_number() over quotes as place, sum(r.usd_amount) over quotes as usd_sum
    from request r
    join room m on m.account_id = r.account_id and r.usd_amount <= m.usd_left
    where r.runs_at is null
    window quotes as (partition by r.account_id order by r.ord)
  ), fitting as materialized (
    select * from ranked where place <= count_left and usd_sum <= usd_left
  ), counted as (
    insert into open_quotes as o (account_id, ends_at, quote_count, usd_amount)
    select account_id, ends_at, count(*), sum(usd_amount) from fitting group by 1, 2
    on conflict (account_id, ends_at) do update
      set quote_count = o.quote_count + excluded.quote_count,
        usd_amount = o.usd_amount + excluded.usd_amount
  )
  select coalesce(array_agg(r.id order by r.ord) filter (where r.is_admitted), '{}'),
    coalesce(array_agg(r.id) filter (where not r.is_admitted), '{}')
  into admitted, refused
  from (select id, ord, runs_at is not null or id in (select f.id from fitting f) as is_admitted
    from request) r;
  perform write_payout_events(array_agg(account_id), array_agg(r.id), array_agg(text 'PENDING'),
    array_agg(text ''), array_agg(null::uuid), at)
  from unnest(p_accounts, p_ids) r (account_id, id) where r.id in (select unnest(admitted));
end
$$;

-- Whether a batch worth p_usd_amount may be quoted. It stays so until the transaction ends, because the
-- account's row is locked.
create function admit_batch_quote(p_account uuid, p_batch uuid, p_usd_amount bigint) returns boolean
  language plpgsql as $$
declare
  v_locked uuid[] := lock_accounts(array[p_account], true);
begin
  return exists (
    select from measure_open_quotes(p_account, environment_now(), p_batch) m
    where v_locked <> '{}' and m.count_left > 0 and m.usd_left >= p_usd_amount);
end
$$;
grant execute on function measure_open_quotes to outlay_tenant;
grant execute on function admit_batch_quote to outlay_tenant;
