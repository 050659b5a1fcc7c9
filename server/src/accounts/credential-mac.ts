import { rowContext } from '../core/sealing.ts';
import { defineProtectedTable, renewMac } from '../db/protected-tables.ts';
import { column } from '../db/rows.ts';

/**
 * Authenticates the rows of credentials and tokens: write access to the database allows a stored row
 * with a secret of their own, and cannot compute its MAC, whose key the database does not have.
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

/** What the code of a credential covers. */
export function describeCredential(terms: CredentialTerms): string {
  const { accountId, credentialId, kind, secretHash, scopes, allowedAddresses } = terms;
  const row = [accountId, credentialId, kind, secretHash.toString('hex')];
  const lists = [JSON.stringify(scopes), JSON.stringify(allowedAddresses)];
  return rowContext('credentials', ...row, ...lists);
}

export type TokenTerms = {
  accountId: string;
  tokenHash: Buffer;
  credentialId: string;
  scopes: readonly string[];
  /** In whole milliseconds. */
  expiresAt: Date;
};

/** What the code of a token covers. */
export function describeToken(terms: TokenTerms): string {
  const { accountId, tokenHash, credentialId, scopes, expiresAt } = terms;
  const row = [accountId, tokenHash.toString('hex'), credentialId, JSON.stringify(scopes)];
  return rowContext('access_tokens', ...row, expiresAt.toISOString());
}

export const protectedCredentials = defineProtectedTable({
  table: 'credentials',
  key: { account_id: 'uuid', id: 'uuid' },
  values: ['mac'],
  columns: {
    account_id: column.uuid,
    id: column.uuid,
    kind: column.oneOf('client', 'api_key'),
    secret_hash: column.bytes,
    scopes: column.texts,
    allowed_addresses: column.texts,
  },
  expressions: { allowed_addresses: 'allowed_addresses::text[]' },
  renew: renewMac((row) =>
    describeCredential({
      accountId: row.account_id,
      credentialId: row.id,
      kind: row.kind,
      secretHash: row.secret_hash,
      scopes: row.scopes,
      allowedAddresses: row.allowed_addresses,
    }),
  ),
});

export const protectedTokens = defineProtectedTable({
  table: 'access_tokens',
  key: { account_id: 'uuid', token_hash: 'bytea' },
  values: ['mac'],
  columns: {
    account_id: column.uuid,
    token_hash: column.bytes,
    credential_id: column.uuid,
    scopes: column.texts,
    expires_at: column.instant,
  },
  renew: renewMac((row) =>
    describeToken({
      accountId: row.account_id,
      tokenHash: row.token_hash,
      credentialId: row.credential_id,
      scopes: row.scopes,
      expiresAt: row.expires_at,
    }),
  ),
});
