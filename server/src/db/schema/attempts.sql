-- Each attempt to pay, written before the rail is called.
create table attempts (
  account_id uuid not null,
  payout_id uuid not null,
  number integer not null check (number > 0),
  rail text not null,
  payer_key text not null,
  reference text not null,
  state text not null
    check (state in ('sending', 'unknown', 'accepted', 'rejected', 'paid', 'returned', 'retry')),
  reason text not null default '',
  fence bigint not null,
  started_at timestamptz not null,
  -- When the rail first confirmed that it has the payment. It is never sent again after that.
  taken_at timestamptz,
  unknown_since timestamptz,
  answered_at timestamptz,
  -- The reference of the rail for the payment; of what came back only where it gave no other.
  provider_reference text not null default '',
  -- When there was a reference first.
  referenced_at timestamptz,
  -- The standing on which its payer was chosen.
  standing_id uuid,
  -- When the latest report happened according to the rail. An older report that arrives later
  -- contradicts nothing.
  reported_at timestamptz,
  primary key (account_id, payout_id, number)
);
-- No second instruction while an earlier one may be in flight.
create unique index attempts_one_alive on attempts (account_id, payout_id)
  where state in ('sending', 'unknown', 'accepted', 'paid');
create index attempts_reference on attempts (reference);
alter table attempts enable row level security;
create policy own_account on attempts using (account_id = current_account());
grant select on attempts to outlay_tenant;

create trigger never_removed before delete or truncate on attempts
  for each statement execute function refuse_change('attempts must not be deleted');

-- The reference of a payment at a rail. It depends only on the account, the client_transfer_id and
-- the try, so a client who repeats a payout after a restore of the database meets the duplicate
-- check of the counterparty. A definite rejection by a rail begins a new try. 128 bits of SHA-256
-- in the layout of a UUID of version 5, which every rail can carry.
create function payment_reference(p_account uuid, p_client_transfer_id text, p_try integer)
  returns text
  language plpgsql immutable parallel safe as $$
declare
  v_hash constant bytea := substring(sha256(convert_to(
    p_account::text || '/' || p_try || '/' || p_client_transfer_id, 'UTF8')) for 16);
begin
  return encode(set_byte(set_byte(v_hash,
    6, get_byte(v_hash, 6) & 15 | 80), 8, get_byte(v_hash, 8) & 63 | 128), 'hex');
end
$$;
