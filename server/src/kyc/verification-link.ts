import { timingSafeEqual } from 'node:crypto';
import type { KeyRing } from '../core/sealing.ts';
import type { SessionId } from './kyc.sql.ts';

/**
 * The secret in a verification link: the account, the session, and 256 bits that only the holder
 * of the environment's master key can compute. So the link is the same at every reading and
 * nothing in the database gives it away.
 */

const purpose = 'verification link';
const idBytes = 16;
const tokenBytes = idBytes + idBytes + 32;
const tokenCharacters = Math.ceil((tokenBytes * 4) / 3);

/** 86 URL-safe characters. */
export function formatLinkToken(keys: KeyRing, { accountId, sessionId }: SessionId): string {
  const proof = keys.blindIndex(purpose, `${accountId} ${sessionId}`);
  return Buffer.concat([packId(accountId), packId(sessionId), proof]).toString('base64url');
}

/** The session that a token stands for, or undefined when we never gave it out. */
export function findLinkSession(keys: KeyRing, token: string): SessionId | undefined {
  if (token.length !== tokenCharacters) return undefined;
  const bytes = Buffer.from(token, 'base64url');
  // The last character has spare bits: only the one spelling that we gave out is taken.
  if (bytes.length !== tokenBytes || bytes.toString('base64url') !== token) return undefined;
  const accountId = unpackId(bytes.subarray(0, idBytes));
  const sessionId = unpackId(bytes.subarray(idBytes, 2 * idBytes));
  const proof = keys.blindIndex(purpose, `${accountId} ${sessionId}`);
  // Constant time: a guesser must not learn how many leading bytes were right.
  if (!timingSafeEqual(bytes.subarray(2 * idBytes), proof)) return undefined;
  return { accountId, sessionId };
}

function packId(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

function unpackId(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...parts, hex.slice(20)].join('-');
}
