-- Every payout that has not ended has a next step: a due time, a freeze or an open exception.

-- Whether a payout is due at some time, waits for the end of a freeze, or has an open exception.
create function has_next_step(p_account uuid, p_payout uuid) returns boolean
  language sql stable as $$
  select exists (
    select from payout_dispatches
    where account_id = p_account and payout_id = p_payout
      and (due_at < 'infinity' or frozen_by is not null)
  ) or exists (
    select from exceptions
    where account_id = p_account and payout_id = p_payout and closed_at is null
  );
$$;

-- Schedules the next calls for payouts. One that has not ended keeps its row, with a time unless an
-- exception is open. One that has ended is only queried where a time is given.
create function reschedule_dispatches(
  p_accounts uuid[], p_payouts uuid[], p_due_ats timestamptz[], p_keep_tries boolean[],
  p_at timestamptz
) returns void
  language plpgsql as $$
begin
  with wanted as materialized (
    select r.account_id, r.payout_id, p.rail, r.keeps_tries, a.is_asked,
      case
        when p.status = 'CANCELLED'
          or (p.status = 'COMPLETED' and coalesce(r.due_at, 'infinity') = 'infinity') then null
        when p.status <> 'ERROR' and r.due_at < 'infinity' then r.due_at
        when p.status in ('PROCESSING', 'READY_FOR_PICKUP') and not a.is_asked
          then p_at + interval '15 minutes'
        else 'infinity' end as due_at
    from unnest(p_accounts, p_payouts, p_due_ats, p_keep_tries)
      r (account_id, payout_id, due_at, keeps_tries)
    join payouts p on p.account_id = r.account_id and p.id = r.payout_id
    cross join lateral (
      select exists (
        select from exceptions e
        where e.account_id = r.account_id and e.payout_id = r.payout_id and e.closed_at is null
      ) as is_asked
    ) a
  ), asked as (
    insert into exceptions (account_id, id, payout_id, rail, kind, detail, opened_at)
    select account_id, gen_random_uuid(), payout_id, rail, 'unscheduled',
      'nothing was due and no exception was open', p_at
    from wanted where due_at = 'infinity' and not is_asked
  ), ended as (
    delete from payout_dispatches d using wanted w
    where w.due_at is null and d.account_id = w.account_id and d.payout_id = w.payout_id
  )
  insert into payout_dispatches (account_id, payout_id, rail, due_at, is_checked, tries)
  select w.account_id, w.payout_id, w.rail, w.due_at, true,
    coalesce(case when w.keeps_tries then d.tries end, 0)
  from wanted w
  left join payout_dispatches d on d.account_id = w.account_id and d.payout_id = w.payout_id
  where w.due_at is not null
  on conflict (account_id, payout_id) do update set rail = excluded.rail, due_at = excluded.due_at,
    tries = excluded.tries, lease_until = null, faults = 0, fence = nextval('dispatch_fences'),
    frozen_by = null;
end
$$;

-- Every payout that has not ended is due at some time or has an open exception: checked at the end
-- of each transaction that could violate it.
create function require_next_step() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (
    select from payout_states
    where account_id = old.account_id and payout_id = old.payout_id
      and status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD', 'ERROR')
  ) and not has_next_step(old.account_id, old.payout_id) then
    raise exception 'payout % has not ended and needs a due time or an open exception',
      old.payout_id using errcode = 'check_violation';
  end if;
  return null;
end
$$;

create constraint trigger next_step_kept after delete on payout_dispatches
  deferrable initially deferred for each row execute function require_next_step();
create constraint trigger next_step_due after update of due_at on payout_dispatches
  deferrable initially deferred for each row
  when (new.due_at = 'infinity' and old.due_at < 'infinity') execute function require_next_step();
create constraint trigger next_step_asked after update of closed_at on exceptions
  deferrable initially deferred for each row
  when (old.closed_at is null and new.closed_at is not null and new.payout_id is not null)
  execute function require_next_step();
create constraint trigger next_step_moved after update of status on payout_states
  deferrable initially deferred for each row
  when (new.status in ('READY_FOR_PICKUP', 'HOLD', 'ERROR')
    or (new.status = 'PROCESSING' and old.status <> 'PROCESSING'))
  execute function require_next_step();
