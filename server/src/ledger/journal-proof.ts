import type { Database } from '../db/postgres/pool.ts';
import { beginWideReading } from '../db/postgres/snapshot.ts';
import { selectWrongJournals, type WrongJournal } from './journal-proof.sql.ts';

/**
 * Sums of postings may be right although single ones have no reason: a refund and a commit more add up to
 * nothing. So each journal of a payout or batch is compared with what it was posted for.
 */

export type { WrongJournal } from './journal-proof.sql.ts';

const wrongMax = 100;

export function verifyJournals(db: Database): Promise<WrongJournal[]> {
  return db.systemTransaction(async (session) => {
    await beginWideReading(session);
    return (await selectWrongJournals(session)).slice(0, wrongMax);
  });
}
