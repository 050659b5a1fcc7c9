import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { createAttributeGroup } from '../attributes/attributes.ts';
import { newId } from '../core/ids.ts';
import { storeRecords } from '../http/idempotency.ts';
import { createGroupQuote } from '../payouts/group-commit.ts';
import type { PayoutRow } from '../payouts/payouts.sql.ts';
import { createUserGroup, prepareUser } from '../users/users.ts';
import type { Database } from './postgres/pool.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

const fingerprint = Buffer.alloc(65, 'a request');
const sealQuote = (row: PayoutRow) => ({ body: Buffer.from(`quoted ${row.id}`) });

function quote(owner: Owner, key: string | undefined, through: Database = money.db) {
  const group = createGroupQuote(through, storeRecords);
  const command = money.describeQuote(owner);
  const keyed = key === undefined ? undefined : { key, fingerprint, seal: sealQuote };
  return group.inserts.submit({ command, keyed });
}

const recordsOf = (owner: Owner) =>
  money.rows<{ key: string; body: Buffer }>(
    'select key, body from idempotency_records where account_id = $1 order by key',
    [owner.accountId],
  );

async function countQuotes(owner: Owner): Promise<number> {
  return (await money.rows('select 1 from payouts where account_id = $1', [owner.accountId]))
    .length;
}

test('quotes with and without idempotency keys share a transaction, and each key has its answer', async () => {
  const owner = await money.createOwner();
  const group = createGroupQuote(money.db, storeRecords);
  const keys = Array.from({ length: 20 }, () => randomUUID());
  const rows = await Promise.all(
    [...keys, undefined, undefined].map((key) =>
      group.inserts.submit({
        command: money.describeQuote(owner),
        keyed: key === undefined ? undefined : { key, fingerprint, seal: sealQuote },
      }),
    ),
  );
  const answers = new Map((await recordsOf(owner)).map(({ key, body }) => [key, body.toString()]));
  assert.equal(answers.size, keys.length);
  for (const [index, key] of keys.entries()) {
    assert.equal(answers.get(key), `quoted ${rows[index]?.id}`);
  }
  assert.equal(await countQuotes(owner), 22);
});

test('a known key stores nothing and does not affect the others of its batch', async () => {
  const owner = await money.createOwner();
  const key = randomUUID();
  const first = await quote(owner, key);
  assert.ok(first !== undefined);
  const group = createGroupQuote(money.db, storeRecords);
  const keys = [randomUUID(), randomUUID(), key, randomUUID(), randomUUID()];
  const rows = await Promise.all(
    keys.map((one) =>
      group.inserts.submit({
        command: money.describeQuote(owner),
        keyed: { key: one, fingerprint, seal: sealQuote },
      }),
    ),
  );
  assert.deepEqual(
    rows.map((row) => row !== undefined),
    [true, true, false, true, true],
  );
  assert.equal(await countQuotes(owner), 5);
  const [record] = (await recordsOf(owner)).filter((one) => one.key === key);
  assert.equal(record?.body.toString(), `quoted ${first.id}`);
});

test('a key in two processes at once has one effect, also at the end of a month', async () => {
  const owner = await money.createOwner();
  const other = money.connect();
  for (let round = 0; round < 10; round += 1) {
    const key = randomUUID();
    const rows = await Promise.all([quote(owner, key), quote(owner, key, other)]);
    assert.equal(rows.filter((row) => row !== undefined).length, 1);
    assert.equal(await countQuotes(owner), round + 1);
    // Keys are unique across the monthly partitions.
    if (round === 4) await money.advance(20 * 86_400_000);
    assert.equal(await quote(owner, key), undefined);
  }
});

test('users are created together; one whose id or address is taken is left out', async () => {
  const { accountId } = await money.createOwner();
  const group = createUserGroup(money.db, storeRecords);
  const describe = (id: string, email: string) =>
    prepareUser(
      { keys: money.keys, accountId },
      {
        internal_user_id: id,
        country: 'MEX',
        first_name: 'Ana',
        last_name: 'Gómez',
        email,
        metadata: undefined,
      },
    );
  const users = [
    ['first', 'first@example.org'],
    ['a', 'a@example.org'],
    ['b', 'b@example.org'],
    ['a', 'other@example.org'],
    ['c', 'B@example.org'],
    ['first', 'd@example.org'],
    ['e', 'e@example.org'],
  ].map(([id = '', email = '']) => describe(id, email));
  const made = await Promise.all(
    users.map((user) => group.submit({ command: user.stored, keyed: undefined })),
  );
  assert.deepEqual(
    made.map((at) => at !== undefined),
    [true, true, true, false, false, false, true],
  );
  const stored = await money.rows(
    `select 1 from events where account_id = $1 and type = 'user.created'`,
    [accountId],
  );
  assert.equal(stored.length, 5);
});

test('attribute values are stored together, and equal ones are one set', async () => {
  const owner = await money.createOwner();
  const group = createAttributeGroup(money.db, storeRecords);
  const destinationToken = newId();
  const store = (value: string, currency = 'MXN') =>
    group.sets.submit({
      command: {
        ...owner,
        destinationToken,
        currency,
        setId: newId(),
        profileVersion: '1',
        fingerprint: createHash('sha256').update(value).digest(),
        sealed: Buffer.from(value),
        isComplete: true,
      },
      keyed: undefined,
    });
  const [one, same, other, elsewhere] = await Promise.all([
    store('one'),
    store('one'),
    store('other'),
    store('one', 'USD'),
  ]);
  assert.equal(one, same);
  assert.equal(new Set([one, other, elsewhere]).size, 3);
  assert.equal(await store('other'), other);
  const pinned = await money.quote(owner, { destinationToken });
  const [payout] = await money.rows<{ attr_set_id: string; attr_version: number }>(
    'select attr_set_id, attr_version from payouts where id = $1',
    [pinned.id],
  );
  assert.deepEqual(payout, { attr_set_id: other, attr_version: 1 });
});
