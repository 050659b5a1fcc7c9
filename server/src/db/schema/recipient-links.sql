-- Links with which a recipient does one thing without a credential: give the details of a destination,
-- verify an identity, or follow a payout. Only the hash of a link's token is stored.

create table recipient_links (
  account_id uuid not null,
  id uuid not null,
  -- SHA-256.
  token_hash bytea not null check (length(token_hash) = 32),
  user_id uuid not null,
  purpose text not null check (purpose in ('payout_details', 'verification', 'payout_status')),
  destination_token uuid,
  currency text,
  -- The set that gets a new version; once the link was used, the set that was stored.
  attr_set_id uuid,
  payout_id uuid,
  shows_pickup_code boolean not null,
  -- Where the page leads when all is done, sealed under the user's key, as it may name the person; ''
  -- for nowhere.
  redirect_url bytea not null check (length(redirect_url) <= 4000),
  -- The credential that created it; null for a command.
  credential_id uuid,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_as text not null default '' check (ended_as in ('', 'USED', 'REVOKED')),
  ended_at timestamptz,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users (account_id, id),
  constraint recipient_links_token unique (account_id, token_hash),
  constraint names_what_it_is_for check (
    (purpose = 'payout_details') = (destination_token is not null)
    and (purpose = 'payout_details') = (currency is not null)
    and (purpose = 'payout_status') = (payout_id is not null)),
  constraint expires_after_creation check (expires_at > created_at),
  constraint ended_has_its_time check ((ended_as = '') = (ended_at is null))
);
create index recipient_links_user on recipient_links (account_id, user_id, id desc);
alter table recipient_links enable row level security;
create policy own_account on recipient_links using (account_id = current_account());
grant select, insert on recipient_links to outlay_tenant;
grant update (attr_set_id) on recipient_links to outlay_tenant;
grant update (ended_as) on recipient_links to outlay_tenant;
grant update (ended_at) on recipient_links to outlay_tenant;

create trigger ended_once before update on recipient_links for each row
  when (old.ended_as <> '' and new.redirect_url <> ''
    or (old.token_hash, old.user_id, old.purpose, old.destination_token, old.currency,
      old.payout_id, old.shows_pickup_code, old.expires_at)
    is distinct from (new.token_hash, new.user_id, new.purpose, new.destination_token,
      new.currency, new.payout_id, new.shows_pickup_code, new.expires_at))
  execute function refuse_change('a link ends once and what it is for is immutable');

-- Ends the links of a user whose data is erased. An address to return to may name a person.
create function revoke_recipient_links(p_account uuid, p_user uuid, p_at timestamptz) returns void
  language sql as $$
  update recipient_links
  set redirect_url = '',
    ended_as = case when ended_as = '' then 'REVOKED' else ended_as end,
    ended_at = coalesce(ended_at, p_at)
  where account_id = p_account and user_id = p_user and (ended_as = '' or redirect_url <> '');
$$;

-- Sets how receipts and pages show the sender. What is null stays as it is.
create function set_brand(
  p_account uuid, p_name text, p_color text, p_logo bytea, p_privacy_url text
) returns void
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform require_own_account(p_account);
  update accounts
  set display_name = coalesce(p_name, display_name),
    brand_color = coalesce(p_color, brand_color), brand_logo = coalesce(p_logo, brand_logo),
    privacy_url = coalesce(p_privacy_url, privacy_url)
  where id = p_account;
end
$$;
grant execute on function set_brand to outlay_tenant;
