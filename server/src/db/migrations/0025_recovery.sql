-- Recovery after the database was restored to an earlier moment: rails may have paid what this database
-- does not know. While a recovery is open nothing is sent and nothing is committed. Every rail lists what
-- it did since; the list is matched with the payouts; two named persons release it.

create table recoveries (
  id uuid primary key,
  -- Why it was begun: an operator asked for it, or what showed that the database is behind.
  reason text not null,
  -- From when on rails are asked to list what they did.
  since timestamptz not null,
  started_at timestamptz not null,
  -- All rails have answered, or an operator has accepted that some cannot.
  listed_at timestamptz,
  released_at timestamptz,
  -- The rails have taken over what was found; sending goes on.
  closed_at timestamptz,
  check (released_at is null or listed_at is not null),
  check (closed_at is null or released_at is not null)
);
create unique index recoveries_one_open on recoveries ((true)) where closed_at is null;
alter table recoveries enable row level security;

-- What each rail could say.
create table recovery_rails (
  recovery_id uuid not null references recoveries,
  rail text collate "C" not null,
  state text not null check (state in ('waiting', 'listed', 'cannot_list', 'failed')),
  detail text not null default '',
  payments integer not null default 0,
  updated_at timestamptz not null,
  primary key (recovery_id, rail)
);
alter table recovery_rails enable row level security;

create table recovery_releases (
  recovery_id uuid not null references recoveries,
  person text not null,
  decided_by text not null check (length(decided_by) between 1 and 100),
  reason text not null check (length(reason) between 1 and 1000),
  decided_at timestamptz not null,
  primary key (recovery_id, person)
);
alter table recovery_releases enable row level security;
create trigger append_only before update or delete or truncate on recovery_releases
  for each statement execute function refuse_change('a decision stays as it was made');

-- Payments that rails listed in a recovery. They stay: a client may repeat a payout long afterwards, and
-- the payment that left for it is asked about instead of being sent again.
create table recovered_payments (
  rail text collate "C" not null,
  -- The reference, else the counterpart's own number.
  id text collate "C" not null,
  -- 32 hexadecimal digits; "" where the counterpart carries none.
  reference text not null,
  payer_key text not null,
  country text not null,
  currency text not null,
  -- 0: a transaction of the account that pays nobody.
  amount bigint not null check (amount >= 0),
  outcome text not null,
  provider_reference text not null,
  -- SHA-256 of the address on a chain, where there is no reference.
  destination_hash bytea,
  detail text not null,
  happened_at timestamptz not null,
  recovery_id uuid not null references recoveries,
  -- known: an attempt had it. linked: an attempt was made for it. found: its payout is not committed
  -- here. unmatched: no payout is known. dismissed: a person decided that it is not the payout's.
  result text not null check (result in ('known', 'linked', 'found', 'unmatched', 'dismissed')),
  account_id uuid,
  payout_id uuid,
  exception_id uuid,
  primary key (rail, id)
);
create index recovered_payments_reference on recovered_payments (reference) where reference <> '';
create index recovered_payments_destination on recovered_payments (rail, destination_hash)
  where destination_hash is not null and result = 'unmatched';
alter table recovered_payments enable row level security;

-- Advanced before the first sending of a second and written to a file outside of the database: a file
-- that is ahead of it shows that the database was restored.
alter table environment add column send_marker bigint not null default 0;

create function is_recovering() returns boolean
  language sql stable as $$
  select exists (select from recoveries where closed_at is null);
$$;

-- Names of persons as they are compared: letters and digits only, so that invisible characters, case
-- and spaces do not make a second person.
create function person_key(p_name text) returns text
  language sql immutable as $$
  select lower(regexp_replace(normalize(p_name, NFKC), '[^[:alnum:]]', '', 'g'));
$$;

-- Opens a recovery unless one is open; answers the open one and whether it is new.
create function begin_recovery(p_id uuid, p_reason text, p_rails text[])
  returns table (id uuid, is_new boolean)
  language plpgsql as $$
#variable_conflict use_column
declare
  v_now timestamptz := environment_now();
  v_since timestamptz;
  v_open uuid;
begin
  perform 1 from environment for update;
  select r.id into v_open from recoveries r where r.closed_at is null;
  if v_open is not null then
    return query select v_open, false;
    return;
  end if;
  -- The last moment that this database knows of, and a day before it.
  select least(v_now, coalesce(greatest(
    (select max(started_at) from attempts), (select max(committed_at) from payout_states)),
    v_now)) - interval '1 day' into v_since;
  insert into recoveries (id, reason, since, started_at) values (p_id, p_reason, v_since, v_now);
  insert into recovery_rails (recovery_id, rail, state, updated_at)
  select p_id, rail, 'waiting', v_now from unnest(p_rails) r (rail);
  return query select p_id, true;
end
$$;

-- Stores what a rail listed, and matches it with payouts. A payment that an attempt knows as not sent
-- is unknown from now on, so that it is asked about; a committed payout without an attempt gets one; one
-- that is only quoted, or not known, is put before a person and recognised when it is committed.
create function store_recovered(
  p_recovery uuid, p_rail text, p_ids text[], p_references text[], p_payer_keys text[],
  p_countries text[], p_currencies text[], p_amounts bigint[], p_outcomes text[],
  p_provider_references text[], p_destination_hashes bytea[], p_details text[], p_ats timestamptz[]
) returns void
  language plpgsql as $$
#variable_conflict use_column
declare
  v_now timestamptz := environment_now();
  r recovered_payments;
  a attempts;
  q payouts;
  v_exception uuid;
begin
  insert into recovered_payments (rail, id, reference, payer_key, country, currency, amount, outcome,
    provider_reference, destination_hash, detail, happened_at, recovery_id, result)
  select p_rail, id, reference, payer_key, country, currency, amount, outcome, provider_reference,
    destination_hash, detail, at, p_recovery, 'unmatched'
  from unnest(p_ids, p_references, p_payer_keys, p_countries, p_currencies, p_amounts, p_outcomes,
    p_provider_references, p_destination_hashes, p_details, p_ats)
    x (id, reference, payer_key, country, currency, amount, outcome, provider_reference,
      destination_hash, detail, at)
  on conflict (rail, id) do nothing;

  -- Of a chain, which carries no reference, the transaction tells.
  update recovered_payments x set result = 'known', account_id = a.account_id, payout_id = a.payout_id
  from attempts a
  where x.recovery_id = p_recovery and x.rail = p_rail and x.reference = ''
    and x.provider_reference <> '' and a.rail = x.rail
    and a.provider_reference = x.provider_reference;
  for r in
    select * from recovered_payments
    where recovery_id = p_recovery and rail = p_rail and result = 'unmatched'
      and exception_id is null
    order by id
  loop
    a := null;
    q := null;
    if r.reference <> '' then
      select * into a from attempts where reference = r.reference and rail = r.rail
      order by number desc limit 1;
    end if;
    if a.number is not null then
      update recovered_payments set result = 'known', account_id = a.account_id,
        payout_id = a.payout_id
      where rail = r.rail and id = r.id;
      -- Known as not sent, and it was: it is asked about and never sent again.
      update attempts set state = 'unknown', unknown_since = coalesce(unknown_since, v_now)
      where account_id = a.account_id and payout_id = a.payout_id and number = a.number
        and state = 'retry' and not exists (
          select from attempts l
          where l.account_id = a.account_id and l.payout_id = a.payout_id
            and (l.number > a.number or l.state in ('sending', 'unknown', 'accepted', 'paid')));
      continue;
    end if;
    if r.reference <> '' then
      select p.* into q
      from payouts p
      cross join generate_series(1, 4) t (try)
      where p.created_at > r.happened_at - interval '400 days'
        and payment_reference(p.account_id, p.client_transfer_id, t.try) = r.reference
      order by p.committed_at is null, p.created_at desc
      limit 1;
    end if;
    if q.id is not null and q.committed_at is not null and q.rail = r.rail and not exists (
      select from attempts
      where account_id = q.account_id and payout_id = q.id
        and state in ('sending', 'unknown', 'accepted', 'paid'))
    then
      insert into attempts (account_id, payout_id, number, rail, payer_key, reference, state, fence,
        started_at, unknown_since, provider_reference)
      select q.account_id, q.id, 1 + count(*), r.rail, q.payer_key, r.reference, 'unknown', 0, v_now,
        v_now, r.provider_reference
      from attempts where account_id = q.account_id and payout_id = q.id;
      update recovered_payments set result = 'linked', account_id = q.account_id, payout_id = q.id
      where rail = r.rail and id = r.id;
      continue;
    end if;
    v_exception := gen_random_uuid();
    insert into exceptions (account_id, id, payout_id, rail, kind, detail, currency, amount, opened_at)
    values (coalesce(q.account_id, '00000000-0000-0000-0000-000000000000'), v_exception, q.id, r.rail,
      'recovered', left(concat_ws(', ', r.outcome, nullif('reference ' || r.reference, 'reference '),
        nullif(r.provider_reference, ''), r.detail), 500), r.currency, r.amount, v_now);
    update recovered_payments set exception_id = v_exception, account_id = q.account_id,
      payout_id = q.id, result = case when q.id is null then 'unmatched' else 'found' end
    where rail = r.rail and id = r.id;
  end loop;

  update recovery_rails set state = 'listed', detail = '', payments = cardinality(p_ids),
    updated_at = v_now
  where recovery_id = p_recovery and rail = p_rail;
end
$$;

-- Records that a person releases the recovery; the second different one lets sending begin again. Answers
-- waiting, released, not_listed (a rail has not answered) or none (no recovery is open).
create function release_recovery(p_by text, p_reason text, p_accepts_unlisted boolean) returns text
  language plpgsql as $$
declare
  v_now timestamptz := environment_now();
  v_id uuid;
begin
  select id into v_id from recoveries where released_at is null and closed_at is null for update;
  if v_id is null then return 'none'; end if;
  if exists (
    select from recovery_rails where recovery_id = v_id
      and (state in ('waiting') or (state in ('failed', 'cannot_list') and not p_accepts_unlisted)))
  then
    return 'not_listed';
  end if;
  insert into recovery_releases (recovery_id, person, decided_by, reason, decided_at)
  values (v_id, person_key(p_by), p_by, p_reason, v_now)
  on conflict do nothing;
  if (select count(*) from recovery_releases where recovery_id = v_id) < 2 then return 'waiting'; end if;
  update recoveries set listed_at = v_now, released_at = v_now where id = v_id;
  return 'released';
end
$$;

-- Takes payouts that are due, of each rail as many as it has room for: each gets a lease by the
-- database's own time, a fence (a later claim has a higher one, and only the newest may record
-- anything), and what it needs: 'check' while the rules have not let it pass, 'send' with its attempt
-- written, or 'query' where an earlier attempt may be alive. One payout, due or not, where it is
-- named. Whoever records something of a payout locks its dispatch before it reads the payout, so that
-- what is decided here holds.
drop function take_dispatches;
create function take_dispatches(
  p_rails text[], p_counts integer[], p_are_shaken boolean[], p_lease_ms integer,
  p_has_rules boolean,
  p_account uuid default null, p_payout uuid default null
) returns table (
  account_id uuid, payout_id uuid, fence bigint, tries integer, mode text,
  attempt_count integer, was_taken boolean, unknown_since timestamptz, first_tried_at timestamptz, now timestamptz, rail text,
  payer_key text, destination_token uuid, country text, delivery_type text,
  source_currency text, source_amount bigint, fee bigint, destination_currency text, destination_amount bigint, pickup_code text,
  committed_at timestamptz, estimated_availability timestamptz, user_id uuid, attr_set_id uuid,
  attributes bytea, data_key bytea, person bytea, user_country text, is_verified boolean,
  account_name text, reference text
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
  -- What rails did may not be known here.
  if is_recovering() then return; end if;
  for v_place in 1 .. coalesce(cardinality(p_rails), 0) loop
    if p_are_shaken[v_place] then
      -- Any of the 500 oldest: references that hang must not keep the others waiting in their order.
      with due as (
        select d.account_id, d.payout_id from (
          select account_id, payout_id from payout_dispatches
          where rail = p_rails[v_place] and due_at <= v_now
            and (lease_until is null or lease_until < clock_timestamp())
          order by due_at
          limit 500
        ) oldest
        join payout_dispatches d
          on d.account_id = oldest.account_id and d.payout_id = oldest.payout_id
        where d.rail = p_rails[v_place] and d.due_at <= v_now
          and (d.lease_until is null or d.lease_until < clock_timestamp())
        order by random()
        limit p_counts[v_place]
        for update of d skip locked
      ), taken as (
        update payout_dispatches d
        set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond',
          fence = d.fence + 1, tries = d.tries + 1
        from due t
        where d.account_id = t.account_id and d.payout_id = t.payout_id
        returning d.*
      )
      select array_agg(row(t.*)::payout_dispatches) into v_some from taken t;
    else
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
    end if;
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
  ), planned as materialized (
    select t.account_id, t.payout_id, t.fence, t.tries, coalesce(l.number, 0) as number,
      coalesce(l.is_present and l.taken_at is not null, false) as was_taken,
      case when l.is_present then l.unknown_since end as unknown_since,
      first.started_at as first_tried_at, p.rail, p.payer_key, p.destination_token,
      p.country, p.delivery_type, p.source_currency, p.source_amount, p.fee, p.destination_currency,
      p.destination_amount, p.pickup_code, p.committed_at, p.estimated_availability, p.user_id,
      p.attr_set_id, p.attr_version,
      -- That of the attempt that is asked about; else of the next one.
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
        when p_has_rules and not t.is_checked then 'check'
        else 'send'
      end as planned_mode
    from taken t
    join payouts p on p.account_id = t.account_id and p.id = t.payout_id
    left join lateral (
      -- What was tried through an earlier payer says nothing of the present one.
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
  ), judged as materialized (
    -- A payment that its rail had listed after a restore is asked about and never sent again; through
    -- another rail, a person has to say what becomes of it.
    select p.*, case when p.planned_mode not in ('check', 'send') or r.rails is null
        then p.planned_mode
      when p.rail = any (r.rails) then 'recovered' else 'elsewhere' end as mode
    from planned p
    left join lateral (
      select array_agg(rail) as rails from recovered_payments x
      where x.reference = p.reference and x.result <> 'dismissed'
    ) r on true
  ), begun as (
    insert into attempts (account_id, payout_id, number, rail, payer_key, reference, state, fence,
      started_at, unknown_since)
    select account_id, payout_id, number + 1, rail, payer_key, reference,
      case mode when 'send' then 'sending' else 'unknown' end, fence, v_now,
      case mode when 'recovered' then v_now end
    from judged where mode in ('send', 'recovered')
  ), ended as (
    delete from payout_dispatches d using judged j
    where j.mode = 'ended' and d.account_id = j.account_id and d.payout_id = j.payout_id
  ), held as (
    -- Held with nothing sent: whoever releases it makes it due again.
    update payout_dispatches d set due_at = 'infinity', lease_until = null from judged j
    where j.mode = 'held' and d.account_id = j.account_id and d.payout_id = j.payout_id
  ), linked as (
    update recovered_payments x set result = 'linked', account_id = j.account_id,
      payout_id = j.payout_id
    from judged j
    where j.mode = 'recovered' and x.reference = j.reference and x.rail = j.rail
    returning x.exception_id, x.payout_id
  ), answered as (
    update exceptions e set closed_at = v_now, resolution = 'linked to payout ' || l.payout_id
    from linked l where e.id = l.exception_id and e.closed_at is null
  ), asked as (
    select open_exception(account_id, payout_id, rail, 'unscheduled',
      'held, and no other question was open', null, null, v_now)
    from judged j
    where mode = 'held' and not exists (
      select from exceptions e
      where e.account_id = j.account_id and e.payout_id = j.payout_id and e.closed_at is null)
  )
  select j.account_id, j.payout_id, j.fence, j.tries,
    case j.mode when 'recovered' then 'query' else j.mode end, j.number, j.was_taken, j.unknown_since,
    j.first_tried_at, v_now, j.rail, j.payer_key, j.destination_token, j.country, j.delivery_type, j.source_currency,
    j.source_amount, j.fee, j.destination_currency, j.destination_amount, j.pickup_code,
    j.committed_at, j.estimated_availability, j.user_id, j.attr_set_id, v.sealed, u.data_key,
    u.sealed, u.country, u.kyc_status = 'approved', a.name, j.reference
  from judged j
  join users u on u.account_id = j.account_id and u.id = j.user_id
  join accounts a on a.id = j.account_id
  left join attribute_set_versions v
    on v.account_id = j.account_id and v.set_id = j.attr_set_id and v.version = j.attr_version
  where j.mode in ('check', 'send', 'query', 'recovered', 'elsewhere')
    and (select count(*) from asked) >= 0;
end
$$;


-- What a person decides about a payout that the machinery must not decide. `release` goes on with it,
-- `refund` ends it where nothing of it is alive, `paid`, `not_paid` and `returned` say what the rail
-- would not, `retry` sends an exhausted one through the payer that is named, `write_off` books what
-- was paid without belonging to a payout any more (and refunds what is still held), `dismiss` only
-- closes questions that leave nothing open. It takes effect when as many different persons as are
-- needed have said the same.
--
-- Answers done, waiting (for another person), illegal or not_found.
create or replace function decide_payout(
  p_account uuid, p_payout uuid, p_id uuid, p_action text, p_by text, p_reason text,
  p_needed integer, p_next_rail text, p_next_payer text, p_journals uuid[]
) returns text
  language plpgsql as $$
declare
  p payouts;
  v_now timestamptz;
  v_alive text;
  v_kinds text[];
  v_asked exceptions;
  v_persons integer;
  v_result text := 'applied';
  v_resolution text := p_action || ' by ' || p_by;
begin
  perform 1 from accounts where id = p_account for update;
  perform 1 from payout_dispatches
  where account_id = p_account and payout_id = p_payout for update;
  select * into p from payouts where account_id = p_account and id = p_payout;
  if not found then return 'not_found'; end if;
  v_now := environment_now();
  select rail into v_alive from attempts
  where account_id = p_account and payout_id = p_payout
    and state in ('sending', 'unknown', 'accepted', 'paid');
  v_kinds := case p_action
    when 'write_off' then array['paid_after_refusal', 'paid_after_return']
    when 'paid' then array['paid_after_refusal', 'amount_differs', 'unknown_outcome', 'parked',
      'recovered']
    when 'not_paid' then array['amount_differs', 'unknown_outcome', 'parked']
    when 'returned' then array['refused_after_payment']
    when 'dismiss' then array['paid_after_refusal', 'accepted_after_refusal', 'paid_after_return',
      'refused_after_payment', 'return_of_unpaid', 'excess_return', 'unmatched', 'rail_missing',
      'overdue', 'report_changed', 'recovered']
    else array[]::text[] end;
  select * into v_asked from exceptions
  where account_id = p_account and payout_id = p_payout and closed_at is null
    and kind = any (v_kinds)
  order by opened_at desc limit 1;
  if not (case p_action
    when 'release' then p.status = 'HOLD'
    when 'refund' then v_alive is null
      and p.status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD', 'ERROR')
    when 'retry' then p.status = 'ERROR' and v_alive is null and p_next_rail is not null
    when 'paid' then p.status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD', 'ERROR')
      and coalesce(v_alive, v_asked.rail) is not null
      and (v_asked.kind is distinct from 'paid_after_refusal'
        or coalesce(v_alive, v_asked.rail) = v_asked.rail)
    when 'not_paid' then p.status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD')
      and v_alive is not null
    when 'returned' then (p.status = 'COMPLETED' and v_asked.id is not null)
      or (p.status = 'CANCELLED' and p.completed_at is not null
        and p.returned_amount < p.destination_amount)
    when 'write_off' then v_asked.id is not null
      and (p.status in ('CANCELLED', 'COMPLETED') or v_alive is null)
    when 'dismiss' then v_asked.id is not null and (p.status in ('PENDING', 'COMPLETED', 'CANCELLED')
      or exists (
        select from payout_dispatches
        where account_id = p_account and payout_id = p_payout and due_at < 'infinity')
      or exists (
        select from exceptions
        where account_id = p_account and payout_id = p_payout and closed_at is null
          and kind <> all (v_kinds)))
    else false end)
    -- While an earlier payer says that it paid, nothing goes out.
    or (p_action in ('release', 'retry') and exists (
      select from exceptions
      where account_id = p_account and payout_id = p_payout and closed_at is null
        and kind in ('paid_after_refusal', 'accepted_after_refusal', 'amount_differs')))
  then
    return 'illegal';
  end if;
  select count(distinct person_key(decided_by)) into v_persons from (
    select decided_by from payout_decisions
    where account_id = p_account and payout_id = p_payout and action = p_action
      and not is_effective and decided_at >= greatest(p.updated_at, v_asked.opened_at)
    union all select p_by
  ) said;
  insert into payout_decisions (account_id, payout_id, id, action, decided_by, reason, is_effective,
    decided_at)
  values (p_account, p_payout, p_id, p_action, p_by, p_reason, v_persons >= p_needed, v_now);
  if v_persons < p_needed then return 'waiting'; end if;

  if p_action = 'paid' and v_alive is null then
    -- Through the rail that says so, whichever it was to go through now.
    if p.status in ('HOLD', 'ERROR') then
      p := move_payout(p, 'PROCESSING', '', null, v_now);
    end if;
    if p.rail <> v_asked.rail then
      perform reroute_payout(p, v_asked.rail, coalesce((
        select payer_key from attempts
        where account_id = p_account and payout_id = p_payout and rail = v_asked.rail
        order by number desc limit 1), p.payer_key), v_now);
    end if;
  end if;
  if p_action in ('paid', 'not_paid', 'returned') then
    -- The questions that this answers, so that they do not stand in its way.
    update exceptions set closed_at = v_now, resolution = v_resolution
    where account_id = p_account and payout_id = p_payout and closed_at is null
      and kind = any (v_kinds);
    v_result := apply_observation(p_account, p_payout, p_id, 'person',
      case p_action when 'not_paid' then 'rejected' else p_action end, 'decided by a person', null,
      null, p_journals, null);
    if v_result <> 'applied' then raise exception 'a decision came out as %', v_result; end if;
  elsif p_action in ('refund', 'write_off') then
    if p.status not in ('CANCELLED', 'COMPLETED') then
      perform move_payout(p, 'CANCELLED', 'decided by a person', p_journals[1], v_now);
      delete from payout_dispatches where account_id = p_account and payout_id = p_payout;
    end if;
    if p_action = 'write_off' then
      perform post_aside(p, 'write_off', v_asked.rail, v_asked.currency, v_asked.amount, v_now);
      update exceptions set closed_at = v_now, resolution = v_resolution
      where account_id = p_account and id = v_asked.id;
    end if;
  elsif p_action in ('release', 'retry') then
    -- Whoever releases a payout says that what a rail had listed is another payment.
    update recovered_payments set result = 'dismissed'
    where result in ('found', 'linked', 'unmatched') and reference in (
      select payment_reference(p_account, p.client_transfer_id, t.try)
      from generate_series(1, 4) t (try))
      and not exists (
        select from attempts
        where account_id = p_account and payout_id = p_payout and reference = recovered_payments.reference);
    insert into payout_dispatches (account_id, payout_id, rail, due_at, is_checked)
    -- What the rules themselves had stopped, they do not stop again; all else they look at.
    values (p_account, p_payout, coalesce(p_next_rail, p.rail), v_now, exists (
      select from exceptions
      where account_id = p_account and payout_id = p_payout and closed_at is null
        and kind in ('screening', 'velocity')))
    on conflict (account_id, payout_id) do update set rail = excluded.rail, due_at = v_now,
      is_checked = payout_dispatches.is_checked or excluded.is_checked, lease_until = null,
      fence = payout_dispatches.fence + 1, tries = 0, faults = 0;
    p := move_payout(p, 'PROCESSING', '', null, v_now);
    if p_action = 'retry' then perform reroute_payout(p, p_next_rail, p_next_payer, v_now); end if;
  else
    update exceptions set closed_at = v_now, resolution = v_resolution
    where account_id = p_account and payout_id = p_payout and closed_at is null
      and kind = any (v_kinds);
  end if;
  return 'done';
end
$$;


-- Moves a committed payout one step, with the postings and the event of that step. The caller holds
-- the account's row. What comes back after completion is posted by `post_return`.
create or replace function move_payout(
  p payouts, p_to text, p_reason text, p_journal uuid, p_at timestamptz
) returns payouts
  language plpgsql as $$
declare
  v_kind text := case
    when p_to = 'COMPLETED' then 'complete'
    when p_to = 'CANCELLED' and p.status <> 'COMPLETED' then 'refund' end;
begin
  update payout_states set status = p_to, status_reason = p_reason, updated_at = p_at,
    completed_at = case when p_to = 'COMPLETED' then p_at else completed_at end
  where account_id = p.account_id and payout_id = p.id and status = p.status;
  if not found then raise exception 'the payout is not %', p.status; end if;
  if v_kind is not null then perform post_journal(p, v_kind, p_journal, p_at); end if;
  -- Questions that this answers.
  if p.status in ('HOLD', 'ERROR') or p_to in ('COMPLETED', 'CANCELLED') then
    update exceptions set closed_at = p_at, resolution = 'the payout went on to ' || p_to
    where account_id = p.account_id and payout_id = p.id and closed_at is null
      and kind in ('unknown_outcome', 'not_sent', 'parked', 'routes_exhausted', 'rail_missing',
        'screening', 'velocity', 'overdue', 'unscheduled', 'recovered');
  end if;
  if p_to = 'CANCELLED' then
    update velocity_entries set is_void = true
    where account_id = p.account_id and payout_id = p.id;
  end if;
  p.status := p_to;
  p.status_reason := p_reason;
  perform payout_event(p, p_at);
  return p;
end
$$;

revoke execute on all functions in schema public from public;
grant execute on function apply_observation to outlay_tenant;
