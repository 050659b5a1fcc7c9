import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  advanceToNextQuery,
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';

let money: MoneyTest;
let owner: Owner;
before(async () => {
  money = await createMoneyTest();
  owner = await money.createOwner({ USD: 100_000_000n });
});
after(() => money[Symbol.asyncDispose]());

const statusOf = async ({ payoutId }: CommittedPayout) => (await money.payout(payoutId)).status;

describe('a daily limit', () => {
  it('postpones the rest to the next day, in every process', async () => {
    const rail = { ...createFakeRail(() => ({ outcome: 'paid' })), dailyLimits: { MXN: 400_000n } };
    const all = await Promise.all(Array.from({ length: 5 }, () => money.quoteAndCommit(owner)));
    const dispatchers = [
      money.createDispatcher(rail),
      money.createDispatcher(rail, money.connect()),
    ];
    await Promise.all(dispatchers.map((dispatcher) => dispatcher.runDue()));
    // 1,800.00 MXN each: two fit into 4,000.00.
    const states = await Promise.all(all.map(statusOf));
    assert.deepEqual(states.toSorted(), [
      'COMPLETED',
      'COMPLETED',
      'PROCESSING',
      'PROCESSING',
      'PROCESSING',
    ]);
    assert.equal(rail.sends(), 2);
    const waiting = all.find((_, index) => states[index] === 'PROCESSING');
    assert.ok(waiting !== undefined);
    await advanceToNextQuery(money, waiting);
    for (const dispatcher of dispatchers) await dispatcher.runDue();
    assert.equal(rail.sends(), 4);
    await money.assertSound();
  });

  it('does not apply to a currency without one', async () => {
    const rail = { ...createFakeRail(() => ({ outcome: 'paid' })), dailyLimits: { EUR: 1n } };
    const payout = await money.quoteAndCommit(owner);
    await money.createDispatcher(rail).runOne(payout.accountId, payout.payoutId);
    assert.equal(await statusOf(payout), 'COMPLETED');
  });
});
