import { textArray } from '../db/arrays.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, nullable, type RowOf } from '../db/rows.ts';
import { type Reason, reasonTexts } from '../rails/contract/reasons.ts';
import { termColumns } from './dispatch.sql.ts';

/**
 * Claims notifications under a lease of a minute. All that wait for a payment are claimed together,
 * unless another process has claimed one of them, so that they are applied in order.
 */
const claim = defineQuery({
  name: 'claim_notifications',
  text: `
    with payments as materialized (
      select distinct rail, reference from (
        select rail, reference from rail_observations
        where state = 'waiting' and due_at <= (select environment_now())
        order by due_at limit $1
      ) first
    ), leased as (
      select o.rail, o.reference from payments p
      join rail_observations o
        on o.state = 'waiting' and o.rail = p.rail and o.reference = p.reference
      where o.due_at > (select environment_now()) and o.tries > 0
    ), free as materialized (
      select rail, reference from payments except select rail, reference from leased
    ), due as (
      select o.rail, o.id from free f
      join rail_observations o
        on o.state = 'waiting' and o.rail = f.rail and o.reference = f.reference
      where o.due_at <= (select environment_now())
      for update of o skip locked
    )
    update rail_observations o
    set due_at = environment_now() + interval '1 minute', tries = o.tries + 1
    from due join rail_messages m on true
    where o.rail = due.rail and o.id = due.id and m.rail = o.rail and m.id = o.message_id
    returning o.rail, o.id, m.channel, o.reference, o.outcome, o.reason, o.code,
      o.provider_reference, o.amount, o.charges, o.happened_at, o.tries`,
  columns: {
    rail: column.text,
    id: column.text,
    channel: column.oneOf('callback', 'file', 'poll'),
    reference: column.text,
    outcome: column.oneOf('accepted', 'ready_for_pickup', 'paid', 'rejected', 'returned'),
    reason: column.oneOf('', ...(Object.keys(reasonTexts) as Reason[])),
    code: column.text,
    provider_reference: column.text,
    amount: nullable(column.bigint),
    /** JSON; parsed with its notification, so that a defect affects no other one. */
    charges: column.text,
    happened_at: column.instant,
    tries: column.integer,
  },
});

const finish: Statement = {
  name: 'finish_notification',
  text: `update rail_observations set state = $3 where rail = $1 and id = $2`,
};

/**
 * What failover and the time of the next query depend on. Lateral, so that no plan begins with all payouts:
 * one that was made while the tables had no statistics did, every quarter of a second.
 */
const notifiedPayouts = defineQuery({
  name: 'find_notified_payouts',
  text: `
    select distinct on (r.rail, r.reference) r.rail as reported_by, r.reference, p.account_id,
      p.id as payout_id, p.rail, p.payer_key,
      p.destination_token, p.source_currency, p.source_amount, p.fee, p.destination_currency,
      p.destination_amount, p.provider_price, p.estimated_availability, u.kyc_status = 'approved' as is_verified
    from unnest($1::text[], $2::text[]) r (rail, reference)
    cross join lateral (
      select account_id, payout_id from attempts
      where reference = r.reference and rail = r.rail offset 0) a
    cross join lateral (
      select * from payouts where account_id = a.account_id and id = a.payout_id offset 0) p
    cross join lateral (
      select kyc_status from users where account_id = p.account_id and id = p.user_id offset 0) u`,
  columns: {
    reported_by: column.text,
    account_id: column.uuid,
    payout_id: column.uuid,
    reference: column.text,
    estimated_availability: column.instant,
    ...termColumns,
  },
});

const openUnmatchedException: Statement = {
  name: 'open_unmatched',
  text: `
    select open_exception('00000000-0000-0000-0000-000000000000', null, $1, 'unmatched', $2, null,
      $3, environment_now())`,
};

export type NotificationRow = RowOf<typeof claim.columns>;

export async function claimNotifications(
  session: Session,
  count: number,
): Promise<NotificationRow[]> {
  return many(session, claim, [count]);
}

export async function finishNotification(
  session: Session,
  { rail, id }: Pick<NotificationRow, 'rail' | 'id'>,
  state: 'applied' | 'no_effect' | 'exception',
): Promise<void> {
  await exec(session, finish, [rail, id, state]);
}

export type NotifiedPayoutRow = RowOf<typeof notifiedPayouts.columns>;

/** Payouts with an attempt under one of these references at the rail that reports it. */
export async function findNotifiedPayouts(
  session: Session,
  payments: readonly { rail: string; reference: string }[],
): Promise<NotifiedPayoutRow[]> {
  return many(session, notifiedPayouts, [
    textArray(payments.map(({ rail }) => rail)),
    textArray(payments.map(({ reference }) => reference)),
  ]);
}

/** Opens an exception of no account for a notification that could not be applied. */
export async function openUnmatched(
  session: Session,
  unmatched: { rail: string; detail: string; amountMinor: bigint | null },
): Promise<void> {
  const { rail, detail, amountMinor } = unmatched;
  await exec(session, openUnmatchedException, [rail, detail, amountMinor]);
}
