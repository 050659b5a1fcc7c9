-- Many payouts from one file. A batch is received row by row, priced under one set of rates, quoted
-- and committed as a whole, and processed in portions.
create table batches (
  account_id uuid not null references accounts (id),
  id uuid not null,
  status text not null default 'RECEIVING' check (status in ('RECEIVING', 'DRAFT', 'QUOTED',
    'COMMITTING', 'COMMITTED', 'CANCELLED')),
  format text not null check (format in ('csv', 'ndjson', 'json')),
  -- The Idempotency-Key of the upload, by which a client resumes it.
  request_key text check (length(request_key) between 1 and 255),
  -- Digest of the first row_count rows as parsed, header included; of the whole file once it is a
  -- draft. Sealed under the environment's keys; empty before the first row.
  content_hash bytea not null default '' check (length(content_hash) in (0, 65)),
  -- JSON array of unknown columns.
  ignored_columns text not null default '[]',
  row_count integer not null default 0 check (row_count >= 0),
  valid_count integer not null default 0 check (valid_count >= 0),
  invalid_count integer not null default 0 check (invalid_count >= 0),
  repeated_count integer not null default 0 check (repeated_count >= 0),
  committed_count integer not null default 0 check (committed_count >= 0),
  refused_count integer not null default 0 check (refused_count >= 0),
  -- JSON object from pair to mid rate. Empty text while rows have different rates.
  rates text not null default '{}',
  priced_at timestamptz not null,
  -- The shortest rate lock of the valid rows.
  lock_seconds integer check (lock_seconds > 0),
  -- JSON array: sums of the valid rows by pair and rate.
  totals text not null default '[]',
  quoted_at timestamptz,
  -- How often it was quoted: a commit may name the quote whose prices its client has read.
  quote_number integer not null default 0,
  expires_at timestamptz,
  mode text check (mode in ('all', 'valid')),
  committed_at timestamptz,
  completed_at timestamptz,
  -- Valid rows before this number have become payouts.
  next_row integer not null default 1 check (next_row > 0),
  -- The process that receives, prices or commits holds the lease, by real time. An outdated fencing
  -- token changes nothing.
  lease_until timestamptz,
  fence bigint not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- The credential or operator that uploaded it, and the one that committed it.
  created_by uuid,
  committed_by uuid,
  -- Valid rows that use the stored details of the recipient.
  stored_details_count integer not null default 0 check (stored_details_count >= 0),
  -- The client's own; '' for none.
  name text not null default '' check (length(name) <= 100),
  -- What the quoted batch is worth, in cents of USD, for the limits on open quotes.
  usd_amount bigint not null default 0 check (usd_amount >= 0),
  primary key (account_id, id),
  constraint counts_add_up check (valid_count + invalid_count + repeated_count = row_count
    and committed_count + refused_count <= valid_count),
  constraint quoted_has_its_end check (status not in ('QUOTED', 'COMMITTING', 'COMMITTED')
    or (quoted_at is not null and expires_at is not null)),
  constraint committed_has_its_time check (
    (committed_at is not null and mode is not null) = (status in ('COMMITTING', 'COMMITTED'))),
  constraint completed_has_its_time check ((completed_at is not null) = (status = 'COMMITTED'))
);
create unique index batches_request_key on batches (account_id, request_key)
  where request_key is not null;
-- For the background work: batches to commit and unfinished uploads.
create index batches_under_way on batches (status, updated_at)
  where status in ('RECEIVING', 'COMMITTING');
create index batches_created on batches (account_id, created_at, id);
create index batches_status on batches (account_id, status, id);
-- For the limits on open quotes.
create index batches_quoted on batches (account_id, expires_at) where status = 'QUOTED';
alter table batches enable row level security;
create policy own_account on batches using (account_id = current_account());
grant select, insert, update, delete on batches to outlay_tenant;

create function is_legal_batch_move(p_from text, p_to text) returns boolean
  language sql immutable parallel safe
  return case p_from
    when 'RECEIVING' then p_to in ('DRAFT', 'CANCELLED')
    when 'DRAFT' then p_to in ('QUOTED', 'CANCELLED')
    -- New prices make it a draft until all rows have them.
    when 'QUOTED' then p_to in ('DRAFT', 'COMMITTING', 'CANCELLED')
    when 'COMMITTING' then p_to in ('COMMITTED')
    else false
  end;
grant execute on function is_legal_batch_move to outlay_tenant;

create trigger begins_receiving before insert on batches
  for each row when (new.status <> 'RECEIVING')
  execute function refuse_change('a new batch must be RECEIVING');
create trigger legal_move before update on batches
  for each row when (new.status <> old.status and not is_legal_batch_move(old.status, new.status))
  execute function refuse_change('illegal move from the present status');
-- These states move money, so only security definer functions set them.
create trigger committed_by_function before update on batches
  for each row when (current_user = 'outlay_tenant'
    and (old.status in ('COMMITTING', 'COMMITTED') or new.status in ('COMMITTING', 'COMMITTED')))
  execute function refuse_change('only its functions may commit a batch');
create trigger fixed_content before update on batches
  for each row when (old.status <> 'RECEIVING'
    and (new.row_count, new.format, new.request_key, new.ignored_columns)
      is distinct from (old.row_count, old.format, old.request_key, old.ignored_columns))
  execute function refuse_change('received content is immutable');
-- The service seals it anew with other keys of the environment.
create trigger fixed_hash before update of content_hash on batches
  for each row when (current_user = 'outlay_tenant' and old.status <> 'RECEIVING'
    and new.content_hash <> old.content_hash)
  execute function refuse_change('received content is immutable');
create trigger fixed_quote before update on batches
  for each row when (old.status in ('COMMITTING', 'COMMITTED')
    and (new.valid_count, new.invalid_count, new.repeated_count, new.rates, new.priced_at,
        new.totals, new.quoted_at, new.quote_number, new.expires_at, new.mode, new.committed_at)
      is distinct from (old.valid_count, old.invalid_count, old.repeated_count, old.rates,
        old.priced_at, old.totals, old.quoted_at, old.quote_number, old.expires_at,
        old.mode, old.committed_at))
  execute function refuse_change('a committed batch is immutable');
create trigger forward_only before update on batches
  for each row when (new.next_row < old.next_row or new.fence < old.fence)
  execute function refuse_change('next_row and fence must not decrease');
create trigger never_removed before delete on batches
  for each row when (old.status <> 'RECEIVING')
  execute function refuse_change('only an unfinished upload may be deleted');
create trigger never_emptied before truncate on batches
  for each statement execute function refuse_change('must not be truncated');

-- One row of the file. No foreign key to the batch: rows are stored by a statement that has just
-- updated it. A row is not rewritten when it becomes a payout: VALID with a number below next_row
-- reads as COMMITTED.
create table batch_rows (
  account_id uuid not null,
  batch_id uuid not null,
  -- number 1 is the first row of data; line counts all lines, header included.
  number integer not null check (number > 0),
  line integer not null check (line > 0),
  status text not null
    check (status in ('VALID', 'INVALID', 'REPEATED', 'COMMITTED', 'REFUSED')),
  -- The payout of the row; of a repeated row, the earlier payout.
  payout_id uuid,
  client_transfer_id text check (length(client_transfer_id) between 1 and 50),
  user_id uuid,
  given_side text check (given_side in ('source', 'destination')),
  source_token uuid,
  source_currency text,
  source_amount bigint check (source_amount > 0),
  fee bigint check (fee >= 0),
  destination_token uuid,
  destination_currency text,
  destination_amount bigint check (destination_amount > 0),
  exchange_rate text,
  mid_rate text,
  rounding_nano bigint check (rounding_nano >= 0),
  rail text,
  payer_key text,
  -- As in payout_quotes.
  provider_price text,
  payer_name text,
  delivery_type text,
  country text,
  attr_set_id uuid,
  attr_version integer,
  needs_attributes boolean,
  needs_verification boolean,
  notify_user boolean,
  -- JSON text, and the hashes by which it is found.
  metadata text,
  metadata_hashes bytea[],
  estimated_availability timestamptz,
  -- JSON array of { column, code, detail }; of a refused row the reason.
  faults text,
  -- Whether the row has its own details of the recipient or uses stored ones.
  details text check (details in ('row', 'stored')),
  primary key (account_id, batch_id, number),
  constraint priced_or_not check (status in ('INVALID', 'REPEATED') or (faults is null
      or status = 'REFUSED') and payout_id is not null and client_transfer_id is not null
    and user_id is not null and given_side is not null and source_token is not null
    and source_currency is not null and source_amount is not null and fee is not null
    and destination_token is not null and destination_currency is not null
    and destination_amount is not null and exchange_rate is not null
    and mid_rate is not null and rounding_nano is not null and rail is not null
    and payer_key is not null and payer_name is not null and delivery_type is not null
    and country is not null
    and needs_attributes is not null and needs_verification is not null
    and notify_user is not null and estimated_availability is not null)
);
-- Rows that a person looks for: few of a batch.
create index batch_rows_apart on batch_rows (account_id, batch_id, status, number)
  where status in ('INVALID', 'REPEATED', 'REFUSED');
alter table batch_rows enable row level security;
create policy own_account on batch_rows using (account_id = current_account());
grant select, insert, update, delete on batch_rows to outlay_tenant;

create trigger begins_uncommitted before insert on batch_rows
  for each row when (new.status in ('COMMITTED', 'REFUSED'))
  execute function refuse_change('a new row must be VALID, INVALID or REPEATED');
create trigger legal_move before update on batch_rows
  for each row when (new.status <> old.status and (old.status <> 'VALID'
    or (current_user = 'outlay_tenant' and new.status in ('COMMITTED', 'REFUSED'))))
  execute function refuse_change('illegal move from the present status');
create trigger fixed_row before update on batch_rows
  for each row when (old.status <> 'VALID'
    and to_jsonb(new) - 'metadata_hashes' <> to_jsonb(old) - 'metadata_hashes')
  execute function refuse_change('only VALID rows may change');

-- Only an unfinished upload may be deleted, and a tenant changes rows of a draft or quote only.
create function refuse_unless_open() returns trigger
  language plpgsql as $$
begin
  if exists (
    select from batches b
    where b.account_id = old.account_id and b.id = old.batch_id
      and b.status <> 'RECEIVING' and (tg_op = 'DELETE' or b.status not in ('DRAFT', 'QUOTED')))
  then
    raise exception '%: the status of the batch does not allow it', tg_table_name
      using errcode = 'restrict_violation';
  end if;
  return case tg_op when 'DELETE' then old else new end;
end
$$;

create trigger open_to_clients before update on batch_rows
  for each row when (current_user = 'outlay_tenant') execute function refuse_unless_open();
create trigger removed_unfinished before delete on batch_rows
  for each row execute function refuse_unless_open();
create trigger never_emptied before truncate on batch_rows
  for each statement execute function refuse_change('must not be truncated');

-- Every change of a batch's status or quote is an event with the batch as it is then. Statements that
-- cause one lock the account's row before the batch.
create function write_batch_event() returns trigger
  language plpgsql as $$
declare
  b batches := case tg_op when 'DELETE' then old else new end;
begin
  perform write_event(b.account_id,
    'batch.' || case tg_op when 'DELETE' then 'removed' else lower(b.status) end, b.id,
    json_build_object('id', b.id, 'name', b.name, 'status', b.status, 'format', b.format,
      'ignored_columns', b.ignored_columns, 'row_count', b.row_count, 'valid_count', b.valid_count,
      'invalid_count', b.invalid_count, 'repeated_count', b.repeated_count,
      'committed_count', b.committed_count, 'refused_count', b.refused_count,
      'stored_details_count', b.stored_details_count, 'totals', b.totals,
      'created_at', b.created_at, 'quoted_at', b.quoted_at, 'quote_number', b.quote_number,
      'expires_at', b.expires_at,
      'committed_at', b.committed_at, 'completed_at', b.completed_at)::text,
    environment_now());
  return null;
end
$$;

create trigger begun_event after insert on batches
  for each row execute function write_batch_event();
create trigger changed_event after update on batches
  for each row when (new.status <> old.status or new.quoted_at is distinct from old.quoted_at)
  execute function write_batch_event();
create trigger removed_event after delete on batches
  for each row execute function write_batch_event();
