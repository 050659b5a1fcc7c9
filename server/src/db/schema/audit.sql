-- Who did what: one entry for each action of an operator, and for what clients change about their own
-- access and the rights of their recipients. Entries form one chain of hashes, of which every entry is a link (as in `chain.sql`), so that
-- one that is changed, removed or inserted shows in `ledger verify`.

create table audit_entries (
  -- Without gaps.
  sequence bigint primary key,
  id uuid not null unique,
  -- Real time, also where the sandbox's clock is ahead.
  created_at timestamptz not null,
  actor_kind text not null check (actor_kind in ('operator', 'credential', 'system')),
  -- Of the operator or credential; null for the system.
  actor_id uuid,
  -- The operator's name.
  actor text not null default '',
  role text not null default '',
  -- With which credential: the id of a client's; of an operator, the key by the beginning of its hash, or
  -- the session by its id. So that what a stolen one did can be told from the rest.
  credential text not null default '',
  -- Where the action came from: an IP address, or user and host of a command line.
  address text not null default '',
  action text not null check (action <> ''),
  -- What it was done to: the options of a command, as a JSON object.
  object text not null default '{}',
  account_id uuid,
  reason text not null default '',
  -- Of the API request; of a command, the id of its first entry.
  request_id text not null default '',
  -- requested: about to be done. waiting: a second person is needed.
  outcome text not null
    check (outcome in ('requested', 'waiting', 'done', 'refused', 'failed')),
  -- JSON; '' where the action has no such state.
  state_before text not null default '',
  state_after text not null default '',
  digest bytea not null,
  hash bytea not null,
  -- Over the row, under a key that the database does not have (`audit/audit.ts`).
  mac bytea not null check (length(mac) = 36)
);
create index audit_entries_time on audit_entries (created_at);
create index audit_entries_actor on audit_entries (actor_id, sequence);
-- For the lists of operators: by their names, and by the beginning of the action.
create index audit_entries_name on audit_entries (actor, sequence);
create index audit_entries_action on audit_entries (action collate "C", sequence);
create index audit_entries_account on audit_entries (account_id, sequence)
  where account_id is not null;

-- Its lock puts the entries in one order.
create table audit_head (
  only_row boolean primary key default true check (only_row),
  sequence bigint not null default 0,
  hash bytea not null default ''
);
insert into audit_head default values;

-- The signed head of the chain. Its line is also in the file of checkpoints outside the database.
create table audit_checkpoints (
  sequence bigint not null,
  statement text not null,
  signature bytea not null,
  key_id text not null,
  created_at timestamptz not null,
  primary key (sequence, key_id)
);

alter table audit_entries enable row level security;
alter table audit_head enable row level security;
alter table audit_checkpoints enable row level security;

create trigger append_only before delete or truncate
  or update of sequence, id, created_at, actor_kind, actor_id, actor, role, credential, address, action,
    object, account_id, reason, request_id, outcome, state_before, state_after, digest, hash
  on audit_entries
  for each statement execute function refuse_change('audit entries are immutable');
create trigger append_only before update or delete or truncate on audit_checkpoints
  for each statement execute function refuse_change('checkpoints are immutable');

-- Each text with the number of its bytes before it, so that no two rows have the same bytes.
create function length_prefixed(p_texts text[]) returns bytea
  language sql immutable parallel safe
  return (select string_agg(int4send(octet_length(convert_to(t, 'UTF8'))) || convert_to(t, 'UTF8'),
    ''::bytea order by number) from unnest(p_texts) with ordinality x (t, number));

create function link_audit_entry() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_hash bytea;
begin
  update audit_head set sequence = sequence + 1 returning sequence, hash
  into new.sequence, v_hash;
  new.digest := sha256(sha256(int8send(new.sequence) || timestamptz_send(new.created_at)
    || uuid_send(new.id) || uuid_send(coalesce(new.actor_id, '00000000-0000-0000-0000-000000000000'))
    || uuid_send(coalesce(new.account_id, '00000000-0000-0000-0000-000000000000'))
    || length_prefixed(array[new.actor_kind, new.actor, new.role, new.credential, new.address,
      new.action, new.object, new.reason, new.request_id, new.outcome, new.state_before, new.state_after])));
  new.hash := link_hash(nullif(v_hash, ''), '00000000-0000-0000-0000-000000000000', new.sequence,
    new.created_at, 1, new.digest);
  update audit_head set hash = new.hash;
  return new;
end
$$;
create trigger link_entry before insert on audit_entries
  for each row execute function link_audit_entry();

-- As `renew_payout_decisions`.
create function renew_audit_entries(p_sequences bigint[], p_old bytea[], p_fresh bytea[])
  returns integer
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_count integer;
begin
  update audit_entries e set mac = n.fresh
  from unnest(p_sequences, p_old, p_fresh) n (sequence, old, fresh)
  where e.sequence = n.sequence and e.mac = n.old;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- What a client, or an operator for it, changed about its access, in the transaction of the change, whose
-- last lock is that of the head. p_operator: its name; '' for a credential.
create function append_client_audit(
  p_account uuid, p_id uuid, p_actor uuid, p_operator text, p_role text, p_credential text,
  p_address text, p_action text, p_object text, p_request text, p_outcome text, p_before text,
  p_after text, p_mac bytea
) returns void
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform require_own_account(p_account);
  insert into audit_entries (id, created_at, actor_kind, actor_id, actor, role, credential, address,
    action, object, account_id, request_id, outcome, state_before, state_after, mac)
  values (p_id, clock_timestamp(), case p_operator when '' then 'credential' else 'operator' end,
    p_actor, p_operator, p_role, p_credential, p_address, p_action, p_object, p_account, p_request,
    p_outcome, p_before, p_after, p_mac);
end
$$;
grant execute on function append_client_audit to outlay_tenant;
