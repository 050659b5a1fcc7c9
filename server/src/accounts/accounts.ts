import { appendClientAudit } from '../audit/audit.ts';
import { defaultScopes, type EnvironmentName, type Scope } from '../core/access.ts';
import { hashSecret, newId, newSecret } from '../core/ids.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { formatTimeCursor, type Paged, readTimeCursor, takePage } from '../db/time-page.ts';
import {
  type AccountFilter,
  type AccountRow,
  type CredentialKind,
  formatRanges,
  insertAccount,
  insertCredential,
  selectAccounts,
} from './accounts.sql.ts';
import {
  type BearerRow,
  findClient,
  insertAccessToken,
  revokeAccessToken,
  revokeApiKey,
} from './authentication.sql.ts';
import { describeCredential, describeToken } from './credential-mac.ts';
import {
  formatAccessToken,
  formatApiKey,
  formatClientId,
  readBearerToken,
  readClientId,
} from './tokens.ts';

export {
  type AccountFilter,
  type AccountRow,
  type BrandRow,
  findAccount,
  findAccountControls,
  findAccountIdOfName,
  getBrand,
  revokeCredentialRow as revokeCredential,
  selectCredentials as listCredentials,
  updateAcceptBothTokens as setAcceptBothTokens,
  updateBrand as setBrand,
  updateIdentityTwoPersons as setIdentityTwoPersons,
} from './accounts.sql.ts';
export { deleteExpiredTokens } from './authentication.sql.ts';

/** Client accounts and their credentials. Secrets are shown once and stored as SHA-256 hashes. */

/** The oldest first. @throws AppError invalid_request for a cursor of no page. */
export async function listAccounts(
  session: Session,
  filter: AccountFilter,
  { cursor, count }: { cursor?: string | undefined; count: number },
): Promise<Paged<AccountRow>> {
  const after = readTimeCursor(cursor);
  const found = await selectAccounts(session, filter, { after, count: count + 1 });
  const { rows, next } = takePage(found, count, ({ created_us: us, id: key }) =>
    formatTimeCursor({ us, key }),
  );
  return { rows: rows.map(({ created_us: _, ...row }) => row), next };
}

/** How long a new API key is valid unless the operator says otherwise; undefined: until revoked. */
export function findKeyDays(environmentName: EnvironmentName): number | undefined {
  return environmentName === 'live' ? 365 : undefined;
}

/** An hour by the environment's clock. */
export const accessTokenSeconds = 3600;

export type NewAccount = {
  account: string;
  client_id: string;
  client_secret: string;
  api_key: string;
};

/** Creates an account with an OAuth client and an API key, both with the default scopes. */
export async function createAccount(
  session: Session,
  account: { name: string; environmentName: EnvironmentName; keys: KeyRing },
): Promise<NewAccount> {
  const accountId = newId();
  const { keys } = account;
  await insertAccount(session, { id: accountId, name: account.name });
  const { credential_id: _id, ...client } = await createClient(session, {
    keys,
    accountId,
    scopes: defaultScopes,
    allowedAddresses: [],
  });
  const key = await createApiKey(session, {
    keys,
    accountId,
    scopes: defaultScopes,
    allowedAddresses: [],
    expiresDays: findKeyDays(account.environmentName),
    environmentName: account.environmentName,
  });
  return { account: accountId, ...client, api_key: key.api_key };
}

export type NewCredential = {
  keys: KeyRing;
  accountId: string;
  scopes: readonly Scope[];
  /** CIDR ranges from which the credential may be used; if empty, from anywhere. */
  allowedAddresses: readonly string[];
  /** By the environment's clock; undefined: it does not expire. */
  expiresDays?: number | undefined;
};

export async function createClient(
  session: Session,
  credential: NewCredential,
): Promise<{ credential_id: string; client_id: string; client_secret: string }> {
  const secret = newSecret();
  const id = await storeCredential(session, { ...credential, kind: 'client', secret });
  return {
    credential_id: id,
    client_id: formatClientId({ accountId: credential.accountId, credentialId: id }),
    client_secret: secret,
  };
}

export async function createApiKey(
  session: Session,
  credential: NewCredential & { environmentName: EnvironmentName },
): Promise<{ credential_id: string; api_key: string }> {
  const id = newId();
  const prefix = credential.environmentName === 'live' ? 'live' : 'test';
  const key = formatApiKey(prefix, { accountId: credential.accountId, credentialId: id });
  await storeCredential(session, { ...credential, id, kind: 'api_key', secret: key });
  return { credential_id: id, api_key: key };
}

async function storeCredential(
  session: Session,
  credential: NewCredential & { id?: string; kind: CredentialKind; secret: string },
): Promise<string> {
  const { keys, accountId, kind, secret, scopes, expiresDays, id = newId() } = credential;
  const allowedAddresses = await formatRanges(session, credential.allowedAddresses);
  const secretHash = hashSecret(secret);
  const terms = { accountId, credentialId: id, kind, secretHash, scopes, allowedAddresses };
  await insertCredential(session, {
    accountId,
    id,
    kind,
    secretHash,
    scopes,
    allowedAddresses,
    mac: keys.mac(describeCredential(terms)),
    expiresDays,
  });
  return id;
}

export type TokenRequest = {
  clientId: string;
  clientSecret: string;
  /** Separated by spaces; undefined requests all scopes of the client. */
  scope: string | undefined;
  address: string;
};

export type TokenResult =
  | { ok: true; accessToken: string; scopes: readonly string[] }
  | { ok: false; error: 'invalid_client' | 'invalid_scope' };

/** The client credentials grant (RFC 6749 4.4). */
export async function issueAccessToken(
  env: { db: Database; keys: KeyRing },
  request: TokenRequest,
): Promise<TokenResult> {
  const client = readClientId(request.clientId);
  if (client === undefined) return { ok: false, error: 'invalid_client' };
  const session = env.db.tenant(client.accountId);
  const secretHash = hashSecret(request.clientSecret);
  const known = { ...client, secretHash, address: request.address };
  const row = await findClient(session, known, accessTokenSeconds);
  if (row === undefined || !isAuthenticCredential(env.keys, { ...client, ...row })) {
    return { ok: false, error: 'invalid_client' };
  }
  const { granted } = row;
  const requested = request.scope?.split(' ').filter((scope) => scope !== '') ?? granted;
  if (requested.length === 0 || requested.some((scope) => !granted.includes(scope))) {
    return { ok: false, error: 'invalid_scope' };
  }
  const accessToken = formatAccessToken(client.accountId);
  const token = {
    ...client,
    tokenHash: hashSecret(accessToken),
    scopes: requested,
    expiresAt: row.token_expires_at,
  };
  await insertAccessToken(session, {
    ...token,
    mac: env.keys.mac(describeToken(token)),
  });
  return { ok: true, accessToken, scopes: requested };
}

/** Whether the row of a credential was written by this service, with these terms. */
export function isAuthenticCredential(
  keys: KeyRing,
  row: { accountId: string; credentialId: string } & Pick<
    BearerRow,
    'kind' | 'secret_hash' | 'granted' | 'allowed_addresses' | 'mac'
  >,
): boolean {
  const { accountId, credentialId, kind } = row;
  const described = describeCredential({
    accountId,
    credentialId,
    kind,
    secretHash: row.secret_hash,
    scopes: row.granted,
    allowedAddresses: row.allowed_addresses,
  });
  return keys.isMac(described, row.mac);
}

/**
 * Revokes an access token of this client, or an API key of its account (RFC 7009). A token that is
 * unknown, another's or no longer valid has no effect: the answer tells nothing about it. Every process
 * notices within a second.
 *
 * @returns false if the client is unknown or its secret wrong.
 */
export async function revokeToken(
  env: { db: Database; keys: KeyRing },
  request: Omit<TokenRequest, 'scope'> & { token: string; requestId: string },
): Promise<boolean> {
  const client = readClientId(request.clientId);
  if (client === undefined) return false;
  const secretHash = hashSecret(request.clientSecret);
  const known = { ...client, secretHash, address: request.address };
  const row = await findClient(env.db.tenant(client.accountId), known, accessTokenSeconds);
  if (row === undefined || !isAuthenticCredential(env.keys, { ...client, ...row })) return false;
  const token = readBearerToken(request.token);
  if (token === undefined || token.accountId !== client.accountId) return true;
  await env.db.systemTransaction(async (session) => {
    const isRevoked =
      token.kind === 'api_key'
        ? await revokeApiKey(session, { ...token, secretHash: token.hash })
        : await revokeAccessToken(session, { ...client, tokenHash: token.hash });
    if (!isRevoked) return;
    const isKey = token.kind === 'api_key';
    const { address, requestId } = request;
    await appendClientAudit(
      { session, keys: env.keys },
      { ...client, address, requestId },
      {
        action: isKey ? 'credential revoke' : 'token revoke',
        object: isKey ? { credential: token.credentialId } : {},
      },
    );
  });
  return true;
}
