import type { Database } from '../db/postgres/pool.ts';
import { beginWideReading } from '../db/postgres/snapshot.ts';
import { type RevivedRow, selectRevivedAccess } from './access-proof.sql.ts';

/**
 * A code shows that the service wrote a row, not that it is the present one: who can write to the database
 * and kept a row from before a revocation, or a policy from before a change, can put it back. The audit log,
 * which is chained and signed, says what was done since. Names of operators are never given again.
 *
 * @returns operators and credentials that were revoked and are in force, and policies that differ from what
 * was set last; at most 100
 */
export function findRevivedAccess(db: Database): Promise<RevivedRow[]> {
  return db.systemTransaction(async (session) => {
    await beginWideReading(session);
    return selectRevivedAccess(session);
  });
}
