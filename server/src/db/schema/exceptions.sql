-- What an operator must decide. Exceptions that belong to no account have the nil account.
create table exceptions (
  account_id uuid not null,
  id uuid not null,
  payout_id uuid,
  rail text not null default '',
  -- Which attempt a rail reported about; null where that makes no difference.
  attempt integer,
  kind text not null check (kind in ('unmatched', 'unreadable', 'not_understood',
    'report_missing', 'paid_after_refusal', 'accepted_after_refusal', 'paid_after_return', 'refused_after_payment',
    'return_of_unpaid', 'excess_return', 'amount_differs', 'unknown_outcome', 'not_sent', 'parked',
    'routes_exhausted', 'screening', 'velocity', 'rail_missing', 'overdue', 'unscheduled',
    'report_changed', 'recovered', 'approval', 'price_worse')),
  -- References, codes and our own words; no personal data.
  detail text not null default '',
  currency text,
  amount bigint,
  opened_at timestamptz not null,
  closed_at timestamptz,
  resolution text not null default '',
  problem_id text collate "C",
  -- Of an approval: how many persons must release it, and when it is canceled without.
  approvers smallint check (approvers > 0),
  expires_at timestamptz,
  primary key (account_id, id),
  check ((closed_at is null) = (resolution = '')),
  check ((kind = 'approval') = (approvers is not null and expires_at is not null))
);
create index exceptions_payout on exceptions (payout_id, account_id);
create index exceptions_missing on exceptions (rail)
  where closed_at is null and kind = 'rail_missing';
create unique index exceptions_problem on exceptions (rail, problem_id)
  where problem_id is not null;
create index exceptions_inbound on exceptions (rail)
  where closed_at is null
    and kind in ('unmatched', 'unreadable', 'not_understood', 'report_missing', 'report_changed');
create index exceptions_expiry on exceptions (expires_at)
  where closed_at is null and expires_at is not null;
-- For the operators' list and the gauges.
create index exceptions_open on exceptions (opened_at, id) where closed_at is null;
-- For the lists with closed ones.
create index exceptions_time on exceptions (opened_at, id);
create index exceptions_account on exceptions (account_id, opened_at, id);
create index exceptions_kind on exceptions (kind, opened_at, id);
create index exceptions_rail on exceptions (rail, opened_at, id);
alter table exceptions enable row level security;
create policy own_account on exceptions using (account_id = current_account());
grant select on exceptions to outlay_tenant;

-- What payouts left in suspense, and what operators cleared of it: minor units; negative: written off.
create view suspense_parts with (security_invoker = true) as
select account_id, payout_id, currency, case when resolution like 'write_off by %' then -amount else amount end as amount,
  case when resolution like 'write_off by %' then closed_at else opened_at end as at
from exceptions
where kind in ('paid_after_refusal', 'paid_after_return', 'excess_return', 'return_of_unpaid')
  and (kind = 'excess_return' or resolution = 'written back' or resolution like 'write_off by %')
union all
select account_id, payout_id, currency, amount, booked_at from balance_bookings where kind = 'suspense';

create trigger never_removed before delete or truncate on exceptions
  for each statement execute function refuse_change('exceptions must not be deleted');

-- An open exception is not repeated, unless it is about another attempt; one about money that came back is,
-- because each part (`p_is_part`) is money of its own.
create function open_exception(
  p_account uuid, p_payout uuid, p_rail text, p_kind text, p_detail text, p_currency text,
  p_amount bigint, p_at timestamptz, p_attempt integer default null, p_is_part boolean default false
) returns void
  language sql as $$
  insert into exceptions (account_id, id, payout_id, rail, attempt, kind, detail, currency, amount,
    opened_at)
  select p_account, gen_random_uuid(), p_payout, p_rail, p_attempt, p_kind, p_detail, p_currency,
    p_amount, p_at
  where p_payout is null or p_is_part or not exists (
    select from exceptions
    where account_id = p_account and payout_id = p_payout and kind = p_kind and rail = p_rail
      and attempt is not distinct from p_attempt and closed_at is null);
$$;
