-- Payouts as they were. A quote never changes, a commit fixes its terms, and the events of a payout
-- hold the rest, so nothing is stored for this but the amounts of returns, and the price at which a
-- scheduled payout was quoted.

-- A payout may come back in parts, of which only the first moves it. A statement that does not return
-- money does not fire this.
create function write_return_event() returns trigger
  language plpgsql as $$
begin
  perform write_event(new.account_id, 'payout.returned', new.payout_id,
    json_build_object('returned_amount', new.returned_amount::text)::text,
    -- The first part comes with the move to CANCELLED, and has its time.
    case when old.returned_amount = 0 then new.updated_at else environment_now() end);
  return null;
end
$$;

create trigger returned_event after update of returned_amount on payout_states
  for each row when (new.returned_amount <> old.returned_amount)
  execute function write_return_event();

-- A payout as it was at a time, and after an event of that time: no row before it was quoted, and
-- status null where the events that say so are no longer kept. The route is the present one. Where the
-- clock was set back, `p_at` is the latest time of the events up to that one.
create function payout_as_of(
  p_account uuid, p_payout uuid, p_at timestamptz, p_sequence bigint
) returns setof payouts
  language sql stable rows 1 as $$
  select q.account_id, q.id, q.user_id, h.status,
    case when h.status in ('SCHEDULED', 'HOLD', 'ERROR', 'CANCELLED') then h.reason else '' end,
    q.client_transfer_id, q.source_token, q.source_currency,
    coalesce(x.quoted_source_amount, q.source_amount), coalesce(x.quoted_fee, q.fee),
    q.destination_token, q.destination_currency,
    coalesce(x.quoted_destination_amount, q.destination_amount),
    coalesce(x.quoted_exchange_rate, q.exchange_rate),
    coalesce(x.quoted_rounding_nano, q.rounding_nano), coalesce(s.rail, q.rail),
    coalesce(s.payer_key, q.payer_key), q.payer_name, q.delivery_type, q.country,
    case when s.payout_id is null then q.attr_set_id else s.attr_set_id end,
    case when s.payout_id is null then q.attr_version else s.attr_version end,
    q.needs_attributes, q.needs_verification, q.notify_user, q.metadata,
    coalesce(s.pickup_code, ''), q.created_at, q.expires_at,
    coalesce(x.quoted_availability, q.estimated_availability), q.runs_at,
    case when h.status not in ('PENDING', 'SCHEDULED') then q.ran_at end, s.committed_at,
    case when h.status in ('COMPLETED', 'CANCELLED') then s.completed_at end, h.at,
    case when h.status <> 'CANCELLED' then 0 else coalesce(
      (
        select (e.payload::json ->> 'returned_amount')::bigint from events e
        where s.returned_amount > 0 and e.account_id = p_account and e.subject_id = p_payout
          and e.month between month_of(s.committed_at - interval '1 day') and month_of(p_at)
          and e.type = 'payout.returned' and e.created_at <= p_at
        order by e.sequence desc limit 1
      ), s.returned_amount) end,
    0, 0, coalesce(x.quoted_mid_rate, q.mid_rate),
    case when s.rail is null then coalesce(s.provider_price, q.provider_price)
      else s.provider_price end
  from payout_quotes q
  left join payout_states t
    on t.account_id = q.account_id and t.payout_id = q.id and t.committed_at <= p_at
  left join lateral (
    select upper(substr(e.type, length('payout.') + 1)) as status, e.detail as reason,
      e.created_at as at
    from events e
    where t.payout_id is not null and e.account_id = p_account and e.subject_id = p_payout
      and e.month between month_of(t.committed_at - interval '1 day') and month_of(p_at)
      and e.created_at <= p_at and e.sequence <= p_sequence and e.type <> 'payout.returned'
    order by e.sequence desc limit 1
  ) kept on true
  -- Committed before the quote, by the time alone: the clock was set back.
  left join lateral (select t.* where kept.status is distinct from 'PENDING') s on true
  cross join lateral (
    select
      case
        when s.payout_id is null then 'PENDING'
        when kept.status is not null then kept.status
        when s.updated_at <= p_at then s.status end as status,
      case
        when s.payout_id is null then ''
        when kept.status is not null then kept.reason
        else s.status_reason end as reason,
      case when s.payout_id is null then q.created_at else coalesce(kept.at, s.updated_at) end as at
  ) h
  -- Until it ran it had the price of its quote.
  left join payout_schedules x on q.ran_at is not null and h.status in ('PENDING', 'SCHEDULED')
    and x.account_id = q.account_id and x.payout_id = q.id
  where q.account_id = p_account and q.id = p_payout and q.created_at <= p_at;
$$;
grant execute on function payout_as_of to outlay_tenant;
