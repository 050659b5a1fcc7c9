import { createHmac } from 'node:crypto';
import { findUserKey, type KeyRing, rowContext } from './sealing.ts';

/**
 * Pickup codes at rest: eight digits that hide the code. The difference follows from the recipient's key
 * and the payout, so that the database draws the digits without a key, and an erasure of the recipient
 * takes the code with it.
 */

export type StoredPickupCode = {
  accountId: string;
  userId: string;
  payoutId: string;
  /** "" where there is none. */
  stored: string;
  /** As `users.data_key` stores it; null where there is no code. */
  dataKey: Buffer | null;
};

const codes = 100_000_000n;

/** The code that the recipient gets; "" where there is none, or the recipient was erased. */
export function openPickupCode(keys: KeyRing, code: StoredPickupCode): string {
  const { accountId, payoutId, stored, dataKey } = code;
  if (stored === '' || dataKey === null) return '';
  const userKey = findUserKey(keys, dataKey, code);
  if (userKey === undefined) return '';
  const context = rowContext('payout_states.pickup_code', accountId, payoutId);
  const mask = createHmac('sha256', userKey).update(context).digest().readBigUInt64BE(0);
  return ((BigInt(stored) + mask) % codes).toString().padStart(8, '0');
}
