-- Outcomes that a client of the sandbox scripted. Empty in live.
create table sandbox_scripts (
  account_id uuid not null,
  payout_id uuid not null,
  outcome text not null
    check (outcome in ('ready_for_pickup', 'completed', 'rejected', 'returned', 'unknown')),
  created_at timestamptz not null,
  primary key (account_id, payout_id)
);
-- The simulated network looks payouts up by id alone.
create index sandbox_scripts_payout on sandbox_scripts (payout_id);

-- Scripts the outcome of a payout at the simulated network. An answer that is under way was given
-- without the script, so it is recorded first.
create function script_sandbox_payout(p_account uuid, p_payout uuid, p_outcome text) returns void
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform require_own_account(p_account);
  if (select name from environment) <> 'staging' then
    raise exception 'outcomes may be scripted in the sandbox only'
      using errcode = 'insufficient_privilege';
  end if;
  perform wait_for_claim(p_account, p_payout);
  insert into sandbox_scripts (account_id, payout_id, outcome, created_at)
  values (p_account, p_payout, p_outcome, environment_now())
  on conflict (account_id, payout_id) do update
    set outcome = excluded.outcome, created_at = excluded.created_at;
end
$$;
grant execute on function script_sandbox_payout to outlay_tenant;
