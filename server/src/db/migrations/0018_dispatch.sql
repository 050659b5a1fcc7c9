-- Dispatch over several rails: what is due, what may pass, what is put off.

drop function take_dispatches, postpone_dispatch;

-- Takes payouts that are due, of each rail as many as it has room for: each gets a lease by the
-- database's own time, a fence (a later claim has a higher one, and only the newest may record
-- anything), and what it needs: 'check' while the rules have not let it pass, 'send' with its attempt
-- written, or 'query' where an earlier attempt may be alive. One payout, due or not, where it is
-- named. Whoever records something of a payout locks its dispatch before it reads the payout, so that
-- what is decided here holds.
create function take_dispatches(
  p_rails text[], p_counts integer[], p_lease_ms integer, p_has_rules boolean,
  p_account uuid default null, p_payout uuid default null
) returns table (
  account_id uuid, payout_id uuid, fence bigint, tries integer, mode text,
  attempt_count integer, was_taken boolean, unknown_since timestamptz, first_tried_at timestamptz, now timestamptz, rail text,
  payer_key text, destination_token uuid, country text, delivery_type text,
  source_currency text, source_amount bigint, fee bigint, destination_currency text, destination_amount bigint, pickup_code text,
  committed_at timestamptz, estimated_availability timestamptz, user_id uuid, attr_set_id uuid,
  attributes bytea, data_key bytea, person bytea, user_country text, is_verified boolean,
  account_name text
)
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set jit = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := environment_now();
  v_taken payout_dispatches[] := array[]::payout_dispatches[];
  v_some payout_dispatches[];
  v_place integer;
begin
  for v_place in 1 .. coalesce(cardinality(p_rails), 0) loop
    with due as (
      select account_id, payout_id from payout_dispatches
      where rail = p_rails[v_place] and due_at <= v_now
        and (lease_until is null or lease_until < clock_timestamp())
      order by due_at
      limit p_counts[v_place]
      for update skip locked
    ), taken as (
      update payout_dispatches d
      set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond',
        fence = d.fence + 1, tries = d.tries + 1
      from due t
      where d.account_id = t.account_id and d.payout_id = t.payout_id
      returning d.*
    )
    select array_agg(row(t.*)::payout_dispatches) into v_some from taken t;
    v_taken := v_taken || coalesce(v_some, array[]::payout_dispatches[]);
  end loop;
  if p_payout is not null then
    with named as (
      select account_id, payout_id from payout_dispatches
      where account_id = p_account and payout_id = p_payout
        and (lease_until is null or lease_until < clock_timestamp())
      for update skip locked
    ), taken as (
      update payout_dispatches d
      set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond',
        fence = d.fence + 1, tries = d.tries + 1
      from named t
      where d.account_id = t.account_id and d.payout_id = t.payout_id
      returning d.*
    )
    select array_agg(row(t.*)::payout_dispatches) into v_some from taken t;
    v_taken := v_taken || coalesce(v_some, array[]::payout_dispatches[]);
  end if;
  if cardinality(v_taken) = 0 then return; end if;
  if exists (select from exceptions where closed_at is null and kind = 'rail_missing') then
    update exceptions e set closed_at = v_now, resolution = 'the rail is there again'
    from unnest(v_taken) t
    where e.account_id = t.account_id and e.payout_id = t.payout_id and e.kind = 'rail_missing'
      and e.closed_at is null;
  end if;

  return query
  with taken as materialized (
    select * from unnest(v_taken)
  ), judged as materialized (
    select t.account_id, t.payout_id, t.fence, t.tries, coalesce(l.number, 0) as number,
      coalesce(l.is_present and l.taken_at is not null, false) as was_taken,
      case when l.is_present then l.unknown_since end as unknown_since,
      first.started_at as first_tried_at, p.rail, p.payer_key, p.destination_token,
      p.country, p.delivery_type, p.source_currency, p.source_amount, p.fee, p.destination_currency,
      p.destination_amount, p.pickup_code, p.committed_at, p.estimated_availability, p.user_id,
      p.attr_set_id, p.attr_version,
      case
        when p.status not in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD', 'COMPLETED') then 'ended'
        when l.state not in ('retry', 'rejected') then 'query'
        when p.status <> 'PROCESSING' then 'held'
        when p_has_rules and not t.is_checked then 'check'
        else 'send'
      end as mode
    from taken t
    join payouts p on p.account_id = t.account_id and p.id = t.payout_id
    left join lateral (
      -- What was tried through an earlier payer says nothing of the present one.
      select number, state, taken_at, unknown_since,
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
  ), begun as (
    insert into attempts (account_id, payout_id, number, rail, payer_key, reference, state, fence,
      started_at)
    select account_id, payout_id, number + 1, rail, payer_key,
      payout_reference(payout_id), 'sending', fence, v_now
    from judged where mode = 'send'
  ), ended as (
    delete from payout_dispatches d using judged j
    where j.mode = 'ended' and d.account_id = j.account_id and d.payout_id = j.payout_id
  ), held as (
    -- Held with nothing sent: whoever releases it makes it due again.
    update payout_dispatches d set due_at = 'infinity', lease_until = null from judged j
    where j.mode = 'held' and d.account_id = j.account_id and d.payout_id = j.payout_id
  )
  select j.account_id, j.payout_id, j.fence, j.tries, j.mode, j.number, j.was_taken, j.unknown_since,
    j.first_tried_at, v_now, j.rail, j.payer_key, j.destination_token, j.country, j.delivery_type, j.source_currency,
    j.source_amount, j.fee, j.destination_currency, j.destination_amount, j.pickup_code,
    j.committed_at, j.estimated_availability, j.user_id, j.attr_set_id, v.sealed, u.data_key,
    u.sealed, u.country, u.kyc_status = 'approved', a.name
  from judged j
  join users u on u.account_id = j.account_id and u.id = j.user_id
  join accounts a on a.id = j.account_id
  left join attribute_set_versions v
    on v.account_id = j.account_id and v.set_id = j.attr_set_id and v.version = j.attr_version
  where j.mode in ('check', 'send', 'query');
end
$$;

-- Puts off a payout that could not be worked on, so that it neither stops nor starves the others, and
-- answers how often in a row that was so; null where the claim is outdated.
create function postpone_dispatch(
  p_account uuid, p_payout uuid, p_fence bigint, p_wait_ms bigint
) returns integer
  language sql as $$
  update payout_dispatches
  set due_at = environment_now() + p_wait_ms * interval '1 millisecond', lease_until = null,
    faults = faults + 1
  where account_id = p_account and payout_id = p_payout and fence = p_fence
  returning faults;
$$;

-- The rules let these pass: they are due at once. A check may take longer than its claim: that it
-- passed holds all the same.
create function pass_checks(p_accounts uuid[], p_payouts uuid[], p_fences bigint[]) returns void
  language sql as $$
  update payout_dispatches d set is_checked = true, faults = 0, tries = 0,
    lease_until = case when d.fence = r.fence then null else d.lease_until end
  from unnest(p_accounts, p_payouts, p_fences) r (account_id, payout_id, fence)
  where d.account_id = r.account_id and d.payout_id = r.payout_id;
$$;

revoke execute on all functions in schema public from public;
