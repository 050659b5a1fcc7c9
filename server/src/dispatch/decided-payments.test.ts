import assert from 'node:assert/strict';
import { after, afterEach, before, it } from 'node:test';
import type { CommittedPayout, MoneyTest, Owner } from '../../testing/setups/money.ts';
import { createRoutesTest, first, pay, refuse, secondPayer } from '../../testing/setups/routes.ts';

/** After a person has decided that an earlier payer paid, its attempt is the one that counts. */

type RoutesTest = Awaited<ReturnType<typeof createRoutesTest>>;
let money: MoneyTest;
let owner: Owner;
let routes: RoutesTest;
before(async () => {
  routes = await createRoutesTest();
  ({ money, owner } = routes);
});
afterEach(async () => {
  await money.assertSound();
  await routes.clearDue();
});
after(() => money[Symbol.asyncDispose]());

async function decidePaid() {
  const kit = routes.open([first(refuse), secondPayer(refuse)]);
  const payout = await routes.commit();
  for (let round = 0; round < 3; round += 1) await kit.dispatcher.runDue();
  assert.equal(await routes.statusOf(payout), 'ERROR');
  await kit.notify('first', payout, { outcome: 'paid' });
  assert.equal(await kit.decide(payout, 'paid'), 'done');
  assert.equal(await routes.statusOf(payout), 'COMPLETED');
  return { kit, payout };
}

/** A second attempt at the same rail, which ended like the first one. */
async function attemptAgain({ payoutId }: CommittedPayout): Promise<{ reference: string }> {
  const [attempt] = await money.rows<{ reference: string }>(
    `insert into attempts (account_id, payout_id, number, rail, payer_key, reference, state, fence, started_at)
     select account_id, payout_id, 2, rail, payer_key, md5(reference), state, 0, started_at
     from attempts where payout_id = $1
     returning reference`,
    [payoutId],
  );
  assert.ok(attempt !== undefined);
  return attempt;
}

it('another report that it was paid changes nothing', async () => {
  const { kit, payout } = await decidePaid();
  await kit.notify('first', payout, { outcome: 'paid', atMs: money.clock.nowMs() });
  assert.deepEqual(await routes.openKinds(payout), []);
});

it('what comes back goes to the client', async () => {
  const { kit, payout } = await decidePaid();
  const before = await money.balance(owner.accountId, 'USD');
  await kit.notify('first', payout, { outcome: 'returned', amountMinor: 95_000n });
  assert.deepEqual(await routes.openKinds(payout), []);
  assert.equal((await money.balance(owner.accountId, 'USD')) - before, 5_000n);
  await kit.notify('first', payout, { outcome: 'returned', amountMinor: 95_000n });
  assert.equal((await money.balance(owner.accountId, 'USD')) - before, 10_000n);
  assert.equal(await routes.statusOf(payout), 'CANCELLED');
});

it('a payment by the later payer is one too many', async () => {
  const { kit, payout } = await decidePaid();
  await kit.notify('second', payout, { outcome: 'paid' });
  assert.deepEqual(await routes.openKinds(payout), ['paid_after_refusal']);
});

it('a payment after a return is written off once, however often it is reported', async () => {
  const kit = routes.open([first(pay)]);
  const payout = await routes.commit();
  await kit.dispatcher.runDue();
  await kit.notify('first', payout, { outcome: 'returned' });
  await kit.notify('first', payout, { outcome: 'paid', atMs: money.clock.nowMs() });
  assert.deepEqual(await routes.openKinds(payout), ['paid_after_return']);
  assert.equal(await kit.decide(payout, 'write_off'), 'done');
  await money.advance(1_000);
  await kit.notify('first', payout, { outcome: 'paid', atMs: money.clock.nowMs() });
  assert.deepEqual(await routes.openKinds(payout), []);
});

it('of two payments of one rail, the one that was asked about completes the payout', async () => {
  const kit = routes.open([first(refuse)]);
  const payout = await routes.commit();
  await kit.dispatcher.runDue();
  const second = await attemptAgain(payout);
  await kit.notify('first', { ...payout, ...second }, { outcome: 'paid' });
  await money.advance(1_000);
  await kit.notify('first', payout, { outcome: 'paid' });
  assert.equal(await kit.decide(payout, 'paid'), 'done');
  assert.deepEqual(
    (await money.attempts(payout.payoutId)).map(({ state }) => state),
    ['paid', 'rejected'],
  );
  assert.deepEqual(await routes.openKinds(payout), ['paid_after_refusal']);
  await kit.notify('first', payout, { outcome: 'returned' });
  assert.deepEqual(await routes.openKinds(payout), ['paid_after_refusal']);
  assert.equal(await routes.statusOf(payout), 'CANCELLED');
});

it('of two payments of one rail, a write-off answers for the one that it books', async () => {
  const kit = routes.open([first(() => ({ outcome: 'rejected', reason: 'account_closed' }))]);
  const payout = await routes.commit();
  await kit.dispatcher.runDue();
  const second = await attemptAgain(payout);
  await kit.notify('first', payout, { outcome: 'paid' });
  assert.equal(await kit.decide(payout, 'write_off'), 'done');
  assert.deepEqual(await routes.openKinds(payout), []);
  await kit.notify('first', { ...payout, ...second }, { outcome: 'paid' });
  assert.deepEqual(await routes.openKinds(payout), ['paid_after_refusal']);
});
