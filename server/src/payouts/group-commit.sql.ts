import { plainArray } from '../db/arrays.ts';
import type { Session, Statement } from '../db/pool.ts';

const commitText: Statement = {
  name: 'commit_payouts',
  text: `select ordinal, body, is_held from commit_payouts($1, $2, $3, $4, $5, $6, $7, $8)`,
};

export type BatchedCommit = {
  accountId: string;
  userId: string;
  payoutId: string;
  journalId: string;
  pickupCode: string;
  requestKey: { key: string; fingerprint: Buffer } | undefined;
};

/**
 * What was committed: its place in the batch, from one, and the text of the client's answer. Or what
 * was not looked at, because somebody holds its account.
 */
export type CommittedRow =
  | { ordinal: number; body: string; is_held: false }
  | { ordinal: number; body: null; is_held: true };

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
    commits.map(({ requestKey }) => requestKey?.key ?? null),
    commits.map(({ requestKey }) => requestKey?.fingerprint ?? null),
    mayWait,
  ]);
}
