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
-- scheduled ones are priced when they run and are not counted. Writes the events of those that are
-- admitted. The verdicts are in the order of the arrays: whether a quote is admitted, or null where its
-- account could not be locked.
create function admit_quotes(
  p_accounts uuid[], p_ids uuid[], p_usd_amounts bigint[], p_seconds integer[],
  p_runs timestamptz[], p_may_wait boolean, out verdicts boolean[], out at timestamptz
)
  language plpgsql as $$
declare
  v_locked uuid[] := lock_accounts(p_accounts, p_may_wait);
begin
  at := environment_now();
  with request as materialized (
    select r.*, r.account_id = any (v_locked) as is_locked,
      open_quote_end(at, date_trunc('second', at + seconds * interval '1 second')) as ends_at
    from unnest(p_accounts, p_usd_amounts, p_seconds, p_runs) with ordinality
      as r (account_id, usd_amount, seconds, runs_at, ord)
  ), room as materialized (
    select a.account_id, m.count_left, m.usd_left
    from (select distinct account_id from request where is_locked and runs_at is null) a
    cross join lateral measure_open_quotes(a.account_id, at, null) m
  ), judged as materialized (
    -- A quote that is too large by itself takes no room from the others.
    select r.account_id, r.ord, r.ends_at, r.usd_amount, r.runs_at, case
        when not r.is_locked then null
        when r.runs_at is not null then true
        else r.usd_amount <= m.usd_left
          and count(*) filter (where r.usd_amount <= m.usd_left) over quotes <= m.count_left
          and sum(r.usd_amount) filter (where r.usd_amount <= m.usd_left) over quotes <= m.usd_left
      end as is_admitted
    from request r
    left join room m on m.account_id = r.account_id
    window quotes as (partition by r.account_id, r.runs_at is null order by r.ord)
  ), counted as (
    insert into open_quotes as o (account_id, ends_at, quote_count, usd_amount)
    select account_id, ends_at, count(*), sum(usd_amount)
    from judged where is_admitted and runs_at is null group by 1, 2
    on conflict (account_id, ends_at) do update
      set quote_count = o.quote_count + excluded.quote_count,
        usd_amount = o.usd_amount + excluded.usd_amount
  )
  select array_agg(is_admitted order by ord) into verdicts from judged;
  perform write_payout_events(array_agg(account_id), array_agg(id), array_agg(text 'PENDING'),
    array_agg(text ''), array_agg(null::uuid), at)
  from unnest(p_accounts, p_ids, verdicts) r (account_id, id, is_admitted) where r.is_admitted;
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
