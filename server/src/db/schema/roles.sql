-- Who may do what. The service works for clients as the role outlay_tenant, which sees the rows of
-- one account. Every key begins with the account, so that tenants stay apart and tables can be
-- distributed by account.

-- Roles belong to the server: an administrator or another database may have created this one
-- already. Membership of it is all that is needed.
do $$
begin
  if not exists (select from pg_roles where rolname = 'outlay_tenant') then
    begin
      create role outlay_tenant nologin;
    exception
      when duplicate_object or unique_violation then null;
    end;
  end if;
  -- Since PostgreSQL 16 the creator of a role is a member of it without the right to act as it.
  if not pg_has_role(current_user, 'outlay_tenant',
      case when current_setting('server_version_num')::integer >= 160000 then 'set'
        else 'member' end)
    or (select rolsuper from pg_roles where rolname = current_user)
  then
    execute format('grant outlay_tenant to %I', current_user);
  end if;
end
$$;

grant usage on schema public to outlay_tenant;

-- The account of a tenant connection. Null where none is set, which equals no row.
create function current_account() returns uuid
  language sql stable parallel safe
  return nullif(current_setting('outlay.account', true), '')::uuid;
grant execute on function current_account to outlay_tenant;

-- Whether a tenant connection sent the statement, also inside a security definer function: the role
-- that a connection has set stays the same there.
create function is_tenant() returns boolean
  language sql stable parallel safe
  return current_setting('role', true) = 'outlay_tenant';
grant execute on function is_tenant to outlay_tenant;

-- For security definer functions: a tenant connection may act for its own account only.
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

-- Refuses a change. The argument of the trigger says which rule it breaks.
create function refuse_change() returns trigger
  language plpgsql as $$
begin
  raise exception '%: %', tg_table_name, tg_argv[0] using errcode = 'restrict_violation';
end
$$;
