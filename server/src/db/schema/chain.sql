-- Tamper evidence. The owner of the database can change any row; a chain of hashes makes the change
-- visible. Each statement that inserts journals or events adds one link for each of its accounts, over
-- the rows that it wrote: a hash over the previous link's hash and a digest of the rows. The service
-- signs the newest hashes regularly (`ledger/checkpoints.ts`) and writes them outside the database too.
--
-- An account's row is locked when journals and events are written, so its links have one order. The
-- hashes cover the bytes that `ledger/chain.ts` computes again outside the database.

create table ledger_links (
  account_id uuid not null,
  number bigint not null,
  -- Of its journals, whose ids are in this range and in no other link's.
  first_id uuid not null,
  last_id uuid not null,
  row_count integer not null,
  digest bytea not null,
  hash bytea not null,
  created_at timestamptz not null,
  primary key (account_id, number)
);
-- The sequences of events have no gaps: a link has row_count of them, up to its last one. Links stay when
-- the events of a month are dropped, because the later ones build on them.
create table event_links (
  account_id uuid not null,
  last_sequence bigint not null,
  row_count integer not null,
  digest bytea not null,
  hash bytea not null,
  created_at timestamptz not null,
  primary key (account_id, last_sequence)
);
-- Links of a time are neighbours: these cost next to nothing to maintain.
create index ledger_links_time on ledger_links using brin (created_at);
create index event_links_time on event_links using brin (created_at);

-- The signed head of an account's chains. Its line is also in a file outside the database.
create table chain_checkpoints (
  account_id uuid not null references accounts (id),
  ledger_number bigint not null,
  event_sequence bigint not null,
  -- The signed text: JSON in canonical form.
  statement text not null,
  signature bytea not null,
  key_id text not null,
  created_at timestamptz not null,
  -- A head is signed again with the key of a new generation.
  primary key (account_id, ledger_number, event_sequence, key_id)
);
create index chain_checkpoints_event on chain_checkpoints (account_id, event_sequence);
create index chain_checkpoints_time on chain_checkpoints (created_at);

alter table ledger_links enable row level security;
create policy own_account on ledger_links using (account_id = current_account());
grant select on ledger_links to outlay_tenant;
alter table event_links enable row level security;
create policy own_account on event_links using (account_id = current_account());
grant select on event_links to outlay_tenant;
alter table chain_checkpoints enable row level security;
create policy own_account on chain_checkpoints using (account_id = current_account());
grant select on chain_checkpoints to outlay_tenant;

create trigger append_only before update or delete or truncate on ledger_links
  for each statement execute function refuse_change('links are immutable');
create trigger append_only before update or delete or truncate on event_links
  for each statement execute function refuse_change('links are immutable');
create trigger append_only before update or delete or truncate on chain_checkpoints
  for each statement execute function refuse_change('checkpoints are immutable');

-- The hash of a link: over the hash before it, the account, its place, its time and its rows. The time
-- says whether the rows of a link of events are still kept.
create function link_hash(
  p_previous bytea, p_account uuid, p_place bigint, p_at timestamptz, p_row_count integer,
  p_digest bytea
) returns bytea
  language sql immutable parallel safe
  return sha256(coalesce(p_previous, ''::bytea) || uuid_send(p_account) || int8send(p_place)
    || timestamptz_send(p_at) || int4send(p_row_count) || p_digest);

-- The digest of rows is over the hashes of each row's bytes, so that a proof about one payout need not
-- show the others. Numbers are big-endian, times are microseconds since 2000, and an absent number or id
-- counts as zero: which of them a row has, its kind says.
create function link_journals() returns trigger
  language plpgsql as $$
begin
  insert into ledger_links (account_id, number, first_id, last_id, row_count, digest, hash, created_at)
  select n.account_id, coalesce(p.number, 0) + 1, n.ids[1], n.ids[n.row_count], n.row_count, n.digest,
    link_hash(p.hash, n.account_id, coalesce(p.number, 0) + 1, n.created_at, n.row_count, n.digest),
    n.created_at
  from (
    select account_id, array_agg(id order by id) as ids, count(*)::integer as row_count,
      sha256(string_agg(sha256(uuid_send(id) || int8send(source_amount) || int8send(fee)
        || int8send(coalesce(destination_amount, 0)) || int8send(coalesce(wallet_balance, 0))
        || timestamptz_send(created_at)
        || uuid_send(coalesce(payout_id, '00000000-0000-0000-0000-000000000000'))
        || uuid_send(coalesce(batch_id, '00000000-0000-0000-0000-000000000000'))
        || convert_to(concat_ws('|', kind, source_currency, destination_currency, rail), 'UTF8')),
        ''::bytea order by id)) as digest,
      max(created_at) as created_at
    from written group by account_id
  ) n
  left join lateral (
    select number, hash from ledger_links l
    where l.account_id = n.account_id order by number desc limit 1
  ) p on true;
  return null;
end
$$;
create trigger link_journals after insert on ledger_journals
  referencing new table as written
  for each statement execute function link_journals();

-- A tenant's own statements write events too, and may not write links. The number of bytes of the payload,
-- -1 without one, tells it from the detail.
create function link_events() returns trigger
  language plpgsql security definer
  set search_path = public, pg_temp as $$
begin
  insert into event_links (account_id, last_sequence, row_count, digest, hash, created_at)
  select n.account_id, n.last_sequence, n.row_count, n.digest,
    link_hash(p.hash, n.account_id, n.last_sequence, n.created_at, n.row_count, n.digest), n.created_at
  from (
    select account_id, max(sequence) as last_sequence, count(*)::integer as row_count,
      sha256(string_agg(sha256(int8send(sequence) || timestamptz_send(created_at)
        || uuid_send(subject_id)
        || case when payload is null then '\xffffffff'::bytea
          else int4send(octet_length(convert_to(payload, 'UTF8'))) end
        || convert_to(concat_ws('|', type, detail, payload), 'UTF8')),
        ''::bytea order by sequence)) as digest,
      max(created_at) as created_at
    from written group by account_id
  ) n
  left join lateral (
    select hash from event_links l
    where l.account_id = n.account_id order by last_sequence desc limit 1
  ) p on true;
  return null;
end
$$;
create trigger link_events after insert on events
  referencing new table as written
  for each statement execute function link_events();
