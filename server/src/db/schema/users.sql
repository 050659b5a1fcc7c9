-- A ciphertext after the version of the value that it is bound to, as readers get it.
create function with_version(p_version integer, p_sealed bytea) returns bytea
  language sql immutable parallel safe
  return int4send(p_version) || p_sealed;
grant execute on function with_version to outlay_tenant;

-- A recipient. Personal data is sealed under the user's own key, and so is the client's identifier, which
-- may say who it is; it and e-mail addresses are compared by keyed hashes.
create table users (
  account_id uuid not null references accounts (id),
  id uuid not null,
  internal_id_index bytea not null check (length(internal_id_index) = 32),
  email_index bytea not null check (length(email_index) = 32),
  status text not null default 'ACTIVE' check (status in ('ACTIVE', 'LOCKED', 'DEACTIVE')),
  country text not null check (country ~ '^[A-Z]{3}$'),
  kyc_status text not null default 'none'
    check (kyc_status in ('none', 'pending', 'approved', 'declined')),
  data_key bytea not null,
  -- Of the sealed data, which is bound to it: an older ciphertext under a newer version does not open.
  version integer not null default 1 check (version > 0),
  sealed bytea not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- When the personal data was erased: the key is destroyed then, and nothing of the person is left.
  erased_at timestamptz,
  primary key (account_id, id),
  constraint erased_has_no_key check ((erased_at is not null) = (length(data_key) = 0)),
  constraint users_internal_user_id unique (account_id, internal_id_index),
  constraint users_email unique (account_id, email_index)
);
alter table users enable row level security;
create policy own_account on users using (account_id = current_account());
grant select, insert, update on users to outlay_tenant;

-- An approved identity stays approved: money may have been paid because of it.
create function check_kyc_status_move() returns trigger
  language plpgsql as $$
begin
  if old.kyc_status = 'approved' and new.kyc_status <> 'approved' then
    raise exception 'an approved verification must remain approved'
      using errcode = 'restrict_violation';
  end if;
  return new;
end
$$;

create trigger kyc_status_move before update of kyc_status on users
  for each row execute function check_kyc_status_move();
create trigger approval_is_ours before update on users
  for each row when (new.kyc_status = 'approved' and old.kyc_status <> 'approved')
  execute function refuse_live_tenant();
create trigger never_removed before delete or truncate on users
  for each statement execute function refuse_change('users must not be deleted');

-- The index of recipients by name: keyed hashes of the parts of first and last name and of their
-- beginnings (decision 37).
create table user_names (
  account_id uuid not null,
  term_hash bytea not null check (length(term_hash) = 8),
  user_id uuid not null,
  -- No foreign key to the user: only statements that have just written the user insert.
  primary key (account_id, term_hash, user_id)
);
create index user_names_user on user_names (account_id, user_id);
alter table user_names enable row level security;
create policy own_account on user_names using (account_id = current_account());
grant select, insert, delete on user_names to outlay_tenant;

-- Overwriting the key of a user erases the personal data; its index must not outlive it.
create function forget_user_names() returns trigger
  language plpgsql as $$
begin
  delete from user_names where account_id = new.account_id and user_id = new.id;
  return null;
end
$$;

create trigger erased after update of data_key on users
  for each row when (length(new.data_key) <> length(old.data_key))
  execute function forget_user_names();

-- What an event stores of a user: all of it, with what tells of the person as it is sealed. Events are
-- never changed, so that nothing else of a person may stand in them.
create function user_payload(u users) returns text
  language sql stable
  return json_build_object('status', u.status, 'country', u.country, 'created_at', u.created_at,
    'sealed', encode(with_version(u.version, u.sealed), 'hex'))::text;
grant execute on function user_payload to outlay_tenant;

-- Creates users. Those whose internal id or e-mail address is taken, also by an earlier one of the
-- call, are left out. Users of locked accounts are returned as held. The arrays are parallel, but for
-- the two of names.
create function create_users(
  p_accounts uuid[], p_ids uuid[], p_internal_ids bytea[], p_email_indexes bytea[],
  p_countries text[], p_data_keys bytea[], p_sealed bytea[],
  p_name_users uuid[], p_name_hashes bytea[], p_may_wait boolean
) returns table (ordinal integer, created_at timestamptz, is_held boolean)
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
    select *,
      row_number() over (partition by account_id, internal_id order by ord) as of_internal_id,
      row_number() over (partition by account_id, email_index order by ord) as of_email
    from unnest(p_accounts, p_ids, p_internal_ids, p_email_indexes, p_countries, p_data_keys,
      p_sealed) with ordinality
      as r (account_id, id, internal_id, email_index, country, data_key, sealed, ord)
    where account_id = any (v_locked)
  ), chosen as materialized (
    select * from request r
    where of_internal_id = 1 and of_email = 1
      and not exists (
        select from users u
        where u.account_id = r.account_id and u.internal_id_index = r.internal_id)
      and not exists (
        select from users u where u.account_id = r.account_id and u.email_index = r.email_index)
  ), made as (
    insert into users as u (account_id, id, internal_id_index, email_index, country, data_key,
      sealed, created_at, updated_at)
    select account_id, id, internal_id, email_index, country, data_key, sealed, v_now, v_now
    from chosen
    returning u.id, user_payload(u) as payload
  ), named as (
    insert into user_names (account_id, term_hash, user_id)
    select c.account_id, n.hash, c.id
    from unnest(p_name_users, p_name_hashes) n (user_id, hash)
    join chosen c on c.id = n.user_id
  ), numbered as (
    update accounts a set event_sequence = a.event_sequence + n.count
    from (select account_id, count(*) as count from chosen group by account_id) n
    where a.id = n.account_id
    returning a.id, a.event_sequence - n.count as before
  ), new_events as (
    insert into events (account_id, sequence, month, type, subject_id, payload, detail, created_at)
    select c.account_id, n.before + row_number() over (partition by c.account_id order by c.ord),
      month_of(v_now), 'user.created', c.id, m.payload, '1', v_now
    from chosen c join numbered n on n.id = c.account_id join made m on m.id = c.id
  )
  select ord::integer, v_now, false from chosen
  union all
  select ord::integer, null, true
  from unnest(p_accounts) with ordinality a (account_id, ord)
  where account_id <> all (v_locked);
end
$$;
