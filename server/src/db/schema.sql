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
  identity_two_persons boolean not null default false,
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
  provider_reference text not null default ''::text,
  standing_id uuid,
  reported_at timestamp with time zone,
  constraint attempts_pkey PRIMARY KEY (account_id, payout_id, number),
  constraint attempts_number_check CHECK (number > 0),
  constraint attempts_state_check CHECK (state = ANY (ARRAY['sending'::text, 'unknown'::text, 'accepted'::text, 'rejected'::text, 'paid'::text, 'returned'::text, 'retry'::text]))
);
CREATE UNIQUE INDEX attempts_one_alive ON public.attempts USING btree (account_id, payout_id) WHERE (state = ANY (ARRAY['sending'::text, 'unknown'::text, 'accepted'::text, 'paid'::text]));
CREATE INDEX attempts_reference ON public.attempts USING btree (reference);
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
  details text,
  constraint batch_rows_pkey PRIMARY KEY (account_id, batch_id, number),
  constraint batch_rows_client_transfer_id_check CHECK (length(client_transfer_id) >= 1 AND length(client_transfer_id) <= 50),
  constraint batch_rows_destination_amount_check CHECK (destination_amount > 0),
  constraint batch_rows_details_check CHECK (details = ANY (ARRAY['row'::text, 'stored'::text])),
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
  stored_details_count integer not null default 0,
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
  constraint batches_stored_details_count_check CHECK (stored_details_count >= 0),
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
  send_marker bigint not null default 0,
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

create table exceptions (
  account_id uuid not null,
  id uuid not null,
  payout_id uuid,
  rail text not null default ''::text,
  kind text not null,
  detail text not null default ''::text,
  currency text,
  amount bigint,
  opened_at timestamp with time zone not null,
  closed_at timestamp with time zone,
  resolution text not null default ''::text,
  problem_id text collate "C",
  constraint exceptions_pkey PRIMARY KEY (account_id, id),
  constraint exceptions_check CHECK ((closed_at IS NULL) = (resolution = ''::text)),
  constraint exceptions_kind_check CHECK (kind = ANY (ARRAY['unmatched'::text, 'unreadable'::text, 'not_understood'::text, 'paid_after_refusal'::text, 'accepted_after_refusal'::text, 'paid_after_return'::text, 'refused_after_payment'::text, 'return_of_unpaid'::text, 'excess_return'::text, 'amount_differs'::text, 'unknown_outcome'::text, 'not_sent'::text, 'parked'::text, 'routes_exhausted'::text, 'screening'::text, 'velocity'::text, 'rail_missing'::text, 'overdue'::text, 'unscheduled'::text, 'report_changed'::text, 'recovered'::text]))
);
CREATE INDEX exceptions_inbound ON public.exceptions USING btree (rail) WHERE ((closed_at IS NULL) AND (kind = ANY (ARRAY['unmatched'::text, 'unreadable'::text, 'not_understood'::text, 'report_changed'::text])));
CREATE INDEX exceptions_missing ON public.exceptions USING btree (rail) WHERE ((closed_at IS NULL) AND (kind = 'rail_missing'::text));
CREATE INDEX exceptions_open ON public.exceptions USING btree (opened_at, id) WHERE (closed_at IS NULL);
CREATE INDEX exceptions_payout ON public.exceptions USING btree (account_id, payout_id);
CREATE UNIQUE INDEX exceptions_problem ON public.exceptions USING btree (rail, problem_id) WHERE (problem_id IS NOT NULL);
CREATE TRIGGER never_removed BEFORE DELETE OR TRUNCATE ON exceptions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('what had to be decided stays known');
CREATE CONSTRAINT TRIGGER next_step_asked AFTER UPDATE OF closed_at ON exceptions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.closed_at IS NULL AND new.closed_at IS NOT NULL AND new.payout_id IS NOT NULL) EXECUTE FUNCTION require_next_step();
alter table exceptions enable row level security;
create policy own_account on exceptions as permissive for all to public using (account_id = current_account());
grant select on exceptions to outlay_tenant;

create table idempotency_records (
  account_id uuid not null,
  key text not null,
  month date not null,
  fingerprint bytea not null,
  status smallint not null,
  body bytea,
  created_at timestamp with time zone not null,
  user_id uuid,
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
  constraint balance_covers CHECK (balance >= 0 OR (name = ANY (ARRAY['external'::text, 'fx'::text, 'costs'::text, 'suspense'::text]))),
  constraint ledger_accounts_currency_check CHECK (currency ~ '^[A-Z0-9]{3,5}$'::text),
  constraint ledger_accounts_name_check CHECK (name ~ '^(wallet|reserved|fx|fees|costs|suspense|external|(in_transit|settlement):[a-z0-9_]{1,40})$'::text)
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
  constraint ledger_journals_kind_check CHECK (kind = ANY (ARRAY['fund'::text, 'commit'::text, 'complete'::text, 'refund'::text, 'return'::text, 'reserve'::text, 'batch_commit'::text, 'release'::text, 'unroute'::text, 'route'::text, 'charge'::text, 'excess'::text, 'write_off'::text, 'write_back'::text])),
  constraint ledger_journals_source_amount_check CHECK (source_amount > 0 OR kind = 'return'::text AND source_amount = 0),
  constraint wallet_or_not CHECK ((kind = ANY (ARRAY['complete'::text, 'batch_commit'::text, 'unroute'::text, 'route'::text, 'charge'::text, 'excess'::text, 'write_off'::text, 'write_back'::text])) = (wallet_balance IS NULL)),
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
  code text not null default ''::text,
  constraint observations_pkey PRIMARY KEY (account_id, payout_id, id),
  constraint observations_source_check CHECK (source = ANY (ARRAY['send'::text, 'query'::text, 'sandbox'::text, 'callback'::text, 'file'::text, 'poll'::text, 'person'::text]))
);
alter table observations enable row level security;
create policy own_account on observations as permissive for all to public using (account_id = current_account());
grant select on observations to outlay_tenant;

create table payer_days (
  rail text not null,
  payer_key text not null,
  day date not null,
  paid bigint not null default 0,
  refused bigint not null default 0,
  refused_by_payer bigint not null default 0,
  unknown bigint not null default 0,
  unreached bigint not null default 0,
  returned bigint not null default 0,
  late bigint not null default 0,
  constraint payer_days_pkey PRIMARY KEY (rail, payer_key, day)
);
alter table payer_days enable row level security;

create table payer_standings (
  id uuid not null,
  body text not null,
  created_at timestamp with time zone not null,
  constraint payer_standings_pkey PRIMARY KEY (id)
);
alter table payer_standings enable row level security;
create policy everybody on payer_standings as permissive for all to public using true;
grant select on payer_standings to outlay_tenant;

create table payout_charges (
  account_id uuid not null,
  payout_id uuid not null,
  rail text not null,
  id text not null,
  kind text not null,
  currency text not null,
  amount bigint not null,
  created_at timestamp with time zone not null,
  constraint payout_charges_pkey PRIMARY KEY (account_id, payout_id, rail, id),
  constraint payout_charges_amount_check CHECK (amount > 0),
  constraint payout_charges_kind_check CHECK (kind = ANY (ARRAY['network'::text, 'bank'::text, 'partner'::text]))
);
alter table payout_charges enable row level security;

create table payout_decisions (
  account_id uuid not null,
  payout_id uuid not null,
  id uuid not null,
  action text not null,
  decided_by text not null,
  reason text not null,
  is_effective boolean not null,
  decided_at timestamp with time zone not null,
  constraint payout_decisions_pkey PRIMARY KEY (account_id, payout_id, id),
  constraint payout_decisions_decided_by_check CHECK (length(decided_by) >= 1 AND length(decided_by) <= 100),
  constraint payout_decisions_reason_check CHECK (length(reason) >= 1 AND length(reason) <= 1000)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON payout_decisions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('what was decided stays');
alter table payout_decisions enable row level security;
create policy own_account on payout_decisions as permissive for all to public using (account_id = current_account());
grant select on payout_decisions to outlay_tenant;

create table payout_dispatches (
  account_id uuid not null,
  payout_id uuid not null,
  due_at timestamp with time zone not null,
  tries integer not null default 0,
  fence bigint not null default 0,
  lease_until timestamp with time zone,
  rail text not null,
  is_checked boolean not null default false,
  faults integer not null default 0,
  constraint payout_dispatches_pkey PRIMARY KEY (account_id, payout_id)
);
CREATE INDEX payout_dispatches_due ON public.payout_dispatches USING btree (rail, due_at);
CREATE CONSTRAINT TRIGGER next_step_due AFTER UPDATE OF due_at ON payout_dispatches DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.due_at = 'infinity'::timestamp with time zone AND old.due_at < 'infinity'::timestamp with time zone) EXECUTE FUNCTION require_next_step();
CREATE CONSTRAINT TRIGGER next_step_kept AFTER DELETE ON payout_dispatches DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION require_next_step();

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
CREATE INDEX payout_quotes_created ON public.payout_quotes USING btree (account_id, created_at, id);
CREATE INDEX payout_quotes_transfer ON public.payout_quotes USING btree (account_id, client_transfer_id);
CREATE INDEX payout_quotes_verification ON public.payout_quotes USING btree (account_id, user_id) WHERE needs_verification;
CREATE INDEX payouts_user ON public.payout_quotes USING btree (account_id, user_id, id DESC);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON payout_quotes FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('the terms of a payout never change');
alter table payout_quotes enable row level security;
create policy own_account on payout_quotes as permissive for all to public using (account_id = current_account());
grant select on payout_quotes to outlay_tenant;

create table payout_routings (
  account_id uuid not null,
  payout_id uuid not null,
  number integer not null,
  body text not null,
  created_at timestamp with time zone not null,
  constraint payout_routings_pkey PRIMARY KEY (account_id, payout_id, number),
  constraint payout_routings_number_check CHECK (number > 0)
);
alter table payout_routings enable row level security;
create policy own_account on payout_routings as permissive for all to public using (account_id = current_account());
grant select on payout_routings to outlay_tenant;

create table payout_screenings (
  account_id uuid not null,
  payout_id uuid not null,
  sequence integer not null,
  user_id uuid not null,
  is_passed boolean not null,
  recipient_sequence integer not null,
  subject_index bytea not null,
  list_fingerprint bytea not null,
  threshold_permille smallint not null,
  hits jsonb not null,
  screened_at timestamp with time zone not null,
  cleared_by text,
  cleared_at timestamp with time zone,
  constraint payout_screenings_pkey PRIMARY KEY (account_id, payout_id, sequence),
  constraint payout_screenings_account_id_payout_id_fkey FOREIGN KEY (account_id, payout_id) REFERENCES payout_quotes(account_id, id),
  constraint cleared_as_a_whole CHECK ((cleared_by IS NULL) = (cleared_at IS NULL)),
  constraint passed_with_hits_by_person CHECK (NOT is_passed OR hits = '[]'::jsonb OR cleared_by IS NOT NULL),
  constraint payout_screenings_cleared_by_check CHECK (length(cleared_by) >= 1 AND length(cleared_by) <= 200),
  constraint payout_screenings_list_fingerprint_check CHECK (length(list_fingerprint) = 32),
  constraint payout_screenings_sequence_check CHECK (sequence > 0),
  constraint payout_screenings_subject_index_check CHECK (length(subject_index) = 32),
  constraint payout_screenings_threshold_permille_check CHECK (threshold_permille >= 1 AND threshold_permille <= 1000)
);
CREATE INDEX payout_screenings_cleared ON public.payout_screenings USING btree (account_id, user_id, subject_index, screened_at) WHERE (cleared_by IS NOT NULL);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON payout_screenings FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('what was screened and decided stays');
alter table payout_screenings enable row level security;
create policy own_account on payout_screenings as permissive for all to public using (account_id = current_account());

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
  rail text,
  payer_key text,
  returned_amount bigint not null default 0,
  returned_told bigint not null default 0,
  returned_heard bigint not null default 0,
  constraint payout_states_pkey PRIMARY KEY (account_id, payout_id),
  constraint committed_transfer UNIQUE (account_id, client_transfer_id),
  constraint completed_once CHECK (
CASE status
    WHEN 'COMPLETED'::text THEN completed_at IS NOT NULL
    WHEN 'CANCELLED'::text THEN true
    ELSE completed_at IS NULL
END),
  constraint payout_states_returned_amount_check CHECK (returned_amount >= 0),
  constraint payout_states_returned_heard_check CHECK (returned_heard >= 0),
  constraint payout_states_returned_told_check CHECK (returned_told >= 0),
  constraint payout_states_status_check CHECK (status = ANY (ARRAY['PROCESSING'::text, 'COMPLETED'::text, 'CANCELLED'::text, 'SCHEDULED'::text, 'READY_FOR_PICKUP'::text, 'HOLD'::text, 'ERROR'::text])),
  constraint whole_route CHECK ((rail IS NULL) = (payer_key IS NULL))
);
CREATE TRIGGER begins_committed BEFORE INSERT ON payout_states FOR EACH ROW WHEN (new.status <> ALL (ARRAY['PROCESSING'::text, 'SCHEDULED'::text])) EXECUTE FUNCTION refuse_change('a commit begins as PROCESSING or SCHEDULED');
CREATE TRIGGER fixed_commit BEFORE UPDATE OF account_id, payout_id, client_transfer_id, attr_set_id, attr_version, pickup_code, committed_at ON payout_states FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('what was committed never changes');
CREATE TRIGGER fixed_completion BEFORE UPDATE OF completed_at ON payout_states FOR EACH ROW WHEN (new.completed_at IS DISTINCT FROM old.completed_at AND (old.completed_at IS NOT NULL OR new.status <> 'COMPLETED'::text)) EXECUTE FUNCTION refuse_change('a completion comes with COMPLETED, once');
CREATE TRIGGER legal_move BEFORE UPDATE ON payout_states FOR EACH ROW WHEN (new.status <> old.status AND NOT is_legal_move(old.status, new.status)) EXECUTE FUNCTION refuse_change('that cannot follow from the present status');
CREATE TRIGGER never_removed BEFORE DELETE OR TRUNCATE ON payout_states FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('a payout is never removed');
CREATE CONSTRAINT TRIGGER next_step_moved AFTER UPDATE OF status ON payout_states DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.status = ANY (ARRAY['READY_FOR_PICKUP'::text, 'HOLD'::text, 'ERROR'::text])) OR new.status = 'PROCESSING'::text AND old.status <> 'PROCESSING'::text) EXECUTE FUNCTION require_next_step();
alter table payout_states enable row level security;
create policy own_account on payout_states as permissive for all to public using (account_id = current_account());
grant select on payout_states to outlay_tenant;

create table rail_day_amounts (
  rail text collate "C" not null,
  day date not null,
  currency text not null,
  reference text not null,
  amount bigint not null,
  constraint rail_day_amounts_pkey PRIMARY KEY (rail, day, currency, reference),
  constraint rail_day_amounts_amount_check CHECK (amount > 0)
);
alter table rail_day_amounts enable row level security;

create table rail_days (
  rail text collate "C" not null,
  day date not null,
  currency text not null,
  amount bigint not null default 0,
  constraint rail_days_pkey PRIMARY KEY (rail, day, currency),
  constraint rail_days_amount_check CHECK (amount >= 0)
);
alter table rail_days enable row level security;

create table rail_messages (
  rail text collate "C" not null,
  id text collate "C" not null,
  channel text not null,
  sealed bytea not null,
  times integer not null default 1,
  heard_at timestamp with time zone not null,
  constraint rail_messages_pkey PRIMARY KEY (rail, id),
  constraint rail_messages_channel_check CHECK (channel = ANY (ARRAY['callback'::text, 'file'::text, 'poll'::text]))
);
CREATE TRIGGER never_removed BEFORE DELETE OR TRUNCATE ON rail_messages FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('what was heard stays known');
alter table rail_messages enable row level security;

create table rail_observations (
  rail text collate "C" not null,
  id text collate "C" not null,
  message_id text collate "C" not null,
  reference text not null,
  outcome text not null,
  reason text not null default ''::text,
  code text not null default ''::text,
  provider_reference text not null default ''::text,
  amount bigint,
  charges text not null default '[]'::text,
  happened_at timestamp with time zone not null,
  heard_at timestamp with time zone not null,
  state text not null default 'waiting'::text,
  tries integer not null default 0,
  due_at timestamp with time zone not null,
  constraint rail_observations_pkey PRIMARY KEY (rail, id),
  constraint rail_observations_amount_check CHECK (amount > 0),
  constraint rail_observations_outcome_check CHECK (outcome = ANY (ARRAY['accepted'::text, 'ready_for_pickup'::text, 'paid'::text, 'rejected'::text, 'returned'::text])),
  constraint rail_observations_state_check CHECK (state = ANY (ARRAY['waiting'::text, 'applied'::text, 'no_effect'::text, 'exception'::text]))
);
CREATE INDEX rail_observations_unapplied ON public.rail_observations USING btree (rail, reference) WHERE (state = 'waiting'::text);
CREATE INDEX rail_observations_waiting ON public.rail_observations USING btree (due_at) WHERE (state = 'waiting'::text);
CREATE TRIGGER never_removed BEFORE DELETE OR TRUNCATE ON rail_observations FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('what was heard stays known');
alter table rail_observations enable row level security;

create table rail_passes (
  rail text collate "C" not null,
  holder uuid,
  lease_until timestamp with time zone,
  constraint rail_passes_pkey PRIMARY KEY (rail)
);
alter table rail_passes enable row level security;

create table rail_records (
  rail text collate "C" not null,
  collection text collate "C" not null,
  key text collate "C" not null,
  state text collate "C" not null,
  revision bigint not null,
  sealed bytea not null,
  constraint rail_records_pkey PRIMARY KEY (rail, collection, key),
  constraint rail_records_rail_check CHECK (rail ~ '^[a-z0-9_]{1,40}$'::text),
  constraint rail_records_revision_check CHECK (revision > 0)
);
CREATE INDEX rail_records_state ON public.rail_records USING btree (rail, collection, state, key);
alter table rail_records enable row level security;

create table rate_checkpoints (
  base text not null,
  quote text not null,
  source text not null,
  day date not null,
  digits bigint not null,
  scale smallint not null,
  constraint rate_checkpoints_pkey PRIMARY KEY (base, quote, source, day),
  constraint rate_checkpoints_digits_check CHECK (digits >= 1 AND digits <= '999999999999999999'::bigint),
  constraint rate_checkpoints_scale_check CHECK (scale >= 0 AND scale <= 24)
);

create table rate_limit_use (
  id uuid not null,
  process_id uuid not null,
  keys bytea[] not null,
  counts integer[] not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint rate_limit_use_pkey PRIMARY KEY (id),
  constraint rate_limit_use_check CHECK (cardinality(counts) = cardinality(keys))
);
CREATE INDEX rate_limit_use_created_at_idx ON public.rate_limit_use USING btree (created_at);

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

create table recovered_payments (
  rail text collate "C" not null,
  id text collate "C" not null,
  reference text not null,
  payer_key text not null,
  country text not null,
  currency text not null,
  amount bigint not null,
  outcome text not null,
  provider_reference text not null,
  destination_hash bytea,
  detail text not null,
  happened_at timestamp with time zone not null,
  recovery_id uuid not null,
  result text not null,
  account_id uuid,
  payout_id uuid,
  exception_id uuid,
  constraint recovered_payments_pkey PRIMARY KEY (rail, id),
  constraint recovered_payments_recovery_id_fkey FOREIGN KEY (recovery_id) REFERENCES recoveries(id),
  constraint recovered_payments_amount_check CHECK (amount >= 0),
  constraint recovered_payments_result_check CHECK (result = ANY (ARRAY['known'::text, 'linked'::text, 'found'::text, 'unmatched'::text, 'dismissed'::text]))
);
CREATE INDEX recovered_payments_destination ON public.recovered_payments USING btree (rail, destination_hash) WHERE ((destination_hash IS NOT NULL) AND (result = 'unmatched'::text));
CREATE INDEX recovered_payments_reference ON public.recovered_payments USING btree (reference) WHERE (reference <> ''::text);
alter table recovered_payments enable row level security;

create table recoveries (
  id uuid not null,
  reason text not null,
  since timestamp with time zone not null,
  started_at timestamp with time zone not null,
  listed_at timestamp with time zone,
  released_at timestamp with time zone,
  closed_at timestamp with time zone,
  constraint recoveries_pkey PRIMARY KEY (id),
  constraint recoveries_check CHECK (released_at IS NULL OR listed_at IS NOT NULL),
  constraint recoveries_check1 CHECK (closed_at IS NULL OR released_at IS NOT NULL)
);
CREATE UNIQUE INDEX recoveries_one_open ON public.recoveries USING btree ((true)) WHERE (closed_at IS NULL);
alter table recoveries enable row level security;

create table recovery_rails (
  recovery_id uuid not null,
  rail text collate "C" not null,
  state text not null,
  detail text not null default ''::text,
  payments integer not null default 0,
  updated_at timestamp with time zone not null,
  constraint recovery_rails_pkey PRIMARY KEY (recovery_id, rail),
  constraint recovery_rails_recovery_id_fkey FOREIGN KEY (recovery_id) REFERENCES recoveries(id),
  constraint recovery_rails_state_check CHECK (state = ANY (ARRAY['waiting'::text, 'listed'::text, 'cannot_list'::text, 'failed'::text]))
);
alter table recovery_rails enable row level security;

create table recovery_releases (
  recovery_id uuid not null,
  person text not null,
  decided_by text not null,
  reason text not null,
  decided_at timestamp with time zone not null,
  constraint recovery_releases_pkey PRIMARY KEY (recovery_id, person),
  constraint recovery_releases_recovery_id_fkey FOREIGN KEY (recovery_id) REFERENCES recoveries(id),
  constraint recovery_releases_decided_by_check CHECK (length(decided_by) >= 1 AND length(decided_by) <= 100),
  constraint recovery_releases_reason_check CHECK (length(reason) >= 1 AND length(reason) <= 1000)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON recovery_releases FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('a decision stays as it was made');
alter table recovery_releases enable row level security;

create table sandbox_scripts (
  account_id uuid not null,
  payout_id uuid not null,
  outcome text not null,
  created_at timestamp with time zone not null,
  constraint sandbox_scripts_pkey PRIMARY KEY (account_id, payout_id),
  constraint sandbox_scripts_outcome_check CHECK (outcome = ANY (ARRAY['ready_for_pickup'::text, 'completed'::text, 'rejected'::text, 'returned'::text, 'unknown'::text]))
);
CREATE INDEX sandbox_scripts_payout ON public.sandbox_scripts USING btree (payout_id);

create table screening_entries (
  list text not null,
  entry_id text not null,
  from_sequence integer not null,
  until_sequence integer,
  kind text not null,
  name text not null,
  programmes jsonb not null,
  births jsonb not null,
  countries text not null,
  content_hash bytea not null,
  constraint screening_entries_pkey PRIMARY KEY (list, entry_id, from_sequence),
  constraint screening_entries_list_from_sequence_fkey FOREIGN KEY (list, from_sequence) REFERENCES screening_versions(list, sequence),
  constraint screening_entries_check CHECK (until_sequence > from_sequence),
  constraint screening_entries_kind_check CHECK (kind = ANY (ARRAY['person'::text, 'organisation'::text]))
);
CREATE UNIQUE INDEX screening_entries_in_force ON public.screening_entries USING btree (list, entry_id) WHERE (until_sequence IS NULL);

create table screening_lists (
  list text not null,
  sequence integer not null default 0,
  checked_at timestamp with time zone not null default now(),
  constraint screening_lists_pkey PRIMARY KEY (list),
  constraint screening_lists_list_check CHECK (list ~ '^[a-z][a-z0-9_]{0,29}$'::text),
  constraint screening_lists_sequence_check CHECK (sequence >= 0)
);

create table screening_names (
  id integer not null generated always as identity,
  list text not null,
  entry_id text not null,
  from_sequence integer not null,
  text text not null,
  quality text not null,
  words text not null,
  skeletons text not null,
  constraint screening_names_pkey PRIMARY KEY (id),
  constraint screening_names_list_entry_id_from_sequence_fkey FOREIGN KEY (list, entry_id, from_sequence) REFERENCES screening_entries(list, entry_id, from_sequence),
  constraint screening_names_check CHECK (cardinality(string_to_array(skeletons, ' '::text)) = cardinality(string_to_array(words, ' '::text))),
  constraint screening_names_quality_check CHECK (quality = ANY (ARRAY['primary'::text, 'alias'::text, 'weak'::text])),
  constraint screening_names_words_check CHECK (words <> ''::text)
);
CREATE INDEX screening_names_entry ON public.screening_names USING btree (list, entry_id, from_sequence);

create table screening_versions (
  list text not null,
  sequence integer not null,
  version text not null,
  content_hash bytea not null,
  published_at timestamp with time zone,
  entry_count integer not null,
  name_count integer not null,
  added_count integer not null,
  removed_count integer not null,
  imported_at timestamp with time zone not null default now(),
  reader smallint not null default 1,
  constraint screening_versions_pkey PRIMARY KEY (list, sequence),
  constraint screening_versions_list_fkey FOREIGN KEY (list) REFERENCES screening_lists(list),
  constraint screening_versions_check CHECK (name_count >= entry_count),
  constraint screening_versions_content_hash_check CHECK (length(content_hash) = 32),
  constraint screening_versions_entry_count_check CHECK (entry_count > 0),
  constraint screening_versions_sequence_check CHECK (sequence > 0)
);

create table screening_wallets (
  list text not null,
  entry_id text not null,
  from_sequence integer not null,
  wallet text not null,
  text text not null,
  constraint screening_wallets_pkey PRIMARY KEY (list, entry_id, from_sequence, wallet),
  constraint screening_wallets_list_entry_id_from_sequence_fkey FOREIGN KEY (list, entry_id, from_sequence) REFERENCES screening_entries(list, entry_id, from_sequence)
);
CREATE INDEX screening_wallets_wallet ON public.screening_wallets USING btree (wallet);

create table screening_words (
  word text not null,
  skeleton text not null,
  name_ids integer[] not null,
  name_count integer not null,
  spelling_count integer not null,
  lengths smallint[] not null,
  constraint screening_words_pkey PRIMARY KEY (word),
  constraint screening_words_check CHECK (name_count = cardinality(name_ids)),
  constraint screening_words_check1 CHECK (cardinality(lengths) = cardinality(name_ids))
);
CREATE INDEX screening_words_skeleton ON public.screening_words USING btree (skeleton);
CREATE INDEX screening_words_trigrams ON public.screening_words USING gist (lower(word) gist_trgm_ops (siglen='256'));

create table screenings (
  account_id uuid not null,
  user_id uuid not null,
  sequence integer not null,
  state text not null,
  subject_index bytea not null,
  list_fingerprint bytea not null,
  list_versions jsonb not null,
  threshold_permille smallint not null,
  top_score_permille smallint not null,
  hits jsonb not null,
  screened_at timestamp with time zone not null,
  decided_by text,
  decided_at timestamp with time zone,
  decision_reason bytea,
  constraint screenings_pkey PRIMARY KEY (account_id, user_id, sequence),
  constraint screenings_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id),
  constraint decided_as_a_whole CHECK (num_nulls(decided_by, decided_at, decision_reason) = ANY (ARRAY[0, 3])),
  constraint decided_by_person CHECK ((state = ANY (ARRAY['cleared_by_person'::text, 'confirmed_by_person'::text])) = (decided_by IS NOT NULL)),
  constraint hits_make_a_hit CHECK (state <> 'clear'::text OR hits = '[]'::jsonb),
  constraint screenings_decided_by_check CHECK (length(decided_by) >= 1 AND length(decided_by) <= 200),
  constraint screenings_list_fingerprint_check CHECK (length(list_fingerprint) = 32),
  constraint screenings_sequence_check CHECK (sequence > 0),
  constraint screenings_state_check CHECK (state = ANY (ARRAY['clear'::text, 'hit'::text, 'cleared_by_person'::text, 'confirmed_by_person'::text])),
  constraint screenings_subject_index_check CHECK (length(subject_index) = 32),
  constraint screenings_threshold_permille_check CHECK (threshold_permille >= 1 AND threshold_permille <= 1000),
  constraint screenings_top_score_permille_check CHECK (top_score_permille >= 0 AND top_score_permille <= 1000)
);
CREATE INDEX screenings_hits ON public.screenings USING btree (account_id, user_id, sequence) WHERE (state = 'hit'::text);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON screenings FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('what was screened and decided stays');
alter table screenings enable row level security;
create policy own_account on screenings as permissive for all to public using (account_id = current_account());

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

create table velocity_entries (
  account_id uuid not null,
  payout_id uuid not null,
  user_id uuid not null,
  corridor text not null,
  usd_amount bigint not null,
  counted_at timestamp with time zone not null,
  is_void boolean not null default false,
  constraint velocity_entries_pkey PRIMARY KEY (account_id, payout_id),
  constraint velocity_entries_usd_amount_check CHECK (usd_amount >= 0)
);
CREATE INDEX velocity_entries_account ON public.velocity_entries USING btree (account_id, counted_at) INCLUDE (usd_amount) WHERE (NOT is_void);
CREATE INDEX velocity_entries_corridor ON public.velocity_entries USING btree (account_id, corridor, counted_at) INCLUDE (usd_amount) WHERE (NOT is_void);
CREATE INDEX velocity_entries_user ON public.velocity_entries USING btree (account_id, user_id, counted_at) INCLUDE (usd_amount) WHERE (NOT is_void);
alter table velocity_entries enable row level security;

create table verification_decisions (
  account_id uuid not null,
  id uuid not null,
  session_id uuid not null,
  user_id uuid not null,
  submission integer not null,
  decision text not null,
  decided_by text not null,
  person text not null,
  reason bytea not null,
  credential_id uuid,
  is_effective boolean not null,
  decided_at timestamp with time zone not null,
  constraint verification_decisions_pkey PRIMARY KEY (account_id, id),
  constraint verification_decisions_account_id_session_id_fkey FOREIGN KEY (account_id, session_id) REFERENCES verification_sessions(account_id, id),
  constraint verification_decisions_decided_by_check CHECK (length(decided_by) >= 1 AND length(decided_by) <= 200),
  constraint verification_decisions_decision_check CHECK (decision = ANY (ARRAY['approved'::text, 'declined'::text, 'resubmission_requested'::text])),
  constraint verification_decisions_person_check CHECK (length(person) >= 1 AND length(person) <= 400),
  constraint verification_decisions_submission_check CHECK (submission > 0)
);
CREATE INDEX verification_decisions_session ON public.verification_decisions USING btree (account_id, session_id, id);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON verification_decisions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('what was decided stays');
alter table verification_decisions enable row level security;
create policy own_account on verification_decisions as permissive for all to public using (account_id = current_account());
grant insert, select on verification_decisions to outlay_tenant;

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
CREATE INDEX verification_sessions_pending ON public.verification_sessions USING btree (account_id, id) WHERE (status = ANY (ARRAY['Submitted'::text, 'Resubmitted'::text, 'Review'::text]));
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

create view payout_margins as
 SELECT p.account_id,
    p.id AS payout_id,
    p.source_currency,
        CASE
            WHEN p.committed_at IS NULL OR p.status = 'CANCELLED'::text AND p.completed_at IS NULL THEN 0::bigint
            ELSE p.fee
        END AS fee_earned,
    COALESCE(c.charges, '[]'::json) AS charges
   FROM payouts p
     LEFT JOIN LATERAL ( SELECT json_agg(json_build_object('rail', c_1.rail, 'kind', c_1.kind, 'currency', c_1.currency, 'amount', c_1.amount::text) ORDER BY c_1.created_at, c_1.id) AS charges
           FROM payout_charges c_1
          WHERE c_1.account_id = p.account_id AND c_1.payout_id = p.id) c ON true;

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
    COALESCE(s.rail, q.rail) AS rail,
    COALESCE(s.payer_key, q.payer_key) AS payer_key,
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
    COALESCE(s.updated_at, q.created_at) AS updated_at,
    COALESCE(s.returned_amount, 0::bigint) AS returned_amount,
    COALESCE(s.returned_told, 0::bigint) AS returned_told,
    COALESCE(s.returned_heard, 0::bigint) AS returned_heard
   FROM payout_quotes q
     LEFT JOIN payout_states s ON s.account_id = q.account_id AND s.payout_id = q.id;

create function analyze_new_tables() returns void language plpgsql; -- body 06a7ec73b569d9c0

create function apply_observation(p_account uuid, p_payout uuid, p_observation uuid, p_source text, p_outcome text, p_reason text, p_fence bigint, p_due_at timestamp with time zone, p_journals uuid[], p_extra json) returns text language plpgsql security definer set search_path=public, pg_temp; -- body 31c62ef15725e36b
grant execute on function apply_observation to outlay_tenant;

create function apply_observations(p_accounts uuid[], p_payouts uuid[], p_observations uuid[], p_sources text[], p_outcomes text[], p_reasons text[], p_codes text[], p_provider_references text[], p_standings uuid[], p_routings text[], p_fences bigint[], p_due_ats timestamp with time zone[], p_journals uuid[], p_may_wait boolean) returns TABLE(ordinal integer, is_held boolean) language plpgsql set plan_cache_mode=force_generic_plan set jit=off; -- body 878fe3e76e8bd1cc

create function attempt_state(p_outcome text) returns text language sql immutable; -- body 80d6839a1e2ab979

create function batch_event(p_account uuid, p_batch uuid, p_status text, p_at timestamp with time zone) returns void language sql; -- body 8bc8c0160e0cd540

create function begin_batch_commit(p_account uuid, p_batch uuid, p_mode text, OUT result text, OUT detail text) returns record language plpgsql security definer set search_path=public, pg_temp; -- body 30ab818c14ff8bc0
grant execute on function begin_batch_commit to outlay_tenant;

create function begin_recovery(p_id uuid, p_reason text, p_rails text[]) returns TABLE(id uuid, is_new boolean) language plpgsql; -- body 3bdf6f8c733f481f

create function check_kyc_status_move() returns trigger language plpgsql; -- body 94a26bc32c82a38d

create function check_verification_move() returns trigger language plpgsql; -- body 1afa1049449b13dc

create function classify_report(p payouts, a attempts, p_outcome text, p_is_past boolean, p_is_newer boolean, p_is_stale boolean, p_amount bigint, p_back bigint) returns text language sql immutable; -- body 56e116fdea18b954

create function commit_batch_rows(p_account uuid, p_batch uuid, p_fence bigint, p_count integer) returns integer language plpgsql security definer set search_path=public, pg_temp set plan_cache_mode=force_generic_plan set jit=off; -- body eba73f31c797408a

create function commit_payout(p_account uuid, p_user uuid, p_payout uuid, p_journal uuid, p_pickup_code text, OUT result text, OUT detail text, OUT pickup_code text) returns record language plpgsql security definer set search_path=public, pg_temp; -- body ccc80a59a18ee636
grant execute on function commit_payout to outlay_tenant;

create function commit_payouts(p_accounts uuid[], p_users uuid[], p_payouts uuid[], p_journals uuid[], p_pickup_codes text[], p_keys text[], p_fingerprints bytea[], p_answers text[], p_may_wait boolean) returns TABLE(ordinal integer, pickup_code text, is_held boolean) language plpgsql set plan_cache_mode=force_generic_plan set jit=off; -- body 9322582bf9a398ef

create function count_unresolved_inbound(p_rail text) returns bigint language sql stable; -- body 2ca2c6ca1099fea2

create function count_velocity(p_account uuid, p_payout uuid, p_user uuid, p_corridor text, p_usd bigint, p_limits json) returns text[] language plpgsql; -- body 1921ab0e3a4ac5f3

create function create_payouts(p_accounts uuid[], p_ids uuid[], p_users uuid[], p_transfer_ids text[], p_source_tokens uuid[], p_source_currencies text[], p_source_amounts bigint[], p_fees bigint[], p_destination_tokens uuid[], p_destination_currencies text[], p_destination_amounts bigint[], p_rates text[], p_rounding_nanos bigint[], p_rails text[], p_payer_keys text[], p_payer_names text[], p_sets uuid[], p_delivery_types text[], p_countries text[], p_needs_attributes boolean[], p_needs_verification boolean[], p_notify_users boolean[], p_metadata text[], p_lock_seconds integer[], p_availabilities timestamp with time zone[], p_entry_accounts uuid[], p_entry_ids uuid[], p_entry_hashes bytea[], p_may_wait boolean) returns TABLE(id uuid, attr_set_id uuid, attr_version integer, created_at timestamp with time zone, expires_at timestamp with time zone, sealed bytea, data_key bytea) language plpgsql security definer set search_path=public, pg_temp set plan_cache_mode=force_generic_plan set jit=off; -- body 62790629e834849a
grant execute on function create_payouts to outlay_tenant;

create function create_users(p_accounts uuid[], p_ids uuid[], p_internal_ids text[], p_email_indexes bytea[], p_countries text[], p_data_keys bytea[], p_sealed bytea[], p_metadata text[], p_may_wait boolean) returns TABLE(ordinal integer, created_at timestamp with time zone, is_held boolean) language plpgsql set plan_cache_mode=force_generic_plan set jit=off; -- body 0a20b89856598af5

create function current_account() returns uuid language sql stable; -- body 28dd93af696beb47
grant execute on function current_account to outlay_tenant;

create function decide_payout(p_account uuid, p_payout uuid, p_id uuid, p_action text, p_by text, p_reason text, p_needed integer, p_next_rail text, p_next_payer text, p_journals uuid[]) returns text language plpgsql; -- body 4582926e63f9f36e

create function environment_now() returns timestamp with time zone language sql; -- body 47f67116a2b4936f
grant execute on function environment_now to outlay_tenant;

create function find_complete_attributes(p payouts, OUT set_id uuid, OUT version integer) returns record language sql stable; -- body 6e6aed756c8b69db

create function find_idempotency_answer(p_account uuid, p_key text) returns TABLE(fingerprint bytea, status smallint, body bytea, user_id uuid, data_key bytea) language plpgsql stable; -- body cd5734b29eebee44
grant execute on function find_idempotency_answer to outlay_tenant;

create function find_idempotency_record(p_account uuid, p_key text) returns TABLE(fingerprint bytea, status smallint, body bytea) language plpgsql stable; -- body 5e8441a00ef2aa16
grant execute on function find_idempotency_record to outlay_tenant;

create function find_similar_words(p_words text[], p_skeletons text[]) returns TABLE(given text, listed text, skeleton text, name_count integer) language sql stable set pg_trgm.similarity_threshold=0.22; -- body 9f08acedeec728d9

create function follow_clock() returns trigger language plpgsql; -- body 2869732c5137f386

create function fund_balance(p_account uuid, p_currency text, p_amount bigint, p_token uuid, p_journal uuid) returns ledger_accounts language plpgsql security definer set search_path=public, pg_temp; -- body 397eb962b830ba2b
grant execute on function fund_balance to outlay_tenant;

create function has_next_step(p_account uuid, p_payout uuid) returns boolean language sql stable; -- body 3154f46e5b78b4d7

create function hear_rail_message(p_rail text, p_id text, p_channel text, p_sealed bytea, p_ids text[], p_references text[], p_outcomes text[], p_reasons text[], p_codes text[], p_provider_references text[], p_amounts bigint[], p_charges text[], p_ats timestamp with time zone[], p_problems json) returns boolean language plpgsql; -- body 0354d05ee82729f4

create function is_legal_batch_move(p_from text, p_to text) returns boolean language sql immutable; -- body 192bd4eeef545960
grant execute on function is_legal_batch_move to outlay_tenant;

create function is_legal_move(p_from text, p_to text) returns boolean language sql immutable; -- body 70c2b8d9a383297a

create function is_recovering() returns boolean language sql stable; -- body ce95a693a1f12bdb

create function is_tenant() returns boolean language sql stable; -- body 1cde043113a17882
grant execute on function is_tenant to outlay_tenant;

create function journal_id(p_time text, p_place bigint, p_random uuid) returns uuid language sql immutable; -- body dc05030480924570

create function journal_lines(p_kind text, p_source_currency text, p_source_amount bigint, p_fee bigint, p_destination_currency text, p_destination_amount bigint, p_rail text) returns TABLE(line smallint, currency text, from_name text, to_name text, amount bigint, wallet_after bigint) language sql immutable; -- body b73bf6a7e1e4697c
grant execute on function journal_lines to outlay_tenant;

create function journal_time() returns text language sql; -- body 27459fe278a01238

create function keep_balances() returns trigger language plpgsql set plan_cache_mode=force_generic_plan set jit=off; -- body d70cb8a8db004185

create function lock_accounts(p_accounts uuid[], p_may_wait boolean) returns uuid[] language plpgsql; -- body 187cbecbe744c51b
grant execute on function lock_accounts to outlay_tenant;

create function month_of(p_at timestamp with time zone) returns date language sql immutable; -- body ba27aa86afacd377
grant execute on function month_of to outlay_tenant;

create function move_payout(p payouts, p_to text, p_reason text, p_journal uuid, p_at timestamp with time zone) returns payouts language plpgsql; -- body 4469faa9422d48dd

create function new_pickup_code() returns text language sql; -- body 169179734df4a682

create function open_contradiction(p payouts, a attempts, p_kind text, p_rail text, p_amount bigint, p_detail text, p_provider_reference text, p_at timestamp with time zone) returns text language plpgsql; -- body 1c05a8392165a8c7

create function open_exception(p_account uuid, p_payout uuid, p_rail text, p_kind text, p_detail text, p_currency text, p_amount bigint, p_at timestamp with time zone) returns void language sql; -- body 5bdeb252933cd7df

create function open_ledger_account(p_account uuid, p_currency text, p_name text, p_token uuid, p_at timestamp with time zone) returns void language sql; -- body 18542c5a4a99713d

create function open_months(p_at timestamp with time zone) returns void language plpgsql; -- body eee45510731031e0

create function pass_checks(p_accounts uuid[], p_payouts uuid[], p_fences bigint[]) returns void language sql; -- body 16388dc1a6103d58

create function payment_reference(p_account uuid, p_client_transfer_id text, p_try integer) returns text language sql immutable; -- body b70ed6e415c71aa4

create function payout_event(p payouts, p_at timestamp with time zone) returns void language plpgsql; -- body e8a31ea879fe961d
grant execute on function payout_event to outlay_tenant;

create function person_key(p_name text) returns text language sql immutable; -- body 34bfbb4e4ac37b99

create function plan_moves(p_status text, p_outcome text) returns text[] language sql immutable; -- body 9cb6ab399d246505

create function post_aside(p payouts, p_kind text, p_rail text, p_currency text, p_amount bigint, p_at timestamp with time zone) returns void language sql; -- body 282fe5aa7a6a4785

create function post_charges(p payouts, p_rail text, p_charges json, p_at timestamp with time zone) returns void language plpgsql; -- body 103eac8789a15b7c

create function post_journal(p payouts, p_kind text, p_journal uuid, p_at timestamp with time zone) returns void language sql; -- body 56b927a3cdde39d3

create function post_return(p payouts, p_amount bigint, p_journal uuid, p_at timestamp with time zone) returns bigint language plpgsql; -- body de7732e2250d6dc1

create function post_write_back(p payouts, p_rail text, p_amount bigint, p_at timestamp with time zone) returns bigint language plpgsql; -- body 48f7d65b9ae49ed5

create function postpone_dispatch(p_account uuid, p_payout uuid, p_fence bigint, p_wait_ms bigint) returns integer language sql; -- body fd13c95a84898a09

create function record_attempt(p payouts, p_number integer, p_outcome text, p_reason text, p_reported_at timestamp with time zone, p_extra json, p_at timestamp with time zone) returns void language sql; -- body e4d603779f35dca2

create function record_routings(p payouts, p_first text, p_next text, p_at timestamp with time zone) returns void language sql; -- body f075647c7910c74f

create function refresh_screening_words() returns void language plpgsql; -- body 92c26c9ebc8a55b2

create function refuse_change() returns trigger language plpgsql; -- body 4c5a6210d511c064

create function refuse_live_tenant() returns trigger language plpgsql; -- body 8651bdf4856e16d7

create function refuse_unless_open() returns trigger language plpgsql; -- body c383dcd7550408c6

create function release_recovery(p_by text, p_reason text, p_accepts_unlisted boolean) returns text language plpgsql; -- body 4337b5928038f52a

create function require_next_step() returns trigger language plpgsql; -- body 15a25d3c80054514

create function require_own_account(p_account uuid) returns void language plpgsql stable; -- body 443b987e2e39e56a
grant execute on function require_own_account to outlay_tenant;

create function reroute_payout(p payouts, p_rail text, p_payer_key text, p_at timestamp with time zone) returns void language plpgsql; -- body 279f0c4f62aa3d9e

create function reschedule_dispatch(p payouts, p_due_at timestamp with time zone, p_keeps_tries boolean, p_at timestamp with time zone) returns void language plpgsql; -- body bf359b7147308e71

create function script_sandbox_payout(p_account uuid, p_payout uuid, p_outcome text) returns void language plpgsql security definer set search_path=public, pg_temp; -- body 2c8852bc9c88f6fd
grant execute on function script_sandbox_payout to outlay_tenant;

create function store_attribute_sets(p_accounts uuid[], p_users uuid[], p_destinations uuid[], p_currencies text[], p_ids uuid[], p_profile_versions text[], p_fingerprints bytea[], p_sealed bytea[], p_are_complete boolean[], p_may_wait boolean) returns TABLE(ordinal integer, set_id uuid, is_held boolean) language plpgsql set plan_cache_mode=force_generic_plan set jit=off; -- body 5b89f8df0185c9d5

create function store_idempotency_answers(p_accounts uuid[], p_keys text[], p_fingerprints bytea[], p_bodies bytea[], p_users uuid[]) returns boolean language plpgsql set plan_cache_mode=force_generic_plan; -- body b61e1eb077c63e98
grant execute on function store_idempotency_answers to outlay_tenant;

create function store_idempotency_records(p_accounts uuid[], p_keys text[], p_fingerprints bytea[], p_bodies bytea[]) returns boolean language plpgsql set plan_cache_mode=force_generic_plan; -- body 4b3c2781688d051d
grant execute on function store_idempotency_records to outlay_tenant;

create function store_recovered(p_recovery uuid, p_rail text, p_ids text[], p_references text[], p_payer_keys text[], p_countries text[], p_currencies text[], p_amounts bigint[], p_outcomes text[], p_provider_references text[], p_destination_hashes bytea[], p_details text[], p_ats timestamp with time zone[]) returns void language plpgsql; -- body ac1f85feea379462

create function take_dispatches(p_rails text[], p_counts integer[], p_are_shaken boolean[], p_lease_ms integer, p_has_rules boolean, p_account uuid DEFAULT NULL::uuid, p_payout uuid DEFAULT NULL::uuid) returns TABLE(account_id uuid, payout_id uuid, fence bigint, tries integer, mode text, attempt_count integer, was_taken boolean, unknown_since timestamp with time zone, first_tried_at timestamp with time zone, now timestamp with time zone, rail text, payer_key text, destination_token uuid, country text, delivery_type text, source_currency text, source_amount bigint, fee bigint, destination_currency text, destination_amount bigint, pickup_code text, committed_at timestamp with time zone, estimated_availability timestamp with time zone, user_id uuid, attr_set_id uuid, attributes bytea, data_key bytea, person bytea, user_country text, is_verified boolean, account_name text, reference text) language plpgsql set plan_cache_mode=force_generic_plan set jit=off; -- body f7f3d8878d369a3e

create function take_rail_day_amount(p_rail text, p_currency text, p_reference text, p_amount bigint, p_limit bigint) returns boolean language plpgsql; -- body b9445fa30f7ffd7a

create function write_event(p_account uuid, p_type text, p_subject uuid, p_payload text, p_at timestamp with time zone, p_detail text DEFAULT ''::text) returns void language plpgsql; -- body c71355b26515766c
grant execute on function write_event to outlay_tenant;

create function write_rail_records(p_rail text, p_collections text[], p_keys text[], p_revisions bigint[], p_states text[], p_sealed bytea[]) returns boolean language plpgsql; -- body f75ba45da19eb98c
