-- Inbound problems: everything that arrives at a rail and cannot be applied is an open exception.
-- Nothing may become paid by the calendar while a rail has one that is open.

alter table exceptions
  add column problem_id text collate "C",
  drop constraint exceptions_kind_check,
  add constraint exceptions_kind_check check (kind in ('unmatched', 'unreadable', 'not_understood',
    'paid_after_refusal', 'refused_after_payment', 'return_of_unpaid', 'excess_return',
    'amount_differs', 'unknown_outcome', 'not_sent', 'parked', 'routes_exhausted', 'screening',
    'velocity', 'rail_missing', 'overdue', 'unscheduled', 'report_changed', 'recovered'));
create unique index exceptions_problem on exceptions (rail, problem_id)
  where problem_id is not null;
create index exceptions_inbound on exceptions (rail)
  where closed_at is null and kind in ('unmatched', 'unreadable', 'not_understood', 'report_changed');
create index rail_observations_unapplied on rail_observations (rail) where state = 'waiting';

drop function hear_rail_message;

-- Stores a message with all its observations and problems; true when it is new. An observation or a
-- problem that an earlier message reported is not repeated. An observation that comes again under a
-- known identifier with other content is not applied: the message is kept beside the first one, and an
-- exception is opened.
create function hear_rail_message(
  p_rail text, p_id text, p_channel text, p_sealed bytea, p_ids text[], p_references text[],
  p_outcomes text[], p_reasons text[], p_codes text[], p_provider_references text[],
  p_amounts bigint[], p_charges text[], p_ats timestamptz[], p_problems json
) returns boolean
  language plpgsql as $$
declare
  v_now timestamptz := environment_now();
  v_id text := p_id;
  v_changed json;
  v_is_new boolean;
begin
  select json_agg(json_build_object(
    'id', 'changed/' || o.id || '/' || left(md5(concat_ws('|', o.reference, o.outcome, o.reason,
      o.amount)), 12),
    'detail', format('%s was %s, came again as %s', o.id,
      concat_ws(' ', r.reference, r.outcome, nullif(r.reason, ''), r.amount),
      concat_ws(' ', o.reference, o.outcome, nullif(o.reason, ''), o.amount))))
  into v_changed
  from unnest(p_ids, p_references, p_outcomes, p_reasons, p_amounts)
    o (id, reference, outcome, reason, amount)
  join rail_observations r on r.rail = p_rail and r.id = o.id
  where (r.reference, r.outcome, r.reason, r.amount)
    is distinct from (o.reference, o.outcome, o.reason, o.amount);
  if v_changed is not null then
    v_id := p_id || '~' || left(md5(v_changed::text), 12);
  end if;
  insert into rail_messages (rail, id, channel, sealed, heard_at)
  values (p_rail, v_id, p_channel, p_sealed, v_now)
  on conflict (rail, id) do update set times = rail_messages.times + 1
  returning times = 1 into v_is_new;
  if not v_is_new then return false; end if;
  insert into rail_observations (rail, id, message_id, reference, outcome, reason, code,
    provider_reference, amount, charges, happened_at, heard_at, due_at)
  select p_rail, id, v_id, reference, outcome, reason, code, provider_reference, amount, charges,
    at, v_now, v_now
  from unnest(p_ids, p_references, p_outcomes, p_reasons, p_codes, p_provider_references, p_amounts,
    p_charges, p_ats) o (id, reference, outcome, reason, code, provider_reference, amount, charges,
    at)
  on conflict (rail, id) do nothing;
  insert into exceptions (account_id, id, rail, kind, detail, currency, amount, opened_at, problem_id)
  select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), p_rail,
    coalesce(kind, 'report_changed'), left(detail, 500), currency, amount, v_now, id
  from (
    select * from json_to_recordset(p_problems)
      as x (id text, kind text, detail text, currency text, amount bigint)
    union all
    select id, null, detail, null, null from json_to_recordset(coalesce(v_changed, '[]'))
      as x (id text, detail text)
  ) problems
  on conflict (rail, problem_id) where problem_id is not null do nothing;
  return true;
end
$$;

-- How much of what a rail received is not settled: observations that wait to be applied, and
-- exceptions about inbound messages that are still open.
create function count_unresolved_inbound(p_rail text) returns bigint
  language sql stable as $$
  select (select count(*) from rail_observations where rail = p_rail and state = 'waiting')
    + (select count(*) from exceptions
      where rail = p_rail and closed_at is null
        and kind in ('unmatched', 'unreadable', 'not_understood', 'report_changed'));
$$;

revoke execute on all functions in schema public from public;
