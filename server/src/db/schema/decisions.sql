-- Decisions that need several persons before they take effect.

create table decisions (
  id uuid primary key,
  action text not null,
  object text not null,
  -- JSON, with its members in order.
  wanted text not null,
  person text not null check (person <> ''),
  decided_by text not null check (length(decided_by) between 1 and 100),
  reason text not null check (length(reason) between 1 and 1000),
  is_effective boolean not null,
  decided_at timestamptz not null
);
create index decisions_object on decisions (action, object, decided_at);
alter table decisions enable row level security;

create trigger append_only before update or delete or truncate on decisions
  for each statement execute function refuse_change('decisions are immutable');

-- Records what a person decides. Returns approved, waiting (for another person), or other_values
-- (somebody else asked for the same with other values less than a day ago).
create function decide_together(
  p_id uuid, p_action text, p_object text, p_wanted text, p_by text, p_reason text,
  p_needed integer
) returns text
  language plpgsql as $$
declare
  v_now timestamptz;
  v_since timestamptz;
  v_persons integer;
begin
  perform pg_advisory_xact_lock(hashtextextended('outlay decision ' || p_action || p_object, 0));
  v_now := environment_now();
  -- What was decided before the last effective decision counts no more.
  select greatest(v_now - interval '1 day', max(decided_at)) into v_since from decisions
  where action = p_action and object = p_object and is_effective;
  if exists (
    select from decisions
    where action = p_action and object = p_object and decided_at > v_since
      and wanted <> p_wanted and person <> person_key(p_by))
  then
    return 'other_values';
  end if;
  select count(distinct person) into v_persons from (
    select person from decisions
    where action = p_action and object = p_object and decided_at > v_since and wanted = p_wanted
    union all select person_key(p_by)
  ) deciding;
  insert into decisions (id, action, object, wanted, person, decided_by, reason, is_effective,
    decided_at)
  values (p_id, p_action, p_object, p_wanted, person_key(p_by), p_by, p_reason,
    v_persons >= p_needed, v_now);
  return case when v_persons >= p_needed then 'approved' else 'waiting' end;
end
$$;
