import { type Session, type Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, maybeOne, nullable, one, type RowOf } from '../db/rows.ts';
import { kinds } from './accounts.sql.ts';

/** The SQL of authentication: look-ups, tokens, and what revokes them. */

/** What the MAC of a credential is over. */
const authenticatedColumns = {
  kind: column.oneOf(...kinds),
  secret_hash: column.bytes,
  granted: column.texts,
  allowed_addresses: column.texts,
  mac: column.bytes,
};

const authenticated = `c.kind, c.secret_hash, c.scopes as granted,
      c.allowed_addresses::text[] as allowed_addresses, c.mac`;

const bearerColumns = {
  ...authenticatedColumns,
  credential_id: column.uuid,
  scopes: column.texts,
  expires_at: nullable(column.instant),
  /** The environment's time, which the caller's clock follows. */
  now: column.instant,
  has_approval_rules: column.boolean,
};

export type BearerRow = RowOf<typeof bearerColumns>;

const findApiKeyText = defineQuery({
  name: 'find_api_key',
  text: `
    select c.id as credential_id, c.scopes, c.expires_at, environment_now() as now,
      has_approval_rules(c.account_id), ${authenticated}
    from credentials c
    where c.account_id = $1 and c.id = $2 and c.kind = 'api_key' and c.secret_hash = $3
      and c.revoked_at is null
      and (c.expires_at is null or c.expires_at > (select environment_now()))
      and (c.allowed_addresses = '{}' or $4::inet <<= any (c.allowed_addresses))`,
  columns: bearerColumns,
});

const tokenColumns = {
  ...bearerColumns,
  token_expires_at: column.instant,
  token_mac: column.bytes,
};

export type TokenRow = RowOf<typeof tokenColumns>;

const findAccessTokenText = defineQuery({
  name: 'find_access_token',
  text: `
    select t.credential_id, t.scopes, least(t.expires_at, c.expires_at) as expires_at,
      environment_now() as now, has_approval_rules(t.account_id), ${authenticated},
      t.expires_at as token_expires_at, t.mac as token_mac
    from access_tokens t
    join credentials c on c.account_id = t.account_id and c.id = t.credential_id
    where t.account_id = $1 and t.token_hash = $2 and t.expires_at > (select environment_now())
      and c.revoked_at is null
      and (c.expires_at is null or c.expires_at > (select environment_now()))
      and (c.allowed_addresses = '{}' or $3::inet <<= any (c.allowed_addresses))`,
  columns: tokenColumns,
});

const selectRevision = defineQuery({
  name: 'select_credential_revision',
  text: `select revision, environment_now() as now from credential_revision`,
  columns: { revision: column.bigint, now: column.instant },
});

const findClientText = defineQuery({
  name: 'find_client',
  text: `
    select ${authenticated}, date_trunc('milliseconds', environment_now())
      + $5 * interval '1 second' as token_expires_at
    from credentials c
    where account_id = $1 and id = $2 and kind = 'client' and secret_hash = $3
      and revoked_at is null and (expires_at is null or expires_at > (select environment_now()))
      and (allowed_addresses = '{}' or $4::inet <<= any (allowed_addresses))`,
  columns: { ...authenticatedColumns, token_expires_at: column.instant },
});

const insertAccessTokenText: Statement = {
  name: 'insert_access_token',
  text: `
    insert into access_tokens (account_id, token_hash, credential_id, scopes, expires_at, mac)
    values ($1, $2, $3, $4, $5, $6)`,
};

const revokeApiKeyText = {
  name: 'revoke_api_key',
  text: `
    update credentials set revoked_at = environment_now(), mac = ''
    where account_id = $1 and id = $2 and kind = 'api_key' and secret_hash = $3
      and revoked_at is null`,
};

const revokeAccessTokenText = {
  name: 'revoke_access_token',
  text: `
    update access_tokens set expires_at = environment_now()
    where account_id = $1 and token_hash = $2 and credential_id = $3
      and expires_at > (select environment_now())`,
};

/** Revokes an API key by its secret; false if it was revoked already, or there is no such key. */
export async function revokeApiKey(
  session: Session,
  key: { accountId: string; credentialId: string; secretHash: Buffer },
): Promise<boolean> {
  const values = [key.accountId, key.credentialId, key.secretHash];
  return (await exec(session, revokeApiKeyText, values)) === 1;
}

/** Ends an access token that the client was issued; false if it has ended. */
export async function revokeAccessToken(
  session: Session,
  token: { accountId: string; tokenHash: Buffer; credentialId: string },
): Promise<boolean> {
  const values = [token.accountId, token.tokenHash, token.credentialId];
  return (await exec(session, revokeAccessTokenText, values)) === 1;
}

const deleteExpiredTokensText: Statement = {
  name: 'delete_expired_tokens',
  text: `
    delete from access_tokens where (account_id, token_hash) in (
      select account_id, token_hash from access_tokens
      where expires_at < (select environment_now()) order by expires_at limit $1
      for update skip locked)`,
};

/** How often credentials have changed, and the environment's time. */
export async function findCredentialRevision(
  session: Session,
): Promise<RowOf<typeof selectRevision.columns>> {
  return one(session, selectRevision);
}

export async function findApiKey(
  session: Session,
  key: { accountId: string; credentialId: string; secretHash: Buffer; address: string },
): Promise<BearerRow | undefined> {
  const values = [key.accountId, key.credentialId, key.secretHash, key.address];
  return maybeOne(session, findApiKeyText, values);
}

export async function findAccessToken(
  session: Session,
  token: { accountId: string; tokenHash: Buffer; address: string },
): Promise<TokenRow | undefined> {
  const values = [token.accountId, token.tokenHash, token.address];
  return maybeOne(session, findAccessTokenText, values);
}

export async function findClient(
  session: Session,
  client: { accountId: string; credentialId: string; secretHash: Buffer; address: string },
  lifetimeSeconds: number,
): Promise<RowOf<typeof findClientText.columns> | undefined> {
  const { accountId, credentialId, secretHash, address } = client;
  const values = [accountId, credentialId, secretHash, address, lifetimeSeconds];
  return maybeOne(session, findClientText, values);
}

export async function insertAccessToken(
  session: Session,
  token: {
    accountId: string;
    tokenHash: Buffer;
    credentialId: string;
    scopes: readonly string[];
    expiresAt: Date;
    mac: Buffer;
  },
): Promise<void> {
  const { accountId, tokenHash, credentialId, scopes, expiresAt, mac } = token;
  const values = [accountId, tokenHash, credentialId, scopes, expiresAt, mac];
  await exec(session, insertAccessTokenText, values);
}

const deletedMax = 1000;

/** Deletes at most a thousand expired access tokens; returns whether there may be more. */
export async function deleteExpiredTokens(session: Session): Promise<boolean> {
  return (await exec(session, deleteExpiredTokensText, [deletedMax])) === deletedMax;
}
