import { timingSafeEqual } from 'node:crypto';
import { type KeyRing, rowContext } from '../core/sealing.ts';

/**
 * Authenticates the rows of credentials and tokens: write access to the database allows a stored row
 * with a secret of their own, and cannot compute its MAC, whose key follows from the master key.
 */

export type CredentialTerms = {
  accountId: string;
  credentialId: string;
  kind: 'client' | 'api_key';
  secretHash: Buffer;
  scopes: readonly string[];
  /** As the database writes ranges. */
  allowedAddresses: readonly string[];
};

export function authenticateCredential(keys: KeyRing, terms: CredentialTerms): Buffer {
  const { accountId, credentialId, kind, secretHash, scopes, allowedAddresses } = terms;
  const row = [accountId, credentialId, kind, secretHash.toString('hex')];
  const lists = [JSON.stringify(scopes), JSON.stringify(allowedAddresses)];
  return keys.mac(rowContext('credentials', ...row, ...lists));
}

export type TokenTerms = {
  accountId: string;
  tokenHash: Buffer;
  credentialId: string;
  scopes: readonly string[];
  /** In whole milliseconds. */
  expiresAt: Date;
};

export function authenticateToken(keys: KeyRing, terms: TokenTerms): Buffer {
  const { accountId, tokenHash, credentialId, scopes, expiresAt } = terms;
  const row = [accountId, tokenHash.toString('hex'), credentialId, JSON.stringify(scopes)];
  return keys.mac(rowContext('access_tokens', ...row, expiresAt.toISOString()));
}

export function isAuthentic(mac: Buffer, expected: Buffer): boolean {
  return mac.length === expected.length && timingSafeEqual(mac, expected);
}
