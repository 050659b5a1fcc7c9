import { plainArray, textArray } from '../db/arrays.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';

const commitText: Statement = {
  name: 'commit_payouts',
  text: `select ordinal, pickup_code, is_held from commit_payouts($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
};

export type BatchedCommit = {
  accountId: string;
  userId: string;
  payoutId: string;
  journalId: string;
  pickupCode: string;
  /** Its answer is stored with % for the pickup code. */
  keyed: { key: string; fingerprint: Buffer; answer: string } | undefined;
};

/**
 * What was committed: its place in the batch, from one, and its pickup code ("" but for cash). Or
 * what was not looked at, because somebody holds its account.
 */
export type CommittedRow =
  | { ordinal: number; pickup_code: string; is_held: false }
  | { ordinal: number; pickup_code: null; is_held: true };

export async function commitPayoutRows(
  session: Session,
  commits: readonly BatchedCommit[],
  mayWait: boolean,
): Promise<CommittedRow[]> {
  return session.rows<CommittedRow>(commitText, [
    plainArray(commits.map(({ accountId }) => accountId)),
    plainArray(commits.map(({ userId }) => userId)),
    plainArray(commits.map(({ payoutId }) => payoutId)),
    plainArray(commits.map(({ journalId }) => journalId)),
    plainArray(commits.map(({ pickupCode }) => pickupCode)),
    textArray(commits.map(({ keyed }) => keyed?.key)),
    commits.map(({ keyed }) => keyed?.fingerprint ?? null),
    textArray(commits.map(({ keyed }) => keyed?.answer)),
    mayWait,
  ]);
}
