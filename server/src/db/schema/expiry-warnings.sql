-- Warnings of credentials that expire soon, as events of their account.

create table credential_warnings (
  account_id uuid not null,
  credential_id uuid not null,
  -- A rotation changes it.
  expires_at timestamptz not null,
  -- Of the last warning, before the expiry.
  days integer not null check (days in (30, 7, 1)),
  primary key (account_id, credential_id, expires_at),
  foreign key (account_id, credential_id) references credentials (account_id, id)
);
alter table credential_warnings enable row level security;
create policy own_account on credential_warnings using (account_id = current_account());

-- The days of the warning that is due; null where none is. A credential that lives for less than 30
-- days has no warning 30 days before, and one that replaced another is the client's own doing.
create function find_expiry_warning(p credentials) returns integer
  language sql stable
  return (select min(d.days) from unnest(array[30, 7, 1]) d (days)
    where p.revoked_at is null and p.replaced_by is null and p.expires_at > (select environment_now())
      and p.expires_at - d.days * interval '1 day' between p.created_at and (select environment_now())
      and not exists (select from credential_warnings w
        where w.account_id = p.account_id and w.credential_id = p.id
          and w.expires_at = p.expires_at and w.days <= d.days));

-- Writes the event of a warning that is due; false where none is.
create function warn_of_expiry(p_account uuid, p_credential uuid) returns boolean
  language plpgsql as $$
declare
  v_one credentials;
  v_days integer;
begin
  perform lock_accounts(array[p_account], true);
  select * into v_one from credentials c where c.account_id = p_account and c.id = p_credential;
  v_days := find_expiry_warning(v_one);
  if v_days is null then
    return false;
  end if;
  insert into credential_warnings as w (account_id, credential_id, expires_at, days)
  values (p_account, p_credential, v_one.expires_at, v_days)
  on conflict (account_id, credential_id, expires_at) do update set days = excluded.days;
  perform write_event(p_account, 'credential.expiring', p_credential, describe_credential(v_one),
    environment_now());
  return true;
end
$$;
