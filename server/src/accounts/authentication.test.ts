import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { createSession } from '../db/postgres/connection.ts';
import { createApiKey } from './accounts.ts';
import { createAuthenticator } from './authentication.ts';

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
    Promise.all(keys.map(({ key }) => authenticator.authenticate(key, address)));
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
