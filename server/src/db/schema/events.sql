-- The first day of the month (UTC), by which events and idempotency records are partitioned.
create function month_of(p_at timestamptz) returns date
  language sql immutable parallel safe
  return date_trunc('month', p_at at time zone 'UTC')::date;
grant execute on function month_of to outlay_tenant;

-- Sequences of events have no gaps but where the database was restored (`skip_lost_events`): the
-- transaction of a change takes the number from the account's row. That row is the first lock of every
-- transaction that moves money or writes an event, so two of them cannot deadlock.
create table events (
  account_id uuid not null,
  sequence bigint not null,
  month date not null,
  type text not null,
  subject_id uuid not null,
  -- Null for an event of a payout, whose state then follows from its quote, the type and the detail.
  -- A ninth column would make each of those rows eight bytes wider.
  payload text,
  -- Of a payout: why. Of any other object: its place among the events of the object, from 1.
  detail text not null default '',
  created_at timestamptz not null,
  primary key (account_id, sequence, month)
) partition by range (month);
-- For the history of one object.
create index events_subject on events (account_id, subject_id, sequence);
alter table events enable row level security;
create policy own_account on events using (account_id = current_account());
grant select, insert on events to outlay_tenant;

create trigger append_only before update on events
  for each row execute function refuse_change('events are immutable');
create trigger never_emptied before truncate on events
  for each statement execute function refuse_change('events are immutable');

-- Writes an event. Its detail is the object's sequence, but for a payout: p_detail says why.
create function write_event(
  p_account uuid, p_type text, p_subject uuid, p_payload text, p_at timestamptz,
  p_detail text default ''
) returns void
  language plpgsql as $$
declare
  v_sequence bigint;
begin
  update accounts set event_sequence = event_sequence + 1
  where id = p_account
  returning event_sequence into strict v_sequence;
  if p_type not like 'payout.%' then
    select coalesce(max(e.detail::bigint), 0) + 1 into strict p_detail
    from (
      select detail from events
      where account_id = p_account and subject_id = p_subject
      order by sequence desc limit 1
    ) e;
  end if;
  insert into events (account_id, sequence, month, type, subject_id, payload, detail, created_at)
  values (p_account, v_sequence, month_of(p_at), p_type, p_subject, p_payload, p_detail, p_at);
end
$$;
grant execute on function write_event to outlay_tenant;

-- After a restore, clients may have events that the database lost, with numbers that it would give to
-- others. Every account goes on with numbers that none of them had, and says so in the first one: the
-- skipped ones suffice for 90 hours of 30,000 events a second.
create function skip_lost_events(p_at timestamptz) returns void
  language plpgsql as $$
declare
  v_account accounts;
begin
  for v_account in select * from accounts order by id for update loop
    update accounts set event_sequence = event_sequence + 10000000000 where id = v_account.id;
    perform write_event(v_account.id, 'account.restored', v_account.id,
      json_build_object('last_sequence', v_account.event_sequence)::text, p_at);
  end loop;
end
$$;

-- How many events an account has after one of them, when it has counted up to p_newest.
create function count_events(p_account uuid, p_after bigint, p_newest bigint) returns bigint
  language sql stable
  return p_newest - p_after - (
    select coalesce(sum(sequence - 1
      - greatest((payload::json ->> 'last_sequence')::bigint, p_after)), 0)::bigint
    from events
    where account_id = p_account and type = 'account.restored' and sequence > p_after
      and type not in ('payout.pending', 'payout.processing', 'payout.completed'));
grant execute on function count_events to outlay_tenant;

-- As events show it: without its secret.
create function describe_credential(p credentials) returns text
  language sql immutable
  return json_build_object('kind', p.kind, 'scopes', p.scopes,
    'allowed_addresses', p.allowed_addresses, 'created_at', p.created_at,
    'expires_at', p.expires_at, 'revoked_at', p.revoked_at)::text;

-- Every change of a credential is an event; its secret is in none.
create function write_credential_event() returns trigger
  language plpgsql as $$
begin
  perform write_event(new.account_id,
    'credential.' || case
      when tg_op = 'INSERT' then 'created'
      when new.revoked_at is not null and old.revoked_at is null then 'revoked'
      else 'updated' end, new.id,
    describe_credential(new), environment_now());
  return null;
end
$$;

create trigger created_event after insert on credentials
  for each row execute function write_credential_event();
create trigger changed_event after update on credentials
  for each row when (new is distinct from old) execute function write_credential_event();
