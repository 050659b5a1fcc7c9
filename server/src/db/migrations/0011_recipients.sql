-- New users and attribute values, many at once: the same rules as for the functions of 0010.

-- A user whose internal id or e-mail address is taken, also by an earlier one of the batch, is left
-- untouched.
create function create_users(
  p_accounts uuid[], p_ids uuid[], p_internal_ids text[], p_email_indexes bytea[],
  p_countries text[], p_data_keys bytea[], p_sealed bytea[], p_metadata text[], p_may_wait boolean
) returns table (ordinal integer, created_at timestamptz, is_held boolean)
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set jit = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_locked uuid[];
begin
  v_locked := lock_accounts(p_accounts, p_may_wait);
  v_now := environment_now();
  return query
  with request as materialized (
    select *,
      row_number() over (partition by account_id, internal_id order by ord) as of_internal_id,
      row_number() over (partition by account_id, email_index order by ord) as of_email
    from unnest(p_accounts, p_ids, p_internal_ids, p_email_indexes, p_countries, p_data_keys,
      p_sealed, p_metadata) with ordinality
      as r (account_id, id, internal_id, email_index, country, data_key, sealed, metadata, ord)
    where account_id = any (v_locked)
  ), chosen as materialized (
    select * from request r
    where of_internal_id = 1 and of_email = 1
      and not exists (
        select from users u
        where u.account_id = r.account_id and u.internal_user_id = r.internal_id)
      and not exists (
        select from users u where u.account_id = r.account_id and u.email_index = r.email_index)
  ), made as (
    insert into users (account_id, id, internal_user_id, email_index, country, data_key, sealed,
      metadata, created_at, updated_at)
    select account_id, id, internal_id, email_index, country, data_key, sealed, metadata, v_now,
      v_now
    from chosen
  ), counted as (
    update accounts a set event_sequence = a.event_sequence + n.count
    from (select account_id, count(*) as count from chosen group by account_id) n
    where a.id = n.account_id
    returning a.id, a.event_sequence - n.count as before
  ), told as (
    insert into events (account_id, sequence, month, type, subject_id, payload, created_at)
    select c.account_id, n.before + row_number() over (partition by c.account_id order by c.ord),
      month_of(v_now), 'user.created', c.id,
      json_build_object('user_token', 'usr_' || c.id, 'status', 'ACTIVE')::text, v_now
    from chosen c join counted n on n.id = c.account_id
  )
  select ord::integer, v_now, false from chosen
  union all
  select ord::integer, null, true
  from unnest(p_accounts) with ordinality a (account_id, ord)
  where account_id <> all (v_locked);
end
$$;

-- Stores values of a user for a destination: a set of equal values is touched and given back, others
-- become a new set, under the id that their sealing is bound to. A caller sends one per user and
-- destination at a time.
create function store_attribute_sets(
  p_accounts uuid[], p_users uuid[], p_destinations uuid[], p_currencies text[], p_ids uuid[],
  p_profile_versions text[], p_fingerprints bytea[], p_sealed bytea[], p_are_complete boolean[],
  p_may_wait boolean
) returns table (ordinal integer, set_id uuid, is_held boolean)
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set jit = off
  as $$
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
  ), counted as (
    update accounts a set event_sequence = a.event_sequence + n.count
    from (select account_id, count(*) as count from request where equal_id is null
      group by account_id) n
    where a.id = n.account_id
    returning a.id, a.event_sequence - n.count as before
  ), told as (
    insert into events (account_id, sequence, month, type, subject_id, payload, created_at)
    select r.account_id, n.before + row_number() over (partition by r.account_id order by r.ord),
      month_of(v_now), 'attributes.stored', r.id,
      json_build_object('attr_set_token', 'attr_set_' || r.id, 'user_token', 'usr_' || r.user_id,
        'version', 1)::text, v_now
    from request r join counted n on n.id = r.account_id
    where r.equal_id is null
  )
  select ord::integer, coalesce(equal_id, id), false from request
  union all
  select ord::integer, null, true
  from unnest(p_accounts) with ordinality a (account_id, ord)
  where account_id <> all (v_locked);
end
$$;
revoke execute on function create_users, store_attribute_sets from public;
