-- The schema that the migrations add up to. Generated: npm run generate
-- Do not edit and do not run it: migrations/ is what databases are made from.

create table access_tokens (
  account_id uuid not null,
  token_hash bytea not null,
  credential_id uuid not null,
  scopes text[] not null,
  expires_at timestamp with time zone not null,
  constraint access_tokens_pkey PRIMARY KEY (account_id, token_hash),
  constraint access_tokens_account_id_credential_id_fkey FOREIGN KEY (account_id, credential_id) REFERENCES credentials(account_id, id),
  constraint access_tokens_token_hash_check CHECK (length(token_hash) = 32)
);
CREATE INDEX access_tokens_expiry ON public.access_tokens USING btree (expires_at);
alter table access_tokens enable row level security;
create policy own_account on access_tokens as permissive for all to public using (account_id = current_account());
grant insert, select on access_tokens to outlay_tenant;

create table accounts (
  id uuid not null,
  name text not null,
  accept_both_tokens boolean not null default false,
  event_sequence bigint not null default 0,
  created_at timestamp with time zone not null,
  constraint accounts_pkey PRIMARY KEY (id),
  constraint accounts_event_sequence_check CHECK (event_sequence >= 0),
  constraint accounts_name_check CHECK (length(name) >= 1 AND length(name) <= 200)
);
alter table accounts enable row level security;
create policy own_account on accounts as permissive for all to public using (id = current_account());
grant select on accounts to outlay_tenant;
grant update (event_sequence) on accounts to outlay_tenant;

create table attempts (
  account_id uuid not null,
  payout_id uuid not null,
  number integer not null,
  rail text not null,
  payer_key text not null,
  reference text not null,
  state text not null,
  reason text not null default ''::text,
  fence bigint not null,
  started_at timestamp with time zone not null,
  taken_at timestamp with time zone,
  unknown_since timestamp with time zone,
  answered_at timestamp with time zone,
  constraint attempts_pkey PRIMARY KEY (account_id, payout_id, number),
  constraint attempts_number_check CHECK (number > 0),
  constraint attempts_state_check CHECK (state = ANY (ARRAY['sending'::text, 'unknown'::text, 'accepted'::text, 'rejected'::text, 'paid'::text, 'returned'::text, 'retry'::text]))
);
CREATE UNIQUE INDEX attempts_one_alive ON public.attempts USING btree (account_id, payout_id) WHERE (state = ANY (ARRAY['sending'::text, 'unknown'::text, 'accepted'::text, 'paid'::text]));
CREATE TRIGGER never_removed BEFORE DELETE OR TRUNCATE ON attempts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('what was sent stays known');
alter table attempts enable row level security;
create policy own_account on attempts as permissive for all to public using (account_id = current_account());
grant select on attempts to outlay_tenant;

create table attribute_set_versions (
  account_id uuid not null,
  set_id uuid not null,
  version integer not null,
  profile_version text not null,
  fingerprint bytea not null,
  sealed bytea not null,
  is_complete boolean not null,
  created_at timestamp with time zone not null,
  constraint attribute_set_versions_pkey PRIMARY KEY (account_id, set_id, version),
  constraint attribute_set_versions_account_id_set_id_fkey FOREIGN KEY (account_id, set_id) REFERENCES attribute_sets(account_id, id),
  constraint attribute_set_versions_fingerprint_check CHECK (length(fingerprint) = 32),
  constraint attribute_set_versions_version_check CHECK (version > 0)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON attribute_set_versions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('a version never changes');
alter table attribute_set_versions enable row level security;
create policy own_account on attribute_set_versions as permissive for all to public using (account_id = current_account());
grant insert, select on attribute_set_versions to outlay_tenant;

create table attribute_sets (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  destination_token uuid not null,
  currency text not null,
  latest_version integer not null default 0,
  touched_at timestamp with time zone not null,
  created_at timestamp with time zone not null,
  constraint attribute_sets_pkey PRIMARY KEY (account_id, id),
  constraint attribute_sets_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id)
);
CREATE INDEX attribute_sets_owner ON public.attribute_sets USING btree (account_id, user_id, destination_token, currency);
alter table attribute_sets enable row level security;
create policy own_account on attribute_sets as permissive for all to public using (account_id = current_account());
grant insert, select, update on attribute_sets to outlay_tenant;

create table batch_rows (
  account_id uuid not null,
  batch_id uuid not null,
  number integer not null,
  line integer not null,
  status text not null,
  payout_id uuid,
  client_transfer_id text,
  user_id uuid,
  given_side text,
  source_token uuid,
  source_currency text,
  source_amount bigint,
  fee bigint,
  destination_token uuid,
  destination_currency text,
  destination_amount bigint,
  exchange_rate text,
  rounding_nano bigint,
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
  metadata text,
  metadata_hashes bytea[],
  estimated_availability timestamp with time zone,
  faults text,
  constraint batch_rows_pkey PRIMARY KEY (account_id, batch_id, number),
  constraint batch_rows_client_transfer_id_check CHECK (length(client_transfer_id) >= 1 AND length(client_transfer_id) <= 50),
  constraint batch_rows_destination_amount_check CHECK (destination_amount > 0),
  constraint batch_rows_fee_check CHECK (fee >= 0),
  constraint batch_rows_given_side_check CHECK (given_side = ANY (ARRAY['source'::text, 'destination'::text])),
  constraint batch_rows_line_check CHECK (line > 0),
  constraint batch_rows_number_check CHECK (number > 0),
  constraint batch_rows_rounding_nano_check CHECK (rounding_nano >= 0),
  constraint batch_rows_source_amount_check CHECK (source_amount > 0),
  constraint batch_rows_status_check CHECK (status = ANY (ARRAY['VALID'::text, 'INVALID'::text, 'REPEATED'::text, 'COMMITTED'::text, 'REFUSED'::text])),
  constraint priced_or_not CHECK ((status = ANY (ARRAY['INVALID'::text, 'REPEATED'::text])) OR (faults IS NULL OR status = 'REFUSED'::text) AND payout_id IS NOT NULL AND client_transfer_id IS NOT NULL AND user_id IS NOT NULL AND given_side IS NOT NULL AND source_token IS NOT NULL AND source_currency IS NOT NULL AND source_amount IS NOT NULL AND fee IS NOT NULL AND destination_token IS NOT NULL AND destination_currency IS NOT NULL AND destination_amount IS NOT NULL AND exchange_rate IS NOT NULL AND rounding_nano IS NOT NULL AND rail IS NOT NULL AND payer_key IS NOT NULL AND payer_name IS NOT NULL AND delivery_type IS NOT NULL AND country IS NOT NULL AND needs_attributes IS NOT NULL AND needs_verification IS NOT NULL AND notify_user IS NOT NULL AND estimated_availability IS NOT NULL)
);
CREATE TRIGGER begins_uncommitted BEFORE INSERT ON batch_rows FOR EACH ROW WHEN (new.status = ANY (ARRAY['COMMITTED'::text, 'REFUSED'::text])) EXECUTE FUNCTION refuse_change('a row begins as VALID, INVALID or REPEATED');
CREATE TRIGGER fixed_row BEFORE UPDATE ON batch_rows FOR EACH ROW WHEN (old.status <> 'VALID'::text AND new.* IS DISTINCT FROM old.*) EXECUTE FUNCTION refuse_change('the row is settled');
CREATE TRIGGER legal_move BEFORE UPDATE ON batch_rows FOR EACH ROW WHEN (new.status <> old.status AND (old.status <> 'VALID'::text OR CURRENT_USER = 'outlay_tenant'::name AND (new.status = ANY (ARRAY['COMMITTED'::text, 'REFUSED'::text])))) EXECUTE FUNCTION refuse_change('that cannot follow from the present status');
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON batch_rows FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('what was committed stays known');
CREATE TRIGGER open_to_clients BEFORE UPDATE ON batch_rows FOR EACH ROW WHEN (CURRENT_USER = 'outlay_tenant'::name) EXECUTE FUNCTION refuse_unless_open();
CREATE TRIGGER removed_unfinished BEFORE DELETE ON batch_rows FOR EACH ROW EXECUTE FUNCTION refuse_unless_open();
alter table batch_rows enable row level security;
create policy own_account on batch_rows as permissive for all to public using (account_id = current_account());
grant delete, insert, select, update on batch_rows to outlay_tenant;

create table batches (
  account_id uuid not null,
  id uuid not null,
  status text not null default 'RECEIVING'::text,
  format text not null,
  request_key text,
  content_hash bytea not null,
  ignored_columns text not null default '[]'::text,
  row_count integer not null default 0,
  valid_count integer not null default 0,
  invalid_count integer not null default 0,
  repeated_count integer not null default 0,
  committed_count integer not null default 0,
  refused_count integer not null default 0,
  rates text not null default '{}'::text,
  priced_at timestamp with time zone not null,
  lock_seconds integer,
  totals text not null default '[]'::text,
  quoted_at timestamp with time zone,
  expires_at timestamp with time zone,
  mode text,
  committed_at timestamp with time zone,
  completed_at timestamp with time zone,
  next_row integer not null default 1,
  lease_until timestamp with time zone,
  fence bigint not null default 0,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint batches_pkey PRIMARY KEY (account_id, id),
  constraint batches_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint batches_committed_count_check CHECK (committed_count >= 0),
  constraint batches_content_hash_check CHECK (length(content_hash) = 32),
  constraint batches_format_check CHECK (format = ANY (ARRAY['csv'::text, 'ndjson'::text, 'json'::text])),
  constraint batches_invalid_count_check CHECK (invalid_count >= 0),
  constraint batches_lock_seconds_check CHECK (lock_seconds > 0),
  constraint batches_mode_check CHECK (mode = ANY (ARRAY['all'::text, 'valid'::text])),
  constraint batches_next_row_check CHECK (next_row > 0),
  constraint batches_refused_count_check CHECK (refused_count >= 0),
  constraint batches_repeated_count_check CHECK (repeated_count >= 0),
  constraint batches_request_key_check CHECK (length(request_key) >= 1 AND length(request_key) <= 255),
  constraint batches_row_count_check CHECK (row_count >= 0),
  constraint batches_status_check CHECK (status = ANY (ARRAY['RECEIVING'::text, 'DRAFT'::text, 'QUOTED'::text, 'COMMITTING'::text, 'COMMITTED'::text, 'CANCELLED'::text])),
  constraint batches_valid_count_check CHECK (valid_count >= 0),
  constraint committed_has_its_time CHECK ((committed_at IS NOT NULL AND mode IS NOT NULL) = (status = ANY (ARRAY['COMMITTING'::text, 'COMMITTED'::text]))),
  constraint completed_has_its_time CHECK ((completed_at IS NOT NULL) = (status = 'COMMITTED'::text)),
  constraint counts_add_up CHECK ((valid_count + invalid_count + repeated_count) = row_count AND (committed_count + refused_count) <= valid_count),
  constraint quoted_has_its_end CHECK ((status <> ALL (ARRAY['QUOTED'::text, 'COMMITTING'::text, 'COMMITTED'::text])) OR quoted_at IS NOT NULL AND expires_at IS NOT NULL)
);
CREATE UNIQUE INDEX batches_request_key ON public.batches USING btree (account_id, request_key) WHERE (request_key IS NOT NULL);
CREATE INDEX batches_under_way ON public.batches USING btree (status, updated_at) WHERE (status = ANY (ARRAY['RECEIVING'::text, 'COMMITTING'::text]));
CREATE TRIGGER begins_receiving BEFORE INSERT ON batches FOR EACH ROW WHEN (new.status <> 'RECEIVING'::text) EXECUTE FUNCTION refuse_change('a batch begins as RECEIVING');
CREATE TRIGGER committed_by_function BEFORE UPDATE ON batches FOR EACH ROW WHEN (CURRENT_USER = 'outlay_tenant'::name AND ((old.status = ANY (ARRAY['COMMITTING'::text, 'COMMITTED'::text])) OR (new.status = ANY (ARRAY['COMMITTING'::text, 'COMMITTED'::text])))) EXECUTE FUNCTION refuse_change('only its functions commit a batch');
CREATE TRIGGER fixed_content BEFORE UPDATE ON batches FOR EACH ROW WHEN (old.status <> 'RECEIVING'::text AND (new.content_hash IS DISTINCT FROM old.content_hash OR new.row_count IS DISTINCT FROM old.row_count OR new.format IS DISTINCT FROM old.format OR new.request_key IS DISTINCT FROM old.request_key OR new.ignored_columns IS DISTINCT FROM old.ignored_columns)) EXECUTE FUNCTION refuse_change('what was received stays');
CREATE TRIGGER fixed_quote BEFORE UPDATE ON batches FOR EACH ROW WHEN ((old.status = ANY (ARRAY['COMMITTING'::text, 'COMMITTED'::text])) AND (new.valid_count IS DISTINCT FROM old.valid_count OR new.invalid_count IS DISTINCT FROM old.invalid_count OR new.repeated_count IS DISTINCT FROM old.repeated_count OR new.rates IS DISTINCT FROM old.rates OR new.priced_at IS DISTINCT FROM old.priced_at OR new.totals IS DISTINCT FROM old.totals OR new.quoted_at IS DISTINCT FROM old.quoted_at OR new.expires_at IS DISTINCT FROM old.expires_at OR new.mode IS DISTINCT FROM old.mode OR new.committed_at IS DISTINCT FROM old.committed_at)) EXECUTE FUNCTION refuse_change('what was committed never changes');
CREATE TRIGGER forward_only BEFORE UPDATE ON batches FOR EACH ROW WHEN (new.next_row < old.next_row OR new.fence < old.fence) EXECUTE FUNCTION refuse_change('its progress does not go backwards');
CREATE TRIGGER legal_move BEFORE UPDATE ON batches FOR EACH ROW WHEN (new.status <> old.status AND NOT is_legal_batch_move(old.status, new.status)) EXECUTE FUNCTION refuse_change('that cannot follow from the present status');
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON batches FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('a batch is never removed');
CREATE TRIGGER never_removed BEFORE DELETE ON batches FOR EACH ROW WHEN (old.status <> 'RECEIVING'::text) EXECUTE FUNCTION refuse_change('a batch that was received is never removed');
alter table batches enable row level security;
create policy own_account on batches as permissive for all to public using (account_id = current_account());
grant delete, insert, select, update on batches to outlay_tenant;

create table credentials (
  account_id uuid not null,
  id uuid not null,
  kind text not null,
  secret_hash bytea not null,
  scopes text[] not null,
  allowed_addresses cidr[] not null default '{}'::cidr[],
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint credentials_pkey PRIMARY KEY (account_id, id),
  constraint credentials_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint credentials_kind_check CHECK (kind = ANY (ARRAY['client'::text, 'api_key'::text])),
  constraint credentials_secret_hash_check CHECK (length(secret_hash) = 32)
);
alter table credentials enable row level security;
create policy own_account on credentials as permissive for all to public using (account_id = current_account());
grant select on credentials to outlay_tenant;

create table environment (
  only_row boolean not null default true,
  name text not null,
  clock_offset_us bigint not null default 0,
  clock_target_us bigint not null default 0,
  master_key_id text not null,
  created_at timestamp with time zone not null default now(),
  constraint environment_pkey PRIMARY KEY (only_row),
  constraint environment_clock_offset_us_check CHECK (clock_offset_us >= 0),
  constraint environment_name_check CHECK (name = ANY (ARRAY['staging'::text, 'live'::text])),
  constraint environment_only_row_check CHECK (only_row),
  constraint live_clock_is_real CHECK (name = 'staging'::text OR clock_offset_us = 0 AND clock_target_us = 0),
  constraint target_lies_ahead CHECK (clock_target_us >= clock_offset_us)
);
CREATE TRIGGER fixed_name BEFORE UPDATE ON environment FOR EACH ROW WHEN (new.name <> old.name) EXECUTE FUNCTION refuse_change('an environment stays what it is');
CREATE TRIGGER follow_clock AFTER INSERT OR UPDATE OF clock_offset_us ON environment FOR EACH ROW EXECUTE FUNCTION follow_clock();
CREATE TRIGGER forward_clock BEFORE UPDATE ON environment FOR EACH ROW WHEN (new.clock_offset_us >= 0 AND new.clock_offset_us < old.clock_offset_us) EXECUTE FUNCTION refuse_change('the clock does not go backwards');
grant select on environment to outlay_tenant;

create table events (
  account_id uuid not null,
  sequence bigint not null,
  month date not null,
  type text not null,
  subject_id uuid not null,
  payload text,
  detail text not null default ''::text,
  created_at timestamp with time zone not null,
  constraint events_pkey PRIMARY KEY (account_id, sequence, month)
) partition by RANGE (month);
CREATE TRIGGER append_only BEFORE UPDATE ON events FOR EACH ROW EXECUTE FUNCTION refuse_change('what happened stays');
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('what happened stays');
alter table events enable row level security;
create policy own_account on events as permissive for all to public using (account_id = current_account());
grant insert, select on events to outlay_tenant;

create table idempotency_records (
  account_id uuid not null,
  key text not null,
  month date not null,
  fingerprint bytea not null,
  status smallint not null,
  body bytea,
  created_at timestamp with time zone not null,
  constraint idempotency_records_pkey PRIMARY KEY (account_id, key, month),
  constraint idempotency_records_fingerprint_check1 CHECK (length(fingerprint) = 32),
  constraint idempotency_records_key_check1 CHECK (length(key) >= 1 AND length(key) <= 255)
) partition by RANGE (month);
alter table idempotency_records enable row level security;
create policy own_account on idempotency_records as permissive for all to public using (account_id = current_account());
grant insert, select, update on idempotency_records to outlay_tenant;

create table ledger_accounts (
  account_id uuid not null,
  currency text not null,
  name text not null,
  token uuid not null,
  balance bigint not null default 0,
  created_at timestamp with time zone not null,
  constraint ledger_accounts_pkey PRIMARY KEY (account_id, currency, name),
  constraint ledger_accounts_token UNIQUE (account_id, token),
  constraint ledger_accounts_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint balance_covers CHECK (balance >= 0 OR (name = ANY (ARRAY['external'::text, 'fx'::text]))),
  constraint ledger_accounts_currency_check CHECK (currency ~ '^[A-Z0-9]{3,5}$'::text),
  constraint ledger_accounts_name_check CHECK (name ~ '^(wallet|reserved|fx|fees|suspense|external|(in_transit|settlement):[a-z0-9_]{1,40})$'::text)
);
CREATE TRIGGER never_emptied BEFORE DELETE OR TRUNCATE ON ledger_accounts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('a balance is never removed');
alter table ledger_accounts enable row level security;
create policy own_account on ledger_accounts as permissive for all to public using (account_id = current_account());
grant select on ledger_accounts to outlay_tenant;

create table ledger_journals (
  account_id uuid not null,
  id uuid not null,
  kind text not null,
  payout_id uuid,
  batch_id uuid,
  source_currency text not null,
  source_amount bigint not null,
  fee bigint not null default 0,
  destination_currency text,
  destination_amount bigint,
  rail text,
  wallet_balance bigint,
  created_at timestamp with time zone not null,
  constraint ledger_journals_pkey PRIMARY KEY (account_id, source_currency, id),
  constraint known_batch CHECK ((kind = ANY (ARRAY['reserve'::text, 'batch_commit'::text, 'release'::text])) = (batch_id IS NOT NULL)),
  constraint ledger_journals_destination_amount_check CHECK (destination_amount > 0),
  constraint ledger_journals_fee_check CHECK (fee >= 0),
  constraint ledger_journals_kind_check CHECK (kind = ANY (ARRAY['fund'::text, 'commit'::text, 'complete'::text, 'refund'::text, 'return'::text, 'reserve'::text, 'batch_commit'::text, 'release'::text])),
  constraint ledger_journals_source_amount_check CHECK (source_amount > 0),
  constraint wallet_or_not CHECK ((kind = ANY (ARRAY['complete'::text, 'batch_commit'::text])) = (wallet_balance IS NULL)),
  constraint whole_payout CHECK ((kind = ANY (ARRAY['fund'::text, 'reserve'::text, 'release'::text])) = (payout_id IS NULL) AND (num_nulls(payout_id, destination_currency, destination_amount, rail) = ANY (ARRAY[0, 4])))
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_journals FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('what was posted stays');
CREATE TRIGGER keep_balances AFTER INSERT ON ledger_journals REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION keep_balances();
alter table ledger_journals enable row level security;
create policy own_account on ledger_journals as permissive for all to public using (account_id = current_account());
grant select on ledger_journals to outlay_tenant;

create table migrations (
  version integer not null,
  name text not null,
  hash text not null,
  applied_at timestamp with time zone not null default now(),
  constraint migrations_pkey PRIMARY KEY (version)
);

create table notifications (
  account_id uuid not null,
  id uuid not null,
  payout_id uuid not null,
  user_id uuid not null,
  kind text not null,
  status text not null default 'recorded'::text,
  created_at timestamp with time zone not null,
  constraint notifications_pkey PRIMARY KEY (account_id, id),
  constraint notifications_kind_check CHECK (kind = ANY (ARRAY['PROCESSING'::text, 'READY_FOR_PICKUP'::text, 'COMPLETED'::text, 'CANCELLED'::text])),
  constraint notifications_status_check CHECK (status = ANY (ARRAY['recorded'::text, 'sent'::text, 'failed'::text]))
);
CREATE INDEX notifications_payout ON public.notifications USING btree (account_id, payout_id);
alter table notifications enable row level security;
create policy own_account on notifications as permissive for all to public using (account_id = current_account());
grant select on notifications to outlay_tenant;

create table observations (
  account_id uuid not null,
  payout_id uuid not null,
  id uuid not null,
  source text not null,
  outcome text not null,
  reason text not null default ''::text,
  is_applied boolean not null,
  observed_at timestamp with time zone not null,
  constraint observations_pkey PRIMARY KEY (account_id, payout_id, id),
  constraint observations_source_check CHECK (source = ANY (ARRAY['send'::text, 'query'::text, 'sandbox'::text]))
);
alter table observations enable row level security;
create policy own_account on observations as permissive for all to public using (account_id = current_account());
grant select on observations to outlay_tenant;

create table payout_dispatches (
  account_id uuid not null,
  payout_id uuid not null,
  due_at timestamp with time zone not null,
  tries integer not null default 0,
  fence bigint not null default 0,
  lease_until timestamp with time zone,
  constraint payout_dispatches_pkey PRIMARY KEY (account_id, payout_id)
);
CREATE INDEX payout_dispatches_due ON public.payout_dispatches USING btree (due_at);

create table payout_metadata (
  account_id uuid not null,
  entry_hash bytea not null,
  payout_id uuid not null,
  constraint payout_metadata_pkey PRIMARY KEY (account_id, entry_hash, payout_id),
  constraint payout_metadata_account_id_payout_id_fkey FOREIGN KEY (account_id, payout_id) REFERENCES payout_quotes(account_id, id),
  constraint payout_metadata_entry_hash_check CHECK (length(entry_hash) = 16)
);
alter table payout_metadata enable row level security;
create policy own_account on payout_metadata as permissive for all to public using (account_id = current_account());
grant insert, select on payout_metadata to outlay_tenant;

create table payout_quotes (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  client_transfer_id text not null,
  source_token uuid not null,
  source_currency text not null,
  source_amount bigint not null,
  fee bigint not null,
  destination_token uuid not null,
  destination_currency text not null,
  destination_amount bigint not null,
  exchange_rate text not null,
  rounding_nano bigint not null,
  rail text not null,
  payer_key text not null,
  payer_name text not null,
  delivery_type text not null,
  country text not null,
  attr_set_id uuid,
  attr_version integer,
  needs_attributes boolean not null,
  needs_verification boolean not null,
  notify_user boolean not null,
  metadata text not null default '{}'::text,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  estimated_availability timestamp with time zone not null,
  constraint payouts_pkey PRIMARY KEY (account_id, id),
  constraint payouts_client_transfer_id_check CHECK (length(client_transfer_id) >= 1 AND length(client_transfer_id) <= 50),
  constraint payouts_destination_amount_check CHECK (destination_amount > 0),
  constraint payouts_fee_check CHECK (fee >= 0),
  constraint payouts_rounding_nano_check CHECK (rounding_nano >= 0),
  constraint payouts_source_amount_check CHECK (source_amount > 0)
);
CREATE INDEX payout_quotes_verification ON public.payout_quotes USING btree (account_id, user_id) WHERE needs_verification;
CREATE INDEX payouts_user ON public.payout_quotes USING btree (account_id, user_id, id DESC);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON payout_quotes FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('the terms of a payout never change');
alter table payout_quotes enable row level security;
create policy own_account on payout_quotes as permissive for all to public using (account_id = current_account());
grant select on payout_quotes to outlay_tenant;

create table payout_states (
  account_id uuid not null,
  payout_id uuid not null,
  status text not null,
  status_reason text not null default ''::text,
  client_transfer_id text not null,
  attr_set_id uuid,
  attr_version integer,
  pickup_code text not null default ''::text,
  committed_at timestamp with time zone not null,
  completed_at timestamp with time zone,
  updated_at timestamp with time zone not null,
  constraint payout_states_pkey PRIMARY KEY (account_id, payout_id),
  constraint committed_transfer UNIQUE (account_id, client_transfer_id),
  constraint completed_once CHECK (
CASE status
    WHEN 'COMPLETED'::text THEN completed_at IS NOT NULL
    WHEN 'CANCELLED'::text THEN true
    ELSE completed_at IS NULL
END),
  constraint payout_states_status_check CHECK (status = ANY (ARRAY['PROCESSING'::text, 'COMPLETED'::text, 'CANCELLED'::text, 'SCHEDULED'::text, 'READY_FOR_PICKUP'::text, 'HOLD'::text, 'ERROR'::text]))
);
CREATE TRIGGER begins_committed BEFORE INSERT ON payout_states FOR EACH ROW WHEN (new.status <> ALL (ARRAY['PROCESSING'::text, 'SCHEDULED'::text])) EXECUTE FUNCTION refuse_change('a commit begins as PROCESSING or SCHEDULED');
CREATE TRIGGER fixed_commit BEFORE UPDATE OF account_id, payout_id, client_transfer_id, attr_set_id, attr_version, pickup_code, committed_at ON payout_states FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('what was committed never changes');
CREATE TRIGGER fixed_completion BEFORE UPDATE OF completed_at ON payout_states FOR EACH ROW WHEN (new.completed_at IS DISTINCT FROM old.completed_at AND (old.completed_at IS NOT NULL OR new.status <> 'COMPLETED'::text)) EXECUTE FUNCTION refuse_change('a completion comes with COMPLETED, once');
CREATE TRIGGER legal_move BEFORE UPDATE ON payout_states FOR EACH ROW WHEN (new.status <> old.status AND NOT is_legal_move(old.status, new.status)) EXECUTE FUNCTION refuse_change('that cannot follow from the present status');
CREATE TRIGGER never_removed BEFORE DELETE OR TRUNCATE ON payout_states FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('a payout is never removed');
alter table payout_states enable row level security;
create policy own_account on payout_states as permissive for all to public using (account_id = current_account());
grant select on payout_states to outlay_tenant;

create table rates (
  base text not null,
  quote text not null,
  source text not null,
  as_of timestamp with time zone not null,
  digits bigint not null,
  scale smallint not null,
  imported_at timestamp with time zone not null default now(),
  constraint rates_pkey PRIMARY KEY (base, quote, source, as_of),
  constraint rates_as_of_check CHECK (isfinite(as_of)),
  constraint rates_base_check CHECK (base ~ '^[A-Z0-9]{3,5}$'::text),
  constraint rates_check CHECK (base <> quote),
  constraint rates_digits_check CHECK (digits >= 1 AND digits <= '999999999999999999'::bigint),
  constraint rates_quote_check CHECK (quote ~ '^[A-Z0-9]{3,5}$'::text),
  constraint rates_scale_check CHECK (scale >= 0 AND scale <= 24),
  constraint rates_source_check CHECK (source ~ '^[a-z][a-z0-9_]{0,29}$'::text)
);

create table rates_revision (
  is_only_row boolean not null default true,
  revision bigint not null,
  constraint rates_revision_pkey PRIMARY KEY (is_only_row),
  constraint rates_revision_is_only_row_check CHECK (is_only_row),
  constraint rates_revision_revision_check CHECK (revision >= 0)
);

create table sandbox_scripts (
  account_id uuid not null,
  payout_id uuid not null,
  outcome text not null,
  created_at timestamp with time zone not null,
  constraint sandbox_scripts_pkey PRIMARY KEY (account_id, payout_id),
  constraint sandbox_scripts_outcome_check CHECK (outcome = ANY (ARRAY['ready_for_pickup'::text, 'completed'::text, 'rejected'::text, 'returned'::text, 'unknown'::text]))
);
CREATE INDEX sandbox_scripts_payout ON public.sandbox_scripts USING btree (payout_id);

create table users (
  account_id uuid not null,
  id uuid not null,
  internal_user_id text not null,
  email_index bytea not null,
  status text not null default 'ACTIVE'::text,
  country text not null,
  kyc_status text not null default 'none'::text,
  data_key bytea not null,
  sealed bytea not null,
  metadata text not null default '{}'::text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint users_pkey PRIMARY KEY (account_id, id),
  constraint users_email UNIQUE (account_id, email_index),
  constraint users_internal_user_id UNIQUE (account_id, internal_user_id),
  constraint users_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint users_country_check CHECK (country ~ '^[A-Z]{3}$'::text),
  constraint users_email_index_check CHECK (length(email_index) = 32),
  constraint users_internal_user_id_check CHECK (internal_user_id ~ '^[A-Za-z0-9+,./_~|-]{1,75}$'::text),
  constraint users_kyc_status_check CHECK (kyc_status = ANY (ARRAY['none'::text, 'pending'::text, 'approved'::text, 'declined'::text])),
  constraint users_status_check CHECK (status = ANY (ARRAY['ACTIVE'::text, 'LOCKED'::text, 'DEACTIVE'::text]))
);
CREATE TRIGGER approval_is_ours BEFORE UPDATE ON users FOR EACH ROW WHEN (new.kyc_status = 'approved'::text AND old.kyc_status <> 'approved'::text) EXECUTE FUNCTION refuse_live_tenant();
CREATE TRIGGER kyc_status_move BEFORE UPDATE OF kyc_status ON users FOR EACH ROW EXECUTE FUNCTION check_kyc_status_move();
CREATE TRIGGER never_removed BEFORE DELETE OR TRUNCATE ON users FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('a user is never removed');
alter table users enable row level security;
create policy own_account on users as permissive for all to public using (account_id = current_account());
grant insert, select, update on users to outlay_tenant;

create table verification_images (
  account_id uuid not null,
  session_id uuid not null,
  submission integer not null,
  type text not null,
  sealed bytea not null,
  created_at timestamp with time zone not null,
  constraint verification_images_pkey PRIMARY KEY (account_id, session_id, submission, type),
  constraint verification_images_account_id_session_id_fkey FOREIGN KEY (account_id, session_id) REFERENCES verification_sessions(account_id, id),
  constraint verification_images_submission_check CHECK (submission > 0),
  constraint verification_images_type_check CHECK (type = ANY (ARRAY['face'::text, 'document-front'::text, 'document-back'::text]))
);
CREATE TRIGGER append_only BEFORE UPDATE ON verification_images FOR EACH ROW EXECUTE FUNCTION refuse_change();
alter table verification_images enable row level security;
create policy own_account on verification_images as permissive for all to public using (account_id = current_account());
grant insert, select on verification_images to outlay_tenant;

create table verification_sessions (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  provider text not null default 'outlay'::text,
  status text not null,
  submission integer not null default 0,
  expires_at timestamp with time zone not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint verification_sessions_pkey PRIMARY KEY (account_id, id),
  constraint verification_sessions_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id),
  constraint expires_after_start CHECK (expires_at > created_at),
  constraint handed_in_before_review CHECK (submission > 0 OR (status = ANY (ARRAY['Started'::text, 'Abandoned'::text, 'Expired'::text, 'Declined'::text, 'Approved'::text]))),
  constraint verification_sessions_provider_check CHECK (provider = 'outlay'::text),
  constraint verification_sessions_status_check CHECK (status = ANY (ARRAY['Started'::text, 'Submitted'::text, 'Abandoned'::text, 'Expired'::text, 'Resubmitted'::text, 'Declined'::text, 'Approved'::text, 'Resubmission requested'::text, 'Review'::text])),
  constraint verification_sessions_submission_check CHECK (submission >= 0)
);
CREATE UNIQUE INDEX verification_sessions_open ON public.verification_sessions USING btree (account_id, user_id) WHERE (status = ANY (ARRAY['Started'::text, 'Submitted'::text, 'Resubmitted'::text, 'Resubmission requested'::text, 'Review'::text]));
CREATE INDEX verification_sessions_user ON public.verification_sessions USING btree (account_id, user_id, id DESC);
CREATE TRIGGER legal_move BEFORE UPDATE ON verification_sessions FOR EACH ROW EXECUTE FUNCTION check_verification_move();
alter table verification_sessions enable row level security;
create policy own_account on verification_sessions as permissive for all to public using (account_id = current_account());
grant insert, select, update on verification_sessions to outlay_tenant;

create view ledger_transfers as
 SELECT j.account_id,
    l.currency,
    j.id AS journal_id,
    l.line,
    j.kind,
    l.from_name,
    l.to_name,
    l.amount,
        CASE
            WHEN 'wallet'::text = l.from_name OR 'wallet'::text = l.to_name THEN j.wallet_balance - l.wallet_after
            ELSE NULL::bigint
        END AS wallet_balance,
    j.payout_id,
    j.batch_id,
    j.created_at
   FROM ledger_journals j
     CROSS JOIN LATERAL journal_lines(j.kind, j.source_currency, j.source_amount, j.fee, j.destination_currency, j.destination_amount, j.rail) l(line, currency, from_name, to_name, amount, wallet_after);

create view payouts as
 SELECT q.account_id,
    q.id,
    q.user_id,
    COALESCE(s.status, 'PENDING'::text) AS status,
    COALESCE(s.status_reason, ''::text) AS status_reason,
    q.client_transfer_id,
    q.source_token,
    q.source_currency,
    q.source_amount,
    q.fee,
    q.destination_token,
    q.destination_currency,
    q.destination_amount,
    q.exchange_rate,
    q.rounding_nano,
    q.rail,
    q.payer_key,
    q.payer_name,
    q.delivery_type,
    q.country,
        CASE
            WHEN s.payout_id IS NULL THEN q.attr_set_id
            ELSE s.attr_set_id
        END AS attr_set_id,
        CASE
            WHEN s.payout_id IS NULL THEN q.attr_version
            ELSE s.attr_version
        END AS attr_version,
    q.needs_attributes,
    q.needs_verification,
    q.notify_user,
    q.metadata,
    COALESCE(s.pickup_code, ''::text) AS pickup_code,
    q.created_at,
    q.expires_at,
    q.estimated_availability,
    s.committed_at,
    s.completed_at,
    COALESCE(s.updated_at, q.created_at) AS updated_at
   FROM payout_quotes q
     LEFT JOIN payout_states s ON s.account_id = q.account_id AND s.payout_id = q.id;

create function analyze_new_tables() returns void language plpgsql; -- body 06a7ec73b569d9c0

create function apply_observation(p_account uuid, p_payout uuid, p_observation uuid, p_source text, p_outcome text, p_reason text, p_fence bigint, p_due_at timestamp with time zone, p_journals uuid[]) returns text language plpgsql security definer set search_path=public, pg_temp; -- body a6ac06466768c7fb
grant execute on function apply_observation to outlay_tenant;

create function apply_observations(p_accounts uuid[], p_payouts uuid[], p_observations uuid[], p_sources text[], p_outcomes text[], p_reasons text[], p_fences bigint[], p_due_ats timestamp with time zone[], p_journals uuid[], p_may_wait boolean) returns TABLE(ordinal integer, is_held boolean) language plpgsql set plan_cache_mode=force_generic_plan set jit=off; -- body 40a8050cf5365d4b

create function attempt_state(p_outcome text) returns text language sql immutable; -- body 4adcee584dbef192

create function batch_event(p_account uuid, p_batch uuid, p_status text, p_at timestamp with time zone) returns void language sql; -- body 8bc8c0160e0cd540

create function begin_batch_commit(p_account uuid, p_batch uuid, p_mode text, OUT result text, OUT detail text) returns record language plpgsql security definer set search_path=public, pg_temp; -- body 30ab818c14ff8bc0
grant execute on function begin_batch_commit to outlay_tenant;

create function check_kyc_status_move() returns trigger language plpgsql; -- body 94a26bc32c82a38d

create function check_verification_move() returns trigger language plpgsql; -- body 1afa1049449b13dc

create function commit_batch_rows(p_account uuid, p_batch uuid, p_fence bigint, p_count integer) returns integer language plpgsql security definer set search_path=public, pg_temp set plan_cache_mode=force_generic_plan set jit=off; -- body c65bce6df637600c

create function commit_payout(p_account uuid, p_user uuid, p_payout uuid, p_journal uuid, p_pickup_code text, OUT result text, OUT detail text, OUT pickup_code text) returns record language plpgsql security definer set search_path=public, pg_temp; -- body 0030d25b87fb2c7f
grant execute on function commit_payout to outlay_tenant;

create function commit_payouts(p_accounts uuid[], p_users uuid[], p_payouts uuid[], p_journals uuid[], p_pickup_codes text[], p_keys text[], p_fingerprints bytea[], p_answers text[], p_may_wait boolean) returns TABLE(ordinal integer, pickup_code text, is_held boolean) language plpgsql set plan_cache_mode=force_generic_plan set jit=off; -- body dcb4324176d8773e

create function create_payouts(p_accounts uuid[], p_ids uuid[], p_users uuid[], p_transfer_ids text[], p_source_tokens uuid[], p_source_currencies text[], p_source_amounts bigint[], p_fees bigint[], p_destination_tokens uuid[], p_destination_currencies text[], p_destination_amounts bigint[], p_rates text[], p_rounding_nanos bigint[], p_rails text[], p_payer_keys text[], p_payer_names text[], p_sets uuid[], p_delivery_types text[], p_countries text[], p_needs_attributes boolean[], p_needs_verification boolean[], p_notify_users boolean[], p_metadata text[], p_lock_seconds integer[], p_availabilities timestamp with time zone[], p_entry_accounts uuid[], p_entry_ids uuid[], p_entry_hashes bytea[], p_may_wait boolean) returns TABLE(id uuid, attr_set_id uuid, attr_version integer, created_at timestamp with time zone, expires_at timestamp with time zone, sealed bytea, data_key bytea) language plpgsql security definer set search_path=public, pg_temp set plan_cache_mode=force_generic_plan set jit=off; -- body bab877c5dfba3860
grant execute on function create_payouts to outlay_tenant;

create function create_users(p_accounts uuid[], p_ids uuid[], p_internal_ids text[], p_email_indexes bytea[], p_countries text[], p_data_keys bytea[], p_sealed bytea[], p_metadata text[], p_may_wait boolean) returns TABLE(ordinal integer, created_at timestamp with time zone, is_held boolean) language plpgsql set plan_cache_mode=force_generic_plan set jit=off; -- body 0a20b89856598af5

create function current_account() returns uuid language sql stable; -- body 28dd93af696beb47
grant execute on function current_account to outlay_tenant;

create function environment_now() returns timestamp with time zone language sql; -- body 47f67116a2b4936f
grant execute on function environment_now to outlay_tenant;

create function find_complete_attributes(p payouts, OUT set_id uuid, OUT version integer) returns record language sql stable; -- body 6e6aed756c8b69db

create function find_idempotency_record(p_account uuid, p_key text) returns TABLE(fingerprint bytea, status smallint, body bytea) language plpgsql stable; -- body 5e8441a00ef2aa16
grant execute on function find_idempotency_record to outlay_tenant;

create function follow_clock() returns trigger language plpgsql; -- body 2869732c5137f386

create function fund_balance(p_account uuid, p_currency text, p_amount bigint, p_token uuid, p_journal uuid) returns ledger_accounts language plpgsql security definer set search_path=public, pg_temp; -- body 397eb962b830ba2b
grant execute on function fund_balance to outlay_tenant;

create function is_legal_batch_move(p_from text, p_to text) returns boolean language sql immutable; -- body 192bd4eeef545960
grant execute on function is_legal_batch_move to outlay_tenant;

create function is_legal_move(p_from text, p_to text) returns boolean language sql immutable; -- body 70c2b8d9a383297a

create function is_tenant() returns boolean language sql stable; -- body 1cde043113a17882
grant execute on function is_tenant to outlay_tenant;

create function journal_id(p_time text, p_place bigint, p_random uuid) returns uuid language sql immutable; -- body dc05030480924570

create function journal_lines(p_kind text, p_source_currency text, p_source_amount bigint, p_fee bigint, p_destination_currency text, p_destination_amount bigint, p_rail text) returns TABLE(line smallint, currency text, from_name text, to_name text, amount bigint, wallet_after bigint) language sql immutable; -- body 5000b72f9ecf89eb
grant execute on function journal_lines to outlay_tenant;

create function journal_time() returns text language sql; -- body 27459fe278a01238

create function keep_balances() returns trigger language plpgsql set plan_cache_mode=force_generic_plan set jit=off; -- body d70cb8a8db004185

create function lock_accounts(p_accounts uuid[], p_may_wait boolean) returns uuid[] language plpgsql; -- body 187cbecbe744c51b
grant execute on function lock_accounts to outlay_tenant;

create function month_of(p_at timestamp with time zone) returns date language sql immutable; -- body ba27aa86afacd377
grant execute on function month_of to outlay_tenant;

create function move_payout(p payouts, p_to text, p_reason text, p_journal uuid, p_at timestamp with time zone) returns payouts language plpgsql; -- body 6a4d9d643dae495a

create function new_pickup_code() returns text language sql; -- body 169179734df4a682

create function open_ledger_account(p_account uuid, p_currency text, p_name text, p_token uuid, p_at timestamp with time zone) returns void language sql; -- body 18542c5a4a99713d

create function open_months(p_at timestamp with time zone) returns void language plpgsql; -- body eee45510731031e0

create function payout_event(p payouts, p_at timestamp with time zone) returns void language plpgsql; -- body e8a31ea879fe961d
grant execute on function payout_event to outlay_tenant;

create function payout_reference(p_payout uuid) returns text language sql immutable; -- body e576991796a7be7a

create function plan_moves(p_status text, p_outcome text) returns text[] language sql immutable; -- body 2c6b43e3d5abd19f

create function post_journal(p payouts, p_kind text, p_journal uuid, p_at timestamp with time zone) returns void language sql; -- body 56b927a3cdde39d3

create function postpone_dispatch(p_account uuid, p_payout uuid, p_fence bigint, p_wait_ms bigint) returns void language sql; -- body 1018afe0f9ea193c

create function refuse_change() returns trigger language plpgsql; -- body 4c5a6210d511c064

create function refuse_live_tenant() returns trigger language plpgsql; -- body 8651bdf4856e16d7

create function refuse_unless_open() returns trigger language plpgsql; -- body c383dcd7550408c6

create function require_own_account(p_account uuid) returns void language plpgsql stable; -- body 443b987e2e39e56a
grant execute on function require_own_account to outlay_tenant;

create function script_sandbox_payout(p_account uuid, p_payout uuid, p_outcome text) returns void language plpgsql security definer set search_path=public, pg_temp; -- body 2c8852bc9c88f6fd
grant execute on function script_sandbox_payout to outlay_tenant;

create function store_attribute_sets(p_accounts uuid[], p_users uuid[], p_destinations uuid[], p_currencies text[], p_ids uuid[], p_profile_versions text[], p_fingerprints bytea[], p_sealed bytea[], p_are_complete boolean[], p_may_wait boolean) returns TABLE(ordinal integer, set_id uuid, is_held boolean) language plpgsql set plan_cache_mode=force_generic_plan set jit=off; -- body 5b89f8df0185c9d5

create function store_idempotency_records(p_accounts uuid[], p_keys text[], p_fingerprints bytea[], p_bodies bytea[]) returns boolean language plpgsql set plan_cache_mode=force_generic_plan; -- body 4b3c2781688d051d
grant execute on function store_idempotency_records to outlay_tenant;

create function take_dispatches(p_count integer, p_lease_ms integer, p_account uuid DEFAULT NULL::uuid, p_payout uuid DEFAULT NULL::uuid) returns TABLE(account_id uuid, payout_id uuid, fence bigint, tries integer, mode text, was_taken boolean, unknown_since timestamp with time zone, now timestamp with time zone, rail text, payer_key text, country text, delivery_type text, destination_currency text, destination_amount bigint, pickup_code text, committed_at timestamp with time zone, estimated_availability timestamp with time zone, user_id uuid, attr_set_id uuid, attributes bytea, data_key bytea, person bytea) language plpgsql set plan_cache_mode=force_generic_plan set jit=off; -- body 3cdd862ec188de2d

create function write_event(p_account uuid, p_type text, p_subject uuid, p_payload text, p_at timestamp with time zone, p_detail text DEFAULT ''::text) returns void language plpgsql; -- body c71355b26515766c
grant execute on function write_event to outlay_tenant;
