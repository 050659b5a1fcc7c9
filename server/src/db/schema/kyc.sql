-- Identity verification. A session leads one person from the link to a decision and keeps every
-- submission, sealed under the user's own key.

create table verification_sessions (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  provider text not null default 'outlay' check (provider = 'outlay'),
  status text not null check (status in ('Started', 'Submitted', 'Abandoned', 'Expired',
    'Resubmitted', 'Declined', 'Approved', 'Resubmission requested', 'Review')),
  -- The number of submissions.
  submission integer not null default 0 check (submission >= 0),
  -- The link accepts images until then.
  expires_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users (account_id, id),
  constraint handed_in_before_review check (submission > 0
    or status in ('Started', 'Abandoned', 'Expired', 'Declined', 'Approved')),
  constraint expires_after_start check (expires_at > created_at)
);
create index verification_sessions_user on verification_sessions (account_id, user_id, id desc);
-- A user has at most one open session.
create unique index verification_sessions_open on verification_sessions (account_id, user_id)
  where status in ('Started', 'Submitted', 'Resubmitted', 'Resubmission requested', 'Review');
-- Sessions that wait for a reviewer.
create index verification_sessions_pending on verification_sessions (account_id, id)
  where status in ('Submitted', 'Resubmitted', 'Review');
-- For operators, over all accounts.
create index verification_sessions_newest on verification_sessions (id)
  where status in ('Submitted', 'Resubmitted', 'Review');
alter table verification_sessions enable row level security;
create policy own_account on verification_sessions using (account_id = current_account());
grant select, insert, update on verification_sessions to outlay_tenant;

create function check_verification_move() returns trigger
  language plpgsql as $$
begin
  if (new.account_id, new.id, new.user_id, new.created_at)
    is distinct from (old.account_id, old.id, old.user_id, old.created_at)
    or new.submission not in (old.submission, old.submission + 1) then
    raise exception 'the user and history of a verification session are immutable'
      using errcode = 'restrict_violation';
  end if;
  if (old.status, new.status) not in (
    ('Started', 'Started'), ('Started', 'Submitted'), ('Started', 'Abandoned'),
    ('Started', 'Expired'), ('Started', 'Declined'), ('Started', 'Approved'),
    ('Submitted', 'Submitted'), ('Submitted', 'Review'), ('Submitted', 'Declined'),
    ('Submitted', 'Approved'), ('Submitted', 'Resubmission requested'),
    ('Review', 'Review'), ('Review', 'Declined'), ('Review', 'Approved'),
    ('Review', 'Resubmission requested'),
    ('Declined', 'Resubmitted'), ('Declined', 'Approved'),
    ('Resubmission requested', 'Resubmitted'), ('Resubmission requested', 'Expired'),
    ('Resubmission requested', 'Abandoned'), ('Resubmission requested', 'Declined'),
    ('Resubmission requested', 'Approved'),
    ('Resubmitted', 'Resubmitted'), ('Resubmitted', 'Review'), ('Resubmitted', 'Declined'),
    ('Resubmitted', 'Approved'), ('Resubmitted', 'Resubmission requested')
  ) then
    raise exception 'illegal move of a verification from % to %', old.status, new.status
      using errcode = 'restrict_violation';
  end if;
  return new;
end
$$;

create trigger legal_move before update on verification_sessions
  for each row execute function check_verification_move();

create table verification_images (
  account_id uuid not null,
  session_id uuid not null,
  submission integer not null check (submission > 0),
  type text not null check (type in ('face', 'document-front', 'document-back')),
  sealed bytea not null,
  created_at timestamptz not null,
  primary key (account_id, session_id, submission, type),
  foreign key (account_id, session_id) references verification_sessions (account_id, id)
);
-- Photographs do not compress.
alter table verification_images alter column sealed set storage external;
alter table verification_images enable row level security;
create policy own_account on verification_images using (account_id = current_account());
grant select, insert on verification_images to outlay_tenant;

create trigger append_only before update on verification_images
  for each row execute function refuse_change();

create table verification_decisions (
  account_id uuid not null,
  id uuid not null,
  session_id uuid not null,
  user_id uuid not null,
  -- The submission that was decided; a new one needs a new decision.
  submission integer not null check (submission > 0),
  decision text not null check (decision in ('approved', 'declined', 'resubmission_requested')),
  decided_by text not null check (length(decided_by) between 1 and 200),
  -- The normalized name, by which two people are distinguished.
  person text not null check (length(person) between 1 and 400),
  -- Sealed under the user's key: reasons hold personal data.
  reason bytea not null,
  -- What the page tells the recipient; '' for nothing but the decision.
  recipient_reason text not null default '' check (recipient_reason in ('', 'dark', 'blurred',
    'cut', 'glare', 'expired', 'unsupported', 'face_hidden', 'face_mismatch', 'data_mismatch')),
  -- Null for a command.
  credential_id uuid,
  -- False for a first decision that needs a second person.
  is_effective boolean not null,
  decided_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, session_id) references verification_sessions (account_id, id)
);
create index verification_decisions_session on verification_decisions (account_id, session_id, id);
create index verification_decisions_user on verification_decisions (account_id, user_id, id);
alter table verification_decisions enable row level security;
create policy own_account on verification_decisions using (account_id = current_account());
grant select, insert on verification_decisions to outlay_tenant;

-- Whether a vote counts no longer: of an operator, or through a credential, that was revoked since.
create function is_vote_lapsed(p_account uuid, p_operator text, p_credential uuid) returns boolean
  language plpgsql stable security definer set search_path = public, pg_temp as $$
begin
  perform require_own_account(p_account);
  if p_credential is null then
    return exists (select from operators where name = p_operator and revoked_at is not null);
  end if;
  return exists (
    select from credentials
    where account_id = p_account and id = p_credential and revoked_at is not null);
end
$$;
grant execute on function is_vote_lapsed to outlay_tenant;

create trigger append_only before update or delete or truncate on verification_decisions
  for each statement execute function refuse_change('decisions are immutable');
