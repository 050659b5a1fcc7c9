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
  -- Hash of the first row_count rows as parsed, header included; of the whole file once it is a
  -- draft.
  content_hash bytea not null check (length(content_hash) = 32),
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
  -- Valid rows that use the stored details of the recipient.
  stored_details_count integer not null default 0 check (stored_details_count >= 0),
  -- The client's own; '' for none.
  name text not null default '' check (length(name) <= 100),
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
    and (new.content_hash, new.row_count, new.format, new.request_key, new.ignored_columns)
      is distinct from (old.content_hash, old.row_count, old.format, old.request_key,
        old.ignored_columns))
  execute function refuse_change('received content is immutable');
create trigger fixed_quote before update on batches
  for each row when (old.status in ('COMMITTING', 'COMMITTED')
    and (new.valid_count, new.invalid_count, new.repeated_count, new.rates, new.priced_at,
        new.totals, new.quoted_at, new.expires_at, new.mode, new.committed_at)
      is distinct from (old.valid_count, old.invalid_count, old.repeated_count, old.rates,
        old.priced_at, old.totals, old.quoted_at, old.expires_at, old.mode, old.committed_at))
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
  rounding_nano bigint check (rounding_nano >= 0),
  rail text,
  payer_key text,
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
    and rounding_nano is not null and rail is not null and payer_key is not null
    and payer_name is not null and delivery_type is not null and country is not null
    and needs_attributes is not null and needs_verification is not null
    and notify_user is not null and estimated_availability is not null)
);
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
  for each row when (old.status <> 'VALID' and new is distinct from old)
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
      'created_at', b.created_at, 'quoted_at', b.quoted_at, 'expires_at', b.expires_at,
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

-- Reserves the cost of all valid rows of a quoted batch, or returns the reason why not.
create function begin_batch_commit(
  p_account uuid, p_batch uuid, p_mode text, out result text, out detail text
)
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  b batches;
  v_now timestamptz;
  v_short text;
  v_time text;
begin
  detail := '';
  perform require_own_account(p_account);
  perform 1 from accounts where id = p_account for update;
  select * into b from batches where account_id = p_account and id = p_batch for update;
  if not found then result := 'not_found'; return; end if;
  if b.status in ('COMMITTING', 'COMMITTED') then result := 'success'; return; end if;
  if b.status <> 'QUOTED' then result := 'not_quoted'; detail := b.status; return; end if;
  if p_mode = 'all' and b.invalid_count > 0 then
    result := 'invalid_rows'; detail := b.invalid_count::text; return;
  end if;
  if b.valid_count = 0 then result := 'nothing_to_pay'; return; end if;
  v_now := environment_now();
  v_time := journal_time();
  if v_now >= b.expires_at then result := 'ex_rate_expired'; return; end if;

  with needed as (
    select source_currency as currency, sum(source_amount::numeric + fee) as amount
    from batch_rows
    where account_id = p_account and batch_id = p_batch and status = 'VALID'
      and number <= b.row_count
    group by source_currency
  )
  select json_agg(json_build_object('currency', n.currency, 'needed', n.amount::text,
    'available', coalesce(w.balance, 0)::text) order by n.currency)::text
  into v_short
  from needed n
  left join ledger_accounts w
    on w.account_id = p_account and w.currency = n.currency and w.name = 'wallet'
  where coalesce(w.balance, 0) < n.amount;
  if v_short is not null then result := 'insufficient_funds'; detail := v_short; return; end if;

  insert into ledger_journals (account_id, id, kind, batch_id, source_currency, source_amount,
    wallet_balance, created_at)
  select p_account, journal_id(v_time, row_number() over (order by n.currency), gen_random_uuid()),
    'reserve', p_batch, n.currency, n.amount, w.balance - n.amount, v_now
  from (
    select source_currency as currency, sum(source_amount + fee)::bigint as amount
    from batch_rows
    where account_id = p_account and batch_id = p_batch and status = 'VALID'
      and number <= b.row_count
    group by source_currency
  ) n
  join ledger_accounts w
    on w.account_id = p_account and w.currency = n.currency and w.name = 'wallet';
  update batches set status = 'COMMITTING', mode = p_mode, committed_at = v_now, updated_at = v_now
  where account_id = p_account and id = p_batch;
  result := 'success';
end
$$;
grant execute on function begin_batch_commit to outlay_tenant;

-- Refuses rows of a batch that can not be committed any more: the user was locked since, asks for more
-- than is stored, or the client_transfer_id was committed elsewhere. Their money goes back to the
-- wallet. Answers how many.
create function refuse_batch_rows(
  p_account uuid, p_batch uuid, p_first integer, p_last integer, p_at timestamptz
) returns integer
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set jit = off
  as $$
declare
  v_refused integer;
begin
  -- The look-up aside and the row's place spare the planner a guess about the whole batch.
  with judged as materialized (
    select r.ctid as place_of_row, case
        when u.status <> 'ACTIVE' then 'user_not_active'
        when r.needs_verification and u.kyc_status <> 'approved' then 'addtl_attr_req'
        when (r.needs_attributes or r.attr_set_id is not null) and not exists (
          select from attribute_set_versions v
          where v.account_id = p_account and v.set_id = r.attr_set_id
            and v.version = r.attr_version and (v.is_complete or not r.needs_attributes))
        then 'addtl_attr_req'
        when s.payout_id is not null then 'duplicate_transfer'
      end as refusal,
      coalesce(s.payout_id::text, u.status) as because
    from batch_rows r
    join users u on u.account_id = p_account and u.id = r.user_id
    left join lateral (
      select x.payout_id from payout_states x
      where x.account_id = p_account and x.client_transfer_id = r.client_transfer_id
      offset 0
    ) s on true
    where r.account_id = p_account and r.batch_id = p_batch
      and r.number between p_first and p_last and r.status = 'VALID'
  )
  update batch_rows r set status = 'REFUSED',
    faults = json_build_array(json_build_object(
      'column', case j.refusal when 'duplicate_transfer' then 'client_transfer_id'
        when 'addtl_attr_req' then 'destination_token' else 'user_token' end,
      'code', j.refusal,
      'detail', case j.refusal
        when 'duplicate_transfer' then 'this client_transfer_id was committed as payout_'
          || j.because
        when 'addtl_attr_req' then 'the destination asks for more of the user'
        else 'the user is ' || j.because end))::text
  from judged j
  where j.refusal is not null and r.ctid = j.place_of_row;
  get diagnostics v_refused = row_count;
  if v_refused > 0 then
    insert into ledger_journals (account_id, id, kind, batch_id, source_currency, source_amount,
      wallet_balance, created_at)
    select p_account, journal_id(journal_time(), row_number() over (order by n.currency),
      gen_random_uuid()), 'release', p_batch, n.currency, n.amount, w.balance + n.amount, p_at
    from (
      select source_currency as currency, sum(source_amount + fee)::bigint as amount
      from batch_rows
      where account_id = p_account and batch_id = p_batch
        and number between p_first and p_last and status = 'REFUSED'
      group by source_currency
    ) n
    join ledger_accounts w
      on w.account_id = p_account and w.currency = n.currency and w.name = 'wallet';
  end if;
  return v_refused;
end
$$;

-- Makes committed payouts of the valid rows of a part of a batch, paid from what was reserved for it.
-- They are due at `p_due_at`. Answers how many.
create function pay_batch_rows(
  b batches, p_first integer, p_last integer, p_due_at timestamptz, p_at timestamptz
) returns integer
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set jit = off
  as $$
declare
  v_paid record;
begin
  with chosen as materialized (
    select *, case when delivery_type = 'CASH_PICKUP' then new_pickup_code() else '' end as code
    from batch_rows
    where account_id = b.account_id and batch_id = b.id and number between p_first and p_last
      and status = 'VALID'
    order by number
  ), quoted as (
    insert into payout_quotes (account_id, id, user_id, client_transfer_id, source_token,
      source_currency, source_amount, fee, destination_token, destination_currency,
      destination_amount, exchange_rate, rounding_nano, rail, payer_key, payer_name,
      attr_set_id, attr_version, delivery_type, country, needs_attributes, needs_verification,
      notify_user, metadata, created_at, expires_at, estimated_availability)
    select account_id, payout_id, user_id, client_transfer_id, source_token, source_currency,
      source_amount, fee, destination_token, destination_currency, destination_amount,
      exchange_rate, rounding_nano, rail, payer_key, payer_name, attr_set_id, attr_version,
      delivery_type, country, needs_attributes, needs_verification, notify_user,
      coalesce(metadata, '{}'), b.committed_at, b.expires_at, estimated_availability
    from chosen
  ), indexed as (
    insert into payout_metadata (account_id, entry_hash, payout_id)
    select distinct account_id, hash, payout_id
    from chosen cross join lateral unnest(metadata_hashes) h (hash)
    where metadata_hashes is not null
  ), committed as (
    insert into payout_states (account_id, payout_id, status, client_transfer_id, attr_set_id,
      attr_version, pickup_code, committed_at, updated_at)
    select account_id, payout_id, 'PROCESSING', client_transfer_id, attr_set_id, attr_version,
      code, p_at, p_at
    from chosen
  ), posted as (
    -- No balance's statement shows these, so that they need no id of a later time.
    insert into ledger_journals (account_id, id, kind, payout_id, batch_id, source_currency,
      source_amount, fee, destination_currency, destination_amount, rail, created_at)
    select account_id, payout_id, 'batch_commit', payout_id, b.id, source_currency,
      source_amount, fee, destination_currency, destination_amount, rail, p_at
    from chosen
  ), due as (
    insert into payout_dispatches (account_id, payout_id, rail, due_at)
    select account_id, payout_id, rail, p_due_at from chosen
  )
  select array_agg(account_id) as accounts, array_agg(payout_id) as payouts,
    array_agg(text 'PROCESSING') as statuses, array_agg(text '') as reasons,
    array_agg(case when notify_user then user_id end) as recipients, count(*)::integer as count
  into v_paid
  from chosen;
  perform write_payout_events(v_paid.accounts, v_paid.payouts, v_paid.statuses, v_paid.reasons,
    v_paid.recipients, p_at);
  return v_paid.count;
end
$$;

-- Commits the next rows of a batch and answers how many rows it went through; none when the batch is
-- through, or the claim is outdated.
create function commit_batch_rows(
  p_account uuid, p_batch uuid, p_fence bigint, p_count integer
) returns integer
  language plpgsql security definer set search_path = public, pg_temp
  set plan_cache_mode = force_generic_plan
  set jit = off
  as $$
declare
  b batches;
  v_now timestamptz;
  v_last integer;
  v_refused integer;
  v_committed integer;
begin
  perform 1 from accounts where id = p_account for update;
  select * into b from batches where account_id = p_account and id = p_batch for update;
  if not found or b.status <> 'COMMITTING' or b.fence <> p_fence then return 0; end if;
  v_now := environment_now();
  v_last := least(b.next_row + p_count - 1, b.row_count);
  v_refused := refuse_batch_rows(p_account, p_batch, b.next_row, v_last, v_now);
  -- Due about when the last row is a payout: sending the first ones meanwhile would only make both
  -- wait for the account's row.
  v_committed := pay_batch_rows(b, b.next_row, v_last,
    v_now + (b.row_count - v_last) * interval '50 microseconds', v_now);
  update batches set next_row = v_last + 1, committed_count = committed_count + v_committed,
    refused_count = refused_count + v_refused, updated_at = v_now,
    status = case when v_last = b.row_count then 'COMMITTED' else 'COMMITTING' end,
    completed_at = case when v_last = b.row_count then v_now end
  where account_id = p_account and id = p_batch;
  return v_last - b.next_row + 1;
end
$$;
