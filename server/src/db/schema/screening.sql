-- Screening against sanctions lists. Lists are public and belong to no client account; what came of
-- screening a recipient does. Entries and names are kept for ever, each with the versions of its
-- list that had it, so that every decision can be looked at in the light of its own day.

-- Word look-up by trigrams. It comes with PostgreSQL, and since version 13 whoever may create
-- objects in the database may install it.
create extension if not exists pg_trgm;

create table screening_lists (
  list text primary key check (list ~ '^[a-z][a-z0-9_]{0,29}$'),
  -- The version in force; 0 while there is none.
  sequence integer not null default 0 check (sequence >= 0),
  -- When its source was last read and found in order, whether it had changed or not.
  checked_at timestamptz not null default now()
);

create table screening_versions (
  list text not null references screening_lists,
  sequence integer not null check (sequence > 0),
  -- When the list was published, as far as it says so, or the beginning of its hash.
  version text not null,
  content_hash bytea not null check (length(content_hash) = 32),
  published_at timestamptz,
  entry_count integer not null check (entry_count > 0),
  name_count integer not null check (name_count >= entry_count),
  -- Differences from the version before.
  added_count integer not null,
  removed_count integer not null,
  imported_at timestamptz not null default now(),
  -- Which release of the parsers read the version. Versions of an older one lack wallet addresses and
  -- have to be imported again before anything is sent.
  reader smallint not null default 1,
  primary key (list, sequence)
);

create table screening_entries (
  list text not null,
  entry_id text not null,
  -- The versions that have the entry in this form: from the first one to before `until_sequence`.
  from_sequence integer not null,
  until_sequence integer check (until_sequence > from_sequence),
  kind text not null check (kind in ('person', 'organisation')),
  name text not null,
  -- Names of sanctions programmes.
  programmes jsonb not null,
  -- Possible dates of birth, spans of days.
  births jsonb not null,
  -- Codes (ISO 3166-1 alpha-3) with spaces between them.
  countries text not null,
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
  quality text not null check (quality in ('primary', 'alias', 'weak')),
  -- Its words and their skeletons, side by side, with spaces between them: they are letters and
  -- digits only, and the driver is slow at reading arrays.
  words text not null check (words <> ''),
  skeletons text not null,
  check (cardinality(string_to_array(skeletons, ' ')) = cardinality(string_to_array(words, ' '))),
  foreign key (list, entry_id, from_sequence) references screening_entries
);
create index screening_names_entry on screening_names (list, entry_id, from_sequence);

-- Every word of a name in force with the names that have it: what is asked for is found by words,
-- because a whole name shares too few trigrams with a longer one that contains it. Made anew from
-- the names by each import.
create table screening_words (
  word text primary key,
  skeleton text not null,
  name_ids integer[] not null,
  name_count integer not null check (name_count = cardinality(name_ids)),
  -- In how many names it is in any spelling, where its skeleton is long enough to tell.
  spelling_count integer not null,
  -- How many words each of these names has.
  lengths smallint[] not null check (cardinality(lengths) = cardinality(name_ids))
);
-- GiST, though it reads most of its pages for a short word: GIN puts the lists of all its trigrams
-- together first, which takes three times as long over these 20,000 words (1.4 ms and 4.3 ms a word).
-- An expression, though words are in lower case anyway: an index of the plain column would be taken
-- for looking up words that are equal too, at thirty times the cost of the primary key.
create index screening_words_trigrams on screening_words
  using gist (lower(word) gist_trgm_ops (siglen = 256));
create index screening_words_skeleton on screening_words (skeleton);

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

-- Words of the lists that may be spellings of the given ones. A quarter of the trigrams in common
-- is what one wrong letter in a word of five leaves.
create function find_similar_words(p_words text[], p_skeletons text[])
  returns table (given text, listed text, skeleton text, name_count integer)
  language sql stable set pg_trgm.similarity_threshold = 0.22 as $$
  select g.word, w.word, w.skeleton, w.name_count
  from unnest(p_words, p_skeletons) g (word, skeleton)
  join screening_words w on lower(w.word) % g.word
  union
  select g.word, w.word, w.skeleton, w.name_count
  from unnest(p_words, p_skeletons) g (word, skeleton)
  join screening_words w on w.skeleton = g.skeleton
$$;

-- Wallet addresses of list entries ("Digital Currency Address" of OFAC).
create table screening_wallets (
  list text not null,
  entry_id text not null,
  from_sequence integer not null,
  -- The form in which equal wallets are equal, whatever currency the list names.
  wallet text not null,
  -- As the list has it: currency and address.
  text text not null,
  primary key (list, entry_id, from_sequence, wallet),
  foreign key (list, entry_id, from_sequence) references screening_entries
);
create index screening_wallets_wallet on screening_wallets (wallet);

-- What came of screening a recipient, and what a person decided about it: a row for each, the last
-- one holds. Names of the recipient are not in it: `subject_index` is a keyed hash that tells
-- whether they have changed since.
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
  -- Sealed under the user's key: reasons tell about people.
  decision_reason bytea,
  primary key (account_id, user_id, sequence),
  foreign key (account_id, user_id) references users (account_id, id),
  constraint decided_by_person
    check ((state in ('cleared_by_person', 'confirmed_by_person')) = (decided_by is not null)),
  constraint decided_as_a_whole
    check (num_nulls(decided_by, decided_at, decision_reason) in (0, 3)),
  constraint hits_make_a_hit check (state <> 'clear' or hits = '[]')
);
-- Which recipients wait for a person, for the list that people work from.
create index screenings_hits on screenings (account_id, user_id, sequence) where state = 'hit';
alter table screenings enable row level security;
create policy own_account on screenings using (account_id = current_account());

create trigger append_only before update or delete or truncate on screenings
  for each statement execute function refuse_change('what was screened and decided stays');

-- The result of screening each payout: a row per screening or decision, the last one holds. A payout
-- without a row was never screened. `hits` are those of its attributes; those of its recipient are in
-- `screenings`, under `recipient_sequence`.
create table payout_screenings (
  account_id uuid not null,
  payout_id uuid not null,
  sequence integer not null check (sequence > 0),
  user_id uuid not null,
  is_passed boolean not null,
  recipient_sequence integer not null,
  -- A keyed hash of the names and wallets in the attributes.
  subject_index bytea not null check (length(subject_index) = 32),
  list_fingerprint bytea not null check (length(list_fingerprint) = 32),
  -- Thousandths.
  threshold_permille smallint not null check (threshold_permille between 1 and 1000),
  hits jsonb not null,
  screened_at timestamptz not null,
  -- Who cleared these hits, and when; a later screening with the same hits keeps it.
  cleared_by text check (length(cleared_by) between 1 and 200),
  cleared_at timestamptz,
  primary key (account_id, payout_id, sequence),
  foreign key (account_id, payout_id) references payout_quotes (account_id, id),
  constraint cleared_as_a_whole check ((cleared_by is null) = (cleared_at is null)),
  constraint passed_with_hits_by_person check (not is_passed or hits = '[]' or cleared_by is not null)
);
-- What a person has cleared for a recipient holds for the recipient's next payouts.
create index payout_screenings_cleared
  on payout_screenings (account_id, user_id, subject_index, screened_at)
  where cleared_by is not null;
alter table payout_screenings enable row level security;
create policy own_account on payout_screenings using (account_id = current_account());

create trigger append_only before update or delete or truncate on payout_screenings
  for each statement execute function refuse_change('what was screened and decided stays');
