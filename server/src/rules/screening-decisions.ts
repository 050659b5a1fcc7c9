import { AppError } from '../core/errors.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Database } from '../db/postgres/pool.ts';
import { findPayoutVersion, refuseOutdated } from '../exceptions/decisions.ts';
import {
  decideSeenResults,
  type ResultDecision,
  readSeenResults,
} from '../screening/seen-results.ts';
import { closeScreeningException, findPayoutException } from './screening-decisions.sql.ts';

/**
 * Decisions about a payout with a hit that was found too late to stop it. A held payout is decided as
 * every other held one: released or refunded.
 */

export type ScreeningDecision = ResultDecision & {
  accountId: string;
  payoutId: string;
  /** Of the payout that the person saw (`payout_version`); undefined: whatever has been found since. */
  version?: string | undefined;
};

/** @throws AppError not_found, payout_changed, invalid_request, illegal_move (with the obstacle). */
export async function decideScreenedPayout(
  { db, keys }: { db: Database; keys: KeyRing },
  given: ScreeningDecision,
): Promise<void> {
  const { accountId, payoutId, decision, decidedBy, reason } = given;
  await db.systemTransaction(async (session) => {
    const payout = await findPayoutException(session, accountId, payoutId);
    if (payout === undefined) throw new AppError('not_found', 'Payout not found');
    if (!payout.has_exception) {
      throw new AppError('illegal_move', 'no exception of kind screening is open for this payout');
    }
    if (payout.status === 'HOLD' || payout.status === 'ERROR') {
      const detail = `the payout is ${payout.status}; release, retry or refund it with payout decide`;
      throw new AppError('illegal_move', detail);
    }
    const seen = await readSeenResults(session, { ...given, userId: payout.user_id });
    refuseOutdated(given, await findPayoutVersion(session, given));
    await decideSeenResults({ session, keys }, seen, given);
    const resolution = `${decision} by ${decidedBy}: ${reason}`;
    await closeScreeningException(session, { accountId, payoutId }, resolution);
  });
}
