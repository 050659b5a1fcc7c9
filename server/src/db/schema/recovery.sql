-- After a restore, rails may have made payments that the database does not know. While a recovery
-- is open, nothing is sent or committed. Every rail lists its payments since, they are matched with
-- payouts, and two named persons release it.

create table recoveries (
  id uuid primary key,
  -- Requested by an operator, or the evidence that the database was restored.
  reason text not null,
  -- From when on rails list their payments.
  since timestamptz not null,
  started_at timestamptz not null,
  -- All rails have listed, or an operator accepted that some cannot.
  listed_at timestamptz,
  released_at timestamptz,
  -- The rails have imported the result, and sending resumes.
  closed_at timestamptz,
  check (released_at is null or listed_at is not null),
  check (closed_at is null or released_at is not null)
);
create unique index recoveries_one_open on recoveries ((true)) where closed_at is null;
alter table recoveries enable row level security;

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
  operator_id uuid not null,
  decided_by text not null check (length(decided_by) between 1 and 100),
  reason text not null check (length(reason) between 1 and 1000),
  decided_at timestamptz not null,
  -- Digest of what the rails had listed (`recovery_subject`): a release counts for exactly that.
  about bytea not null check (length(about) = 32),
  -- Over the row, under a key that the database does not have.
  mac bytea not null check (length(mac) = 36),
  primary key (recovery_id, operator_id, about)
);
alter table recovery_releases enable row level security;

create trigger append_only before delete or truncate
  or update of recovery_id, operator_id, decided_by, reason, decided_at, about
  on recovery_releases
  for each statement execute function refuse_change('decisions are immutable');

-- As `renew_payout_decisions`.
create function renew_recovery_releases(
  p_recoveries uuid[], p_operators uuid[], p_abouts bytea[], p_old bytea[], p_fresh bytea[]
) returns integer
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_count integer;
begin
  update recovery_releases r set mac = n.fresh
  from unnest(p_recoveries, p_operators, p_abouts, p_old, p_fresh)
    n (recovery_id, operator_id, about, old, fresh)
  where r.recovery_id = n.recovery_id and r.operator_id = n.operator_id and r.about = n.about
    and r.mac = n.old;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- Payments that rails listed. They are kept: where a client repeats a payout later, its payment is
-- queried instead of sent again.
create table recovered_payments (
  rail text collate "C" not null,
  -- The reference, or else the counterparty's own number.
  id text collate "C" not null,
  -- 32 hexadecimal digits; empty where the counterparty carries none.
  reference text not null,
  payer_key text not null,
  country text not null,
  currency text not null,
  -- 0 for a transaction without a recipient.
  amount bigint not null check (amount >= 0),
  outcome text not null,
  provider_reference text not null,
  -- SHA-256 of the address on a chain, which carries no reference.
  destination_hash bytea,
  detail text not null,
  happened_at timestamptz not null,
  recovery_id uuid not null references recoveries,
  -- known: it has an attempt. linked: an attempt was added for it. found: its payout is not
  -- committed. unmatched: it has no payout. dismissed: an operator decided that it belongs to
  -- another one.
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

create function is_recovering() returns boolean
  language sql stable as $$
  select exists (select from recoveries where closed_at is null);
$$;

-- Opens a recovery unless one is open. A client learns of it by the event `account.restored`.
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
  -- A day before the latest activity in this database.
  select least(v_now, coalesce(greatest(
    (select max(started_at) from attempts), (select max(committed_at) from payout_states)),
    v_now)) - interval '1 day' into v_since;
  insert into recoveries (id, reason, since, started_at) values (p_id, p_reason, v_since, v_now);
  insert into recovery_rails (recovery_id, rail, state, updated_at)
  select p_id, rail, 'waiting', v_now from unnest(p_rails) r (rail);
  perform skip_lost_events(v_now);
  return query select p_id, true;
end
$$;

-- Makes a payout due that waits for a decision: it is queried, and never sent while an attempt may be in
-- flight. Its decision would otherwise be made without what its rail says.
create function query_held_payout(p_account uuid, p_payout uuid, p_at timestamptz) returns void
  language sql as $$
  update payout_dispatches d set due_at = p_at
  from payout_states s
  where d.account_id = p_account and d.payout_id = p_payout and d.due_at = 'infinity'
    and d.frozen_by is null and s.account_id = p_account and s.payout_id = p_payout
    and s.status = 'HOLD' and exists (
      select from attempts a
      where a.account_id = p_account and a.payout_id = p_payout and a.state = 'unknown');
$$;

-- Matches a payment that a rail listed with a payout. An attempt that was recorded as not sent becomes
-- unknown, so that it is queried. A payout that is under way without an attempt gets one. A payout in any
-- other state, a quote and an unknown reference open an exception; a payment of theirs is not sent again.
create function match_recovered_payment(r recovered_payments, p_at timestamptz) returns void
  language plpgsql as $$
declare
  a attempts;
  q payouts;
  v_exception uuid := gen_random_uuid();
begin
  if r.reference <> '' then
    select * into a from attempts where reference = r.reference and rail = r.rail
    order by number desc limit 1;
    if found then
      select p.* into q from payouts p where p.account_id = a.account_id and p.id = a.payout_id;
    end if;
    if found and (a.state <> 'retry' or q.status <> 'CANCELLED' or r.outcome = 'rejected') then
      update recovered_payments
      set result = 'known', account_id = a.account_id, payout_id = a.payout_id
      where rail = r.rail and id = r.id;
      -- Recorded as not sent, although it was: query it and never send it again.
      update attempts set state = 'unknown', unknown_since = coalesce(unknown_since, p_at)
      where account_id = a.account_id and payout_id = a.payout_id and number = a.number
        and state = 'retry' and not exists (
          select from attempts l
          where l.account_id = a.account_id and l.payout_id = a.payout_id
            and (l.number > a.number or l.state in ('sending', 'unknown', 'accepted', 'paid')));
      perform query_held_payout(a.account_id, a.payout_id, p_at);
      return;
    end if;
    if a.payout_id is null then
      select p.* into q
      from payouts p
      cross join generate_series(1, 4) t (try)
      where p.created_at > r.happened_at - interval '400 days'
        and payment_reference(p.account_id, p.client_transfer_id, t.try) = r.reference
      order by p.committed_at is null, p.created_at desc
      limit 1;
    end if;
  end if;
  if q.status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD') and q.rail = r.rail and not exists (
    select from attempts
    where account_id = q.account_id and payout_id = q.id
      and state in ('sending', 'unknown', 'accepted', 'paid'))
  then
    insert into attempts (account_id, payout_id, number, rail, payer_key, reference, state, fence,
      started_at, unknown_since, provider_reference, referenced_at)
    select q.account_id, q.id, 1 + count(*), r.rail, q.payer_key, r.reference, 'unknown', 0, p_at,
      p_at, r.provider_reference, case when r.provider_reference <> '' then p_at end
    from attempts where account_id = q.account_id and payout_id = q.id;
    perform query_held_payout(q.account_id, q.id, p_at);
    update recovered_payments set result = 'linked', account_id = q.account_id, payout_id = q.id
    where rail = r.rail and id = r.id;
    return;
  end if;
  insert into exceptions (account_id, id, payout_id, rail, kind, detail, currency, amount, opened_at)
  values (coalesce(q.account_id, '00000000-0000-0000-0000-000000000000'), v_exception, q.id, r.rail,
    'recovered', left(concat_ws(', ', r.outcome, nullif('reference ' || r.reference, 'reference '),
      nullif(r.provider_reference, ''), r.detail), 500), r.currency, r.amount, p_at);
  update recovered_payments set exception_id = v_exception, account_id = q.account_id,
    payout_id = q.id, result = case when q.id is null then 'unmatched' else 'found' end
  where rail = r.rail and id = r.id;
end
$$;

-- Stores the payments that a rail listed, and matches them with payouts.
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
begin
  insert into recovered_payments (rail, id, reference, payer_key, country, currency, amount,
    outcome, provider_reference, destination_hash, detail, happened_at, recovery_id, result)
  select p_rail, id, reference, payer_key, country, currency, amount, outcome, provider_reference,
    destination_hash, detail, at, p_recovery, 'unmatched'
  from unnest(p_ids, p_references, p_payer_keys, p_countries, p_currencies, p_amounts, p_outcomes,
    p_provider_references, p_destination_hashes, p_details, p_ats)
    x (id, reference, payer_key, country, currency, amount, outcome, provider_reference,
      destination_hash, detail, at)
  on conflict (rail, id) do nothing;
  -- A payment on a chain is matched by its transaction.
  update recovered_payments x
  set result = 'known', account_id = a.account_id, payout_id = a.payout_id
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
    perform match_recovered_payment(r, v_now);
  end loop;
  update recovery_rails set state = 'listed', detail = '', payments = cardinality(p_ids),
    updated_at = v_now
  where recovery_id = p_recovery and rail = p_rail;
end
$$;

-- The open recovery, locked, and what a release of it is about.
create function open_recovery_release() returns table (id uuid, about bytea)
  language plpgsql as $$
begin
  return query
  select r.id, sha256(convert_to((
    select coalesce(jsonb_agg(jsonb_build_array(l.rail, l.state, l.payments) order by l.rail), '[]')
    from recovery_rails l where l.recovery_id = r.id)::text, 'UTF8'))
  from recoveries r where r.released_at is null and r.closed_at is null for update of r;
end
$$;

-- Records that a person releases the recovery; the second person resumes sending. `p_others`: earlier
-- releases by other persons that the service has verified. Returns waiting, released or not_listed (a
-- rail has not answered).
create function release_recovery(
  p_recovery uuid, p_operator uuid, p_by text, p_reason text, p_about bytea, p_mac bytea,
  p_others integer, p_accepts_unlisted boolean
) returns text
  language plpgsql as $$
declare
  v_now timestamptz := environment_now();
begin
  if exists (
    select from recovery_rails where recovery_id = p_recovery
      and (state in ('waiting') or (state in ('failed', 'cannot_list') and not p_accepts_unlisted)))
  then
    return 'not_listed';
  end if;
  insert into recovery_releases (recovery_id, operator_id, decided_by, reason, decided_at, about, mac)
  values (p_recovery, p_operator, p_by, p_reason, v_now, p_about, p_mac)
  on conflict do nothing;
  if p_others < 1 then return 'waiting'; end if;
  update recoveries set listed_at = v_now, released_at = v_now where id = p_recovery;
  return 'released';
end
$$;
