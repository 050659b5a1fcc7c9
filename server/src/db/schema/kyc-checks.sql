-- What machines find out about the images of a submission, for the person who decides: the document
-- that was read, how alike the faces are, and the opinion of a provider. The table is also the queue of this work. Results are
-- sealed under the user's own key, as the images are, and unreadable when it is destroyed.
create table verification_checks (
  account_id uuid not null,
  session_id uuid not null,
  submission integer not null check (submission > 0),
  kind text not null check (kind in ('document', 'face', 'provider')),
  -- skipped: the user was erased before.
  state text not null default 'waiting' check (state in ('waiting', 'done', 'failed', 'skipped')),
  -- Grows with every claim, and so is its fencing token.
  tries integer not null default 0 check (tries >= 0),
  tries_left integer not null default 5 check (tries_left >= 0),
  due_at timestamptz not null default clock_timestamp(),
  lease_until timestamptz,
  -- The provider's name of the case, once it has it.
  reference text check (length(reference) between 1 and 200),
  sealed bytea,
  created_at timestamptz not null,
  ended_at timestamptz,
  primary key (account_id, session_id, submission, kind),
  foreign key (account_id, session_id) references verification_sessions (account_id, id),
  constraint ended_has_time check ((state = 'waiting') = (ended_at is null)),
  constraint done_has_result check ((state = 'done') = (sealed is not null))
);
create index verification_checks_due on verification_checks (kind, due_at)
  where state = 'waiting';
alter table verification_checks enable row level security;
create policy own_account on verification_checks using (account_id = current_account());
grant select, insert on verification_checks to outlay_tenant;

-- Every submission has its document read and its faces compared, no matter who uploads it. Where faces are not
-- to be compared, the service ends the row with that as its result.
create function request_image_checks() returns trigger
  language plpgsql as $$
begin
  insert into verification_checks (account_id, session_id, submission, kind, created_at)
  values (new.account_id, new.session_id, new.submission, 'document', new.created_at),
    (new.account_id, new.session_id, new.submission, 'face', new.created_at);
  return null;
end
$$;

create trigger check_images after insert on verification_images
  for each row when (new.type = 'document-front')
  execute function request_image_checks();
