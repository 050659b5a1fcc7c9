import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { createRates } from '../../testing/setups/destinations.ts';
import {
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import { createPersons } from '../../testing/setups/persons.ts';
import { twoPersonsAbove } from '../../testing/setups/policy.ts';
import { decidePayout } from '../exceptions/decisions.ts';
import { bookBalance } from './bookings.ts';
import { listSuspense } from './suspense.sql.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

const destinationMinor = 180_000n;
const notCloser = { code: 'illegal_move', message: /closer to zero/ };

const clear = ({ accountId }: Owner, reference: string, amountMinor: bigint) =>
  bookBalance(
    money,
    { accountId, kind: 'suspense', reference, currency: 'MXN', amountMinor },
    { by: 'ada', reason: 'a test' },
  );

const list = ({ accountId }: Owner) => listSuspense(money.db.system, { accountId, count: 10 });

/** By a payout that came back in excess. */
async function setAside(excess: bigint): Promise<Owner> {
  const owner = await money.createOwner({ USD: 100_000n });
  const payout = await money.quoteAndCommit(owner, { destinationMinor });
  await money.observe(payout, 'paid');
  const details = { amount: (destinationMinor + excess).toString() };
  await money.observe(payout, 'returned', { details });
  return owner;
}

test('an excess is cleared in parts, which no client sees', async () => {
  const owner = await setAside(700n);
  for (const amountMinor of [1n, -701n]) {
    await assert.rejects(clear(owner, 'too much', amountMinor), notCloser);
  }
  assert.equal((await clear(owner, 'repaid', -300n)).balanceMinor, 400n);
  assert.equal((await clear(owner, 'repaid', -300n)).result, 'booked_before');
  assert.equal((await clear(owner, 'kept', -400n)).balanceMinor, 0n);
  for (const amountMinor of [1n, -1n]) {
    await assert.rejects(clear(owner, 'empty', amountMinor), notCloser);
  }
  assert.deepEqual(await list(owner), []);
  const events = await money.rows(
    `select type from events where account_id = $1 and type = 'balance.adjusted'`,
    [owner.accountId],
  );
  assert.deepEqual(events, []);
});

test('of two that clear the same amount at the same time, one is refused', async () => {
  const owner = await setAside(500n);
  const results = await Promise.allSettled(['a', 'b'].map((name) => clear(owner, name, -500n)));
  assert.deepEqual(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  assert.deepEqual(await list(owner), []);
});

test('what was written off is listed with its payout until it is covered', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  const payout = await money.quoteAndCommit(owner, { destinationMinor });
  const dispatcher = money.createDispatcherOf([
    createFakeRail(() => ({ outcome: 'rejected', reason: 'account_closed' })),
  ]);
  await dispatcher.runDue();
  await money.observe(payout, 'paid', { source: 'callback' });
  const services = {
    ...money,
    dispatcher,
    rates: () => createRates({}),
    readPolicy: twoPersonsAbove(10_000),
  };
  const person = await createPersons(money)('ada');
  await decidePayout(services, { ...payout, ...person, action: 'write_off', reason: 'a test' });
  const [listed] = await list(owner);
  assert.deepEqual(
    [listed?.currency, listed?.balance, listed?.payout_ids, listed?.matching],
    ['MXN', -destinationMinor, [payout.payoutId], 1],
  );
  for (const amountMinor of [-1n, destinationMinor + 1n]) {
    await assert.rejects(clear(owner, 'wrong', amountMinor), notCloser);
  }
  await clear(owner, 'recovered', 80_000n);
  await clear(owner, 'covered', 100_000n);
  assert.deepEqual(await list(owner), []);
  await money.observe(payout, 'returned', { source: 'callback' });
  assert.equal((await list(owner))[0]?.balance, destinationMinor, 'it came back after all');
});
