import { timingSafeEqual } from 'node:crypto';
import type { KeyRing } from './sealing.ts';

/**
 * The secret in a link that needs no credential: what it names, and 256 bits that need the
 * environment's master key. It is always the same, and the database does not reveal it.
 */

const proofBytes = 32;
export const idBytes = 16;

/** URL-safe characters. */
export function formatLinkToken(keys: KeyRing, purpose: string, named: Buffer): string {
  return Buffer.concat([named, prove(keys, purpose, named)]).toString('base64url');
}

/** What a token names; undefined for a token that was never issued. */
export function openLinkToken(
  keys: KeyRing,
  purpose: string,
  { token, bytes: namedBytes }: { token: string; bytes: number },
): Buffer | undefined {
  const tokenBytes = namedBytes + proofBytes;
  if (token.length !== Math.ceil((tokenBytes * 4) / 3)) return undefined;
  const bytes = Buffer.from(token, 'base64url');
  // The last character may have spare bits; only the issued spelling is accepted.
  if (bytes.length !== tokenBytes || bytes.toString('base64url') !== token) return undefined;
  const named = bytes.subarray(0, namedBytes);
  // In constant time, so that timing does not reveal how many leading bytes are right.
  const isIssued = timingSafeEqual(bytes.subarray(namedBytes), prove(keys, purpose, named));
  return isIssued ? named : undefined;
}

function prove(keys: KeyRing, purpose: string, named: Buffer): Buffer {
  return keys.blindIndex(purpose, named.toString('hex'));
}

export function packId(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

export function unpackId(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...parts, hex.slice(20)].join('-');
}
