-- What counterparties ask for accounts of recipients. A version never changes: a stored set of attributes
-- names the version that it was checked with (attribute_set_versions.profile_version).
create table rail_requirement_versions (
  rail text collate "C" not null,
  payer_key text collate "C" not null,
  currency text not null,
  -- Counts the changes of any form of the payer and currency.
  version integer not null check (version > 0),
  -- JSON array of [key, value]: codes of closed lists on which the forms depend.
  given text collate "C" not null,
  digest text not null,
  forms text not null,
  read_at timestamptz not null,
  primary key (rail, payer_key, currency, version)
);
alter table rail_requirement_versions enable row level security;

create trigger append_only before update or delete or truncate on rail_requirement_versions
  for each statement execute function refuse_change('versions are immutable');

-- The requirements that are kept up to date, with their newest version; without one where they were wanted
-- and not read yet.
create table rail_requirements (
  rail text collate "C" not null,
  payer_key text collate "C" not null,
  currency text not null,
  given text collate "C" not null,
  version integer,
  -- The environment's time at which the counterparty last answered so.
  read_at timestamptz,
  wanted_at timestamptz not null,
  primary key (rail, payer_key, currency, given),
  foreign key (rail, payer_key, currency, version) references rail_requirement_versions,
  check ((version is null) = (read_at is null))
);
alter table rail_requirements enable row level security;

-- Stores readings; one that differs from the newest version is a new one. The row without given values
-- stays locked, so that two processes cannot take the same number.
create function store_rail_requirements(
  p_rail text, p_payer_keys text[], p_currencies text[], p_given text[], p_digests text[],
  p_forms text[]
) returns table (payer_key text, currency text, given text, version integer, is_changed boolean)
  language plpgsql as $$
#variable_conflict use_column
declare
  r record;
  v_now timestamptz := environment_now();
  v_version integer;
begin
  for r in
    select x.* from unnest(p_payer_keys, p_currencies, p_given, p_digests, p_forms)
      x (payer_key, currency, given, digest, forms)
    order by payer_key, currency, given
  loop
    insert into rail_requirements (rail, payer_key, currency, given, wanted_at)
    values (p_rail, r.payer_key, r.currency, '[]', v_now), (p_rail, r.payer_key, r.currency, r.given, v_now)
    on conflict do nothing;
    perform 1 from rail_requirements n
    where n.rail = p_rail and n.payer_key = r.payer_key and n.currency = r.currency and n.given = '[]'
    for update;
    select v.version into v_version
    from rail_requirements n join rail_requirement_versions v using (rail, payer_key, currency, version)
    where n.rail = p_rail and n.payer_key = r.payer_key and n.currency = r.currency
      and n.given = r.given and v.digest = r.digest;
    is_changed := v_version is null;
    if v_version is null then
      select coalesce(max(v.version), 0) + 1 into strict v_version from rail_requirement_versions v
      where v.rail = p_rail and v.payer_key = r.payer_key and v.currency = r.currency;
      insert into rail_requirement_versions (rail, payer_key, currency, version, given, digest, forms,
        read_at)
      values (p_rail, r.payer_key, r.currency, v_version, r.given, r.digest, r.forms, v_now);
    end if;
    update rail_requirements n set version = v_version, read_at = v_now
    where n.rail = p_rail and n.payer_key = r.payer_key and n.currency = r.currency
      and n.given = r.given;
    payer_key := r.payer_key;
    currency := r.currency;
    given := r.given;
    version := v_version;
    return next;
  end loop;
end
$$;
