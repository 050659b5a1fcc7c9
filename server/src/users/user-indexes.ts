import type { KeyRing } from '../core/sealing.ts';
import { listNameTerms } from './name-terms.ts';

/** The keyed hashes by which recipients are found. `renewedUsers` computes them again with another key. */

type IndexContext = { keys: Pick<KeyRing, 'blindIndex'>; accountId: string };

export type IndexedData = Parameters<typeof listNameTerms>[0] & {
  internal_user_id: string;
  email: string;
};

export function indexUser(context: IndexContext, data: IndexedData) {
  return {
    internalIdIndex: indexInternalId(context, data.internal_user_id),
    emailIndex: indexEmail(context.keys, data.email),
    nameHashes: hashNameTerms(context, listNameTerms(data)),
  };
}

/** The client's identifier of a user, of one account. */
export function indexInternalId({ keys, accountId }: IndexContext, internalUserId: string): Buffer {
  return keys.blindIndex(`internal_user_id ${accountId}`, internalUserId);
}

/** Email addresses are compared without case, and in one form of accents (RFC 6532 3.1). */
export function indexEmail(keys: Pick<KeyRing, 'blindIndex'>, email: string): Buffer {
  return keys.blindIndex('email', email.normalize().toLowerCase());
}

/** Of one account: equal names of two accounts have nothing in common. */
export function hashNameTerms(
  { keys, accountId }: IndexContext,
  terms: readonly string[],
): Buffer[] {
  return terms.map((term) => keys.blindIndex(`name ${accountId}`, term).subarray(0, 8));
}
