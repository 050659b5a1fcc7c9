import { plainArray } from '../db/arrays.ts';
import type { Session, Statement } from '../db/pool.ts';
import type { DispatchRow, TermsRow } from './dispatch.sql.ts';

/** With a lease: whoever dies over one leaves it to the next after a minute. */
const takeText: Statement = {
  name: 'take_rail_observations',
  text: `
    with due as (
      select rail, id from rail_observations
      where state = 'waiting' and due_at <= environment_now()
      order by due_at limit $1
      for update skip locked
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
    select distinct on (p.id) p.account_id, p.id as payout_id, p.rail, p.payer_key,
      p.destination_token, p.source_currency, p.source_amount, p.fee, p.destination_currency,
      p.destination_amount, p.estimated_availability, u.kyc_status = 'approved' as is_verified
    from unnest($1::uuid[]) r (payout_id)
    join attempts a on a.payout_id = r.payout_id
    join payouts p on p.account_id = a.account_id and p.id = a.payout_id
    join users u on u.account_id = p.account_id and u.id = p.user_id`,
};

const unmatchedText: Statement = {
  name: 'open_unmatched',
  text: `
    select open_exception('00000000-0000-0000-0000-000000000000', null, $1, 'unmatched', $2, null,
      $3, environment_now())`,
};

export type HeardRow = {
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

export async function takeHeard(session: Session, count: number): Promise<HeardRow[]> {
  return session.rows(takeText, [count]);
}

export async function endHeard(
  session: Session,
  heard: Pick<HeardRow, 'rail' | 'id'>,
  state: 'applied' | 'no_effect' | 'exception',
): Promise<void> {
  await session.rows(endText, [heard.rail, heard.id, state]);
}

export type HeardPayoutRow = TermsRow &
  Pick<DispatchRow, 'account_id' | 'payout_id' | 'rail' | 'payer_key' | 'estimated_availability'>;

/** By their identifiers; those that were never sent are not among them. */
export async function findHeardPayouts(
  session: Session,
  payoutIds: readonly string[],
): Promise<ReadonlyMap<string, HeardPayoutRow>> {
  const rows = await session.rows<HeardPayoutRow>(contextText, [plainArray(payoutIds)]);
  return new Map(rows.map((row) => [row.payout_id, row]));
}

/** Somebody speaks of a payment that is none of ours: for a person, in no account's name. */
export async function openUnmatched(
  session: Session,
  heard: { rail: string; detail: string; amountMinor: bigint | null },
): Promise<void> {
  await session.rows(unmatchedText, [heard.rail, heard.detail, heard.amountMinor]);
}
