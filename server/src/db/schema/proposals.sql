-- Proposals: software that may not commit proposes a quoted payout, and a person confirms or declines.

-- What a credential may propose. One without any budget may propose in every currency; one with
-- budgets, in their currencies only.
create table credential_budgets (
  account_id uuid not null,
  credential_id uuid not null,
  currency text not null,
  -- Minor units, fee included. Null: no limit.
  per_proposal bigint check (per_proposal > 0),
  per_day bigint check (per_day > 0),
  -- How many proposals may be open at the same time.
  open_max integer not null check (open_max between 1 and 1000),
  primary key (account_id, credential_id, currency),
  foreign key (account_id, credential_id) references credentials (account_id, id)
);
alter table credential_budgets enable row level security;

create table proposals (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  payout_id uuid not null,
  -- The credential that proposed it.
  credential_id uuid not null,
  -- Sealed under the key of the user.
  reason bytea not null,
  -- What the commit debits, in minor units: amount and fee.
  currency text not null,
  debit bigint not null check (debit > 0),
  -- Of what the commit pays, to whom and how (`hash_payout_terms`).
  terms_hash bytea not null check (length(terms_hash) = 32),
  status text not null default 'OPEN'
    check (status in ('OPEN', 'CONFIRMED', 'DECLINED', 'EXPIRED')),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- The credential that got the link last.
  link_credential_id uuid,
  decided_at timestamptz,
  -- '' until a decision.
  decided_through text not null default '' check (decided_through in ('', 'link', 'api')),
  -- The credential that decided, or that got the link.
  decided_by uuid,
  primary key (account_id, id),
  constraint proposals_payout unique (account_id, payout_id),
  constraint decided_has_its_time
    check ((status in ('CONFIRMED', 'DECLINED')) = (decided_at is not null))
);
create index proposals_open on proposals (account_id, credential_id) where status = 'OPEN';
create index proposals_confirmed on proposals (account_id, credential_id, decided_at)
  where status = 'CONFIRMED';
create index proposals_expiry on proposals (expires_at) where status = 'OPEN';
alter table proposals enable row level security;
create policy own_account on proposals using (account_id = current_account());
grant select on proposals to outlay_tenant;

create trigger decided_once before update on proposals for each row
  when (old.status <> 'OPEN' or (old.payout_id, old.debit, old.terms_hash, old.expires_at)
    is distinct from (new.payout_id, new.debit, new.terms_hash, new.expires_at))
  execute function refuse_change('a proposal is decided once and its terms are immutable');
create trigger never_removed before delete or truncate on proposals
  for each statement execute function refuse_change('proposals must not be deleted');

-- SHA-256 of everything that decides what a commit of the payout pays: the quote, the attribute values
-- that the commit would use, and the recipient's data.
create function hash_payout_terms(p_account uuid, p_payout uuid) returns bytea
  language sql stable
  set timezone = 'UTC'
  as $$
  select sha256(convert_to(json_build_array(q, v.set_id, v.version, u.country,
    encode(u.sealed, 'hex'))::text, 'UTF8'))
  from payout_quotes q
  join users u on u.account_id = q.account_id and u.id = q.user_id
  left join lateral find_complete_attributes(q.needs_attributes, q.account_id, q.user_id,
    q.attr_set_id, q.attr_version, q.destination_token, q.destination_currency, q.created_at) v on true
  where q.account_id = p_account and q.id = p_payout;
$$;
grant execute on function hash_payout_terms to outlay_tenant;

-- A credential, those that rotations replaced by it, and those that replaced it.
create function list_rotated_credentials(p_account uuid, p_credential uuid) returns setof uuid
  language sql stable as $$
  with recursive rotated (id) as (
    select p_credential
    union
    select case c.replaced_by when r.id then c.id else c.replaced_by end
    from rotated r
    join credentials c on c.account_id = p_account and r.id in (c.id, c.replaced_by)
      and c.replaced_by is not null
  )
  select id from rotated;
$$;

-- The limit of the budget that a proposal exceeds; null: none. Proposing counts the open ones too, so
-- that all that are open can be confirmed. What was proposed with a credential before its rotation counts
-- too: a new secret is no new budget. Call it under the lock of the account.
create function find_exceeded_budget(
  p proposals, p_is_new boolean, p_now timestamptz,
  out exceeded text, out allowed bigint, out used bigint
)
  language plpgsql stable as $$
declare
  v_day timestamptz := date_trunc('day', p_now at time zone 'UTC') at time zone 'UTC';
  v_rotated uuid[] := array(select list_rotated_credentials(p.account_id, p.credential_id));
  v_budget credential_budgets;
  v_open bigint;
begin
  select count(*) filter (where o.status = 'OPEN'),
    coalesce(sum(o.debit) filter (where o.status = 'CONFIRMED' or p_is_new), 0)
  into v_open, used
  from proposals o
  where o.account_id = p.account_id and o.credential_id = any (v_rotated)
    and o.currency = p.currency and o.id <> p.id
    and (o.status = 'OPEN' and o.expires_at > p_now
      or o.status = 'CONFIRMED' and o.decided_at >= v_day);
  select b.* into v_budget from credential_budgets b
  where b.account_id = p.account_id and b.credential_id = p.credential_id
    and b.currency = p.currency;
  if v_budget.currency is null and exists (
    select from credential_budgets b
    where b.account_id = p.account_id and b.credential_id = p.credential_id
  ) then
    exceeded := 'currency';
  elsif v_budget.per_proposal < p.debit then
    exceeded := 'per_proposal';
    allowed := v_budget.per_proposal;
  elsif v_budget.per_day < used + p.debit then
    exceeded := 'per_day';
    allowed := v_budget.per_day;
  elsif p_is_new and v_open >= coalesce(v_budget.open_max, 100) then
    exceeded := 'open_proposals';
    allowed := coalesce(v_budget.open_max, 100);
  end if;
end
$$;

create function write_proposal_event(p proposals, p_at timestamptz) returns void
  language plpgsql as $$
declare
  v_form constant text := 'YYYY-MM-DD"T"HH24:MI:SS';
begin
  perform write_event(p.account_id,
    'proposal.' || case p.status when 'OPEN' then 'created' else lower(p.status) end, p.id,
    json_build_object('proposal_token', 'proposal_' || p.id,
      'payout_token', 'payout_' || p.payout_id, 'user_token', 'usr_' || p.user_id,
      'status', p.status, 'credential_id', p.credential_id,
      'created_on', to_char(p.created_at at time zone 'UTC', v_form),
      'expiration', to_char(p.expires_at at time zone 'UTC', v_form),
      'decided_on', coalesce(to_char(p.decided_at at time zone 'UTC', v_form), ''),
      'decided_through', p.decided_through, 'decided_by', coalesce(p.decided_by::text, '')
    )::text, p_at);
end
$$;

-- Proposes a quoted payout, judged as its commit would be: `proposed`; `known`: it has a proposal;
-- `budget`: `detail` names the limit; else as `judge_commits` says.
create function propose_payout(
  p_account uuid, p_user uuid, p_payout uuid, p_proposal uuid, p_credential uuid, p_reason bytea,
  out result text, out detail text, out allowed bigint, out used bigint
)
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_now timestamptz;
  v_new proposals;
begin
  perform require_own_account(p_account);
  perform lock_accounts(array[p_account], true);
  v_now := environment_now();
  if exists (select from proposals p where p.account_id = p_account and p.payout_id = p_payout
    and p.user_id = p_user)
  then
    result := 'known';
    return;
  end if;
  select j.result, j.detail into strict result, detail
  from judge_commits(array[p_account], array[p_user], array[p_payout], array[null], v_now) j;
  if result is not null then
    return;
  end if;
  select q.account_id, p_proposal, q.user_id, q.id, p_credential, p_reason, q.source_currency,
    q.source_amount + q.fee, hash_payout_terms(q.account_id, q.id), 'OPEN', v_now, q.expires_at,
    null::uuid, null::timestamptz, '', null::uuid
  into strict v_new
  from payout_quotes q where q.account_id = p_account and q.id = p_payout;
  select b.exceeded, b.allowed, b.used into strict detail, allowed, used
  from find_exceeded_budget(v_new, true, v_now) b;
  if detail is not null then
    result := 'budget';
    return;
  end if;
  insert into proposals select v_new.*;
  perform write_proposal_event(v_new, v_now);
  result := 'proposed';
end
$$;
grant execute on function propose_payout to outlay_tenant;

-- Decides an open proposal: `decided`; `changed`: its terms are others than those proposed; `budget`:
-- `detail` names the limit; else the status that it has, in lower case. The caller commits the payout
-- in the same transaction, or rolls back.
create function decide_proposal(
  p_account uuid, p_proposal uuid, p_status text, p_through text, p_credential uuid,
  out result text, out detail text, out allowed bigint, out used bigint
)
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_now timestamptz;
  v_one proposals;
begin
  perform require_own_account(p_account);
  perform lock_accounts(array[p_account], true);
  v_now := environment_now();
  select p.* into strict v_one from proposals p
  where p.account_id = p_account and p.id = p_proposal;
  if v_one.status <> 'OPEN' then
    result := lower(v_one.status);
  elsif v_now >= v_one.expires_at then
    result := 'expired';
  elsif p_status = 'CONFIRMED' then
    if hash_payout_terms(p_account, v_one.payout_id) is distinct from v_one.terms_hash then
      result := 'changed';
    else
      select b.exceeded, b.allowed, b.used into strict detail, allowed, used
      from find_exceeded_budget(v_one, false, v_now) b;
      result := case when detail is not null then 'budget' end;
    end if;
  end if;
  if result is not null then
    return;
  end if;
  update proposals p
  set status = p_status, decided_at = v_now, decided_through = p_through,
    decided_by = coalesce(p_credential, p.link_credential_id)
  where p.account_id = p_account and p.id = p_proposal
  returning p.* into strict v_one;
  perform write_proposal_event(v_one, v_now);
  result := 'decided';
end
$$;
grant execute on function decide_proposal to outlay_tenant;

-- Notes who gets the link of an open proposal. False if it is open no longer.
create function note_proposal_link(p_account uuid, p_proposal uuid, p_credential uuid)
  returns boolean
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform require_own_account(p_account);
  update proposals set link_credential_id = p_credential
  where account_id = p_account and id = p_proposal and status = 'OPEN'
    and expires_at > (select environment_now());
  return found;
end
$$;
grant execute on function note_proposal_link to outlay_tenant;

-- Ends open proposals whose quote has expired. Returns how many.
create function expire_proposals(p_limit integer) returns integer
  language plpgsql as $$
declare
  v_now timestamptz;
  v_accounts uuid[];
  v_one proposals;
  v_count integer := 0;
begin
  select array_agg(d.account_id) into v_accounts from (
    select account_id from proposals
    where status = 'OPEN' and expires_at <= (select environment_now())
    order by expires_at limit p_limit) d;
  -- The account's row first, as every writer of events does.
  perform lock_accounts(v_accounts, true);
  v_now := environment_now();
  for v_one in
    update proposals set status = 'EXPIRED'
    where (account_id, id) in (
      select account_id, id from proposals
      where status = 'OPEN' and expires_at <= v_now and account_id = any (v_accounts)
      order by expires_at limit p_limit)
    returning *
  loop
    perform write_proposal_event(v_one, v_now);
    v_count := v_count + 1;
  end loop;
  return v_count;
end
$$;

-- Gives a new credential the budgets of the one that it replaces, which ends after a while.
create function replace_credential(
  p_account uuid, p_old uuid, p_new uuid, p_overlap_seconds integer
) returns timestamptz
  language sql as $$
  insert into credential_budgets (account_id, credential_id, currency, per_proposal, per_day,
    open_max)
  select p_account, p_new, currency, per_proposal, per_day, open_max from credential_budgets
  where account_id = p_account and credential_id = p_old;
  update credentials
  set replaced_by = p_new, expires_at = least(expires_at,
    environment_now() + p_overlap_seconds * interval '1 second')
  where account_id = p_account and id = p_old
  returning expires_at;
$$;
