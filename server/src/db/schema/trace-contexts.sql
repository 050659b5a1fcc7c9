-- Which trace a payout, a batch or an inbound report belongs to, so that other processes continue it.
-- Only what is traced has a row. Reports are of no account: they have the account of zeros.
create table trace_contexts (
  account_id uuid not null,
  subject_id uuid not null,
  -- A `traceparent` header (W3C Trace Context).
  traceparent text not null check (traceparent ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'),
  created_at timestamptz not null,
  primary key (account_id, subject_id)
);
create index trace_contexts_time on trace_contexts (created_at);
alter table trace_contexts enable row level security;
create policy own_account on trace_contexts using (account_id = current_account());
grant select, insert on trace_contexts to outlay_tenant;
