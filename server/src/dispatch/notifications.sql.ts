import { textArray } from '../db/arrays.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';
import type { DispatchRow, TermsRow } from './dispatch.sql.ts';

/**
 * With a lease: a process that dies over one leaves it to the next after a minute. All that waits
 * about a payment is taken together, unless another process is at work on a part of it, so that the
 * reports of one payment are applied in their own order.
 */
const takeText: Statement = {
  name: 'take_rail_observations',
  text: `
    with payments as materialized (
      select distinct rail, reference from (
        select rail, reference from rail_observations
        where state = 'waiting' and due_at <= environment_now()
        order by due_at limit $1
      ) first
    ), leased as (
      select o.rail, o.reference from payments p
      join rail_observations o
        on o.state = 'waiting' and o.rail = p.rail and o.reference = p.reference
      where o.due_at > environment_now() and o.tries > 0
    ), free as materialized (
      select rail, reference from payments except select rail, reference from leased
    ), due as (
      select o.rail, o.id from free f
      join rail_observations o
        on o.state = 'waiting' and o.rail = f.rail and o.reference = f.reference
      where o.due_at <= environment_now()
      for update of o skip locked
    )
    update rail_observations o
    set due_at = environment_now() + interval '1 minute', tries = o.tries + 1
    from due join rail_messages m on true
    where o.rail = due.rail and o.id = due.id and m.rail = o.rail and m.id = o.message_id
    returning o.rail, o.id, m.channel, o.reference, o.outcome, o.reason, o.code,
      o.provider_reference, o.amount, o.charges, o.happened_at, o.tries`,
};

const endText: Statement = {
  name: 'end_rail_observation',
  text: `update rail_observations set state = $3 where rail = $1 and id = $2`,
};

/** What is needed to find out where a refused payout goes on, and when to look again. */
const contextText: Statement = {
  name: 'find_heard_payouts',
  text: `
    select distinct on (r.rail, r.reference) r.rail as reported_by, r.reference, p.account_id,
      p.id as payout_id, p.rail, p.payer_key,
      p.destination_token, p.source_currency, p.source_amount, p.fee, p.destination_currency,
      p.destination_amount, p.estimated_availability, u.kyc_status = 'approved' as is_verified
    from unnest($1::text[], $2::text[]) r (rail, reference)
    join attempts a on a.reference = r.reference and a.rail = r.rail
    join payouts p on p.account_id = a.account_id and p.id = a.payout_id
    join users u on u.account_id = p.account_id and u.id = p.user_id`,
};

const unmatchedText: Statement = {
  name: 'open_unmatched',
  text: `
    select open_exception('00000000-0000-0000-0000-000000000000', null, $1, 'unmatched', $2, null,
      $3, environment_now())`,
};

export type NotificationRow = {
  rail: string;
  id: string;
  channel: 'callback' | 'file' | 'poll';
  reference: string;
  outcome: 'accepted' | 'ready_for_pickup' | 'paid' | 'rejected' | 'returned';
  reason: string;
  code: string;
  provider_reference: string;
  amount: bigint | null;
  charges: string;
  happened_at: Date;
  tries: number;
};

export async function claimNotifications(
  session: Session,
  count: number,
): Promise<NotificationRow[]> {
  return session.rows(takeText, [count]);
}

export async function finishNotification(
  session: Session,
  heard: Pick<NotificationRow, 'rail' | 'id'>,
  state: 'applied' | 'no_effect' | 'exception',
): Promise<void> {
  await session.rows(endText, [heard.rail, heard.id, state]);
}

export type NotifiedPayoutRow = TermsRow &
  Pick<
    DispatchRow,
    'account_id' | 'payout_id' | 'rail' | 'payer_key' | 'estimated_availability' | 'reference'
  > & { reported_by: string };

/** Payouts with an attempt under one of these references at the rail that reports it. */
export async function findNotifiedPayouts(
  session: Session,
  payments: readonly { rail: string; reference: string }[],
): Promise<NotifiedPayoutRow[]> {
  return session.rows<NotifiedPayoutRow>(contextText, [
    textArray(payments.map(({ rail }) => rail)),
    textArray(payments.map(({ reference }) => reference)),
  ]);
}

/** Somebody speaks of a payment that is none of ours: for a person, in no account's name. */
export async function openUnmatched(
  session: Session,
  heard: { rail: string; detail: string; amountMinor: bigint | null },
): Promise<void> {
  await session.rows(unmatchedText, [heard.rail, heard.detail, heard.amountMinor]);
}
