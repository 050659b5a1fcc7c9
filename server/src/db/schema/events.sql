-- The first day of the month (UTC), by which events and idempotency records are partitioned.
create function month_of(p_at timestamptz) returns date
  language sql immutable parallel safe
  return date_trunc('month', p_at at time zone 'UTC')::date;
grant execute on function month_of to outlay_tenant;

-- Sequences of events have no gaps: the transaction of a change takes the number from the account's
-- row. That row is the first lock of every transaction that moves money or writes an event, so two
-- of them cannot deadlock.
create table events (
  account_id uuid not null,
  sequence bigint not null,
  month date not null,
  type text not null,
  subject_id uuid not null,
  -- Null for an event of a payout, which is described by the payout, the type and the detail.
  payload text,
  detail text not null default '',
  created_at timestamptz not null,
  primary key (account_id, sequence, month)
) partition by range (month);
-- For the timeline of one payout.
create index events_subject on events (account_id, subject_id, sequence);
alter table events enable row level security;
create policy own_account on events using (account_id = current_account());
grant select, insert on events to outlay_tenant;

create trigger append_only before update on events
  for each row execute function refuse_change('events are immutable');
create trigger never_emptied before truncate on events
  for each statement execute function refuse_change('events are immutable');

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
  insert into events (account_id, sequence, month, type, subject_id, payload, detail, created_at)
  values (p_account, v_sequence, month_of(p_at), p_type, p_subject, p_payload, p_detail, p_at);
end
$$;
grant execute on function write_event to outlay_tenant;
