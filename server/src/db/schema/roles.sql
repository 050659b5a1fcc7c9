-- The ground: the environment and its clock, accounts and credentials, users, the ledger,
-- events and idempotency records. Every key begins with the account, so that tenants stay
-- apart and the tables can be distributed by account.

-- Roles belong to the whole server: an administrator, or another database of it, may have made
-- this one already; then being a member of it is enough.
do $$
begin
  if not exists (select from pg_roles where rolname = 'outlay_tenant') then
    begin
      create role outlay_tenant nologin;
    exception
      when duplicate_object or unique_violation then null;
    end;
  end if;
  -- From 16 on, who makes a role is a member of it without the right to act as it.
  if not pg_has_role(current_user, 'outlay_tenant',
      case when current_setting('server_version_num')::integer >= 160000 then 'set' else 'member' end)
    or (select rolsuper from pg_roles where rolname = current_user)
  then
    execute format('grant outlay_tenant to %I', current_user);
  end if;
end
$$;

grant usage on schema public to outlay_tenant;

-- The account of a tenant connection; null where none is set, which no row equals.
create function current_account() returns uuid
  language sql stable parallel safe
  return nullif(current_setting('outlay.account', true), '')::uuid;
grant execute on function current_account to outlay_tenant;

-- Whether the statement comes from a tenant connection, also inside a function that runs with the
-- owner's rights: the role that a connection has set stays what it is.
create function is_tenant() returns boolean
  language sql stable parallel safe
  return current_setting('role', true) = 'outlay_tenant';
grant execute on function is_tenant to outlay_tenant;

-- For functions that run with the owner's rights: a tenant connection acts for its account only.
create function require_own_account(p_account uuid) returns void
  language plpgsql stable as $$
begin
  if is_tenant() and current_account() is distinct from p_account then
    raise exception 'the connection belongs to another account'
      using errcode = 'insufficient_privilege';
  end if;
end
$$;
grant execute on function require_own_account to outlay_tenant;

-- What a trigger refuses; its argument says why.
create function refuse_change() returns trigger
  language plpgsql as $$
begin
  raise exception '%: %', tg_table_name, tg_argv[0] using errcode = 'restrict_violation';
end
$$;
