import { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { type KeyRing, openBytes, rowContext, sealBytes } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { findUserKeys, readPayoutEvidence, readUserEvidence } from './evidence.sql.ts';
import { type HitEvidence, hitEvidence } from './hit.ts';

/**
 * The texts that were compared for each hit, sealed under the key of the recipient, so that an erasure
 * ends them. The entries, versions, fields and scores stay readable in the hits.
 */

type UserKey = { readonly accountId: string; readonly userId: string };
type Services = { readonly session: Session; readonly keys: KeyRing };
const evidenceList = z.array(hitEvidence);

/** Not bound to a row, because the row of a decision repeats the evidence. */
function contextOf({ accountId, userId }: UserKey): string {
  return rowContext('screenings.evidence', accountId, userId);
}

/** In the order of the given evidence; null where there is none, or the user was erased. */
export async function sealEvidence(
  { session, keys }: Services,
  given: readonly (UserKey & { readonly evidence: readonly HitEvidence[] })[],
): Promise<(Buffer | null)[]> {
  const users = given.filter(({ evidence }) => evidence.length > 0);
  if (users.length === 0) return given.map(() => null);
  const dataKeys = new Map<string, Buffer>();
  for (const row of await findUserKeys(session, users)) {
    dataKeys.set(`${row.account_id} ${row.id}`, row.data_key);
  }
  return given.map((user) => {
    const dataKey = dataKeys.get(`${user.accountId} ${user.userId}`);
    if (user.evidence.length === 0 || dataKey === undefined) return null;
    const text = Buffer.from(JSON.stringify(user.evidence));
    return sealBytes(keys.unwrap(dataKey, user), text, contextOf(user));
  });
}

export type ShownEvidence = {
  readonly sequence: number;
  readonly screenedAtMs: number;
  readonly evidence: readonly HitEvidence[];
};

/**
 * What was compared at each screening with hits, newest first, of a user or of a payout's attributes.
 * @throws AppError user_erased.
 */
export async function listEvidence(
  { session, keys }: Services,
  subject: { readonly accountId: string } & (
    | { readonly userId: string }
    | { readonly payoutId: string }
  ),
): Promise<ShownEvidence[]> {
  const { accountId } = subject;
  const rows =
    'userId' in subject
      ? await readUserEvidence(session, subject)
      : await readPayoutEvidence(session, subject);
  const [first] = rows;
  if (first === undefined) return [];
  const user = { accountId, userId: first.user_id };
  const [owner] = await findUserKeys(session, [user]);
  if (owner === undefined) throw new AppError('user_erased', 'The data of this user was erased');
  const userKey = keys.unwrap(owner.data_key, user);
  return rows.map(({ sequence, screened_at: screenedAt, evidence }) => {
    const text = openBytes(userKey, evidence, contextOf(user)).toString();
    return {
      sequence,
      screenedAtMs: screenedAt.getTime(),
      evidence: evidenceList.parse(JSON.parse(text)),
    };
  });
}
