import { type KeyRing, rowContext } from './sealing.ts';

/**
 * The secret in a link that needs no credential: what it names, and a code that needs the environment's
 * keys. The database does not reveal it. It is the same until the keys are replaced, and valid until they
 * are destroyed.
 */

const proofBytes = 36;
export const idBytes = 16;

/** URL-safe characters. */
export function formatLinkToken(keys: KeyRing, purpose: string, named: Buffer): string {
  return Buffer.concat([named, keys.mac(describe(purpose, named))]).toString('base64url');
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
  return keys.isMac(describe(purpose, named), bytes.subarray(namedBytes)) ? named : undefined;
}

const describe = (purpose: string, named: Buffer): string =>
  rowContext('link', purpose, named.toString('hex'));

export function packId(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

export function unpackId(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...parts, hex.slice(20)].join('-');
}
