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
  constraint attempts_account_id_payout_id_fkey FOREIGN KEY (account_id, payout_id) REFERENCES payouts(account_id, id),
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
CREATE TRIGGER forward_clock BEFORE UPDATE ON environment FOR EACH ROW WHEN (new.clock_offset_us >= 0 AND new.clock_offset_us < old.clock_offset_us) EXECUTE FUNCTION refuse_change('the clock does not go backwards');
grant select on environment to outlay_tenant;

create table events (
  account_id uuid not null,
  sequence bigint not null,
  type text not null,
  subject_id uuid not null,
  payload text not null,
  created_at timestamp with time zone not null,
  constraint events_pkey PRIMARY KEY (account_id, sequence)
);
CREATE TRIGGER append_only BEFORE UPDATE OR TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('what happened stays');
alter table events enable row level security;
create policy own_account on events as permissive for all to public using (account_id = current_account());
grant insert, select on events to outlay_tenant;

create table idempotency_records (
  account_id uuid not null,
  key text not null,
  fingerprint bytea not null,
  status smallint not null,
  body bytea,
  created_at timestamp with time zone not null,
  constraint idempotency_records_pkey PRIMARY KEY (account_id, key),
  constraint idempotency_records_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint idempotency_records_fingerprint_check CHECK (length(fingerprint) = 32),
  constraint idempotency_records_key_check CHECK (length(key) >= 1 AND length(key) <= 255)
);
CREATE INDEX idempotency_records_age ON public.idempotency_records USING btree (created_at);
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
  constraint ledger_accounts_name_check CHECK (name ~ '^(wallet|fx|fees|suspense|external|(in_transit|settlement):[a-z0-9_]{1,40})$'::text)
);
CREATE TRIGGER never_emptied BEFORE DELETE OR TRUNCATE ON ledger_accounts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('a balance is never removed');
alter table ledger_accounts enable row level security;
create policy own_account on ledger_accounts as permissive for all to public using (account_id = current_account());
grant select on ledger_accounts to outlay_tenant;

create table ledger_transfers (
  account_id uuid not null,
  currency text not null,
  journal_id uuid not null,
  line smallint not null,
  kind text not null,
  from_name text not null,
  to_name text not null,
  amount bigint not null,
  wallet_balance bigint,
  payout_id uuid,
  created_at timestamp with time zone not null,
  constraint ledger_transfers_pkey PRIMARY KEY (account_id, currency, journal_id, line),
  constraint ledger_transfers_amount_check CHECK (amount > 0),
  constraint ledger_transfers_check CHECK (to_name <> from_name),
  constraint ledger_transfers_check1 CHECK ((wallet_balance IS NOT NULL) = ('wallet'::text = from_name OR 'wallet'::text = to_name)),
  constraint ledger_transfers_kind_check CHECK (kind = ANY (ARRAY['fund'::text, 'commit'::text, 'complete'::text, 'refund'::text, 'return'::text])),
  constraint ledger_transfers_line_check CHECK (line > 0)
);
CREATE INDEX ledger_transfers_payout ON public.ledger_transfers USING btree (account_id, payout_id) WHERE (payout_id IS NOT NULL);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_transfers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('what was posted stays');
alter table ledger_transfers enable row level security;
create policy own_account on ledger_transfers as permissive for all to public using (account_id = current_account());
grant select on ledger_transfers to outlay_tenant;

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
  constraint notifications_account_id_payout_id_fkey FOREIGN KEY (account_id, payout_id) REFERENCES payouts(account_id, id),
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
  constraint payout_metadata_account_id_payout_id_fkey FOREIGN KEY (account_id, payout_id) REFERENCES payouts(account_id, id),
  constraint payout_metadata_entry_hash_check CHECK (length(entry_hash) = 16)
);
alter table payout_metadata enable row level security;
create policy own_account on payout_metadata as permissive for all to public using (account_id = current_account());
grant insert, select on payout_metadata to outlay_tenant;

create table payouts (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  status text not null default 'PENDING'::text,
  status_reason text not null default ''::text,
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
  pickup_code text not null default ''::text,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  estimated_availability timestamp with time zone not null,
  committed_at timestamp with time zone,
  completed_at timestamp with time zone,
  updated_at timestamp with time zone not null,
  constraint payouts_pkey PRIMARY KEY (account_id, id),
  constraint payouts_account_id_attr_set_id_attr_version_fkey FOREIGN KEY (account_id, attr_set_id, attr_version) REFERENCES attribute_set_versions(account_id, set_id, version),
  constraint payouts_account_id_user_id_fkey FOREIGN KEY (account_id, user_id) REFERENCES users(account_id, id),
  constraint committed_or_pending CHECK ((committed_at IS NULL) = (status = 'PENDING'::text)),
  constraint completed_once CHECK (
CASE status
    WHEN 'COMPLETED'::text THEN completed_at IS NOT NULL
    WHEN 'CANCELLED'::text THEN true
    ELSE completed_at IS NULL
END),
  constraint payouts_client_transfer_id_check CHECK (length(client_transfer_id) >= 1 AND length(client_transfer_id) <= 50),
  constraint payouts_destination_amount_check CHECK (destination_amount > 0),
  constraint payouts_fee_check CHECK (fee >= 0),
  constraint payouts_rounding_nano_check CHECK (rounding_nano >= 0),
  constraint payouts_source_amount_check CHECK (source_amount > 0),
  constraint payouts_status_check CHECK (status = ANY (ARRAY['PENDING'::text, 'PROCESSING'::text, 'COMPLETED'::text, 'CANCELLED'::text, 'SCHEDULED'::text, 'READY_FOR_PICKUP'::text, 'HOLD'::text, 'ERROR'::text]))
);
CREATE UNIQUE INDEX payouts_committed_transfer ON public.payouts USING btree (account_id, client_transfer_id) WHERE (committed_at IS NOT NULL);
CREATE INDEX payouts_paid ON public.payouts USING btree (account_id, user_id, id DESC) WHERE (committed_at IS NOT NULL);
CREATE INDEX payouts_user ON public.payouts USING btree (account_id, user_id, id DESC);
CREATE INDEX payouts_verification ON public.payouts USING btree (account_id, user_id) WHERE ((status = 'PENDING'::text) AND needs_verification);
CREATE TRIGGER begins_pending BEFORE INSERT ON payouts FOR EACH ROW WHEN (new.status <> 'PENDING'::text) EXECUTE FUNCTION refuse_change('a payout begins as PENDING');
CREATE TRIGGER fixed_commit BEFORE UPDATE ON payouts FOR EACH ROW WHEN (old.committed_at IS NOT NULL AND (new.committed_at IS DISTINCT FROM old.committed_at OR new.pickup_code IS DISTINCT FROM old.pickup_code OR new.attr_set_id IS DISTINCT FROM old.attr_set_id OR new.attr_version IS DISTINCT FROM old.attr_version)) EXECUTE FUNCTION refuse_change('what was committed never changes');
CREATE TRIGGER fixed_completion BEFORE UPDATE ON payouts FOR EACH ROW WHEN (new.completed_at IS DISTINCT FROM old.completed_at AND (old.completed_at IS NOT NULL OR new.status <> 'COMPLETED'::text)) EXECUTE FUNCTION refuse_change('a completion comes with COMPLETED, once');
CREATE TRIGGER fixed_terms BEFORE UPDATE ON payouts FOR EACH ROW WHEN (new.account_id IS DISTINCT FROM old.account_id OR new.id IS DISTINCT FROM old.id OR new.user_id IS DISTINCT FROM old.user_id OR new.client_transfer_id IS DISTINCT FROM old.client_transfer_id OR new.source_token IS DISTINCT FROM old.source_token OR new.source_currency IS DISTINCT FROM old.source_currency OR new.source_amount IS DISTINCT FROM old.source_amount OR new.fee IS DISTINCT FROM old.fee OR new.destination_token IS DISTINCT FROM old.destination_token OR new.destination_currency IS DISTINCT FROM old.destination_currency OR new.destination_amount IS DISTINCT FROM old.destination_amount OR new.exchange_rate IS DISTINCT FROM old.exchange_rate OR new.rounding_nano IS DISTINCT FROM old.rounding_nano OR new.rail IS DISTINCT FROM old.rail OR new.payer_key IS DISTINCT FROM old.payer_key OR new.payer_name IS DISTINCT FROM old.payer_name OR new.delivery_type IS DISTINCT FROM old.delivery_type OR new.country IS DISTINCT FROM old.country OR new.needs_attributes IS DISTINCT FROM old.needs_attributes OR new.needs_verification IS DISTINCT FROM old.needs_verification OR new.notify_user IS DISTINCT FROM old.notify_user OR new.metadata IS DISTINCT FROM old.metadata OR new.created_at IS DISTINCT FROM old.created_at OR new.expires_at IS DISTINCT FROM old.expires_at OR new.estimated_availability IS DISTINCT FROM old.estimated_availability) EXECUTE FUNCTION refuse_change('the terms of a payout never change');
CREATE TRIGGER legal_move BEFORE UPDATE ON payouts FOR EACH ROW WHEN (new.status <> old.status AND NOT is_legal_move(old.status, new.status)) EXECUTE FUNCTION refuse_change('that cannot follow from the present status');
CREATE TRIGGER never_removed BEFORE DELETE OR TRUNCATE ON payouts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('a payout is never removed');
alter table payouts enable row level security;
create policy own_account on payouts as permissive for all to public using (account_id = current_account());
grant insert, select on payouts to outlay_tenant;

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

create function apply_observation(p_account uuid, p_payout uuid, p_observation uuid, p_source text, p_outcome text, p_reason text, p_fence bigint, p_due_at timestamp with time zone, p_journals uuid[]) returns text language plpgsql security definer set search_path=public, pg_temp; -- body 38fcdf3a96fa18c1
grant execute on function apply_observation to outlay_tenant;

create function begin_attempt(p_account uuid, p_payout uuid, p_fence bigint, p_reference text, p_lease_ms integer, OUT mode text, OUT was_taken boolean, OUT unknown_since timestamp with time zone, OUT now timestamp with time zone) returns record language plpgsql; -- body 95d1df23f70d1b9c

create function check_kyc_status_move() returns trigger language plpgsql; -- body 94a26bc32c82a38d

create function check_verification_move() returns trigger language plpgsql; -- body 1afa1049449b13dc

create function claim_dispatches(p_count integer, p_lease_ms integer, p_account uuid DEFAULT NULL::uuid, p_payout uuid DEFAULT NULL::uuid) returns SETOF payout_dispatches language sql; -- body 7de99f7a77d58cad

create function commit_payout(p_account uuid, p_user uuid, p_payout uuid, p_journal uuid, p_pickup_code text, OUT result text, OUT detail text, OUT pickup_code text) returns record language plpgsql security definer set search_path=public, pg_temp; -- body 9b01559c262569cf
grant execute on function commit_payout to outlay_tenant;

create function commit_payouts(p_accounts uuid[], p_users uuid[], p_payouts uuid[], p_journals uuid[], p_pickup_codes text[], p_keys text[], p_fingerprints bytea[], p_may_wait boolean) returns TABLE(ordinal integer, body text, is_held boolean) language plpgsql set plan_cache_mode=force_generic_plan set jit=off; -- body 9a8885b13b1c8d55

create function create_payouts(p_accounts uuid[], p_ids uuid[], p_users uuid[], p_transfer_ids text[], p_source_tokens uuid[], p_source_currencies text[], p_source_amounts bigint[], p_fees bigint[], p_destination_tokens uuid[], p_destination_currencies text[], p_destination_amounts bigint[], p_rates text[], p_rounding_nanos bigint[], p_rails text[], p_payer_keys text[], p_payer_names text[], p_sets uuid[], p_delivery_types text[], p_countries text[], p_needs_attributes boolean[], p_needs_verification boolean[], p_notify_users boolean[], p_metadata text[], p_lock_seconds integer[], p_availabilities timestamp with time zone[], p_entry_accounts uuid[], p_entry_ids uuid[], p_entry_hashes bytea[], p_may_wait boolean) returns SETOF payouts language plpgsql set plan_cache_mode=force_generic_plan set jit=off; -- body 808028fb01ac25a2
grant execute on function create_payouts to outlay_tenant;

create function current_account() returns uuid language sql stable; -- body 28dd93af696beb47
grant execute on function current_account to outlay_tenant;

create function environment_now() returns timestamp with time zone language sql; -- body 47f67116a2b4936f
grant execute on function environment_now to outlay_tenant;

create function find_complete_attributes(p payouts, OUT set_id uuid, OUT version integer) returns record language sql stable; -- body 6e6aed756c8b69db

create function fund_balance(p_account uuid, p_currency text, p_amount bigint, p_token uuid, p_journal uuid) returns ledger_accounts language plpgsql security definer set search_path=public, pg_temp; -- body c2a5a788458d36d7
grant execute on function fund_balance to outlay_tenant;

create function is_legal_move(p_from text, p_to text) returns boolean language sql immutable; -- body 70c2b8d9a383297a

create function is_tenant() returns boolean language sql stable; -- body 1cde043113a17882
grant execute on function is_tenant to outlay_tenant;

create function lock_accounts(p_accounts uuid[], p_may_wait boolean) returns uuid[] language plpgsql; -- body 187cbecbe744c51b
grant execute on function lock_accounts to outlay_tenant;

create function move_payout(p payouts, p_to text, p_reason text, p_journal uuid, p_at timestamp with time zone) returns payouts language plpgsql; -- body db1b106f28455636

create function open_ledger_account(p_account uuid, p_currency text, p_name text, p_token uuid, p_at timestamp with time zone) returns void language sql; -- body 18542c5a4a99713d

create function payout_event(p payouts, p_at timestamp with time zone) returns void language plpgsql; -- body 368533ccd813ec15
grant execute on function payout_event to outlay_tenant;

create function plan_moves(p_status text, p_outcome text) returns text[] language sql immutable; -- body 2c6b43e3d5abd19f

create function post_refund(p payouts, p_journal uuid, p_kind text, p_first_line smallint, p_keep_fee boolean, p_at timestamp with time zone) returns void language plpgsql; -- body 9cb896f7cc36960d

create function post_transfer(p_account uuid, p_currency text, p_journal uuid, p_line smallint, p_kind text, p_from text, p_to text, p_amount bigint, p_payout uuid, p_at timestamp with time zone) returns void language plpgsql; -- body a2e025e10f92d887

create function postpone_dispatch(p_account uuid, p_payout uuid, p_fence bigint, p_wait_ms bigint) returns void language sql; -- body 1018afe0f9ea193c

create function refuse_change() returns trigger language plpgsql; -- body 4c5a6210d511c064

create function refuse_live_tenant() returns trigger language plpgsql; -- body 8651bdf4856e16d7

create function require_own_account(p_account uuid) returns void language plpgsql stable; -- body 443b987e2e39e56a
grant execute on function require_own_account to outlay_tenant;

create function script_sandbox_payout(p_account uuid, p_payout uuid, p_outcome text) returns void language plpgsql security definer set search_path=public, pg_temp; -- body 2c8852bc9c88f6fd
grant execute on function script_sandbox_payout to outlay_tenant;

create function write_event(p_account uuid, p_type text, p_subject uuid, p_payload text, p_at timestamp with time zone) returns bigint language plpgsql; -- body 2f3be51f5bb738cb
grant execute on function write_event to outlay_tenant;
