-- Last: what the service may do. It works as outlay_service, which reads and writes the rows of all
-- accounts, but owns nothing: it can neither change the schema nor switch a trigger off, and what is
-- append-only it can only append to. A process that only serves requests needs no more than outlay_api,
-- and one that only does background work no more than outlay_worker. A login needs nothing but
-- membership of one of the three and of outlay_tenant; outlay_reader reads, for commands that only
-- read, and for reports.
do $$
declare
  v_role text;
begin
  foreach v_role in array
    array['outlay_service', 'outlay_api', 'outlay_worker', 'outlay_reader']
  loop
    if not exists (select from pg_roles where rolname = v_role) then
      begin
        execute format('create role %I nologin', v_role);
      exception
        when duplicate_object or unique_violation then null;
      end;
    end if;
  end loop;
end
$$;

-- What one task never does. The worker reads messages of counterparties and recipients: it creates no
-- credentials or operators, makes no decision of a person and funds no balance. (Policies it stores, where it is the first
-- process of a new environment; what makes them count is their code.) The API makes no pass over a rail, sends
-- no notices or webhooks, and removes no month of the past.
-- Reports need no passwords, sessions, tokens or signing secrets, hashed or sealed as they are.
create function restrict_tasks() returns void
  language plpgsql as $$
begin
  revoke insert, update, delete on credentials, operators, operator_logins, operator_sessions,
    operator_links, login_attempts, approvals, approval_policies, account_limits, account_senders,
    balance_bookings, payout_decisions, freezes, legal_holds, screening_clearances, webhook_secrets
    from outlay_worker;
  revoke insert on accounts, access_tokens, webhook_endpoints from outlay_worker;
  revoke execute on function fund_balance, book_balance, set_approval_policy, create_freeze, lift_freeze,
    set_recipient_lock, propose_payout, decide_proposal, replace_credential, decide_payout,
    release_recovery, set_brand from outlay_worker;
  -- The keys of the environment are replaced by a command. What processes do is store the first ones.
  revoke update on environment_keys from outlay_worker, outlay_api;
  revoke execute on function renew_payout_decisions, renew_recovery_releases, renew_webhook_deliveries,
    renew_attribute_fingerprints, renew_screening_subjects, renew_clearance_subjects,
    renew_payout_subjects, renew_balance_bookings, renew_audit_entries,
    renew_observations
    from outlay_worker, outlay_api;
  revoke insert, update, delete on credential_warnings, rail_passes, webhook_deliveries, screening_rounds
    from outlay_api;
  revoke update, delete on notices from outlay_api;
  revoke execute on function warn_of_expiry, expire_proposals, drop_month from outlay_api;
  revoke select on operator_logins, operator_links, operator_sessions, login_attempts, access_tokens,
    webhook_secrets from outlay_reader;
end
$$;

-- Grants and policies of every table, of those too that a later migration adds and that a restore on
-- another server lost. Row-level security applies to the owner as well, for whom there is a policy.
create function protect_tables() returns void
  language plpgsql as $$
declare
  r record;
begin
  grant usage on schema public to outlay_service, outlay_api, outlay_worker, outlay_reader;
  for r in
    select c.relname as name, c.relrowsecurity as is_secured,
      pg_get_userbyid(c.relowner) as owner,
      guards.refused & 16 = 16 as is_append_only, guards.refused & 8 = 8 as is_kept
    from pg_class c
    cross join lateral (
      -- What triggers refuse for every row: 8 is the bit of delete, 16 that of update.
      select coalesce(bit_or(t.tgtype), 0) as refused from pg_trigger t
      where t.tgrelid = c.oid and t.tgname in ('append_only', 'never_removed', 'never_emptied')
        and t.tgqual is null
    ) guards
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v')
      and not c.relispartition and c.relname <> 'migrations'
  loop
    execute format('grant select on %I to outlay_reader', r.name);
    execute format('revoke all on %I from outlay_service, outlay_api, outlay_worker', r.name);
    execute format(
      'grant select, insert%s%s on %I to outlay_service, outlay_api, outlay_worker',
      case when r.is_append_only then '' else ', update' end,
      case when r.is_kept then '' else ', delete' end, r.name);
    -- The others hold no rows of accounts, and tenants read them all.
    continue when not r.is_secured;
    execute format('alter table %I force row level security', r.name);
    execute format('drop policy if exists service on %I', r.name);
    execute format(
      'create policy service on %I to outlay_service, outlay_api, outlay_worker using (true)',
      r.name);
    execute format('drop policy if exists reader on %I', r.name);
    execute format('create policy reader on %I for select to outlay_reader using (true)', r.name);
    execute format('drop policy if exists owner on %I', r.name);
    execute format('create policy owner on %I to %I using (true)', r.name, r.owner);
  end loop;
  -- Old events go with their month.
  revoke delete on events from outlay_service, outlay_api, outlay_worker;
  grant execute on all functions in schema public to outlay_service, outlay_api, outlay_worker;
  grant usage on all sequences in schema public to outlay_service, outlay_api, outlay_worker;
  -- Those that views and reading statements call, with the rights of their caller.
  for r in
    select f.oid::regprocedure as name from pg_proc f
    where f.pronamespace = 'public'::regnamespace and f.prokind = 'f' and not f.prosecdef
      and (f.provolatile <> 'v' or f.proname in ('environment_now', 'hold_index_key'))
  loop
    execute format('grant execute on function %s to outlay_reader', r.name);
  end loop;
  revoke execute on function protect_tables, restrict_tasks
    from outlay_service, outlay_api, outlay_worker;
  perform restrict_tasks();
  if to_regclass('migrations') is not null then
    grant select on migrations to outlay_service, outlay_api, outlay_worker, outlay_reader;
  end if;
end
$$;

-- What only the owner of a table may do, for the service's own upkeep.
create function analyze_screening() returns void
  language sql security definer set search_path = public, pg_temp as $$
  analyze screening_entries, screening_names, screening_words, screening_wallets;
$$;

-- Drops a partition of a month past its retention.
create function drop_month(p_name text) returns void
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if p_name !~ '^(events|notices|webhook_deliveries|idempotency_records)_\d{4}_\d{2}$' then
    raise exception 'no partition of a month: %', p_name using errcode = 'invalid_parameter_value';
  end if;
  execute format('drop table if exists %I', p_name);
end
$$;

revoke execute on all functions in schema public from public;
select protect_tables();
