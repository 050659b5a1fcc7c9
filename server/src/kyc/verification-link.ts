import { timingSafeEqual } from 'node:crypto';
import type { KeyRing } from '../core/sealing.ts';
import type { SessionId } from './kyc.sql.ts';

/**
 * The secret in a verification link: the account, the session, and 256 bits that need the
 * environment's master key. The link is therefore always the same, and the database does not reveal
 * it.
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

/** The session of a token; undefined for a token that was never issued. */
export function findLinkSession(keys: KeyRing, token: string): SessionId | undefined {
  if (token.length !== tokenCharacters) return undefined;
  const bytes = Buffer.from(token, 'base64url');
  // The last character has spare bits; only the issued spelling is accepted.
  if (bytes.length !== tokenBytes || bytes.toString('base64url') !== token) return undefined;
  const accountId = unpackId(bytes.subarray(0, idBytes));
  const sessionId = unpackId(bytes.subarray(idBytes, 2 * idBytes));
  const proof = keys.blindIndex(purpose, `${accountId} ${sessionId}`);
  // In constant time, so that timing does not reveal how many leading bytes are right.
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
