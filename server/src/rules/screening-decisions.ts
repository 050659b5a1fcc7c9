import { AppError } from '../core/errors.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Database } from '../db/postgres/pool.ts';
import { clearPayout } from '../screening/payout-screenings.ts';
import { findScreening, recordDecision } from '../screening/records.ts';
import { closeScreeningException, findPayoutException } from './screening-decisions.sql.ts';

/**
 * Decisions about a payout with a hit that was found too late to stop it. A held payout is decided as
 * every other held one: released or refunded.
 */

export type ScreeningDecision = {
  accountId: string;
  payoutId: string;
  /** `cleared`: not the listed person; `confirmed`: the listed person. */
  decision: 'cleared' | 'confirmed';
  decidedBy: string;
  reason: string;
};

/** @throws AppError not_found, invalid_request, illegal_move (with the obstacle). */
export async function decideScreenedPayout(
  { db, keys }: { db: Database; keys: KeyRing },
  given: ScreeningDecision,
): Promise<void> {
  const { accountId, payoutId, decision, decidedBy, reason } = given;
  const session = db.system;
  const payout = await findPayoutException(session, accountId, payoutId);
  if (payout === undefined) throw new AppError('not_found', 'payout not found');
  if (!payout.has_exception) {
    throw new AppError('illegal_move', 'no exception of kind screening is open for this payout');
  }
  if (payout.status === 'HOLD' || payout.status === 'ERROR') {
    const detail = `the payout is ${payout.status}; release, retry or refund it with payout decide`;
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
