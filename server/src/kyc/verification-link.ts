import { formatLinkToken, idBytes, openLinkToken, packId, unpackId } from '../core/link-token.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { SessionId } from './kyc.sql.ts';

/** The secret in a verification link, which names an account and a session. */

const purpose = 'verification link';

/** 91 URL-safe characters. */
export function formatVerificationToken(
  keys: KeyRing,
  { accountId, sessionId }: SessionId,
): string {
  return formatLinkToken(keys, purpose, Buffer.concat([packId(accountId), packId(sessionId)]));
}

/** The session of a token; undefined for a token that was never issued. */
export function findLinkSession(keys: KeyRing, token: string): SessionId | undefined {
  const named = openLinkToken(keys, purpose, { token, bytes: 2 * idBytes });
  if (named === undefined) return undefined;
  return {
    accountId: unpackId(named.subarray(0, idBytes)),
    sessionId: unpackId(named.subarray(idBytes)),
  };
}
