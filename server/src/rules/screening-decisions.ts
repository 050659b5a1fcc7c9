import { AppError } from '../core/errors.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Database } from '../db/postgres/pool.ts';
import { clearPayout } from '../screening/payout-screenings.ts';
import { findScreening, recordDecision } from '../screening/records.ts';
import { closeScreeningException, findAskedPayout } from './screening-decisions.sql.ts';

/**
 * What a person decides about a payout that was found on a list too late to be stopped. A payout that
 * is held is decided as every held one: released or refunded.
 */

export type ScreeningDecision = {
  accountId: string;
  payoutId: string;
  /** `cleared`: somebody else than the entries found; `confirmed`: the one on the list. */
  decision: 'cleared' | 'confirmed';
  decidedBy: string;
  reason: string;
};

/** @throws AppError not_found, invalid_request, illegal_move (with what stands in the way). */
export async function decideScreenedPayout(
  { db, keys }: { db: Database; keys: KeyRing },
  given: ScreeningDecision,
): Promise<void> {
  const { accountId, payoutId, decision, decidedBy, reason } = given;
  const session = db.system;
  const payout = await findAskedPayout(session, accountId, payoutId);
  if (payout === undefined) throw new AppError('not_found', 'no such payout');
  if (!payout.is_asked) {
    throw new AppError('illegal_move', 'no exception of kind screening is open for this payout');
  }
  if (payout.status === 'HOLD' || payout.status === 'ERROR') {
    const detail = `the payout is ${payout.status}: release, retry or refund it with payout decide`;
    throw new AppError('illegal_move', detail);
  }
  const user = { accountId, userId: payout.user_id };
  const recipient = await findScreening(session, user);
  if (recipient?.isBlocked === true) {
    const { sequence } = recipient;
    const about = { ...user, sequence, decision, decidedBy, reason };
    await recordDecision({ session, keys }, about);
  }
  if (decision === 'cleared') await clearPayout(session, { accountId, payoutId }, decidedBy);
  const resolution = `${decision} by ${decidedBy}: ${reason}`;
  await closeScreeningException(session, { accountId, payoutId }, resolution);
}
