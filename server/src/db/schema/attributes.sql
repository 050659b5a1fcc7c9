-- What destinations require of a recipient: a set for each destination and currency, its values in
-- versions that never change.
create table attribute_sets (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  destination_token uuid not null,
  currency text not null,
  latest_version integer not null default 0,
  touched_at timestamptz not null,
  created_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users (account_id, id)
);
create index attribute_sets_owner
  on attribute_sets (account_id, user_id, destination_token, currency);
alter table attribute_sets enable row level security;
create policy own_account on attribute_sets using (account_id = current_account());
grant select, insert, update on attribute_sets to outlay_tenant;

create table attribute_set_versions (
  account_id uuid not null,
  set_id uuid not null,
  version integer not null check (version > 0),
  profile_version text not null,
  fingerprint bytea not null check (length(fingerprint) = 32),
  sealed bytea not null,
  is_complete boolean not null,
  created_at timestamptz not null,
  primary key (account_id, set_id, version),
  foreign key (account_id, set_id) references attribute_sets (account_id, id)
);
alter table attribute_set_versions enable row level security;
create policy own_account on attribute_set_versions using (account_id = current_account());
grant select, insert on attribute_set_versions to outlay_tenant;

create trigger append_only before delete or truncate
  or update of account_id, set_id, version, profile_version, sealed, is_complete, created_at
  on attribute_set_versions
  for each statement execute function refuse_change('versions are immutable');

-- Stores the fingerprints of values that were computed again, with another index key.
create function renew_attribute_fingerprints(
  p_accounts uuid[], p_sets uuid[], p_versions integer[], p_fresh text[]
) returns void
  language sql security definer set search_path = public, pg_temp as $$
  update attribute_set_versions v set fingerprint = decode(n.fresh, 'hex')
  from unnest(p_accounts, p_sets, p_versions, p_fresh) n (account_id, set_id, version, fresh)
  where v.account_id = n.account_id and v.set_id = n.set_id and v.version = n.version;
$$;

-- Stores values of users for destinations. A set with equal values is touched and reused; other
-- values become a new set under the given id, to which their sealing is bound. A call may hold one
-- set for each user and destination.
create function store_attribute_sets(
  p_accounts uuid[], p_users uuid[], p_destinations uuid[], p_currencies text[], p_ids uuid[],
  p_profile_versions text[], p_fingerprints bytea[], p_sealed bytea[], p_are_complete boolean[],
  p_may_wait boolean
) returns table (ordinal integer, set_id uuid, is_held boolean)
  language plpgsql as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_locked uuid[];
begin
  v_locked := lock_accounts(p_accounts, p_may_wait);
  v_now := environment_now();
  return query
  with request as materialized (
    select r.*, equal.id as equal_id
    from unnest(p_accounts, p_users, p_destinations, p_currencies, p_ids, p_profile_versions,
      p_fingerprints, p_sealed, p_are_complete) with ordinality
      as r (account_id, user_id, destination_token, currency, id, profile_version, fingerprint,
        sealed, is_complete, ord)
    left join lateral (
      select s.id from attribute_sets s
      join attribute_set_versions v
        on v.account_id = s.account_id and v.set_id = s.id and v.version = s.latest_version
      where s.account_id = r.account_id and s.user_id = r.user_id
        and s.destination_token = r.destination_token and s.currency = r.currency
        and v.fingerprint = r.fingerprint
      order by s.touched_at desc limit 1
    ) equal on true
    where r.account_id = any (v_locked)
  ), touched as (
    update attribute_sets s set touched_at = v_now from request r
    where s.account_id = r.account_id and s.id = r.equal_id
  ), made as (
    insert into attribute_sets (account_id, id, user_id, destination_token, currency,
      latest_version, touched_at, created_at)
    select account_id, id, user_id, destination_token, currency, 1, v_now, v_now
    from request where equal_id is null
  ), versions as (
    insert into attribute_set_versions (account_id, set_id, version, profile_version, fingerprint,
      sealed, is_complete, created_at)
    select account_id, id, 1, profile_version, fingerprint, sealed, is_complete, v_now
    from request where equal_id is null
  ), numbered as (
    update accounts a set event_sequence = a.event_sequence + n.count
    from (select account_id, count(*) as count from request where equal_id is null
      group by account_id) n
    where a.id = n.account_id
    returning a.id, a.event_sequence - n.count as before
  ), new_events as (
    insert into events (account_id, sequence, month, type, subject_id, payload, detail, created_at)
    select r.account_id, n.before + row_number() over (partition by r.account_id order by r.ord),
      month_of(v_now), 'attributes.stored', r.id, json_build_object('version', 1)::text, '1', v_now
    from request r join numbered n on n.id = r.account_id
    where r.equal_id is null
  )
  select ord::integer, coalesce(equal_id, id), false from request
  union all
  select ord::integer, null, true
  from unnest(p_accounts) with ordinality a (account_id, ord)
  where account_id <> all (v_locked);
end
$$;

-- The attribute set that a quote is stored with: the one that it names, else the newest complete one of
-- its destination and currency, else the newest one. A set that was stored in part must not hide
-- complete details.
create function find_attribute_set(
  p_account uuid, p_user uuid, p_destination uuid, p_currency text, p_named uuid
) returns table (set_id uuid, version integer)
  language sql stable rows 1 as $$
  select s.id, s.latest_version
  from attribute_sets s
  left join attribute_set_versions l
    on l.account_id = s.account_id and l.set_id = s.id and l.version = s.latest_version
  where s.account_id = p_account and s.user_id = p_user and s.destination_token = p_destination
    and s.currency = p_currency and (p_named is null or s.id = p_named)
  order by coalesce(l.is_complete, false) desc, s.touched_at desc, s.id desc
  limit 1;
$$;
grant execute on function find_attribute_set to outlay_tenant;
