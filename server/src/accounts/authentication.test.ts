import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { hashSecret, newId } from '../core/ids.ts';
import { createSession } from '../db/postgres/connection.ts';
import { createApiKey, createClient, issueAccessToken } from './accounts.ts';
import { createAuthenticator } from './authentication.ts';
import { formatAccessToken, formatApiKey } from './tokens.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

const address = '127.0.0.1';

/** An authenticator at a time that the test sets, with the statements that it has sent. */
function createCounted() {
  const sent: string[] = [];
  const count = (of: { query: MoneyTest['db']['system']['query'] }) =>
    createSession((statement, values) => {
      sent.push(statement.name);
      return of.query(statement, values);
    });
  let nowMs = 0;
  const authenticator = createAuthenticator({
    db: {
      ...money.db,
      system: count(money.db.system),
      tenant: (accountId) => count(money.db.tenant(accountId)),
    },
    keys: money.keys,
    clock: { ...money.clock, steadyMs: () => nowMs, cacheMs: 100 },
  });
  const advance = (): void => {
    nowMs += 100;
  };
  return { authenticator, sent, advance };
}

async function createKey(): Promise<{ accountId: string; credentialId: string; key: string }> {
  const { accountId } = await money.createOwner();
  const { credential_id: credentialId, api_key: key } = await createApiKey(money.db.system, {
    keys: money.keys,
    accountId,
    environmentName: 'staging',
    scopes: ['payouts:create'],
    allowedAddresses: [],
  });
  return { accountId, credentialId, key };
}

test('the tokens of many accounts cost one look-up in a moment, once they are known', async () => {
  const { authenticator, sent, advance } = createCounted();
  const keys = await Promise.all(Array.from({ length: 5 }, createKey));
  const authenticateAll = () =>
    Promise.all(keys.map(async ({ key }) => authenticator.authenticate(key, address)));
  const first = await authenticateAll();
  assert.deepEqual(
    first.map((principal) => principal?.accountId),
    keys.map(({ accountId }) => accountId),
  );
  sent.length = 0;
  advance();
  await authenticateAll();
  await authenticateAll();
  assert.deepEqual(sent, ['select_credential_revision']);
});

test('a revoked credential is refused in the next moment, and the others are looked up again', async () => {
  const { authenticator, sent, advance } = createCounted();
  const [revoked, kept] = [await createKey(), await createKey()];
  for (const { key } of [revoked, kept]) assert.ok(await authenticator.authenticate(key, address));
  await money.rows('update credentials set revoked_at = environment_now() where id = $1', [
    revoked.credentialId,
  ]);
  advance();
  sent.length = 0;
  assert.equal(await authenticator.authenticate(revoked.key, address), undefined);
  assert.ok(await authenticator.authenticate(kept.key, address));
  assert.deepEqual(sent, ['select_credential_revision', 'find_api_key', 'find_api_key']);
});

test('a credential that was written into the database by others is refused', async () => {
  const { authenticator } = createCounted();
  const { accountId, credentialId, key } = await createKey();
  const own = { accountId, credentialId: newId() };
  const forged = formatApiKey('test', own);
  await money.rows(
    `insert into credentials (account_id, id, kind, secret_hash, scopes, mac, created_at)
    select account_id, $2, kind, $3, scopes, mac, created_at from credentials where id = $1`,
    [credentialId, own.credentialId, hashSecret(forged)],
  );
  assert.equal(await authenticator.authenticate(forged, address), undefined);
  assert.ok(await authenticator.authenticate(key, address));
});

test('a credential whose scopes or addresses were changed in the database is refused', async () => {
  for (const change of [
    `scopes = '{payouts:create,payouts:commit}'`,
    `allowed_addresses = '{127.0.0.0/8}'`,
  ]) {
    const { authenticator } = createCounted();
    const { credentialId, key } = await createKey();
    await money.rows(`update credentials set ${change} where id = $1`, [credentialId]);
    assert.equal(await authenticator.authenticate(key, address), undefined, change);
  }
});

test('a client whose secret was replaced in the database gets no token', async () => {
  const { accountId } = await money.createOwner();
  const scopes = ['payouts:create'] as const;
  const made = await createClient(money.db.system, {
    keys: money.keys,
    accountId,
    scopes,
    allowedAddresses: ['127.0.0.1', '2001:DB8::/32'],
  });
  const request = { clientId: made.client_id, scope: undefined, address };
  const first = await issueAccessToken(money, { ...request, clientSecret: made.client_secret });
  assert.ok(first.ok);
  assert.ok(await createCounted().authenticator.authenticate(first.accessToken, address));
  await money.rows('update credentials set secret_hash = $2 where id = $1', [
    made.credential_id,
    hashSecret('mine'),
  ]);
  const second = await issueAccessToken(money, { ...request, clientSecret: 'mine' });
  assert.deepEqual(second, { ok: false, error: 'invalid_client' });
});

test('an access token that was inserted or prolonged in the database is refused', async () => {
  const { accountId } = await money.createOwner();
  const scopes = ['payouts:create'] as const;
  const credential = { keys: money.keys, accountId, scopes, allowedAddresses: [] };
  const made = await createClient(money.db.system, credential);
  const issued = await issueAccessToken(money, {
    clientId: made.client_id,
    clientSecret: made.client_secret,
    scope: undefined,
    address,
  });
  assert.ok(issued.ok);
  const mine = formatAccessToken(accountId);
  await money.rows(
    `insert into access_tokens (account_id, token_hash, credential_id, scopes, expires_at, mac)
    select account_id, $2, credential_id, scopes, expires_at, mac
    from access_tokens where account_id = $1`,
    [accountId, hashSecret(mine)],
  );
  assert.equal(await createCounted().authenticator.authenticate(mine, address), undefined);
  await money.rows(
    `update access_tokens set expires_at = expires_at + interval '1 year' where account_id = $1`,
    [accountId],
  );
  const prolonged = await createCounted().authenticator.authenticate(issued.accessToken, address);
  assert.equal(prolonged, undefined);
});
