import assert from 'node:assert/strict';
import { after, afterEach, before, it } from 'node:test';
import type { MoneyTest } from '../../testing/setups/money.ts';
import { createRoutesTest, first, pay } from '../../testing/setups/routes.ts';

/** Exceptions about payouts that have ended. */

type RoutesTest = Awaited<ReturnType<typeof createRoutesTest>>;
let money: MoneyTest;
let test: RoutesTest;
before(async () => {
  test = await createRoutesTest();
  ({ money } = test);
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

const anotherAmount = { outcome: 'paid', amountMinor: 189_000n } as const;

it('a person dismisses another amount that was reported of a completed payout', async () => {
  const kit = test.open([first(pay)]);
  const payout = await test.commit();
  await kit.dispatcher.runDue();
  await kit.notify('first', payout, anotherAmount);
  assert.equal(await test.statusOf(payout), 'COMPLETED');
  assert.deepEqual(await test.openKinds(payout), ['amount_differs']);
  await kit.decide(payout, 'dismiss');
  assert.deepEqual(await test.openKinds(payout), []);
  assert.equal(await test.statusOf(payout), 'COMPLETED');
});

it('and of one that was completed by a report that corrects it', async () => {
  const kit = test.open([first(() => ({ outcome: 'accepted' }))]);
  const payout = await test.commit();
  await kit.dispatcher.runDue();
  await kit.notify('first', payout, anotherAmount);
  await assert.rejects(kit.decide(payout, 'dismiss'), /dismiss is not possible/);
  await kit.notify('first', payout, { outcome: 'paid' });
  assert.equal(await test.statusOf(payout), 'COMPLETED');
  assert.deepEqual(await test.openKinds(payout), ['amount_differs']);
  await kit.decide(payout, 'dismiss');
  assert.deepEqual(await test.openKinds(payout), []);
});
