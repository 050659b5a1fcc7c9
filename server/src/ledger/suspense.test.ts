import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { createRates } from '../../testing/setups/destinations.ts';
import {
  type CommittedPayout,
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
let person: ReturnType<typeof createPersons>;
before(async () => {
  money = await createMoneyTest();
  person = createPersons(money);
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

const destinationMinor = 180_000n;
const notCloser = { code: 'illegal_move', message: /closer to zero/ };

const clear = ({ accountId, payoutId }: CommittedPayout, reference: string, amountMinor: bigint) =>
  bookBalance(
    money,
    { accountId, payoutId, kind: 'suspense', reference, currency: 'MXN', amountMinor },
    { by: 'ada', reason: 'a test' },
  );

const list = ({ accountId }: Owner) => listSuspense(money.db.system, { accountId, count: 10 });

const createOwner = () => money.createOwner({ USD: 100_000n });

/** A payout that came back in excess. */
async function exceed(owner: Owner, excess: bigint): Promise<CommittedPayout> {
  const payout = await money.quoteAndCommit(owner, { destinationMinor });
  await money.observe(payout, 'paid');
  const details = { amount: (destinationMinor + excess).toString() };
  await money.observe(payout, 'returned', { details });
  return payout;
}

/** A payout that was paid after its refund. */
async function writeOff(owner: Owner): Promise<CommittedPayout> {
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
  const decision = { action: 'write_off', reason: 'a test' } as const;
  await decidePayout(services, { ...payout, ...(await person('ada')), ...decision });
  return payout;
}

test('an excess is cleared in parts, which no client sees', async () => {
  const owner = await createOwner();
  const payout = await exceed(owner, 700n);
  for (const amountMinor of [1n, -701n]) {
    await assert.rejects(clear(payout, 'too much', amountMinor), notCloser);
  }
  assert.equal((await clear(payout, 'repaid', -300n)).balanceMinor, 400n);
  assert.equal((await clear(payout, 'repaid', -300n)).result, 'booked_before');
  assert.equal((await clear(payout, 'kept', -400n)).balanceMinor, 0n);
  for (const amountMinor of [1n, -1n]) {
    await assert.rejects(clear(payout, 'empty', amountMinor), notCloser);
  }
  assert.deepEqual(await list(owner), []);
  const events = await money.rows(
    `select type from events where account_id = $1 and type = 'balance.adjusted'`,
    [owner.accountId],
  );
  assert.deepEqual(events, []);
});

test('of two that clear the same amount at the same time, one is refused', async () => {
  const owner = await createOwner();
  const payout = await exceed(owner, 500n);
  const results = await Promise.allSettled(['a', 'b'].map((name) => clear(payout, name, -500n)));
  assert.deepEqual(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  assert.deepEqual(await list(owner), []);
});

test('what was written off is listed until it is covered', async () => {
  const owner = await createOwner();
  const payout = await writeOff(owner);
  const [listed] = await list(owner);
  assert.deepEqual(
    [listed?.currency, listed?.amount, listed?.payout_id, listed?.matching],
    ['MXN', -destinationMinor, payout.payoutId, 1],
  );
  for (const amountMinor of [-1n, destinationMinor + 1n]) {
    await assert.rejects(clear(payout, 'wrong', amountMinor), notCloser);
  }
  await clear(payout, 'recovered', 80_000n);
  await clear(payout, 'covered', 100_000n);
  assert.deepEqual(await list(owner), []);
  await money.observe(payout, 'returned', { source: 'callback' });
  assert.equal((await list(owner))[0]?.amount, destinationMinor, 'it came back after all');
});

test('a loss and an excess of the same amount do not hide each other', async () => {
  const owner = await createOwner();
  const lost = await writeOff(owner);
  const exceeded = await exceed(owner, destinationMinor);
  assert.equal(await money.balance(owner.accountId, 'MXN', 'suspense'), 0n);
  assert.deepEqual(
    (await list(owner)).map(({ payout_id: id, amount }) => [id, amount]),
    [
      [exceeded.payoutId, destinationMinor],
      [lost.payoutId, -destinationMinor],
    ],
  );
  await clear(exceeded, 'repaid', -destinationMinor);
  await assert.rejects(clear(lost, 'repaid', destinationMinor), /another amount.*or payout/);
  await clear(lost, 'covered', destinationMinor);
  assert.deepEqual(await list(owner), []);
});
