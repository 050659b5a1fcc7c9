-- Erasure of a person's data. The key of the person is destroyed, which makes all that is sealed under
-- it unreadable; what is sealed under the environment's keys is emptied. Ledger, states and chains stay.

-- Keeps a person's data until its end, even if an erasure is requested.
create table legal_holds (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  reason text not null check (length(reason) between 1 and 1000),
  placed_by text not null check (length(placed_by) between 1 and 200),
  placed_at timestamptz not null,
  until timestamptz not null check (until > placed_at),
  -- Ended before its time.
  ended_by text check (length(ended_by) between 1 and 200),
  ended_at timestamptz,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users (account_id, id),
  check ((ended_by is null) = (ended_at is null))
);
create index legal_holds_user on legal_holds (user_id);
create index legal_holds_time on legal_holds (placed_at, id);
create index legal_holds_open on legal_holds (placed_at, id) where ended_at is null;
alter table legal_holds enable row level security;
create policy own_account on legal_holds using (account_id = current_account());
create trigger never_removed before delete or truncate on legal_holds
  for each statement execute function refuse_change('legal holds must not be deleted');
create trigger fixed_hold before update of account_id, id, user_id, reason, placed_by, placed_at, until
  on legal_holds
  for each statement execute function refuse_change('a legal hold can only be ended');

create table erasures (
  account_id uuid not null,
  user_id uuid not null,
  actor text not null check (length(actor) between 1 and 400),
  reason text not null check (length(reason) between 1 and 1000),
  erased_at timestamptz not null,
  -- When the rows of batch files were emptied too.
  completed_at timestamptz,
  primary key (account_id, user_id),
  foreign key (account_id, user_id) references users (account_id, id)
);
create index erasures_unfinished on erasures (erased_at) where completed_at is null;
alter table erasures enable row level security;
create policy own_account on erasures using (account_id = current_account());
create trigger never_removed before delete or truncate on erasures
  for each statement execute function refuse_change('erasures must not be deleted');

-- Empties what rails hold about payments to a user. Messages are emptied whole, also where they report
-- on several payments: their reports are applied and stay.
create function empty_rail_copies(p_account uuid, p_user uuid) returns void
  language plpgsql as $$
declare
  v_rails text[];
  v_references text[];
begin
  select array_agg(a.rail), array_agg(f.reference)
  into v_rails, v_references
  from (
    select distinct a.rail, a.reference
    from payout_quotes q
    join attempts a on a.account_id = q.account_id and a.payout_id = q.id
    where q.account_id = p_account and q.user_id = p_user
  ) a
  -- As rails encode it (`rails/contract/references.ts`).
  cross join lateral (values (a.reference), (a.reference::uuid::text)) f (reference);
  update rail_records r set sealed = '', revision = r.revision + 1
  from unnest(v_rails, v_references) p (rail, reference)
  where r.rail = p.rail and r.reference = p.reference and length(r.sealed) > 0;
  update rail_messages m set sealed = ''
  from unnest(v_rails, v_references) p (rail, reference)
  join rail_observations o on o.rail = p.rail and o.reference = p.reference
  where m.rail = o.rail and m.id = o.message_id and length(m.sealed) > 0;
end
$$;

-- Keyed hashes of what is erased: whoever has the index key could test guesses with them. They match nothing
-- from now on.
create function end_hashes_of_user(p_account uuid, p_user uuid) returns void
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform 1 from users
  where account_id = p_account and id = p_user and erased_at is not null;
  if not found then raise exception 'the user is not erased'; end if;
  update attribute_set_versions v set fingerprint = sha256(uuid_send(gen_random_uuid()))
  from attribute_sets s
  where s.account_id = p_account and s.user_id = p_user
    and v.account_id = s.account_id and v.set_id = s.id;
  update screenings set subject_index = sha256(uuid_send(gen_random_uuid()))
  where account_id = p_account and user_id = p_user;
  update screening_clearances set subject_index = sha256(uuid_send(gen_random_uuid()))
  where account_id = p_account and user_id = p_user;
  -- By the payouts: these tables have no index by user.
  update payout_screenings s set subject_index = sha256(uuid_send(gen_random_uuid()))
  from payout_quotes q
  where q.account_id = p_account and q.user_id = p_user
    and s.account_id = q.account_id and s.payout_id = q.id;
  update screening_opinions o set subject_index = sha256(uuid_send(gen_random_uuid()))
  from payout_quotes q
  where q.account_id = p_account and q.user_id = p_user
    and o.account_id = q.account_id and o.payout_id = q.id;
end
$$;

-- Erases a user: `erased`; `already`: it was, at p_at; `held`: until p_until; `open_payouts`: not before
-- all payouts of the user have ended; `not_found`.
create function erase_user(
  p_account uuid, p_user uuid, p_actor text, p_reason text, out result text, out at timestamptz
)
  language plpgsql as $$
declare
  v_user users;
begin
  perform lock_accounts(array[p_account], true);
  select * into v_user from users u
  where u.account_id = p_account and u.id = p_user for update;
  if not found then
    result := 'not_found';
    return;
  end if;
  at := v_user.erased_at;
  if at is not null then
    result := 'already';
    return;
  end if;
  select max(h.until) into at from legal_holds h
  where h.account_id = p_account and h.user_id = p_user and h.ended_at is null
    and h.until > (select environment_now());
  if at is not null then
    result := 'held';
    return;
  end if;
  if exists (
    select from payout_quotes q
    join payout_states s on s.account_id = q.account_id and s.payout_id = q.id
    join payout_statuses t on t.status = s.status
    where q.account_id = p_account and q.user_id = p_user and (not t.has_ended or exists (
      select from payout_dispatches d
      where d.account_id = s.account_id and d.payout_id = s.payout_id)))
  then
    result := 'open_payouts';
    return;
  end if;
  at := environment_now();
  -- The trigger `erased` removes the index of the name.
  update users u
  set data_key = '', sealed = '', status = 'DEACTIVE', erased_at = at,
    internal_id_index = sha256(uuid_send(gen_random_uuid())),
    email_index = sha256(uuid_send(gen_random_uuid())), updated_at = at
  where u.account_id = p_account and u.id = p_user;
  perform end_hashes_of_user(p_account, p_user);
  perform empty_rail_copies(p_account, p_user);
  perform revoke_recipient_links(p_account, p_user, at);
  insert into erasures (account_id, user_id, actor, reason, erased_at)
  values (p_account, p_user, p_actor, p_reason, at);
  perform write_event(p_account, 'user.erased', p_user,
    json_build_object('status', 'DEACTIVE', 'erased_at', at)::text, at);
  result := 'erased';
end
$$;
