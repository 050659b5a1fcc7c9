import type { Destination } from '../attributes/attributes.ts';
import { AppError } from '../core/errors.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import type { Rail } from '../rails/contract/contract.ts';
import { storePayee } from './payee-check.sql.ts';
import { type PayeeResult, sealPayee } from './payee-result.ts';
import { findRecipientOfQuote } from './recipient-check.sql.ts';
import { draftRecipient, versionsOf } from './recipient-check.ts';

/**
 * Whether the account of a recipient belongs to the recipient, asked of the bank of the rail. Only
 * stored details are asked about, and a definite answer is kept with their versions.
 */

export type PayeeQuery = {
  userId: string;
  destination: Destination;
  /** Undefined: the set that a payout without one would use. */
  attrSetId: string | undefined;
};

type PayeeServices = { keys: KeyRing; rails: readonly Rail[]; nowMs: number };

export type AskedPayee = {
  result: PayeeResult;
  /** Stores an answer that was asked for now. */
  store(session: Session): Promise<void>;
};

/** After a match there is nothing to ask; another answer may have been put right at the bank. */
const askAgainMs = 60 * 60_000;
const callMsMax = 10_000;

/**
 * Holds no transaction, because the bank may take seconds.
 *
 * @throws AppError not_found (user, set).
 */
export async function askPayee(
  { keys, rails, nowMs }: PayeeServices,
  { session, accountId }: { session: Session; accountId: string },
  { userId, destination, attrSetId }: PayeeQuery,
): Promise<AskedPayee> {
  const { payer, currency } = destination;
  const { destinationToken } = payer;
  const query = { userId, destinationToken, currency, attrSetId };
  const row = await findRecipientOfQuote(session, accountId, query);
  if (row === undefined) throw new AppError('not_found', 'User not found');
  const versions = versionsOf(row);
  if (versions === undefined && attrSetId !== undefined) {
    throw new AppError('not_found', 'Attribute set not found');
  }
  // Without an amount, the smallest one: the bank is asked about the account.
  const draft = draftRecipient(keys, row, { payer, currency, amountMinor: 1n });
  const known = draft.payee;
  const keep = async (): Promise<void> => undefined;
  if (known !== undefined) {
    const isFresh = nowMs < known.checkedAtMs + askAgainMs;
    if (known.outcome === 'match' || isFresh) return { result: known, store: keep };
  }
  const rail = rails.find(({ name }) => name === payer.railName);
  const answer =
    versions === undefined
      ? undefined
      : await rail?.checkPayee?.(draft, { signal: AbortSignal.timeout(callMsMax) });
  if (versions === undefined || answer === undefined || answer.outcome === 'not_possible') {
    return {
      result: known ?? { outcome: 'not_possible', checkedAtMs: nowMs },
      store: keep,
    };
  }
  const result = { ...answer, checkedAtMs: nowMs };
  const userKey = keys.unwrap(row.data_key, { accountId, userId });
  const sealed = sealPayee(userKey, result, versions);
  return {
    result,
    store: (writing) => storePayee(writing, versions, { rail: payer.railName, sealed }),
  };
}
