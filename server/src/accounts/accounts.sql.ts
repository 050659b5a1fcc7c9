import type { Session, Statement } from '../db/postgres/pool.ts';

const insertAccountText: Statement = {
  name: 'insert_account',
  text: `insert into accounts (id, name, created_at) values ($1, $2, environment_now())`,
};

const insertCredentialText: Statement = {
  name: 'insert_credential',
  text: `
    insert into credentials (account_id, id, kind, secret_hash, scopes, allowed_addresses, created_at)
    values ($1, $2, $3, $4, $5, $6, environment_now())`,
};

const revokeCredentialText: Statement = {
  name: 'revoke_credential',
  text: `
    update credentials set revoked_at = environment_now()
    where account_id = $1 and id = $2 and revoked_at is null
    returning id`,
};

const listCredentialsText: Statement = {
  name: 'list_credentials',
  text: `
    select id, kind, scopes, created_at, expires_at, revoked_at
    from credentials where account_id = $1 order by id`,
};

const listAccountsText: Statement = {
  name: 'list_accounts',
  text: `select id, name, created_at from accounts order by created_at, id limit 1000`,
};

const findAccountText: Statement = {
  name: 'find_account',
  text: `select name, accept_both_tokens from accounts where id = $1`,
};

const setAcceptBothTokensText: Statement = {
  name: 'set_accept_both_tokens',
  text: `update accounts set accept_both_tokens = $2 where id = $1 returning id`,
};

const setIdentityTwoPersonsText: Statement = {
  name: 'set_identity_two_persons',
  text: `update accounts set identity_two_persons = $2 where id = $1 returning id`,
};

/** Both look-ups answer the environment's time too: the caller's clock follows it. */
const findApiKeyText: Statement = {
  name: 'find_api_key',
  text: `
    select c.id as credential_id, c.scopes, c.expires_at, environment_now() as now
    from credentials c
    where c.account_id = $1 and c.id = $2 and c.kind = 'api_key' and c.secret_hash = $3
      and c.revoked_at is null
      and (c.expires_at is null or c.expires_at > environment_now())
      and (c.allowed_addresses = '{}' or $4::inet <<= any (c.allowed_addresses))`,
};

const findAccessTokenText: Statement = {
  name: 'find_access_token',
  text: `
    select t.credential_id, t.scopes, t.expires_at, environment_now() as now
    from access_tokens t
    join credentials c on c.account_id = t.account_id and c.id = t.credential_id
    where t.account_id = $1 and t.token_hash = $2 and t.expires_at > environment_now()
      and c.revoked_at is null
      and (c.expires_at is null or c.expires_at > environment_now())
      and (c.allowed_addresses = '{}' or $3::inet <<= any (c.allowed_addresses))`,
};

const findClientText: Statement = {
  name: 'find_client',
  text: `
    select scopes from credentials
    where account_id = $1 and id = $2 and kind = 'client' and secret_hash = $3
      and revoked_at is null and (expires_at is null or expires_at > environment_now())
      and (allowed_addresses = '{}' or $4::inet <<= any (allowed_addresses))`,
};

const insertAccessTokenText: Statement = {
  name: 'insert_access_token',
  text: `
    insert into access_tokens (account_id, token_hash, credential_id, scopes, expires_at)
    values ($1, $2, $3, $4, environment_now() + $5 * interval '1 second')`,
};

const deleteExpiredTokensText: Statement = {
  name: 'delete_expired_tokens',
  text: `
    delete from access_tokens where (account_id, token_hash) in (
      select account_id, token_hash from access_tokens
      where expires_at < environment_now() order by expires_at limit 1000
      for update skip locked)
    returning 1`,
};

export type CredentialKind = 'client' | 'api_key';

export async function insertAccount(
  session: Session,
  account: { id: string; name: string },
): Promise<void> {
  await session.rows(insertAccountText, [account.id, account.name]);
}

export async function insertCredential(
  session: Session,
  credential: {
    accountId: string;
    id: string;
    kind: CredentialKind;
    secretHash: Buffer;
    scopes: readonly string[];
    allowedAddresses: readonly string[];
  },
): Promise<void> {
  const { accountId, id, kind, secretHash, scopes, allowedAddresses } = credential;
  await session.rows(insertCredentialText, [
    accountId,
    id,
    kind,
    secretHash,
    scopes,
    allowedAddresses,
  ]);
}

/** False when there is no such credential in force. */
export async function revokeCredentialRow(
  session: Session,
  id: { accountId: string; credentialId: string },
): Promise<boolean> {
  return (await session.rows(revokeCredentialText, [id.accountId, id.credentialId])).length === 1;
}

export type CredentialRow = {
  id: string;
  kind: CredentialKind;
  scopes: string[];
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
};

export async function selectCredentials(
  session: Session,
  accountId: string,
): Promise<CredentialRow[]> {
  return session.rows<CredentialRow>(listCredentialsText, [accountId]);
}

export type AccountRow = { id: string; name: string; created_at: Date };

export async function selectAccounts(session: Session): Promise<AccountRow[]> {
  return session.rows<AccountRow>(listAccountsText);
}

export type AccountSettings = { name: string; accept_both_tokens: boolean };

export async function findAccount(
  session: Session,
  accountId: string,
): Promise<AccountSettings | undefined> {
  const [row] = await session.rows<AccountSettings>(findAccountText, [accountId]);
  return row;
}

export async function getAccountSettings(
  session: Session,
  accountId: string,
): Promise<AccountSettings> {
  const row = await findAccount(session, accountId);
  if (row === undefined) throw new Error('an account without a row');
  return row;
}

/** Whether identities are decided by two persons. False when there is no such account. */
export async function updateIdentityTwoPersons(
  session: Session,
  setting: { accountId: string; isNeeded: boolean },
): Promise<boolean> {
  const values = [setting.accountId, setting.isNeeded];
  return (await session.rows(setIdentityTwoPersonsText, values)).length === 1;
}

/** False when there is no such account. */
export async function updateAcceptBothTokens(
  session: Session,
  setting: { accountId: string; isAccepted: boolean },
): Promise<boolean> {
  const values = [setting.accountId, setting.isAccepted];
  return (await session.rows(setAcceptBothTokensText, values)).length === 1;
}

export type BearerRow = {
  credential_id: string;
  scopes: string[];
  expires_at: Date | null;
  now: Date;
};

export async function findApiKey(
  session: Session,
  key: { accountId: string; credentialId: string; secretHash: Buffer; address: string },
): Promise<BearerRow | undefined> {
  const values = [key.accountId, key.credentialId, key.secretHash, key.address];
  const [row] = await session.rows<BearerRow>(findApiKeyText, values);
  return row;
}

export async function findAccessToken(
  session: Session,
  token: { accountId: string; tokenHash: Buffer; address: string },
): Promise<BearerRow | undefined> {
  const values = [token.accountId, token.tokenHash, token.address];
  const [row] = await session.rows<BearerRow>(findAccessTokenText, values);
  return row;
}

export async function findClientScopes(
  session: Session,
  client: { accountId: string; credentialId: string; secretHash: Buffer; address: string },
): Promise<string[] | undefined> {
  const values = [client.accountId, client.credentialId, client.secretHash, client.address];
  const [row] = await session.rows<{ scopes: string[] }>(findClientText, values);
  return row?.scopes;
}

export async function insertAccessToken(
  session: Session,
  token: {
    accountId: string;
    tokenHash: Buffer;
    credentialId: string;
    scopes: readonly string[];
    lifetimeSeconds: number;
  },
): Promise<void> {
  const { accountId, tokenHash, credentialId, scopes, lifetimeSeconds } = token;
  const values = [accountId, tokenHash, credentialId, scopes, lifetimeSeconds];
  await session.rows(insertAccessTokenText, values);
}

const deletedMax = 1000;

/** Removes at most a thousand access tokens that have ended; answers whether there may be more. */
export async function deleteExpiredTokens(session: Session): Promise<boolean> {
  return (await session.rows(deleteExpiredTokensText)).length === deletedMax;
}
