import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFakeRail, createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import type { RailAnswer } from '../rails/contract/contract.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

const hangMs = 200;
const unwell: Readonly<Record<string, () => Promise<RailAnswer>>> = {
  hang: async () => {
    await sleep(hangMs);
    return { outcome: 'unknown', reason: 'no_answer' };
  },
  'are answered by errors at once': async () => ({ outcome: 'unknown', reason: 'busy' }),
};

for (const [what, answer] of Object.entries(unwell)) {
  test(`ten healthy payouts pass a hundred references that ${what}`, async () => {
    const owner = await money.createOwner({ USD: 10_000_000n });
    const bad = new Set<string>();
    const healthyAt = new Map<string, number>();
    const rail = {
      ...createFakeRail(async ({ reference }): Promise<RailAnswer> => {
        if (bad.has(reference)) return answer();
        healthyAt.set(reference, performance.now());
        return { outcome: 'paid' };
      }),
      pace: { concurrencyMax: 16, perSecondMax: null },
    };
    const dispatcher = money.createDispatcher(rail);
    for (let count = 0; count < 100; count += 1) {
      bad.add((await money.quoteAndCommit(owner)).reference);
    }
    for (let count = 0; count < 10; count += 1) await money.quoteAndCommit(owner);
    const beganAt = performance.now();
    while (healthyAt.size < 10 && performance.now() - beganAt < 60_000) {
      await dispatcher.startDue();
      await sleep(20);
    }
    await dispatcher.settle();
    const sent = rail.calls.length;
    assert.equal(healthyAt.size, 10, `after ${sent} calls`);
    // Failed references back off: nearly none was called again meanwhile.
    assert.ok(sent < 160, `${sent} calls`);
    await money.assertSound();
    await money.rows(`update payout_dispatches set due_at = '9999-01-01'`);
  });
}
