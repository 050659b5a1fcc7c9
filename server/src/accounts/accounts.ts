import { defaultScopes, type EnvironmentName, type Scope } from '../core/access.ts';
import { hashSecret, newId, newSecret } from '../core/ids.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import {
  type CredentialKind,
  findClientScopes,
  insertAccessToken,
  insertAccount,
  insertCredential,
  revokeAccessToken,
  revokeApiKey,
} from './accounts.sql.ts';
import {
  formatAccessToken,
  formatApiKey,
  formatClientId,
  readBearerToken,
  readClientId,
} from './tokens.ts';

export {
  deleteExpiredTokens,
  findAccount,
  getBrand,
  revokeCredentialRow as revokeCredential,
  selectAccounts as listAccounts,
  selectCredentials as listCredentials,
  updateAcceptBothTokens as setAcceptBothTokens,
  updateBrand as setBrand,
  updateIdentityTwoPersons as setIdentityTwoPersons,
} from './accounts.sql.ts';

/** Client accounts and their credentials. Secrets are shown once and stored as SHA-256 hashes. */

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
  account: { name: string; environmentName: EnvironmentName },
): Promise<NewAccount> {
  const accountId = newId();
  await insertAccount(session, { id: accountId, name: account.name });
  const { credential_id: _id, ...client } = await createClient(session, {
    accountId,
    scopes: defaultScopes,
    allowedAddresses: [],
  });
  const key = await createApiKey(session, {
    accountId,
    scopes: defaultScopes,
    allowedAddresses: [],
    expiresDays: findKeyDays(account.environmentName),
    environmentName: account.environmentName,
  });
  return { account: accountId, ...client, api_key: key.api_key };
}

export type NewCredential = {
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
  const { accountId, kind, secret, allowedAddresses, expiresDays, id = newId() } = credential;
  await insertCredential(session, {
    accountId,
    id,
    kind,
    secretHash: hashSecret(secret),
    scopes: credential.scopes,
    allowedAddresses,
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
  env: { db: Database },
  request: TokenRequest,
): Promise<TokenResult> {
  const client = readClientId(request.clientId);
  if (client === undefined) return { ok: false, error: 'invalid_client' };
  const session = env.db.tenant(client.accountId);
  const granted = await findClientScopes(session, {
    ...client,
    secretHash: hashSecret(request.clientSecret),
    address: request.address,
  });
  if (granted === undefined) return { ok: false, error: 'invalid_client' };
  const requested = request.scope?.split(' ').filter((scope) => scope !== '') ?? granted;
  if (requested.length === 0 || requested.some((scope) => !granted.includes(scope))) {
    return { ok: false, error: 'invalid_scope' };
  }
  const accessToken = formatAccessToken(client.accountId);
  await insertAccessToken(session, {
    ...client,
    tokenHash: hashSecret(accessToken),
    scopes: requested,
    lifetimeSeconds: accessTokenSeconds,
  });
  return { ok: true, accessToken, scopes: requested };
}

/**
 * Revokes an access token of this client, or an API key of its account (RFC 7009). A token that is
 * unknown, another's or no longer valid has no effect: the answer tells nothing about it. Every process
 * notices within a second.
 *
 * @returns false if the client is unknown or its secret wrong.
 */
export async function revokeToken(
  env: { db: Database },
  request: Omit<TokenRequest, 'scope'> & { token: string },
): Promise<boolean> {
  const client = readClientId(request.clientId);
  if (client === undefined) return false;
  const secretHash = hashSecret(request.clientSecret);
  const identified = { ...client, secretHash, address: request.address };
  if ((await findClientScopes(env.db.tenant(client.accountId), identified)) === undefined) {
    return false;
  }
  const token = readBearerToken(request.token);
  if (token === undefined || token.accountId !== client.accountId) return true;
  if (token.kind === 'api_key') {
    const { accountId, credentialId, hash } = token;
    await revokeApiKey(env.db.system, { accountId, credentialId, secretHash: hash });
  } else {
    await revokeAccessToken(env.db.system, { ...client, tokenHash: token.hash });
  }
  return true;
}
