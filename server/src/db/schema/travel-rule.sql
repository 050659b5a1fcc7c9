-- The travel rule (FATF recommendation 16): who sends, as the operator has verified the client, and what
-- was passed on about a payout before it was sent.

create table account_senders (
  account_id uuid primary key references accounts (id),
  legal_name text not null check (length(legal_name) between 1 and 200),
  address1 text not null check (length(address1) <= 200),
  city text not null check (length(city) <= 100),
  state_province text not null check (length(state_province) <= 100),
  postal_code text not null check (length(postal_code) <= 20),
  -- ISO 3166-1 alpha-3.
  country_code text not null check (country_code ~ '^[A-Z]{3}$'),
  -- As IVMS101 names them: legal entity identifier, registration number, tax number, other; '' for none.
  registration_type text not null check (registration_type in ('', 'LEIX', 'RAID', 'TXID', 'MISC')),
  registration_id text not null check (length(registration_id) <= 100),
  -- Of the GLEIF's list of registration authorities; '' for a LEI.
  registration_authority text not null check (registration_authority ~ '^(RA[0-9]{6})?$'),
  changed_at timestamptz not null,
  check ((registration_type = '') = (registration_id = '')),
  check ((registration_type in ('', 'LEIX')) = (registration_authority = ''))
);
alter table account_senders enable row level security;
create policy own_account on account_senders using (account_id = current_account());
grant select on account_senders to outlay_tenant;

create table travel_rule_messages (
  account_id uuid not null,
  payout_id uuid not null,
  user_id uuid not null,
  -- The rules that asked for it.
  rules text[] not null check (cardinality(rules) > 0),
  provider text not null,
  -- IVMS101, under the recipient's key.
  message bytea not null,
  state text not null check (state in ('pending', 'accepted', 'refused')),
  -- The provider's name of the message; '' where it gave none.
  provider_reference text not null check (length(provider_reference) <= 200),
  first_at timestamptz not null,
  answered_at timestamptz not null,
  primary key (account_id, payout_id),
  foreign key (account_id, user_id) references users (account_id, id)
);
alter table travel_rule_messages enable row level security;
create policy own_account on travel_rule_messages using (account_id = current_account());

create trigger never_removed before delete or truncate on travel_rule_messages
  for each statement execute function refuse_change('messages of the travel rule must not be deleted');
