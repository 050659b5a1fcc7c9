-- Which payouts wait for the approval of persons before they are sent. The rules are data
-- (approvals/approval-rules.ts); the service judges payouts by them and holds those that match.

create table approval_policies (
  -- The nil account: for the payouts of every account, besides its own policy.
  account_id uuid not null,
  version integer not null check (version > 0),
  -- JSON.
  content text not null,
  has_rules boolean not null,
  set_by text not null check (length(set_by) between 1 and 100),
  reason text not null check (length(reason) between 1 and 1000),
  set_at timestamptz not null,
  -- When a newer version took its place.
  replaced_at timestamptz,
  -- Over the row, so that one that was written past the service is noticed.
  mac bytea not null check (length(mac) = 36),
  primary key (account_id, version)
);
create unique index approval_policies_in_force on approval_policies (account_id)
  where replaced_at is null;
alter table approval_policies enable row level security;
create policy own_account on approval_policies using (
  account_id in (current_account(), '00000000-0000-0000-0000-000000000000'));
grant select on approval_policies to outlay_tenant;

create trigger never_removed before delete or truncate on approval_policies
  for each statement execute function refuse_change('approval policies must not be deleted');
-- Its code is replaced with the keys of the environment.
create trigger fixed_policy before update of account_id, version, content, has_rules, set_by, reason,
  set_at on approval_policies
  for each statement execute function refuse_change('approval policies are immutable');

-- Processes remember with each credential whether its payouts are judged.
create trigger advance_revision after insert on approval_policies
  for each statement execute function advance_credential_revision();

create function has_approval_rules(p_account uuid) returns boolean
  language sql stable
  return exists (
    select from approval_policies
    where account_id in (p_account, '00000000-0000-0000-0000-000000000000')
      and replaced_at is null and has_rules);
grant execute on function has_approval_rules to outlay_tenant;

-- Replaces the policy of an account. Answers the version, or null where `p_version` is taken.
create function set_approval_policy(
  p_account uuid, p_version integer, p_content text, p_has_rules boolean, p_by text, p_reason text,
  p_mac bytea
) returns integer
  language plpgsql as $$
declare
  v_last integer;
begin
  perform pg_advisory_xact_lock(hashtext('approval_policies'), hashtext(p_account::text));
  select coalesce(max(version), 0) into v_last from approval_policies where account_id = p_account;
  if p_version <> v_last + 1 then return null; end if;
  update approval_policies set replaced_at = environment_now()
  where account_id = p_account and replaced_at is null;
  insert into approval_policies (account_id, version, content, has_rules, set_by, reason, set_at, mac)
  values (p_account, p_version, p_content, p_has_rules, p_by, p_reason, environment_now(), p_mac);
  return p_version;
end
$$;

-- Holds a payout that was not sent yet until persons have approved it. `p_fence`: of the claim under
-- which it was judged; null with its commit. Answers whether it waits for approval.
create function hold_for_approval(
  p_account uuid, p_payout uuid, p_fence bigint, p_detail text, p_approvers integer,
  p_seconds integer
) returns boolean
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_payout payouts;
  v_now timestamptz;
begin
  perform require_own_account(p_account);
  perform 1 from accounts where id = p_account for update;
  v_now := environment_now();
  perform 1 from payout_dispatches
  where account_id = p_account and payout_id = p_payout and fence = coalesce(p_fence, fence)
  for update;
  if not found then return false; end if;
  select * into v_payout from payouts where account_id = p_account and id = p_payout;
  -- A commit that is repeated, or that a process has taken up since, changes nothing.
  if v_payout.status <> 'PROCESSING' or exists (
    select from attempts
    where account_id = p_account and payout_id = p_payout
      and state in ('sending', 'unknown', 'accepted', 'paid'))
  then
    return exists (
      select from exceptions
      where account_id = p_account and payout_id = p_payout and kind = 'approval'
        and closed_at is null);
  end if;
  update payout_dispatches
  set due_at = 'infinity', lease_until = null, tries = 0, faults = 0, frozen_by = null
  where account_id = p_account and payout_id = p_payout;
  perform move_payout(v_payout, 'HOLD', 'waits for approval', v_now);
  insert into exceptions (account_id, id, payout_id, rail, kind, detail, currency, amount, opened_at,
    approvers, expires_at)
  values (p_account, gen_random_uuid(), p_payout, v_payout.rail, 'approval', p_detail,
    v_payout.destination_currency, v_payout.destination_amount, v_now, p_approvers,
    v_now + p_seconds * interval '1 second');
  return true;
end
$$;
grant execute on function hold_for_approval to outlay_tenant;

-- When the next payout is canceled because it was not approved in time. Not one that its rail has listed
-- in a recovery, which may be paid, and none while a recovery is open.
create function find_next_approval_expiry() returns exceptions
  language plpgsql stable as $$
declare
  v_next exceptions;
begin
  if is_recovering() then return null; end if;
  select * into v_next from exceptions e
  where e.expires_at is not null and e.closed_at is null and not exists (
    select from attempts a
    where a.account_id = e.account_id and a.payout_id = e.payout_id
      and a.state in ('sending', 'unknown', 'accepted', 'paid'))
  order by e.expires_at limit 1;
  return v_next;
end
$$;

-- Cancels one payout that was not approved in time, and gives its money back. Answers whether there was
-- one; one in each transaction, which locks one account.
create function expire_approval() returns boolean
  language plpgsql as $$
declare
  e exceptions := find_next_approval_expiry();
  v_now timestamptz := environment_now();
  v_payout payouts;
begin
  if e.expires_at is null or e.expires_at > v_now then return false; end if;
  perform 1 from accounts where id = e.account_id for update;
  perform 1 from payout_dispatches
  where account_id = e.account_id and payout_id = e.payout_id for update;
  v_now := environment_now();
  perform 1 from exceptions
  where account_id = e.account_id and id = e.id and closed_at is null;
  -- Decided meanwhile.
  if not found then return true; end if;
  select * into v_payout from payouts where account_id = e.account_id and id = e.payout_id;
  perform move_payout(v_payout, 'CANCELLED', 'not approved in time', v_now);
  delete from payout_dispatches where account_id = e.account_id and payout_id = e.payout_id;
  return true;
end
$$;
