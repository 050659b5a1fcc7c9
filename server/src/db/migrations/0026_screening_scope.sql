-- Screening of wallet addresses and of names in attributes, and the result for each payout.

-- Which release of the parsers read the version. Versions of an older one lack wallet addresses and
-- have to be imported again before anything is sent.
alter table screening_versions add column reader smallint not null default 1;

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
alter table payout_screenings alter account_id set (n_distinct = 1);
alter table payout_screenings enable row level security;
create policy own_account on payout_screenings using (account_id = current_account());
create trigger append_only before update or delete or truncate on payout_screenings
  for each statement execute function refuse_change('what was screened and decided stays');
-- What a person has cleared for a recipient holds for the recipient's next payouts.
create index payout_screenings_cleared
  on payout_screenings (account_id, user_id, subject_index, screened_at)
  where cleared_by is not null;
