import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { createSession } from '../db/postgres/connection.ts';
import { createBalances } from './ledger.routes.ts';
import { fundBalance, verifyLedger } from './ledger.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(async () => {
  await money[Symbol.asyncDispose]();
});

test('concurrent requests share a read, and a request during a read gets the next one', async () => {
  const { accountId } = await money.createOwner({ USD: 500n });
  const balances = createBalances(money.db);
  const [first, second] = await Promise.all([balances.read(accountId), balances.read(accountId)]);
  assert.equal(first, second);
  assert.deepEqual(
    first?.map(({ currency, balance }) => [currency, balance]),
    [['USD', 500n]],
  );
  assert.notEqual(await balances.read(accountId), first);
});

test('every request reads what was written before it, under concurrent reads', async () => {
  const { accountId } = await money.createOwner({ USD: 1n });
  const balances = createBalances(money.db);
  let written = 1n;
  let isWriting = true;
  const read = async (): Promise<void> => {
    while (isWriting) {
      const atLeast = written;
      const [row] = await balances.read(accountId);
      assert.ok(row !== undefined && row.balance >= atLeast, `${row?.balance} of ${atLeast}`);
    }
  };
  const readers = Promise.all(Array.from({ length: 8 }, read));
  for (let round = 0; round < 50; round += 1) {
    await fundBalance(money.db.system, { accountId, currency: 'USD', amountMinor: 1n });
    written += 1n;
  }
  isWriting = false;
  await readers;
  assert.ok((await verifyLedger(money.db)).isSound);
});

test('a failed read rejects the requests that shared it, and the next one reads again', async () => {
  const { accountId } = await money.createOwner({ USD: 7n });
  let isAway = true;
  const balances = createBalances({
    ...money.db,
    tenant: (id) => {
      if (isAway) return createSession(() => Promise.reject(new Error('away')));
      return money.db.tenant(id);
    },
  });
  const both = await Promise.allSettled([balances.read(accountId), balances.read(accountId)]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  isAway = false;
  assert.equal((await balances.read(accountId))[0]?.balance, 7n);
});
