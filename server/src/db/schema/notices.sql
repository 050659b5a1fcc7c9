-- The channels that are configured. Without any, no notices are written.
create table notice_channels (
  channel text primary key check (channel in ('email', 'sms'))
);
alter table notice_channels enable row level security;

-- The outbox of notices: messages to recipients that notify_user requests, recorded in the transaction
-- of the change. A row says which notice goes to whom through which channel, without personal data: the message is
-- composed when it is sent.
create table notices (
  account_id uuid not null,
  id uuid not null,
  month date not null,
  payout_id uuid not null,
  user_id uuid not null,
  channel text not null check (channel in ('email', 'sms')),
  -- The state that the payout reached.
  payout_status text not null
    check (payout_status in ('PROCESSING', 'READY_FOR_PICKUP', 'COMPLETED', 'CANCELLED')),
  state text not null default 'waiting'
    check (state in ('waiting', 'sent', 'failed', 'expired', 'skipped')),
  -- Why it was not sent, in our words.
  reason text not null default '',
  -- Grows with every claim, and so is its fencing token.
  tries integer not null default 0 check (tries >= 0),
  due_at timestamptz not null,
  lease_until timestamptz,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  primary key (account_id, id, month),
  check ((state = 'waiting') = (ended_at is null))
) partition by range (month);
create index notices_payout on notices (account_id, payout_id);
-- A channel whose server is down must not slow the others.
create index notices_due on notices (channel, due_at) where state = 'waiting';
alter table notices enable row level security;
create policy own_account on notices using (account_id = current_account());
grant select on notices to outlay_tenant;

-- Replaces the set of channels.
create function set_notice_channels(p_channels text[]) returns void
  language sql as $$
  delete from notice_channels where channel <> all (p_channels);
  insert into notice_channels (channel) select unnest(p_channels) on conflict do nothing;
$$;
