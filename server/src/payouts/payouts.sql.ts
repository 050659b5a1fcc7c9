import { z } from 'zod';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, maybeOne, nullable, type RowOf } from '../db/rows.ts';
import { openStatusList, payoutStatuses } from './payout-states.ts';
import { pastShortfall, selectSchedule, storedSchedule } from './schedules.sql.ts';

/** Payouts as they are read. */

const openExceptions = (isOpen: string): string => `
  case when p.status in (${openStatusList}) then array(
    select e.kind from exceptions e
    where e.account_id = p.account_id and e.payout_id = p.id and ${isOpen}
    order by e.opened_at, e.kind)${isOpen === 'e.closed_at is null' ? frozenBy : ''} else '{}' end`;

/** The scope of the freeze that holds it, as if it were an exception. */
const frozenBy = ` || array(
    select 'frozen_' || f.scope from payout_dispatches d
    join freezes f on f.id = d.frozen_by
    where d.account_id = p.account_id and d.payout_id = p.id)`;

const timelineEntry = z.object({
  status: z.enum(payoutStatuses),
  status_reason: z.string(),
  at: z.coerce.date<string>(),
  /** Kinds of the exceptions that the change opened. */
  opened_exceptions: z.array(z.string()),
});

/** From the events, which are read along an index by subject: one descent for each payout. */
const timeline = (bound: string): string => `
  coalesce((
    select json_agg(json_build_object('status', upper(substr(e.type, length('payout.') + 1)),
        'status_reason', e.detail, 'at', e.created_at, 'opened_exceptions',
        case when e.type in ('payout.hold', 'payout.error') then array(
          select x.kind from exceptions x
          where x.account_id = e.account_id and x.payout_id = e.subject_id
            and x.opened_at = e.created_at
          order by x.kind) else '{}' end) order by e.sequence)
    from events e
    where e.account_id = p.account_id and e.subject_id = p.id
      and e.month >= month_of(p.created_at - interval '1 day')
      and e.type in (${payoutStatuses.map((status) => `'payout.${status.toLowerCase()}'`).join(', ')})
      ${bound}
  ), '[]')`;

const railReference = (bound: string): string => `
  coalesce((
    select a.provider_reference from attempts a
    where a.account_id = p.account_id and a.payout_id = p.id and a.provider_reference <> ''
      ${bound}
    order by a.number desc limit 1), '')`;

/** A payout with what opens its attributes. */
export const payoutColumns = {
  account_id: column.uuid,
  id: column.uuid,
  user_id: column.uuid,
  status: column.oneOf(...payoutStatuses),
  status_reason: column.text,
  client_transfer_id: column.text,
  source_token: column.uuid,
  source_currency: column.text,
  source_amount: column.bigint,
  fee: column.bigint,
  destination_token: column.uuid,
  destination_currency: column.text,
  destination_amount: column.bigint,
  exchange_rate: column.text,
  mid_rate: column.text,
  payer_name: column.text,
  delivery_type: column.text,
  country: column.text,
  attr_set_id: nullable(column.uuid),
  metadata: column.text,
  pickup_code: column.text,
  created_at: column.instant,
  expires_at: column.instant,
  estimated_availability: column.instant,
  /** When a scheduled payout is to run, and when it ran; null for any other one. */
  runs_at: nullable(column.instant),
  ran_at: nullable(column.instant),
  committed_at: nullable(column.instant),
  completed_at: nullable(column.instant),
  /** When its status last changed. */
  updated_at: column.instant,
  /** In the destination's minor units: what came back after completion. */
  returned_amount: column.bigint,
  /** The rail and the payer that it takes now. */
  rail: column.text,
  payer_key: column.text,
  /** Its changes, the oldest first; those whose events are no longer kept are missing. */
  timeline: column.json(z.array(timelineEntry)),
  /** The rail's own name for the payment; "" before it gave one. */
  rail_reference: column.text,
  /** Kinds of the open exceptions, the oldest first. */
  open_exceptions: column.texts,
  schedule: nullable(column.json(storedSchedule)),
  sealed: nullable(column.bytes),
  data_key: column.bytes,
} as const;

export type PayoutRow = RowOf<typeof payoutColumns>;

const {
  open_exceptions: _exceptions,
  schedule: _schedule,
  timeline: _timeline,
  rail_reference: _reference,
  sealed: _sealed,
  data_key: _dataKey,
  ...termColumns
} = payoutColumns;

type Bounds = {
  exception: string;
  event: string;
  attempt: string;
  shortfall: string;
  more: string;
};

/** What a `PayoutRow` is read from: `payouts p`, and conditions for what was there at the time. */
const selectFrom = (payouts: string, until: Bounds): string => `
  select ${until.more}${Object.keys(termColumns)
    .map((name) => `p.${name}`)
    .join(
      ', ',
    )}, ${openExceptions(until.exception)} as open_exceptions, ${timeline(until.event)} as timeline,
    ${railReference(until.attempt)} as rail_reference, ${selectSchedule(until.shortfall)} as schedule,
    with_version(v.version, v.sealed) as sealed, u.data_key
  from ${payouts}
  join users u on u.account_id = p.account_id and u.id = p.user_id
  left join attribute_set_versions v
    on v.account_id = p.account_id and v.set_id = p.attr_set_id and v.version = p.attr_version`;

export const selectPayouts = selectFrom('payouts p', {
  exception: 'e.closed_at is null',
  event: '',
  attempt: '',
  shortfall: 'x.shortfall::text',
  more: '',
});

/** The same as of points `r (id, at, sequence)`; see `payout_as_of`. */
export const selectPayoutsAsOf = (points: string): string =>
  selectFrom(
    `(${points}) r (id, at, sequence)
    cross join lateral payout_as_of($1, r.id, r.at, r.sequence) p`,
    {
      exception: 'e.opened_at <= r.at and (e.closed_at is null or e.closed_at > r.at)',
      event: 'and e.created_at <= r.at and e.sequence <= r.sequence',
      attempt: 'and a.referenced_at <= r.at',
      shortfall: pastShortfall,
      more: 'r.sequence as event_sequence, ',
    },
  );

const selectPayout = defineQuery({
  name: 'find_payout',
  text: `
    ${selectPayouts}
    where p.account_id = $1 and p.user_id = $2 and p.id = $3`,
  columns: payoutColumns,
});

type PayoutId = { accountId: string; userId: string; payoutId: string };

export async function findPayoutRow(
  session: Session,
  { accountId, userId, payoutId }: PayoutId,
): Promise<PayoutRow | undefined> {
  return maybeOne(session, selectPayout, [accountId, userId, payoutId]);
}
