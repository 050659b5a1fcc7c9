import assert from 'node:assert/strict';
import { after, afterEach, before, it } from 'node:test';
import type { CommittedPayout, MoneyTest } from '../../testing/setups/money.ts';
import { twoPersonsAbove } from '../../testing/setups/policy.ts';
import { endRecovery, recoverPayments } from '../../testing/setups/recovered.ts';
import { createRoutesTest, first, rates, refuse } from '../../testing/setups/routes.ts';
import { newId } from '../core/ids.ts';
import { decidePayout } from './decisions.ts';

/** A rail may have made payments that a restored database does not know, or not yet. */

type RoutesTest = Awaited<ReturnType<typeof createRoutesTest>>;
let routes: RoutesTest;
let money: MoneyTest;
before(async () => {
  routes = await createRoutesTest();
  ({ money } = routes);
});
afterEach(async () => {
  await endRecovery(money);
  await money.assertSound();
  await routes.clearDue();
});
after(() => money[Symbol.asyncDispose]());

const openRecovery = () =>
  money.rows(
    `insert into recoveries (id, reason, since, started_at)
     values (gen_random_uuid(), 'a test', now(), now())`,
  );

const listPayment = (reference: string) =>
  recoverPayments(
    money,
    [
      {
        reference,
        currency: 'MXN',
        amountMinor: 190_000n,
        outcome: 'paid',
        providerReference: 'f00d',
        atMs: Date.now(),
        detail: '',
      },
    ],
    { name: 'first' },
  );

/** The reference that the payout's next attempt has after a refusal. */
async function findReference(payout: CommittedPayout, attempt: number): Promise<string> {
  const [row] = await money.rows<{ reference: string }>(
    `select payment_reference(account_id, client_transfer_id, $2) as reference
     from payouts where id = $1`,
    [payout.payoutId, attempt],
  );
  return row?.reference ?? '';
}

it('nothing is given back while a recovery is open', async () => {
  const kit = routes.open([first(() => ({ outcome: 'accepted' }))]);
  const [unsent, sent] = [await routes.commit(), await routes.commit()];
  await kit.dispatcher.runOne(sent.accountId, sent.payoutId);
  await openRecovery();
  await assert.rejects(kit.decide(unsent, 'refund'), { code: 'recovering' });
  await assert.rejects(kit.decide(sent, 'not_paid'), { code: 'recovering' });
  assert.equal(await routes.statusOf(unsent), 'PROCESSING');
  assert.equal(await routes.statusOf(sent), 'PROCESSING');
  await endRecovery(money);
  assert.equal(await kit.decide(unsent, 'refund'), 'done');
});

it('a listed payment of a payout that was given back opens an exception', async () => {
  const kit = routes.open([first(() => ({ outcome: 'retry', reason: 'busy' }))]);
  const [lost, unsent] = [await routes.commit(), await routes.commit()];
  await kit.dispatcher.runOne(unsent.accountId, unsent.payoutId);
  for (const payout of [lost, unsent]) {
    assert.equal(await kit.decide(payout, 'refund'), 'done');
    await listPayment(payout.reference);
    assert.deepEqual(await routes.openKinds(payout), ['recovered']);
    assert.equal((await money.attempts(payout.payoutId)).length, payout === lost ? 0 : 1);
  }
});

it('a listed payment of a payout in ERROR is decided by a person', async () => {
  const kit = routes.open([first(refuse)]);
  const payout = await routes.commit();
  await kit.dispatcher.runDue();
  assert.equal(await routes.statusOf(payout), 'ERROR');
  await listPayment(await findReference(payout, 2));
  assert.deepEqual(await routes.openKinds(payout), ['recovered', 'routes_exhausted']);
  assert.equal(await kit.decide(payout, 'paid'), 'done');
  assert.equal(await routes.statusOf(payout), 'COMPLETED');
});

it('a statement that nothing was paid waits until the rail could be asked', async () => {
  const kit = routes.open([first(() => ({ outcome: 'accepted' }))]);
  const payout = await routes.commit();
  await kit.dispatcher.runDue();
  const { db, keys } = money;
  const readPolicy = twoPersonsAbove(1_000_000);
  // As while a query is under way, whose claim has ended when the decision is recorded.
  const dispatcher = { ...kit.dispatcher, cancelOne: async () => false };
  const decision = { ...payout, action: 'not_paid', reason: 'a test' } as const;
  const by = { decidedBy: 'ada', operatorId: newId() };
  await assert.rejects(
    decidePayout({ db, keys, dispatcher, rates: () => rates, readPolicy }, { ...decision, ...by }),
    /a process is working on the payout/,
  );
  assert.equal(await routes.statusOf(payout), 'PROCESSING');
});
