import type { Database } from '../db/postgres/pool.ts';
import { beginWideReading } from '../db/postgres/snapshot.ts';
import { selectWrongJournals, type WrongJournalRow } from './journal-proof.sql.ts';

/**
 * Sums of postings may be right although single ones have no reason: a refund and a commit more add up to
 * nothing. So each journal of a payout or batch is compared with what it was posted for.
 */

export type WrongJournal = Omit<WrongJournalRow, 'code'> & {
  /**
   * - `no_payout`: its payout does not exist
   * - `other_amount`, `other_rail`, `other_batch`: it has other terms than the payout, the return or the rows
   *   of the batch
   * - `other_state`: the payout is in no state that posts it
   * - `repeated`: a payout posts it once
   * - `no_event`: no event tells of the move that posts it
   * - `no_cause`, `no_journal`: a charge or an amount in suspense without what it was posted for, or the
   *   other way round
   */
  code:
    | 'no_payout'
    | 'other_amount'
    | 'other_rail'
    | 'other_batch'
    | 'other_state'
    | 'repeated'
    | 'no_event'
    | 'no_cause'
    | 'no_journal';
};

const wrongMax = 100;

export function verifyJournals(db: Database): Promise<WrongJournal[]> {
  return db.systemTransaction(async (session) => {
    await beginWideReading(session);
    return ((await selectWrongJournals(session)) as WrongJournal[]).slice(0, wrongMax);
  });
}
