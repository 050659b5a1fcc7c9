-- Reconciliation: the entries of the operator's bank accounts beside what the ledger settled at a rail.
-- A bank account serves the payouts of all accounts, so entries belong to a rail and not to an account.

-- A statement of the bank that was imported, once.
create table bank_files (
  rail text collate "C" not null,
  digest bytea not null check (length(digest) = 32),
  format text not null check (format in ('camt.053', 'csv')),
  entry_count integer not null,
  imported_by text not null,
  imported_at timestamptz not null,
  primary key (rail, digest)
);
alter table bank_files enable row level security;

-- What was matched with what, or explained without a counterpart. Matches are never undone.
create table reconciliation_matches (
  rail text collate "C" not null,
  id uuid not null,
  kind text not null check (kind in ('reference', 'batch', 'linked', 'explained')),
  -- The person; '' where Outlay matched.
  decided_by text not null,
  reason text not null,
  matched_at timestamptz not null,
  primary key (rail, id),
  constraint decided_by_a_person
    check ((kind in ('linked', 'explained')) = (decided_by <> '' and reason <> ''))
);
alter table reconciliation_matches enable row level security;
create trigger append_only before update or delete or truncate on reconciliation_matches
  for each statement execute function refuse_change('matches are immutable');

-- Amounts of both sides are positive; `debit` took money from the bank account. Only references are
-- kept of the bank's texts, which may name people.
create table bank_entries (
  rail text collate "C" not null,
  id uuid not null,
  file_digest bytea not null,
  -- The place in the file.
  position text not null,
  bank_account text not null,
  booked_on date not null,
  direction text not null check (direction in ('debit', 'credit')),
  currency text not null,
  amount bigint not null check (amount > 0),
  -- Of payments; ours as digits. Several for a batch that is booked as one amount.
  payment_references text[] not null,
  bank_reference text not null,
  batch_id text not null,
  batch_count integer,
  match_id uuid,
  primary key (rail, id),
  foreign key (rail, file_digest) references bank_files (rail, digest),
  foreign key (rail, match_id) references reconciliation_matches (rail, id)
);
create index bank_entries_open on bank_entries (rail, currency, booked_on) where match_id is null;
create index bank_entries_day on bank_entries (rail, currency, booked_on);
create index bank_entries_match on bank_entries (rail, match_id);
alter table bank_entries enable row level security;

-- The journals that posted to settlement:<rail>, copied once so that a match can be noted.
create table settlement_items (
  account_id uuid not null,
  journal_id uuid not null,
  rail text collate "C" not null,
  kind text not null,
  payout_id uuid not null,
  -- Of the attempt that paid.
  reference text not null,
  provider_reference text not null,
  direction text not null check (direction in ('debit', 'credit')),
  currency text not null,
  amount bigint not null check (amount > 0),
  booked_on date not null,
  match_id uuid,
  primary key (account_id, journal_id),
  foreign key (rail, match_id) references reconciliation_matches (rail, id)
);
create index settlement_items_open on settlement_items (rail, currency, booked_on)
  where match_id is null;
create index settlement_items_day on settlement_items (rail, currency, booked_on);
create index settlement_items_match on settlement_items (rail, match_id);
alter table settlement_items enable row level security;

create trigger never_removed before delete or truncate on bank_entries
  for each statement execute function refuse_change('bank entries must not be deleted');
create trigger never_removed before delete or truncate on settlement_items
  for each statement execute function refuse_change('settlements must not be deleted');
create trigger fixed_entry before update of rail, id, booked_on, direction, currency, amount
  on bank_entries
  for each statement execute function refuse_change('bank entries are immutable');
create trigger fixed_item
  before update of account_id, journal_id, rail, booked_on, direction, currency, amount
  on settlement_items
  for each statement execute function refuse_change('settlements are immutable');

-- Up to which link of the account's journals settlements were copied. Ids of journals follow the clock of
-- the database, which may be set back, and numbers of links do not.
create table settlement_cursors (
  account_id uuid not null,
  currency text not null,
  last_link bigint not null,
  primary key (account_id, currency)
);
alter table settlement_cursors enable row level security;

-- Periods whose sums agree. They are closed. Movements are debits less credits.
create table reconciliation_periods (
  rail text collate "C" not null,
  currency text not null,
  first_day date not null,
  last_day date not null check (last_day >= first_day),
  bank_movement bigint not null,
  ledger_movement bigint not null,
  bank_explained bigint not null,
  ledger_explained bigint not null,
  -- Of matches across the border: what the ledger has in another period, less what the bank has there.
  carried bigint not null,
  closed_by text not null check (closed_by <> ''),
  closed_at timestamptz not null,
  primary key (rail, currency, first_day),
  constraint sums_agree check (
    bank_movement - bank_explained = ledger_movement - ledger_explained + carried)
);
alter table reconciliation_periods enable row level security;
create trigger append_only before update or delete or truncate on reconciliation_periods
  for each statement execute function refuse_change('closed periods are immutable');

create function signed_amount(p_direction text, p_amount bigint) returns bigint
  language sql immutable parallel safe
  return case p_direction when 'debit' then p_amount else -p_amount end;

-- Copies settlements of an account in a currency of its balances, from links with `p_count` journals or a
-- little more, and answers how many journals these have; 0: none is left. The account's row is held, so
-- that no link with a lower number follows.
create function collect_settlements(p_account uuid, p_currency text, p_count integer)
  returns integer
  language plpgsql as $$
declare
  v_after bigint;
  v_read integer;
  v_last bigint;
begin
  perform 1 from accounts where id = p_account for share;
  insert into settlement_cursors (account_id, currency, last_link)
  values (p_account, p_currency, 0)
  on conflict do nothing;
  select last_link into v_after from settlement_cursors
  where account_id = p_account and currency = p_currency for update;
  select coalesce(sum(row_count), 0), max(number) into v_read, v_last from (
    select number, row_count, sum(row_count) over (order by number) - row_count as earlier from (
      select number, row_count from ledger_links
      where account_id = p_account and number > v_after order by number limit p_count
    ) l
  ) counted where earlier < p_count;
  if v_read = 0 then return 0; end if;
  insert into settlement_items (account_id, journal_id, rail, kind, payout_id, reference,
    provider_reference, direction, currency, amount, booked_on)
  select j.account_id, j.id, j.rail, j.kind, j.payout_id, coalesce(a.reference, ''),
    coalesce(r.provider_reference, a.provider_reference, ''),
    case when l.to_name = 'settlement:' || j.rail then 'debit' else 'credit' end, l.currency,
    l.amount, (j.created_at at time zone 'UTC')::date
  from ledger_links k
  join ledger_journals j on j.account_id = k.account_id and j.source_currency = p_currency
    and j.id between k.first_id and k.last_id
  cross join lateral journal_lines(j.kind, j.source_currency, j.source_amount, j.fee,
    j.destination_currency, j.destination_amount, j.rail) l
  left join lateral (
    select reference, provider_reference from attempts a
    where a.account_id = j.account_id and a.payout_id = j.payout_id and a.rail = j.rail
    order by a.state in ('paid', 'returned') desc, a.number desc limit 1
  ) a on true
  left join lateral (
    select o.provider_reference from observations o
    where j.kind in ('return', 'write_back') and o.account_id = j.account_id
      and o.payout_id = j.payout_id and o.outcome = 'returned' and o.observed_at = j.created_at
      and o.provider_reference <> ''
    order by (o.amount = j.destination_amount) is true desc, o.id limit 1
  ) r on true
  where k.account_id = p_account and k.number > v_after and k.number <= v_last
    and 'settlement:' || j.rail in (l.from_name, l.to_name);
  update settlement_cursors set last_link = v_last
  where account_id = p_account and currency = p_currency;
  return v_read;
end
$$;

-- Records matches: the parallel arrays name a match for each entry and each settlement. Every one must
-- be open and of this rail. The sums of both sides must be equal, unless a side is explained alone.
create function record_matches(
  p_rail text, p_kind text, p_by text, p_reason text, p_at timestamptz, p_entry_matches uuid[],
  p_entries uuid[], p_item_matches uuid[], p_items uuid[]
) returns integer
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_count integer;
begin
  lock table reconciliation_matches in share row exclusive mode;
  insert into reconciliation_matches (rail, id, kind, decided_by, reason, matched_at)
  select distinct p_rail, m, p_kind, p_by, p_reason, p_at
  from unnest(p_entry_matches || p_item_matches) m;
  get diagnostics v_count = row_count;
  with noted as (
    update bank_entries e set match_id = m.match_id
    from unnest(p_entry_matches, p_entries) m (match_id, id)
    where e.rail = p_rail and e.id = m.id and e.match_id is null
    returning e.match_id, e.currency, signed_amount(e.direction, e.amount) as amount
  ), linked as (
    update settlement_items s set match_id = m.match_id
    from unnest(p_item_matches, p_items) m (match_id, id)
    where s.rail = p_rail and s.journal_id = m.id and s.match_id is null
    returning s.match_id, s.currency, -signed_amount(s.direction, s.amount) as amount
  ), sides as (
    select * from noted union all select * from linked
  )
  select case
    when (select count(*) from noted) <> cardinality(p_entries)
      or (select count(*) from linked) <> cardinality(p_items) then -1
    when p_kind <> 'explained' and exists (
      select from sides group by match_id
      having sum(amount) <> 0 or count(distinct currency) > 1) then -2
    else v_count end
  into v_count;
  if v_count = -1 then
    raise exception 'an item is unknown, named twice or matched already' using errcode = 'OL002';
  elsif v_count = -2 then
    raise exception 'the sums of the bank and of the ledger differ' using errcode = 'OL002';
  end if;
  return v_count;
end
$$;

-- Adds up a period, of which nothing may be open up to its end.
create function sum_reconciliation(p_rail text, p_currency text, p_first date, p_last date)
  returns table (open_entries bigint, open_items bigint, bank_movement bigint,
    ledger_movement bigint, bank_explained bigint, ledger_explained bigint, carried bigint)
  language sql stable rows 1 as $$
  with entry as (
    select e.match_id, m.kind, signed_amount(e.direction, e.amount) as amount
    from bank_entries e
    left join reconciliation_matches m on m.rail = e.rail and m.id = e.match_id
    where e.rail = p_rail and e.currency = p_currency and e.booked_on between p_first and p_last
  ), item as (
    select s.match_id, m.kind, signed_amount(s.direction, s.amount) as amount
    from settlement_items s
    left join reconciliation_matches m on m.rail = s.rail and m.id = s.match_id
    where s.rail = p_rail and s.currency = p_currency and s.booked_on between p_first and p_last
  ), touched as (
    select match_id from entry where kind <> 'explained'
    union
    select match_id from item where kind <> 'explained'
  ), elsewhere as (
    select signed_amount(s.direction, s.amount) as amount
    from touched t join settlement_items s on s.rail = p_rail and s.match_id = t.match_id
    where s.booked_on not between p_first and p_last
    union all
    select -signed_amount(e.direction, e.amount)
    from touched t join bank_entries e on e.rail = p_rail and e.match_id = t.match_id
    where e.booked_on not between p_first and p_last
  )
  select
    (select count(*) from bank_entries
      where rail = p_rail and currency = p_currency and booked_on <= p_last and match_id is null),
    (select count(*) from settlement_items
      where rail = p_rail and currency = p_currency and booked_on <= p_last and match_id is null),
    coalesce((select sum(amount) from entry), 0)::bigint,
    coalesce((select sum(amount) from item), 0)::bigint,
    coalesce((select sum(amount) from entry where kind = 'explained'), 0)::bigint,
    coalesce((select sum(amount) from item where kind = 'explained'), 0)::bigint,
    coalesce((select sum(amount) from elsewhere), 0)::bigint;
$$;

-- Closes a period; a row only where nothing is open and the sums agree.
create function close_reconciliation(
  p_rail text, p_currency text, p_first date, p_last date, p_by text
) returns setof reconciliation_periods
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  lock table reconciliation_matches, reconciliation_periods in share row exclusive mode;
  return query
  insert into reconciliation_periods (rail, currency, first_day, last_day, bank_movement,
    ledger_movement, bank_explained, ledger_explained, carried, closed_by, closed_at)
  select p_rail, p_currency, p_first, p_last, s.bank_movement, s.ledger_movement, s.bank_explained,
    s.ledger_explained, s.carried, p_by, environment_now()
  from sum_reconciliation(p_rail, p_currency, p_first, p_last) s
  where s.open_entries = 0 and s.open_items = 0
    and s.bank_movement - s.bank_explained = s.ledger_movement - s.ledger_explained + s.carried
    and not exists (
      select from reconciliation_periods r
      where r.rail = p_rail and r.currency = p_currency
        and r.first_day <= p_last and r.last_day >= p_first)
  returning *;
end
$$;

-- Stores the new entries of a file, and answers how many; null where the file is stored already, by an
-- import at the same time too. Entries that another file had are left out.
create function import_bank_file(
  p_rail text, p_digest bytea, p_format text, p_by text, p_entries json
) returns integer
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  v_new integer;
begin
  lock table reconciliation_periods in share mode;
  insert into bank_files (rail, digest, format, entry_count, imported_by, imported_at)
  values (p_rail, p_digest, p_format, json_array_length(p_entries), p_by, environment_now())
  on conflict (rail, digest) do nothing;
  if not found then return null; end if;
  insert into bank_entries (rail, id, file_digest, position, bank_account, booked_on, direction,
    currency, amount, payment_references, bank_reference, batch_id, batch_count)
  select p_rail, id, p_digest, position, bank_account, booked_on, direction, currency, amount,
    payment_references, bank_reference, batch_id, batch_count
  from json_to_recordset(p_entries) as e (id uuid, position text, bank_account text,
    booked_on date, direction text, currency text, amount bigint, payment_references text[],
    bank_reference text, batch_id text, batch_count integer)
  order by id
  on conflict (rail, id) do nothing;
  get diagnostics v_new = row_count;
  if exists (
    select from bank_entries e
    join reconciliation_periods p on p.rail = e.rail and p.currency = e.currency
      and e.booked_on between p.first_day and p.last_day
    where e.rail = p_rail and e.file_digest = p_digest)
  then
    raise exception 'the file has new entries in a period that is closed' using errcode = 'OL002';
  end if;
  return v_new;
end
$$;
