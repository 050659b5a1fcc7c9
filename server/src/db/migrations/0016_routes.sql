-- Payouts through more than one rail: which one has it now, why, what came back in parts, what it
-- cost, and what only a person can decide.

-- Where a payout goes is a part of its state: it begins as quoted (null) and may be changed while
-- nothing of it is alive anywhere.
alter table payout_states
  add column rail text,
  add column payer_key text,
  -- Of the destination's minor units; more than was paid never counts.
  add column returned_amount bigint not null default 0 check (returned_amount >= 0),
  -- What came back in all by a rail's answers, and by what it told part by part: the same money, told
  -- in two ways, so that the larger one counts.
  add column returned_told bigint not null default 0 check (returned_told >= 0),
  add column returned_heard bigint not null default 0 check (returned_heard >= 0),
  add constraint whole_route check ((rail is null) = (payer_key is null));

update payout_states s set returned_amount = q.destination_amount,
  returned_told = q.destination_amount
from payout_quotes q
where q.account_id = s.account_id and q.id = s.payout_id
  and s.status = 'CANCELLED' and s.completed_at is not null;

create or replace view payouts with (security_invoker = true) as
select q.account_id, q.id, q.user_id, coalesce(s.status, 'PENDING') as status,
  coalesce(s.status_reason, '') as status_reason, q.client_transfer_id, q.source_token,
  q.source_currency, q.source_amount, q.fee, q.destination_token, q.destination_currency,
  q.destination_amount, q.exchange_rate, q.rounding_nano, coalesce(s.rail, q.rail) as rail,
  coalesce(s.payer_key, q.payer_key) as payer_key, q.payer_name, q.delivery_type, q.country,
  case when s.payout_id is null then q.attr_set_id else s.attr_set_id end as attr_set_id,
  case when s.payout_id is null then q.attr_version else s.attr_version end as attr_version,
  q.needs_attributes, q.needs_verification, q.notify_user, q.metadata,
  coalesce(s.pickup_code, '') as pickup_code, q.created_at, q.expires_at,
  q.estimated_availability, s.committed_at, s.completed_at,
  coalesce(s.updated_at, q.created_at) as updated_at,
  coalesce(s.returned_amount, 0) as returned_amount, coalesce(s.returned_told, 0) as returned_told,
  coalesce(s.returned_heard, 0) as returned_heard
from payout_quotes q
left join payout_states s on s.account_id = q.account_id and s.payout_id = q.id;

-- A queue for each rail, so that one that is slow or cannot be reached is nobody else's trouble.
alter table payout_dispatches
  add column rail text,
  -- Whether the rules that come before the first sending let it pass.
  add column is_checked boolean not null default false,
  -- How often working on it failed in a row for reasons of ours.
  add column faults integer not null default 0;
update payout_dispatches d set rail = p.rail, is_checked = true
from payouts p where p.account_id = d.account_id and p.id = d.payout_id;
alter table payout_dispatches alter column rail set not null;
drop index payout_dispatches_due;
create index payout_dispatches_due on payout_dispatches (rail, due_at);

-- The three functions that commit name the rail now; and a payout without a payer left (ERROR) is a
-- committed one that holds its funds, so that committing it again is told so. Nothing else of them
-- changes.
do $$
declare
  v_function regprocedure;
  v_old text;
  v_new text;
begin
  foreach v_function in array array[
    'commit_payout(uuid,uuid,uuid,uuid,text)'::regprocedure,
    'commit_payouts(uuid[],uuid[],uuid[],uuid[],text[],text[],bytea[],text[],boolean)'::regprocedure,
    'commit_batch_rows(uuid,uuid,bigint,integer)'::regprocedure]
  loop
    v_old := pg_get_functiondef(v_function);
    v_new := replace(v_old, 'insert into payout_dispatches (account_id, payout_id, due_at)',
      'insert into payout_dispatches (account_id, payout_id, rail, due_at)');
    v_new := replace(v_new, 'values (p_account, p_payout, v_now);',
      'values (p_account, p_payout, p.rail, v_now);');
    v_new := replace(v_new, 'select account_id, id, v_now from chosen',
      'select account_id, id, rail, v_now from chosen');
    v_new := replace(v_new, 'select account_id, payout_id, v_due from chosen',
      'select account_id, payout_id, rail, v_due from chosen');
    v_new := replace(v_new, 'if p.status in (''CANCELLED'', ''ERROR'') then',
      'if p.status = ''CANCELLED'' then');
    if v_new ~ '''CANCELLED'', ''ERROR''' or v_new !~ 'rail, (v_now|v_due)' then
      raise exception '% does not queue its payouts as expected', v_function;
    end if;
    execute v_new;
  end loop;
end
$$;

-- An attempt also says how the rail calls the payment, and on what its payer was judged then.
alter table attempts
  add column provider_reference text not null default '',
  add column standing_id uuid;
-- What a rail tells unasked finds its account by the payout alone.
create index attempts_payout on attempts (payout_id);
alter table observations
  add column code text not null default '',
  drop constraint observations_source_check,
  add constraint observations_source_check
    check (source in ('send', 'query', 'sandbox', 'callback', 'file', 'poll', 'person'));

-- How payers stood when they were chosen: terms, limits, health, availability, rating. Content by its
-- hash; many payouts share one.
create table payer_standings (
  id uuid primary key,
  body text not null,
  created_at timestamptz not null
);
alter table payer_standings enable row level security;
create policy everybody on payer_standings using (true);
grant select on payer_standings to outlay_tenant;

-- Where several payers were candidates: what each would have cost and why it was chosen or not.
create table payout_routings (
  account_id uuid not null,
  payout_id uuid not null,
  number integer not null check (number > 0),
  body text not null,
  created_at timestamptz not null,
  primary key (account_id, payout_id, number)
);
alter table payout_routings enable row level security;
create policy own_account on payout_routings using (account_id = current_account());
grant select on payout_routings to outlay_tenant;

-- What rails took for a payout: margin is the fee and what the exchange kept, less this.
create table payout_charges (
  account_id uuid not null,
  payout_id uuid not null,
  rail text not null,
  id text not null,
  kind text not null check (kind in ('network', 'bank', 'partner')),
  currency text not null,
  amount bigint not null check (amount > 0),
  created_at timestamptz not null,
  primary key (account_id, payout_id, rail, id)
);
alter table payout_charges enable row level security;

-- What a payer did over a day (UTC), by our own attempts; ratings come from it.
create table payer_days (
  rail text not null,
  payer_key text not null,
  day date not null,
  paid bigint not null default 0,
  refused bigint not null default 0,
  -- Refusals that lie with the recipient say nothing about the payer.
  refused_by_payer bigint not null default 0,
  unknown bigint not null default 0,
  unreached bigint not null default 0,
  returned bigint not null default 0,
  late bigint not null default 0,
  primary key (rail, payer_key, day)
);
alter table payer_days enable row level security;

-- What a person must decide. Those that belong to no account have the nil account.
create table exceptions (
  account_id uuid not null,
  id uuid not null,
  payout_id uuid,
  rail text not null default '',
  kind text not null check (kind in ('unmatched', 'paid_after_refusal', 'refused_after_payment',
    'return_of_unpaid', 'excess_return', 'amount_differs', 'unknown_outcome', 'not_sent', 'parked',
    'routes_exhausted', 'screening', 'velocity', 'rail_missing')),
  -- Words of ours, references and codes; nothing of a person.
  detail text not null default '',
  currency text,
  amount bigint,
  opened_at timestamptz not null,
  closed_at timestamptz,
  resolution text not null default '',
  primary key (account_id, id),
  check ((closed_at is null) = (resolution = ''))
);
create index exceptions_payout on exceptions (account_id, payout_id);
create index exceptions_missing on exceptions (rail)
  where closed_at is null and kind = 'rail_missing';
alter table exceptions enable row level security;
create policy own_account on exceptions using (account_id = current_account());
grant select on exceptions to outlay_tenant;
create trigger never_removed before delete or truncate on exceptions
  for each statement execute function refuse_change('what had to be decided stays known');

-- What persons decided, and those who had to agree.
create table payout_decisions (
  account_id uuid not null,
  payout_id uuid not null,
  id uuid not null,
  action text not null,
  decided_by text not null check (length(decided_by) between 1 and 100),
  reason text not null check (length(reason) between 1 and 1000),
  is_effective boolean not null,
  decided_at timestamptz not null,
  primary key (account_id, payout_id, id)
);
alter table payout_decisions enable row level security;
create policy own_account on payout_decisions using (account_id = current_account());
grant select on payout_decisions to outlay_tenant;
create trigger append_only before update or delete or truncate on payout_decisions
  for each statement execute function refuse_change('what was decided stays');

-- As in 0013, for the tables that came here.
alter table payout_routings alter account_id set (n_distinct = 1);
alter table payout_charges alter account_id set (n_distinct = 1);
alter table exceptions alter account_id set (n_distinct = 1);
alter table payout_decisions alter account_id set (n_distinct = 1);
