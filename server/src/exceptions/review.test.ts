import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import {
  advanceToNextQuery,
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
} from '../../testing/setups/money.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import type { RailAnswer } from '../rails/contract/contract.ts';
import { reviewPayouts } from './review.ts';

const dayMs = 86_400_000;

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
afterEach(async () => {
  await money.assertSound();
  await money.rows(`update payout_dispatches set due_at = '9999-01-01'`);
});
after(() => money[Symbol.asyncDispose]());

async function commit(): Promise<CommittedPayout> {
  return money.quoteAndCommit(await money.createOwner({ USD: 1_000_000n }), {
    estimatedAvailability: new Date(money.clock.nowMs() + 3_600_000),
  });
}

async function review(): Promise<void> {
  const errors: unknown[] = [];
  await reviewPayouts({ db: money.db, keys: money.keys, onError: (error) => errors.push(error) });
  assert.deepEqual(errors, []);
}

/** Waits until a session of this database waits for a lock. */
async function waitForLock(): Promise<void> {
  const text = `select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  while ((await money.rows(text)).length === 0) continue;
}

const openOf = async ({ payoutId }: CommittedPayout) =>
  (
    await money.rows<{ kind: string }>(
      'select kind from exceptions where payout_id = $1 and closed_at is null order by kind',
      [payoutId],
    )
  ).map(({ kind }) => kind);

const statusOf = async ({ payoutId }: CommittedPayout) => (await money.payout(payoutId)).status;

test('an unknown outcome is HOLD after a day although its rail is not called', async () => {
  const payout = await commit();
  const rail = createFakeRail(() => ({ outcome: 'unknown', reason: 'no_answer' }));
  await money.createDispatcher(rail).runDue();
  await money.advance(dayMs - 600_000);
  await review();
  assert.deepEqual([await statusOf(payout), await openOf(payout)], ['PROCESSING', []]);
  await money.advance(600_000);
  await review();
  await review();
  assert.deepEqual([await statusOf(payout), await openOf(payout)], ['HOLD', ['unknown_outcome']]);
});

test('a payout that could not be sent for a day is held, and its rail is not called', async () => {
  const payout = await commit();
  const rail = createFakeRail(() => ({ outcome: 'retry', reason: 'unreachable' }));
  await money.createDispatcher(rail).runDue();
  await money.advance(dayMs + 1000);
  await review();
  assert.deepEqual([await statusOf(payout), await openOf(payout)], ['HOLD', ['not_sent']]);
  assert.equal(rail.calls.length, 1);
});

test('a payout that another process begins to send during the review is not held as unsent', async () => {
  const payout = await commit();
  await money
    .createDispatcher(createFakeRail(() => ({ outcome: 'retry', reason: 'busy' })))
    .runDue();
  await money.advance(dayMs + 1000);
  const answers = Promise.withResolvers<RailAnswer>();
  const called = Promise.withResolvers<void>();
  const rail = createFakeRail(() => ({ outcome: 'unknown', reason: 'no_answer' }));
  const sending = money.createDispatcher({
    ...rail,
    send: () => {
      called.resolve();
      return answers.promise;
    },
  });
  let reviewing = Promise.resolve();
  // The review has listed the payout when it waits for the account, and a claim does not wait for it.
  const run = await money.ownerTransaction(async (session) => {
    const text = 'select from accounts where id = $1 for update';
    await readRows(session, { name: '', text }, [payout.accountId]);
    reviewing = review();
    await waitForLock();
    const running = sending.runDue();
    await called.promise;
    return { running };
  });
  await reviewing;
  // The payer got the instruction, and its answer was lost.
  answers.resolve({ outcome: 'unknown', reason: 'no_answer' });
  await run.running;
  assert.deepEqual(await openOf(payout), []);
  const [last] = await money.rows<{ state: string }>(
    'select state from attempts where payout_id = $1 order by number desc limit 1',
    [payout.payoutId],
  );
  assert.deepEqual([last?.state, await statusOf(payout)], ['unknown', 'PROCESSING']);
});

test('a payout READY_FOR_PICKUP and unknown for a day opens an exception', async () => {
  const payout = await commit();
  let answer: RailAnswer = { outcome: 'ready_for_pickup' };
  const dispatcher = money.createDispatcher(createFakeRail(() => answer));
  await dispatcher.runDue();
  answer = { outcome: 'unknown', reason: 'no_answer' };
  for (let round = 0; round < 12; round += 1) {
    await advanceToNextQuery(money, payout);
    await dispatcher.runDue();
  }
  assert.deepEqual(
    [await statusOf(payout), await openOf(payout)],
    ['READY_FOR_PICKUP', ['unknown_outcome']],
  );
});

test('an overdue payout opens one exception, and another a week after its dismissal', async () => {
  const payout = await commit();
  await money.createDispatcher(createFakeRail(() => ({ outcome: 'accepted' }))).runDue();
  await money.advance(3 * 3_600_000 + 1000);
  await review();
  assert.deepEqual(await openOf(payout), [], 'at least a day more than announced');
  await money.advance(dayMs);
  await review();
  await review();
  assert.deepEqual(await openOf(payout), ['overdue']);
  await money.rows(
    `update exceptions set closed_at = environment_now(), resolution = 'dismissed by ada'
     where payout_id = $1`,
    [payout.payoutId],
  );
  await money.advance(6 * dayMs);
  await review();
  assert.deepEqual(await openOf(payout), []);
  await money.advance(dayMs + 1000);
  await review();
  assert.deepEqual(await openOf(payout), ['overdue']);
  await money.observe(payout, 'paid', { source: 'callback' });
  assert.deepEqual([await statusOf(payout), await openOf(payout)], ['COMPLETED', []]);
});
