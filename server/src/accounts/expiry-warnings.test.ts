import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import { createApiKey, listCredentials, revokeCredential } from './accounts.ts';
import { measureExpiries, warnOfExpiries } from './expiry-warnings.ts';
import { rotateCredential } from './rotation.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

const dayMs = 86_400_000;

async function createKey(accountId: string, expiresDays: number | undefined): Promise<string> {
  const { credential_id: id } = await createApiKey(money.db.system, {
    keys: money.keys,
    accountId,
    environmentName: 'staging',
    scopes: ['payouts:create'],
    allowedAddresses: [],
    expiresDays,
  });
  return id;
}

async function listWarned(accountId: string): Promise<unknown[]> {
  await warnOfExpiries(money.db.system);
  const text = `
    select subject_id from events where account_id = $1 and type = 'credential.expiring'
    order by sequence`;
  const rows = await readRows(money.db.system, { name: 'warnings', text }, [accountId]);
  return (rows as { subject_id: string }[]).map((row) => row.subject_id);
}

const measure = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await measureExpiries(money.db.system)).map(({ days, count }) => [days, count]),
  );

test('a client is warned 30, 7 and 1 days before a credential expires, once each', async () => {
  const { accountId } = await money.createOwner();
  const [long, short] = [await createKey(accountId, 40), await createKey(accountId, 5)];
  await createKey(accountId, undefined);
  assert.deepEqual(await listWarned(accountId), []);
  assert.deepEqual(await measure(), { 1: 0, 7: 1, 30: 1 });
  await money.advance(4 * dayMs + 1000);
  assert.deepEqual(await listWarned(accountId), [short]);
  await money.advance(6 * dayMs);
  assert.deepEqual(await listWarned(accountId), [short, long]);
  assert.deepEqual(await listWarned(accountId), [short, long]);
  assert.deepEqual(await measure(), { 1: 0, 7: 0, 30: 1 });
  await money.advance(23 * dayMs);
  assert.deepEqual(await listWarned(accountId), [short, long, long]);
  await money.advance(6 * dayMs);
  assert.deepEqual(await listWarned(accountId), [short, long, long, long]);
  assert.deepEqual(await measure(), { 1: 1, 7: 1, 30: 1 });
  await money.advance(dayMs);
  assert.deepEqual(await listWarned(accountId), [short, long, long, long]);
  assert.deepEqual(await measure(), { 1: 0, 7: 0, 30: 0 });
});

test('after an outage one warning is due, and none for what is revoked or replaced', async () => {
  const { accountId } = await money.createOwner();
  const late = await createKey(accountId, 60);
  const revoked = await createKey(accountId, 60);
  const replaced = await createKey(accountId, 60);
  await money.advance(55 * dayMs);
  await revokeCredential(money.db.system, { accountId, credentialId: revoked });
  await rotateCredential(money.db.system, {
    keys: money.keys,
    accountId,
    credentialId: replaced,
    overlapSeconds: 3600,
    environmentName: 'staging',
  });
  assert.deepEqual(await listWarned(accountId), [late]);
  assert.deepEqual(await measure(), { 1: 0, 7: 1, 30: 1 });
  const listed = await listCredentials(money.db.system, accountId);
  const rowOf = (id: string) => listed.find((row) => row.id === id);
  // A little less than five.
  assert.equal(rowOf(late)?.days_left, 4);
  assert.equal(rowOf(late)?.replaced_by, null);
  const successor = rowOf(replaced)?.replaced_by ?? '';
  // It lives as long as the first one did.
  assert.equal(rowOf(successor)?.days_left, 60);
});
