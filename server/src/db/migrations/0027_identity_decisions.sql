-- Decisions of persons about identity verifications.

-- Whether a decision about a recipient's identity takes effect only when two persons made it.
alter table accounts add column identity_two_persons boolean not null default false;

create table verification_decisions (
  account_id uuid not null,
  id uuid not null,
  session_id uuid not null,
  user_id uuid not null,
  -- The images that were decided about; new ones start anew.
  submission integer not null check (submission > 0),
  decision text not null check (decision in ('approved', 'declined', 'resubmission_requested')),
  decided_by text not null check (length(decided_by) between 1 and 200),
  -- The same name in any way of writing it: two persons differ in it.
  person text not null check (length(person) between 1 and 400),
  -- Sealed under the user's key: reasons tell about people.
  reason bytea not null,
  -- The credential that a decision came with; null for a command.
  credential_id uuid,
  -- False for a first decision that waits for a second person.
  is_effective boolean not null,
  decided_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, session_id) references verification_sessions (account_id, id)
);
create index verification_decisions_session on verification_decisions (account_id, session_id, id);
alter table verification_decisions enable row level security;
create policy own_account on verification_decisions using (account_id = current_account());
grant select, insert on verification_decisions to outlay_tenant;
create trigger append_only before update or delete or truncate on verification_decisions
  for each statement execute function refuse_change('what was decided stays');

-- What waits for a person.
create index verification_sessions_pending on verification_sessions (account_id, id)
  where status in ('Submitted', 'Resubmitted', 'Review');
