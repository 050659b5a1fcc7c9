-- Fencing tokens of claims, and of whatever else ends a claim. A count in the row of a dispatch would begin
-- again where the row is removed and made anew, and an old claim would pass for the present one; and a token
-- that was read with a row must not be that of a later claim.
create sequence dispatch_fences;

-- One row for each payout that has work left. A claim takes it with a lease by the real time and a
-- fencing token that invalidates earlier claims.
create table payout_dispatches (
  account_id uuid not null,
  payout_id uuid not null,
  due_at timestamptz not null,
  tries integer not null default 0,
  fence bigint not null default 0,
  lease_until timestamptz,
  rail text not null,
  -- Whether the checks before the first instruction (screening, velocity) have passed.
  is_checked boolean not null default false,
  -- Consecutive internal errors.
  faults integer not null default 0,
  -- The freeze that it waits for; its end makes it due.
  frozen_by uuid references freezes,
  primary key (account_id, payout_id),
  constraint frozen_is_not_due check (frozen_by is null or due_at = 'infinity')
-- A queue: its rows are updated twice and deleted, so pages leave room for that.
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
create index payout_dispatches_due on payout_dispatches (rail, due_at);
create index payout_dispatches_frozen on payout_dispatches (frozen_by) where frozen_by is not null;

-- Locks due dispatches of a rail that no claim holds and no other process is claiming. In random order
-- they are any of the 500 oldest, so that references that time out do not delay all others.
create function lock_due_dispatches(
  p_rail text, p_count integer, p_in_random_order boolean, p_now timestamptz
) returns setof payout_dispatches
  language plpgsql as $$
begin
  if p_in_random_order then
    return query
    select d.* from (
      select account_id, payout_id from payout_dispatches
      where rail = p_rail and due_at <= p_now
        and (lease_until is null or lease_until < clock_timestamp())
      order by due_at
      limit 500
    ) oldest
    join payout_dispatches d on d.account_id = oldest.account_id and d.payout_id = oldest.payout_id
    where d.rail = p_rail and d.due_at <= p_now
      and (d.lease_until is null or d.lease_until < clock_timestamp())
    order by random()
    limit p_count
    for update of d skip locked;
  else
    return query
    select * from payout_dispatches
    where rail = p_rail and due_at <= p_now
      and (lease_until is null or lease_until < clock_timestamp())
    order by due_at
    limit p_count
    for update skip locked;
  end if;
end
$$;

-- Leases due dispatches, `p_counts` of each rail, and that of the named payout whether due or not.
-- A lease runs by the real time; of the fencing tokens only the newest may record anything.
create function lease_dispatches(
  p_rails text[], p_counts integer[], p_in_random_order boolean[], p_lease_ms integer,
  p_account uuid, p_payout uuid, p_now timestamptz
) returns payout_dispatches[]
  language plpgsql as $$
declare
  v_due payout_dispatches[] := array[]::payout_dispatches[];
  v_leased payout_dispatches[];
begin
  for v_place in 1 .. coalesce(cardinality(p_rails), 0) loop
    v_due := v_due || array(
      select d from lock_due_dispatches(p_rails[v_place], p_counts[v_place],
        p_in_random_order[v_place], p_now) d);
  end loop;
  if p_payout is not null then
    v_due := v_due || array(
      select d from payout_dispatches d
      where d.account_id = p_account and d.payout_id = p_payout
        and (d.lease_until is null or d.lease_until < clock_timestamp())
      for update skip locked);
  end if;
  if cardinality(v_due) = 0 then return v_due; end if;
  with leased as (
    update payout_dispatches d
    set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond',
      fence = nextval('dispatch_fences'), tries = d.tries + 1
    from unnest(v_due) t
    where d.account_id = t.account_id and d.payout_id = t.payout_id
    returning d.*
  )
  select array_agg(row(l.*)::payout_dispatches) into v_leased from leased l;
  if exists (select from exceptions where closed_at is null and kind = 'rail_missing') then
    update exceptions e set closed_at = p_now, resolution = 'the rail is there again'
    from unnest(v_leased) t
    where e.account_id = t.account_id and e.payout_id = t.payout_id and e.kind = 'rail_missing'
      and e.closed_at is null;
  end if;
  return v_leased;
end
$$;

-- Of what has to be done with a payout, what may be. A payment that a rail listed in a recovery comes
-- before a freeze, because nothing is sent for it.
create function decide_mode(p_mode text, p_is_recovered boolean, p_freeze uuid) returns text
  language sql immutable parallel safe
  return case
    when p_mode not in ('check', 'send') then p_mode
    when p_is_recovered is not null then
      case when p_is_recovered then 'recovered' else 'elsewhere' end
    when p_freeze is not null then 'frozen'
    else p_mode end;

-- What to do with leased payouts. `mode`: check (the rules have not passed it), send, query (an attempt
-- may be in flight), recovered (its rail listed the payment in a recovery: it is queried and never sent
-- again), elsewhere (another rail listed it), frozen (a freeze holds it), held, or ended. `number`: of the
-- last attempt. A transaction that records an observation locks the dispatch before it reads the payout, so that the mode remains right.
create function plan_dispatches(
  p_leased payout_dispatches[], p_has_rules boolean, p_is_canceling boolean
) returns table (
    account_id uuid, payout_id uuid, fence bigint, tries integer, number integer,
    was_taken boolean, unknown_since timestamptz, first_tried_at timestamptz, reference text,
    mode text, freeze_id uuid
  )
  language plpgsql stable as $$
#variable_conflict use_column
begin
  return query
  with frozen as materialized (
    select f as freeze, f.id, f.since from freezes f
    where f.lifted_at is null and f.scope <> 'commits' and not p_is_canceling
  ), planned as materialized (
    select t.account_id, t.payout_id, t.fence, t.tries, coalesce(l.number, 0) as number,
      coalesce(l.is_present and l.taken_at is not null, false) as was_taken,
      case when l.is_present then l.unknown_since end as unknown_since,
      first.started_at as first_tried_at, p.rail, f.id as freeze_id,
      -- Of the attempt to query, or else of the next one.
      case when l.state not in ('retry', 'rejected') then l.reference
        else payment_reference(p.account_id, p.client_transfer_id, 1 + (
          select count(distinct a.reference)::integer from attempts a
          where a.account_id = t.account_id and a.payout_id = t.payout_id
            and a.rail = p.rail and a.state = 'rejected'))
      end as reference,
      case
        when p.status not in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD', 'COMPLETED') then 'ended'
        when l.state not in ('retry', 'rejected') then 'query'
        when p.status = 'COMPLETED' then 'ended'
        when p.status <> 'PROCESSING' then 'held'
        when not t.is_checked and (p_has_rules or has_own_checks(t.account_id)) then 'check'
        else 'send'
      end as mode
    from unnest(p_leased) t
    join payouts p on p.account_id = t.account_id and p.id = t.payout_id
    left join lateral (
      -- Attempts through an earlier payer say nothing about the present one.
      select number, state, reference, taken_at, unknown_since,
        a.rail = p.rail and a.payer_key = p.payer_key as is_present
      from attempts a
      where a.account_id = t.account_id and a.payout_id = t.payout_id
      order by number desc limit 1
    ) l on true
    left join lateral (
      select started_at from attempts a
      where l.is_present and a.account_id = t.account_id and a.payout_id = t.payout_id
        and a.rail = p.rail and a.payer_key = p.payer_key
      order by number limit 1
    ) first on true
    left join lateral (
      select f.id from frozen f where freeze_applies(f.freeze, p.account_id, p.user_id, p.country,
        p.delivery_type, p.destination_currency, p.rail)
      order by f.since limit 1
    ) f on true
  )
  select p.account_id, p.payout_id, p.fence, p.tries, p.number, p.was_taken, p.unknown_since,
    p.first_tried_at, p.reference, decide_mode(p.mode, p.rail = any (r.rails), p.freeze_id),
    p.freeze_id
  from planned p
  left join lateral (
    select array_agg(rail) as rails from recovered_payments x
    where x.reference = p.reference and x.result <> 'dismissed'
  ) r on true;
end
$$;

-- Links payments that rails listed in a recovery with the attempts that have just begun for them.
create function link_recovered_payments(p_leased payout_dispatches[], p_at timestamptz) returns void
  language plpgsql as $$
begin
  if not exists (select from recovered_payments) then return; end if;
  with linked as (
    update recovered_payments x
    set result = 'linked', account_id = a.account_id, payout_id = a.payout_id
    from unnest(p_leased) t
    join attempts a on a.account_id = t.account_id and a.payout_id = t.payout_id
      and a.fence = t.fence and a.state = 'unknown' and a.started_at = p_at
    where x.reference = a.reference and x.rail = a.rail and x.result <> 'dismissed'
    returning x.exception_id, x.payout_id
  )
  update exceptions e set closed_at = p_at, resolution = 'linked to payout ' || l.payout_id
  from linked l where e.id = l.exception_id and e.closed_at is null;
end
$$;

-- Asks about leased payouts that were found on hold without an open exception.
create function ask_about_held(p_leased payout_dispatches[], p_at timestamptz) returns void
  language plpgsql as $$
begin
  insert into exceptions (account_id, id, payout_id, rail, kind, detail, opened_at)
  select d.account_id, gen_random_uuid(), d.payout_id, d.rail, 'unscheduled',
    'on hold, and no exception was open', p_at
  from unnest(p_leased) t
  join payout_dispatches d on d.account_id = t.account_id and d.payout_id = t.payout_id
    and d.due_at = 'infinity' and d.frozen_by is null
  where not exists (
    select from exceptions e
    where e.account_id = d.account_id and e.payout_id = d.payout_id and e.closed_at is null);
end
$$;

-- Claims due payouts, as many of each rail as it has room for, or one named payout whether due or not.
-- The attempt of a sending is written here, before the rail is called.
create function claim_dispatches(
  p_rails text[], p_counts integer[], p_in_random_order boolean[], p_lease_ms integer,
  p_has_rules boolean, p_account uuid default null, p_payout uuid default null,
  p_is_canceling boolean default false
) returns table (
  account_id uuid, payout_id uuid, fence bigint, tries integer, mode text, attempt_count integer,
  was_taken boolean, unknown_since timestamptz, first_tried_at timestamptz, now timestamptz,
  rail text, payer_key text, destination_token uuid, country text, delivery_type text,
  source_currency text, source_amount bigint, fee bigint, destination_currency text,
  destination_amount bigint, pickup_code text, committed_at timestamptz,
  estimated_availability timestamptz, user_id uuid, attr_set_id uuid, attributes bytea,
  data_key bytea, person bytea, user_country text, is_verified boolean, account_name text,
  reference text, provider_price text
)
  language plpgsql as $$
#variable_conflict use_column
declare
  v_now timestamptz := environment_now();
  v_leased payout_dispatches[];
begin
  -- Rails may have made payments that a restored database does not know.
  if is_recovering() then return; end if;
  -- A freeze that another transaction is making is waited for, and then applies.
  perform share_freezes();
  v_leased := lease_dispatches(p_rails, p_counts, p_in_random_order, p_lease_ms, p_account, p_payout,
    v_now);
  if cardinality(v_leased) = 0 then return; end if;
  return query
  with planned as materialized (
    select * from plan_dispatches(v_leased, p_has_rules, p_is_canceling)
  ), begun as (
    insert into attempts (account_id, payout_id, number, rail, payer_key, reference, state, fence,
      started_at, unknown_since)
    select j.account_id, payout_id, number + 1, p.rail, p.payer_key, reference,
      case mode when 'send' then 'sending' else 'unknown' end, fence, v_now,
      case mode when 'recovered' then v_now end
    from planned j join payouts p on p.account_id = j.account_id and p.id = j.payout_id
    where mode in ('send', 'recovered')
  ), ended as (
    delete from payout_dispatches d using planned j
    where j.mode = 'ended' and d.account_id = j.account_id and d.payout_id = j.payout_id
  ), held as (
    -- On hold or frozen, without an instruction: the release or the end of the freeze schedules it.
    update payout_dispatches d set due_at = 'infinity', lease_until = null, tries = 0,
      frozen_by = case j.mode when 'frozen' then j.freeze_id end
    from planned j
    where j.mode in ('held', 'frozen') and d.account_id = j.account_id and d.payout_id = j.payout_id
  )
  select j.account_id, j.payout_id, j.fence, j.tries,
    case j.mode when 'recovered' then 'query' else j.mode end, j.number, j.was_taken,
    j.unknown_since, j.first_tried_at, v_now, p.rail, p.payer_key, p.destination_token, p.country,
    p.delivery_type, p.source_currency, p.source_amount, p.fee, p.destination_currency,
    p.destination_amount, p.pickup_code, coalesce(p.ran_at, p.committed_at),
    p.estimated_availability, p.user_id, p.attr_set_id, with_version(v.version, v.sealed),
    u.data_key, with_version(u.version, u.sealed), u.country, u.kyc_status = 'approved', a.name,
    j.reference, p.provider_price
  from planned j
  join payouts p on p.account_id = j.account_id and p.id = j.payout_id
  join users u on u.account_id = j.account_id and u.id = p.user_id
  join accounts a on a.id = j.account_id
  left join attribute_set_versions v
    on v.account_id = j.account_id and v.set_id = p.attr_set_id and v.version = p.attr_version
  where j.mode in ('check', 'send', 'query', 'recovered', 'elsewhere');
  perform ask_about_held(v_leased, v_now);
  perform link_recovered_payments(v_leased, v_now);
end
$$;

-- Postpones a payout that could not be worked on, so that it neither blocks nor starves others. An error
-- counts, and having to wait for the database does not. Returns the number of consecutive errors, or
-- null where the claim is outdated.
create function postpone_dispatch(
  p_account uuid, p_payout uuid, p_fence bigint, p_wait_ms bigint, p_is_fault boolean
) returns integer
  language sql as $$
  update payout_dispatches
  set due_at = environment_now() + p_wait_ms * interval '1 millisecond', lease_until = null,
    faults = faults + p_is_fault::integer, frozen_by = null
  where account_id = p_account and payout_id = p_payout and fence = p_fence
  returning faults;
$$;

-- Lets a payout wait for the opinion of a screening service, which is no error.
create function await_opinion(
  p_account uuid, p_payout uuid, p_fence bigint, p_wait_ms bigint
) returns void
  language sql as $$
  update payout_dispatches
  set due_at = environment_now() + p_wait_ms * interval '1 millisecond', lease_until = null,
    frozen_by = null
  where account_id = p_account and payout_id = p_payout and fence = p_fence;
$$;

-- Marks payouts as checked and makes them due at once. The result of a check holds even if its
-- claim has expired.
create function pass_checks(p_accounts uuid[], p_payouts uuid[], p_fences bigint[]) returns void
  language sql as $$
  update payout_dispatches d set is_checked = true, faults = 0, tries = 0,
    lease_until = case when d.fence = r.fence then null else d.lease_until end
  from unnest(p_accounts, p_payouts, p_fences) r (account_id, payout_id, fence)
  where d.account_id = r.account_id and d.payout_id = r.payout_id;
$$;

-- Whether a process may be working on a payout.
create function is_claimed(p_account uuid, p_payout uuid) returns boolean
  language sql volatile as $$
  select exists (
    select from payout_dispatches
    where account_id = p_account and payout_id = p_payout and lease_until > clock_timestamp());
$$;

-- Waits, 5 s at most, until no claim of a payout is in progress, and keeps it from being claimed
-- until the transaction ends. Locks in the order of apply_observations.
create function wait_for_claim(p_account uuid, p_payout uuid) returns void
  language plpgsql as $$
begin
  for _ in 1 .. 500 loop
    exit when not is_claimed(p_account, p_payout);
    perform pg_sleep(0.01);
  end loop;
  perform lock_accounts(array[p_account], true);
  perform from payout_dispatches where account_id = p_account and payout_id = p_payout for update;
end
$$;
