import { newId } from '../core/ids.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Database } from '../db/postgres/pool.ts';
import { applyObservation } from '../dispatch/dispatch.ts';
import { formatReason } from '../dispatch/next-step.ts';
import type { Reason } from '../rails/contract/reasons.ts';
import { listPastLimit, openOverdue, type PastLimitRow } from './review.sql.ts';

/**
 * Holds payouts past their time limit, and reports overdue ones. The dispatcher does neither for a rail
 * that is down, because it does not call it.
 */

/** A payout whose outcome is unknown, or that could not be sent, is held after so long. */
export const unknownMsMax = 24 * 3_600_000;

export type ReviewServices = {
  db: Database;
  keys: KeyRing;
  onError: (error: unknown) => void;
};

/** Returns whether more may be waiting. */
export async function reviewPayouts(services: ReviewServices): Promise<boolean> {
  const { db, onError } = services;
  const rows = await listPastLimit(db.system, unknownMsMax);
  let held = 0;
  for (const row of rows) {
    try {
      await hold(services, row);
      held += 1;
    } catch (error) {
      onError(error);
    }
  }
  const overdue = await openOverdue(db.system);
  return held === rows.length && held + overdue > 0;
}

async function hold({ db, keys }: ReviewServices, row: PastLimitRow): Promise<void> {
  const isUnknown = row.state !== 'retry';
  const reason: Reason = isUnknown ? 'no_answer' : 'unreachable';
  await applyObservation(
    { session: db.system, keys },
    {
      accountId: row.account_id,
      payoutId: row.payout_id,
      rail: row.rail,
      observationId: newId(),
      source: 'query',
      outcome: isUnknown ? 'hold' : 'park',
      reason: row.reason === '' ? formatReason(reason) : row.reason,
      // A process may have claimed it since, and be sending it.
      fence: row.fence,
      dueAt: isUnknown ? row.due_at : undefined,
      details: {
        reference: row.reference,
        exception: isUnknown ? 'unknown_outcome' : 'not_sent',
      },
    },
  );
}
