-- Screening against sanctions lists. Lists are public and belong to no account; results do. Entries
-- and names are kept with the versions of the list that had them, so that a decision can be
-- reviewed as of its day.

create table screening_lists (
  list text primary key check (list ~ '^[a-z][a-z0-9_]{0,29}$'),
  -- The version in force; 0 before the first.
  sequence integer not null default 0 check (sequence >= 0),
  -- When its source was last read without errors, whether or not it had changed.
  checked_at timestamptz not null default now()
);

create table screening_versions (
  list text not null references screening_lists,
  sequence integer not null check (sequence > 0),
  -- The publication date if the list states one, or else the beginning of its hash.
  version text not null,
  content_hash bytea not null check (length(content_hash) = 32),
  published_at timestamptz,
  entry_count integer not null check (entry_count > 0),
  name_count integer not null check (name_count >= entry_count),
  -- Differences from the previous version.
  added_count integer not null,
  removed_count integer not null,
  imported_at timestamptz not null default now(),
  -- The version of the parser. What an older one imported lacks wallet addresses and must be
  -- imported again before anything is sent.
  reader smallint not null default 1,
  primary key (list, sequence)
);

create table screening_entries (
  list text not null,
  entry_id text not null,
  -- The versions with this form of the entry: from the first to before until_sequence.
  from_sequence integer not null,
  until_sequence integer check (until_sequence > from_sequence),
  kind text not null check (kind in ('person', 'organisation')),
  name text not null,
  programmes jsonb not null,
  -- Possible dates of birth, as ranges of days.
  births jsonb not null,
  -- ISO 3166-1 alpha-3 codes, separated by spaces.
  countries text not null,
  -- The distinct words of all names, separated by spaces.
  words text not null,
  content_hash bytea not null,
  primary key (list, entry_id, from_sequence),
  foreign key (list, from_sequence) references screening_versions (list, sequence)
);
create unique index screening_entries_in_force on screening_entries (list, entry_id)
  where until_sequence is null;

create table screening_names (
  id integer generated always as identity primary key,
  list text not null,
  entry_id text not null,
  from_sequence integer not null,
  text text not null,
  quality text not null check (quality in ('primary', 'alias', 'weak', 'acronym')),
  -- Words and their skeletons, in parallel, separated by spaces: both hold letters and digits only,
  -- and the driver reads arrays slowly.
  words text not null check (words <> ''),
  skeletons text not null,
  check (cardinality(string_to_array(skeletons, ' ')) = cardinality(string_to_array(words, ' '))),
  foreign key (list, entry_id, from_sequence) references screening_entries
);
create index screening_names_entry on screening_names (list, entry_id, from_sequence);

-- Every word of the names in force with the names that have it. Names are found by words, because a
-- whole name shares too little with a longer one that contains it. Each import rebuilds it; processes
-- search its words in memory (server/src/screening/word-index.ts).
create table screening_words (
  word text primary key,
  skeleton text not null,
  name_ids integer[] not null,
  name_count integer not null check (name_count = cardinality(name_ids)),
  -- Names that have it in any spelling, where its skeleton is long enough to be compared.
  spelling_count integer not null,
  -- The number of words of each of these names.
  lengths smallint[] not null check (cardinality(lengths) = cardinality(name_ids))
);

create function refresh_screening_words() returns void
  language plpgsql as $$
begin
  delete from screening_words;
  insert into screening_words (word, skeleton, name_ids, name_count, spelling_count, lengths)
  select word, skeleton, name_ids, name_count,
    case when length(skeleton) < 4 then name_count
      else sum(name_count) over (partition by skeleton) end,
    lengths
  from (
    select w.word, min(w.skeleton) as skeleton, count(*)::integer as name_count,
      array_agg(n.id order by n.id) as name_ids, array_agg(w.length order by n.id) as lengths
    from screening_entries e
    join screening_names n using (list, entry_id, from_sequence)
    cross join lateral (
      select distinct on (word) word, skeleton,
        cardinality(string_to_array(n.words, ' '))::smallint as length
      from unnest(string_to_array(n.words, ' '), string_to_array(n.skeletons, ' '))
        u (word, skeleton)
    ) w
    where e.until_sequence is null
    group by w.word
  ) words;
end
$$;

-- Wallet addresses of list entries (OFAC: "Digital Currency Address").
create table screening_wallets (
  list text not null,
  entry_id text not null,
  from_sequence integer not null,
  -- Normalized: equal wallets are equal, whatever currency the list names.
  wallet text not null,
  -- Currency and address as listed.
  text text not null,
  primary key (list, entry_id, from_sequence, wallet),
  foreign key (list, entry_id, from_sequence) references screening_entries
);
create index screening_wallets_wallet on screening_wallets (wallet);

-- Results of screening recipients and decisions about them; the last row applies. They hold no
-- names: subject_index is a keyed hash that shows whether the names have changed.
create table screenings (
  account_id uuid not null,
  user_id uuid not null,
  sequence integer not null check (sequence > 0),
  state text not null
    check (state in ('clear', 'hit', 'cleared_by_person', 'confirmed_by_person')),
  subject_index bytea not null check (length(subject_index) = 32),
  list_fingerprint bytea not null check (length(list_fingerprint) = 32),
  list_versions jsonb not null,
  -- Thousandths.
  threshold_permille smallint not null check (threshold_permille between 1 and 1000),
  top_score_permille smallint not null check (top_score_permille between 0 and 1000),
  hits jsonb not null,
  screened_at timestamptz not null,
  decided_by text check (length(decided_by) between 1 and 200),
  decided_at timestamptz,
  -- Sealed under the user's key: reasons hold personal data.
  decision_reason bytea,
  -- Where the hits are covered by clearances: the earliest end of these.
  cleared_until timestamptz check (cleared_until is null or state = 'cleared_by_person'),
  -- The texts that were compared for each hit, sealed under the user's key.
  evidence bytea,
  primary key (account_id, user_id, sequence),
  foreign key (account_id, user_id) references users (account_id, id),
  constraint decided_by_person
    check ((state in ('cleared_by_person', 'confirmed_by_person')) = (decided_by is not null)),
  constraint decided_as_a_whole
    check (num_nulls(decided_by, decided_at, decision_reason) in (0, 3)),
  constraint hits_make_a_hit check (state <> 'clear' or hits = '[]')
);
-- Finds recipients that wait for a decision.
create index screenings_hits on screenings (account_id, user_id, sequence) where state = 'hit';
alter table screenings enable row level security;
create policy own_account on screenings using (account_id = current_account());

create trigger append_only before delete or truncate
  or update of account_id, user_id, sequence, state, list_fingerprint, list_versions,
    threshold_permille, top_score_permille, hits, screened_at, decided_by, decided_at,
    decision_reason, cleared_until, evidence
  on screenings
  for each statement execute function refuse_change('screening results are immutable');

-- With another index key: results of the data that a recipient has now get the hash that the new key
-- gives for them. Those of earlier data matched nothing, and match nothing afterwards.
create function renew_screening_subjects(
  p_accounts uuid[], p_users uuid[], p_old text[], p_fresh text[]
) returns table (renewed integer, ended integer)
  language sql security definer set search_path = public, pg_temp as $$
  with changed as (
    update screenings s
    set subject_index = case when s.subject_index = decode(n.old, 'hex')
      then decode(n.fresh, 'hex') else sha256(uuid_send(gen_random_uuid())) end
    from unnest(p_accounts, p_users, p_old, p_fresh) n (account_id, user_id, old, fresh)
    where s.account_id = n.account_id and s.user_id = n.user_id
    returning coalesce(s.subject_index = decode(n.fresh, 'hex'), false) as is_renewed
  )
  select count(*) filter (where is_renewed)::integer, count(*) filter (where not is_renewed)::integer
  from changed;
$$;

-- One row: the pass over all stored recipients after the last change of the lists or the threshold.
create table screening_rounds (
  id boolean primary key default true check (id),
  list_fingerprint bytea not null check (length(list_fingerprint) = 32),
  threshold_permille smallint not null check (threshold_permille between 1 and 1000),
  -- The last recipient that was screened.
  after_account uuid not null default '00000000-0000-0000-0000-000000000000',
  after_user uuid not null default '00000000-0000-0000-0000-000000000000',
  -- Grows with each claim of a portion; one process works at a time, until its lease ends.
  fence integer not null default 0,
  lease_until timestamptz,
  screened bigint not null default 0,
  -- Recipients with a hit that no person has decided about.
  hits bigint not null default 0,
  started_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz
);

-- Entries of lists that a person found not to be about a recipient. Each is bound to the content of
-- the entry and to the data of the recipient that were compared: a change of either asks again.
create table screening_clearances (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  list text not null,
  entry_id text not null,
  -- The primary name of the entry.
  entry_name text not null,
  entry_hash text not null check (length(entry_hash) <= 64),
  subject_index bytea not null check (length(subject_index) = 32),
  -- Sealed under the user's key.
  reason bytea not null,
  cleared_by text not null check (length(cleared_by) between 1 and 200),
  cleared_at timestamptz not null,
  until timestamptz not null check (until > cleared_at),
  -- Ended before its time.
  ended_by text check (length(ended_by) between 1 and 200),
  ended_at timestamptz,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users (account_id, id),
  check ((ended_by is null) = (ended_at is null))
);
create unique index screening_clearances_open
  on screening_clearances (account_id, user_id, list, entry_id) where ended_at is null;
create index screening_clearances_user on screening_clearances (account_id, user_id);
create index screening_clearances_time on screening_clearances (cleared_at, id);
create index screening_clearances_newest on screening_clearances (cleared_at, id)
  where ended_at is null;
-- Finds those that end soon.
create index screening_clearances_until on screening_clearances (until) where ended_at is null;
alter table screening_clearances enable row level security;
create policy own_account on screening_clearances using (account_id = current_account());
create trigger never_removed before delete or truncate on screening_clearances
  for each statement execute function refuse_change('clearances must not be deleted');
create trigger fixed_clearance before update of account_id, id, user_id, list, entry_id, entry_name,
    entry_hash, reason, cleared_by, cleared_at, until
  on screening_clearances
  for each statement execute function refuse_change('a clearance can only be ended');
-- All but the owner of the table, whose function follows.
create trigger fixed_subject before update of subject_index on screening_clearances
  for each statement
  when (current_user in ('outlay_service', 'outlay_api', 'outlay_worker', 'outlay_tenant'))
  execute function refuse_change('a clearance can only be ended');

create function renew_clearance_subjects(
  p_accounts uuid[], p_users uuid[], p_old text[], p_fresh text[]
) returns table (renewed integer, ended integer)
  language sql security definer set search_path = public, pg_temp as $$
  with changed as (
    update screening_clearances c
    set subject_index = case when c.subject_index = decode(n.old, 'hex')
      then decode(n.fresh, 'hex') else sha256(uuid_send(gen_random_uuid())) end
    from unnest(p_accounts, p_users, p_old, p_fresh) n (account_id, user_id, old, fresh)
    where c.account_id = n.account_id and c.user_id = n.user_id
    returning coalesce(c.subject_index = decode(n.fresh, 'hex'), false) as is_renewed
  )
  select count(*) filter (where is_renewed)::integer, count(*) filter (where not is_renewed)::integer
  from changed;
$$;

-- Results of screening payouts and decisions about them; the last row applies, and a payout without
-- a row was never screened. hits are those of its attributes; those of its recipient are in
-- screenings under recipient_sequence.
create table payout_screenings (
  account_id uuid not null,
  payout_id uuid not null,
  sequence integer not null check (sequence > 0),
  user_id uuid not null,
  is_passed boolean not null,
  recipient_sequence integer not null,
  -- Keyed hash of the names and wallets in the attributes.
  subject_index bytea not null check (length(subject_index) = 32),
  list_fingerprint bytea not null check (length(list_fingerprint) = 32),
  -- Thousandths.
  threshold_permille smallint not null check (threshold_permille between 1 and 1000),
  hits jsonb not null,
  screened_at timestamptz not null,
  -- A later screening with the same hits keeps these.
  cleared_by text check (length(cleared_by) between 1 and 200),
  cleared_at timestamptz,
  -- The texts that were compared for each hit, sealed under the user's key.
  evidence bytea,
  primary key (account_id, payout_id, sequence),
  foreign key (account_id, payout_id) references payout_quotes (account_id, id),
  constraint cleared_as_a_whole check ((cleared_by is null) = (cleared_at is null)),
  constraint passed_with_hits_by_person
    check (not is_passed or hits = '[]' or cleared_by is not null)
);
-- A clearance also applies to later payouts of the recipient.
create index payout_screenings_cleared
  on payout_screenings (account_id, user_id, subject_index, screened_at)
  where cleared_by is not null;
alter table payout_screenings enable row level security;
create policy own_account on payout_screenings using (account_id = current_account());

create trigger append_only before delete or truncate
  or update of account_id, payout_id, sequence, user_id, is_passed, recipient_sequence,
    list_fingerprint, threshold_permille, hits, screened_at, cleared_by, cleared_at, evidence
  on payout_screenings
  for each statement execute function refuse_change('screening results are immutable');

create function renew_payout_subjects(
  p_accounts uuid[], p_payouts uuid[], p_old text[], p_fresh text[]
) returns table (renewed integer, ended integer)
  language sql security definer set search_path = public, pg_temp as $$
  with changed as (
    update payout_screenings s
    set subject_index = case when s.subject_index = decode(n.old, 'hex')
      then decode(n.fresh, 'hex') else sha256(uuid_send(gen_random_uuid())) end
    from unnest(p_accounts, p_payouts, p_old, p_fresh) n (account_id, payout_id, old, fresh)
    where s.account_id = n.account_id and s.payout_id = n.payout_id
    returning coalesce(s.subject_index = decode(n.fresh, 'hex'), false) as is_renewed
  )
  select count(*) filter (where is_renewed)::integer, count(*) filter (where not is_renewed)::integer
  from changed;
$$;

-- What an external service was asked about payouts, and what it answered; the last row of a payout
-- applies. Times are real: the service does not follow the sandbox's clock.
create table screening_opinions (
  account_id uuid not null,
  payout_id uuid not null,
  sequence integer not null check (sequence > 0),
  user_id uuid not null,
  -- The key of the request: every try has the same one and the same body.
  id uuid not null unique,
  service text not null,
  -- Keyed hash of what was asked: other data are a new question.
  subject_index bytea not null check (length(subject_index) = 32),
  state text not null check (state in ('asked', 'clear', 'hit', 'unanswered')),
  -- Under the recipient's key, as is the answer.
  request bytea not null,
  answer bytea,
  tries integer not null default 0,
  -- While a process asks: when another one may.
  due_at timestamptz not null,
  asked_at timestamptz not null,
  answered_at timestamptz,
  primary key (account_id, payout_id, sequence),
  foreign key (account_id, user_id) references users (account_id, id),
  constraint answered_with_answer check ((state in ('clear', 'hit')) = (answer is not null)),
  constraint answered_at_a_time check ((state = 'asked') = (answered_at is null))
);
create index screening_opinions_due on screening_opinions (due_at) where state = 'asked';
alter table screening_opinions enable row level security;
create policy own_account on screening_opinions using (account_id = current_account());

create trigger never_removed before delete or truncate on screening_opinions
  for each statement execute function refuse_change('opinions on payouts must not be deleted');
