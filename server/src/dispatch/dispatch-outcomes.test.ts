import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import {
  advanceToNextQuery,
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import type { RailAnswer } from '../rails/contract/contract.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const funds = 1_000_000n;
const cost = 10_100n;

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
afterEach(async () => {
  await money.assertSound();
  // Payouts of one test must not be due in the next.
  await money.rows(`update payout_dispatches set due_at = '9999-01-01'`);
});
after(async () => {
  await money[Symbol.asyncDispose]();
});

const createOwner = (): Promise<Owner> => money.createOwner({ USD: funds });

async function createCommitted(): Promise<CommittedPayout> {
  return money.quoteAndCommit(await createOwner());
}

const walletOf = ({ accountId }: Owner): Promise<bigint> => money.balance(accountId, 'USD');

async function observationsOf({ payoutId }: CommittedPayout) {
  return money.rows<{ source: string; outcome: string; is_applied: boolean }>(
    'select source, outcome, is_applied from observations where payout_id = $1 order by observed_at, id',
    [payoutId],
  );
}

/** A rail that returns these answers in order, and the last one from then on. */
function createScriptedRail(answers: readonly RailAnswer[]) {
  const left = [...answers];
  return createFakeRail(() => (left.length > 1 ? left.shift() : left[0]) as RailAnswer);
}

for (const [last, status, wallet] of [
  [{ outcome: 'paid' }, 'COMPLETED', funds - cost],
  [{ outcome: 'rejected', reason: 'account_closed' }, 'CANCELLED', funds],
] as const) {
  test(`an outcome that stays unknown is queried with back-off, held after a day, and still ${last.outcome} later`, async () => {
    const payout = await createCommitted();
    const unknown = { outcome: 'unknown', reason: 'no_answer' } as const;
    let isClear = false;
    const rail = createFakeRail(() => (isClear ? last : unknown));
    const dispatcher = money.createDispatcher(rail);
    await dispatcher.runDue();
    const waits: number[] = [];
    let heldAfterMs: number | undefined;
    for (let passedMs = 0; passedMs < 30 * hourMs; ) {
      const waitMs = await advanceToNextQuery(money, payout);
      waits.push(waitMs);
      passedMs += waitMs;
      await dispatcher.runDue();
      const { status: now } = await money.payout(payout.payoutId);
      // The test itself takes some seconds of the same clock.
      if (passedMs < 24 * hourMs - minuteMs) assert.equal(now, 'PROCESSING');
      else heldAfterMs ??= now === 'HOLD' ? passedMs : undefined;
      assert.equal(await walletOf(payout), funds - cost);
      assert.equal(await money.balance(payout.accountId, 'MXN', 'in_transit:fake'), 180_000n);
    }
    assert.ok(
      heldAfterMs !== undefined && heldAfterMs < 24 * hourMs + minuteMs,
      'held at 24 hours',
    );
    assert.ok(waits.length < 30, `asked ${waits.length} times`);
    assert.ok((waits.at(-1) ?? 0) > (waits[0] ?? 0));
    assert.equal(rail.sends(), 1);
    isClear = true;
    await advanceToNextQuery(money, payout);
    await dispatcher.runDue();
    assert.equal((await money.payout(payout.payoutId)).status, status);
    assert.equal(await walletOf(payout), wallet);
    assert.equal(rail.sends(), 1);
    assert.deepEqual(dispatcher.errors, []);
  });
}

test('after retry the payout is sent again under the same reference', async () => {
  const payout = await createCommitted();
  const retry = { outcome: 'retry', reason: 'unreachable' } as const;
  const rail = createScriptedRail([retry, retry, retry, { outcome: 'paid' }]);
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.runDue();
  const waits = [];
  for (let tries = 0; tries < 3; tries += 1) {
    waits.push(await advanceToNextQuery(money, payout));
    await dispatcher.runDue();
  }
  assert.ok((waits[0] ?? 0) < (waits[1] ?? 0) && (waits[1] ?? 0) < (waits[2] ?? 0), String(waits));
  assert.equal(rail.sends(), 4);
  assert.equal(new Set(rail.calls.map(({ reference }) => reference)).size, 1);
  const attempts = await money.attempts(payout.payoutId);
  assert.deepEqual(
    attempts.map(({ state }) => state),
    ['retry', 'retry', 'retry', 'paid'],
  );
  assert.equal(await walletOf(payout), funds - cost);
});

test('after an exception of the rail the payout is queried, never sent again', async () => {
  const payout = await createCommitted();
  let isBroken = true;
  const rail = createFakeRail(() => {
    if (isBroken) throw new Error('the network broke');
    return { outcome: 'paid' };
  });
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.runDue();
  assert.equal((await money.payout(payout.payoutId)).status, 'PROCESSING');
  assert.deepEqual(
    (await money.attempts(payout.payoutId)).map(({ state }) => state),
    ['unknown'],
  );
  assert.equal(dispatcher.errors.length, 1);
  isBroken = false;
  await advanceToNextQuery(money, payout);
  await dispatcher.runDue();
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
  assert.equal(rail.sends(), 1);
});

for (const [name, garbage] of [
  ['nothing', undefined],
  ['null', null],
  ['an outcome that no contract knows', { outcome: 'maybe' }],
  ['a text', 'paid'],
] as const) {
  test(`the answer ${name} counts as unknown`, async () => {
    const payout = await createCommitted();
    const rail = createFakeRail(() => garbage as unknown as RailAnswer);
    const dispatcher = money.createDispatcher(rail);
    await dispatcher.runDue();
    const [attempt] = await money.attempts(payout.payoutId);
    assert.equal(attempt?.state, 'unknown');
    await advanceToNextQuery(money, payout);
    await dispatcher.runDue();
    assert.equal(rail.sends(), 1);
    assert.equal(await walletOf(payout), funds - cost);
  });
}

test('an accepted payout is never sent again, although a query answers retry', async () => {
  const payout = await createCommitted();
  const rail = createFakeRail(({ kind }) =>
    kind === 'send' ? { outcome: 'accepted' } : { outcome: 'retry', reason: 'unreachable' },
  );
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.runDue();
  for (let looks = 0; looks < 4; looks += 1) {
    await advanceToNextQuery(money, payout);
    await dispatcher.runDue();
  }
  assert.equal(rail.sends(), 1);
  assert.equal((await money.attempts(payout.payoutId)).length, 1);
});

test('a payout on hold is not sent', async () => {
  const payout = await createCommitted();
  await money.observe(payout, 'hold');
  const rail = createFakeRail(() => ({ outcome: 'paid' }));
  await money.createDispatcher(rail).runDue();
  assert.equal(rail.sends(), 0);
  assert.equal((await money.payout(payout.payoutId)).status, 'HOLD');
});

test('a payout put on hold before it was sent is not sent when it is due again', async () => {
  const payout = await createCommitted();
  const rail = createFakeRail(() => ({ outcome: 'retry', reason: 'unreachable' }));
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.runDue();
  await money.observe(payout, 'hold', { dueAt: new Date(money.clock.nowMs()) });
  await money.rows(`update attempts set state = 'retry' where payout_id = $1`, [payout.payoutId]);
  await dispatcher.runDue();
  assert.equal(rail.sends(), 1);
});

test('a rejection after the payment is stored and has no effect', async () => {
  const payout = await createCommitted();
  const rail = createScriptedRail([
    { outcome: 'paid', checkAtMs: money.clock.nowMs() + hourMs },
    { outcome: 'rejected', reason: 'payer_refused' },
  ]);
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.runDue();
  await advanceToNextQuery(money, payout);
  await dispatcher.runDue();
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
  assert.equal(await walletOf(payout), funds - cost);
  assert.deepEqual((await observationsOf(payout)).at(-1), {
    source: 'query',
    outcome: 'rejected',
    is_applied: false,
  });
  assert.deepEqual(
    (await money.attempts(payout.payoutId)).map(({ state }) => state),
    ['paid'],
  );
});

test('a payment after the rejection does not debit a second time', async () => {
  const payout = await createCommitted();
  const rail = createFakeRail(() => ({ outcome: 'rejected', reason: 'account_not_found' }));
  await money.createDispatcher(rail).runDue();
  assert.equal(await walletOf(payout), funds);
  const fence = (await money.dispatch(payout.payoutId))?.fence ?? 1n;
  assert.equal(await money.observe(payout, 'paid', { fence }), 'exception');
  assert.equal(await money.observe(payout, 'paid'), 'illegal');
  const { status, status_reason: reason } = await money.payout(payout.payoutId);
  assert.deepEqual([status, reason], ['CANCELLED', 'the account does not exist']);
  assert.equal(await walletOf(payout), funds);
});

test('a return after the payment refunds the amount and keeps the fee', async () => {
  const payout = await createCommitted();
  const rail = createScriptedRail([
    { outcome: 'paid', checkAtMs: money.clock.nowMs() + 72 * hourMs },
    { outcome: 'returned', reason: 'account_closed' },
  ]);
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.runDue();
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
  await advanceToNextQuery(money, payout);
  await dispatcher.runDue();
  const { status, status_reason: reason } = await money.payout(payout.payoutId);
  assert.deepEqual([status, reason], ['CANCELLED', 'returned: the account is closed']);
  assert.equal(await walletOf(payout), funds - 100n);
  for (const name of ['settlement:fake', 'in_transit:fake', 'fx']) {
    assert.equal(await money.balance(payout.accountId, 'MXN', name), 0n, name);
  }
  assert.equal(await money.balance(payout.accountId, 'USD', 'fees'), 100n);
  assert.equal(await money.dispatch(payout.payoutId), undefined);
  const types = await money.rows<{ type: string }>(
    'select type from events where subject_id = $1 order by sequence',
    [payout.payoutId],
  );
  assert.deepEqual(
    types.map(({ type }) => type),
    [
      'payout.pending',
      'payout.processing',
      'payout.completed',
      'payout.cancelled',
      'payout.returned',
    ],
  );
});

test('a return without an earlier payment posts the payment first', async () => {
  const payout = await createCommitted();
  const rail = createFakeRail(() => ({ outcome: 'returned', reason: 'sent_back' }));
  await money.createDispatcher(rail).runDue();
  assert.equal((await money.payout(payout.payoutId)).status, 'CANCELLED');
  assert.equal(await walletOf(payout), funds - 100n);
});

for (const outcome of ['paid', 'ready_for_pickup'] as const) {
  test(`an unreachable rail after ${outcome} is queried with back-off`, async () => {
    const payout = await createCommitted();
    const rail = createFakeRail(({ kind }) =>
      kind === 'send'
        ? { outcome, checkAtMs: money.clock.nowMs() + hourMs }
        : { outcome: 'unknown', reason: 'unreachable' },
    );
    const dispatcher = money.createDispatcher(rail);
    await dispatcher.runDue();
    const waits: number[] = [];
    for (let looks = 0; looks < 8; looks += 1) {
      waits.push(await advanceToNextQuery(money, payout));
      await dispatcher.runDue();
    }
    // The rail sets the first wait, the service the later ones.
    assert.ok((waits.at(-1) ?? 0) > 4 * (waits[1] ?? 0), `waits of ${waits.join(', ')} ms`);
    assert.equal(await walletOf(payout), funds - cost);
  });
}

test('a checkAtMs in the past does not cause endless queries', async () => {
  const payout = await createCommitted();
  const limit = 50;
  const rail = createFakeRail(() =>
    rail.calls.length > limit
      ? { outcome: 'paid' }
      : { outcome: 'accepted', checkAtMs: money.clock.nowMs() - hourMs },
  );
  await money.createDispatcher(rail).drain();
  assert.ok(rail.calls.length < limit, `asked ${rail.calls.length} times in a row`);
  assert.equal((await money.payout(payout.payoutId)).status, 'PROCESSING');
});

for (const checkAtMs of [Number.NaN, Number.POSITIVE_INFINITY, 9e15]) {
  test(`a payout with checkAtMs ${checkAtMs} is queried anyway`, async () => {
    const payout = await createCommitted();
    const rail = createFakeRail(() => ({ outcome: 'accepted', checkAtMs }));
    const dispatcher = money.createDispatcher(rail);
    await dispatcher.runDue();
    assert.deepEqual(dispatcher.errors, []);
    assert.deepEqual(
      (await money.attempts(payout.payoutId)).map(({ state }) => state),
      ['accepted'],
    );
    assert.ok((await money.dispatch(payout.payoutId))?.lease_until === null);
  });
}
