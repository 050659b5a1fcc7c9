import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { RailAnswer } from '../rails/contract.ts';
import { beginAttempt, claimDispatches } from './dispatch.sql.ts';
import { formatReference } from './dispatch.ts';
import {
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from './money-test-setup.ts';

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
  // What one test left under way is not due in the next.
  await money.rows('delete from payout_dispatches');
});
after(async () => {
  await money[Symbol.asyncDispose]();
});

const createOwner = (): Promise<Owner> => money.createOwner({ USD: funds });

async function createCommitted(): Promise<CommittedPayout> {
  return money.quoteAndCommit(await createOwner());
}

const walletOf = ({ accountId }: Owner): Promise<bigint> => money.balance(accountId, 'USD');

/** As if the process that holds the lease had been gone for its whole length. */
async function endLease({ payoutId }: CommittedPayout): Promise<void> {
  await money.rows(
    `update payout_dispatches set lease_until = clock_timestamp() - interval '1 second'
     where payout_id = $1`,
    [payoutId],
  );
}

/** Moves the clock to the next look at the payout, and answers how far that was. */
async function goToNextLook({ payoutId }: CommittedPayout): Promise<number> {
  const row = await money.dispatch(payoutId);
  assert.ok(row !== undefined, 'nobody would look again');
  await money.clock.refresh(money.db.system);
  const waitMs = Math.max(0, row.due_at.getTime() - money.clock.nowMs()) + 1;
  await money.advance(waitMs);
  return waitMs;
}

async function observationsOf({ payoutId }: CommittedPayout) {
  return money.rows<{ source: string; outcome: string; is_applied: boolean }>(
    'select source, outcome, is_applied from observations where payout_id = $1 order by observed_at, id',
    [payoutId],
  );
}

/** A rail that says these things one after the other, and the last one for ever. */
function createScriptedRail(answers: readonly RailAnswer[]) {
  const left = [...answers];
  return createFakeRail(() => (left.length > 1 ? left.shift() : left[0]) as RailAnswer);
}

test('the attempt is on record, outside any transaction, before the rail hears of the payout', async () => {
  const payout = await createCommitted();
  let recorded: unknown;
  let inTransaction: unknown;
  const rail = createFakeRail(async () => {
    recorded = await money.attempts(payout.payoutId);
    inTransaction = await money.rows(
      `select pid from pg_stat_activity
       where datname = current_database() and state like 'idle in transaction%'`,
    );
    return { outcome: 'paid' };
  });
  await money.createDispatcher(rail).runDue();
  const reference = formatReference(payout.payoutId);
  assert.deepEqual(recorded, [{ number: 1, state: 'sending', reference, fence: 1n }]);
  assert.deepEqual(inTransaction, []);
  assert.deepEqual(rail.calls, [{ kind: 'send', reference }]);
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
  assert.equal(await money.dispatch(payout.payoutId), undefined);
  assert.equal(await walletOf(payout), funds - cost);
  assert.equal(await money.balance(payout.accountId, 'MXN', 'settlement:fake'), 180_000n);
});

test('many dispatchers over many payouts send each of them once', async () => {
  const owner = await money.createOwner({ USD: 60n * cost });
  const payouts = await Promise.all(Array.from({ length: 60 }, () => money.quoteAndCommit(owner)));
  const rail = createFakeRail(async () => ({ outcome: 'paid' }));
  const other = money.connect();
  const dispatchers = [money.db, other, money.db, other].map((db) =>
    money.createDispatcher(rail, db),
  );
  await Promise.all(dispatchers.map((dispatcher) => dispatcher.drain()));
  const sent = rail.calls.map(({ reference }) => reference).sort();
  assert.deepEqual(sent, payouts.map(({ payoutId }) => formatReference(payoutId)).sort());
  assert.equal(rail.sends(), 60);
  for (const { payoutId } of payouts) {
    assert.deepEqual(
      (await money.attempts(payoutId)).map(({ state }) => state),
      ['paid'],
    );
  }
  assert.equal(await walletOf(owner), 0n);
  assert.equal(await money.balance(owner.accountId, 'MXN', 'settlement:fake'), 60n * 180_000n);
  assert.deepEqual(
    dispatchers.flatMap(({ errors }) => errors),
    [],
  );
});

for (const [last, status, wallet] of [
  [{ outcome: 'paid' }, 'COMPLETED', funds - cost],
  [{ outcome: 'rejected', reason: 'refused after all' }, 'CANCELLED', funds],
] as const) {
  test(`an outcome that stays unknown is asked for ever less often, held after a day with the funds kept, and still ${last.outcome} later`, async () => {
    const payout = await createCommitted();
    const unknown = { outcome: 'unknown', reason: 'no answer' } as const;
    let isClear = false;
    const rail = createFakeRail(() => (isClear ? last : unknown));
    const dispatcher = money.createDispatcher(rail);
    await dispatcher.runDue();
    const waits: number[] = [];
    for (let passedMs = 0; passedMs < 30 * hourMs; ) {
      const waitMs = await goToNextLook(payout);
      waits.push(waitMs);
      passedMs += waitMs;
      await dispatcher.runDue();
      const { status: now } = await money.payout(payout.payoutId);
      assert.equal(now, passedMs < 24 * hourMs ? 'PROCESSING' : 'HOLD');
      assert.equal(await walletOf(payout), funds - cost);
      assert.equal(await money.balance(payout.accountId, 'MXN', 'in_transit:fake'), 180_000n);
    }
    assert.ok(waits.length < 30, `asked ${waits.length} times`);
    assert.ok((waits.at(-1) ?? 0) > (waits[0] ?? 0));
    assert.equal(rail.sends(), 1);
    isClear = true;
    await goToNextLook(payout);
    await dispatcher.runDue();
    assert.equal((await money.payout(payout.payoutId)).status, status);
    assert.equal(await walletOf(payout), wallet);
    assert.equal(rail.sends(), 1);
    assert.deepEqual(dispatcher.errors, []);
  });
}

test('a rail that had sent nothing for certain is told again, under the same reference', async () => {
  const payout = await createCommitted();
  const retry = { outcome: 'retry', reason: 'no connection' } as const;
  const rail = createScriptedRail([retry, retry, retry, { outcome: 'paid' }]);
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.runDue();
  const waits = [];
  for (let tries = 0; tries < 3; tries += 1) {
    waits.push(await goToNextLook(payout));
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

test('a rail that throws has said nothing: it is asked, never told again', async () => {
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
  await goToNextLook(payout);
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
  test(`a rail that answers ${name} has given no definite answer: unknown`, async () => {
    const payout = await createCommitted();
    const rail = createFakeRail(() => garbage as unknown as RailAnswer);
    const dispatcher = money.createDispatcher(rail);
    await dispatcher.runDue();
    const [attempt] = await money.attempts(payout.payoutId);
    assert.equal(attempt?.state, 'unknown');
    await goToNextLook(payout);
    await dispatcher.runDue();
    assert.equal(rail.sends(), 1);
    assert.equal(await walletOf(payout), funds - cost);
  });
}

test('a crash between the record of the attempt and the call: it is asked, not sent', async () => {
  const payout = await createCommitted();
  const [claim] = await claimDispatches(money.db.system, { count: 1, leaseMs: minuteMs });
  assert.equal(claim?.payout_id, payout.payoutId);
  const begun = await money.db.systemTransaction((session) =>
    beginAttempt(session, { ...payout, fence: claim?.fence ?? 0n, reference: 'x' }),
  );
  assert.equal(begun.mode, 'send');
  const rail = createFakeRail(() => ({ outcome: 'paid' }));
  const dispatcher = money.createDispatcher(rail);
  assert.equal(await dispatcher.runDue(), 0);
  await endLease(payout);
  assert.equal(await dispatcher.runDue(), 1);
  assert.deepEqual(
    rail.calls.map(({ kind }) => kind),
    ['query'],
  );
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
  assert.equal((await money.attempts(payout.payoutId)).length, 1);
});

test('a crash between the claim and the record of the attempt: it is sent once', async () => {
  const payout = await createCommitted();
  await claimDispatches(money.db.system, { count: 10, leaseMs: minuteMs });
  const rail = createFakeRail(() => ({ outcome: 'paid' }));
  const dispatcher = money.createDispatcher(rail);
  await endLease(payout);
  await dispatcher.runDue();
  await dispatcher.runDue();
  assert.deepEqual(
    rail.calls.map(({ kind }) => kind),
    ['send'],
  );
});

test('a lease that ended is taken over under a higher fence, and the late answer of the first is refused', async () => {
  const payout = await createCommitted();
  const called = Promise.withResolvers<void>();
  const late = Promise.withResolvers<RailAnswer>();
  const slow = createFakeRail(() => {
    called.resolve();
    return late.promise;
  });
  const first = money.createDispatcher(slow);
  const running = first.runDue();
  await called.promise;
  const before = await money.dispatch(payout.payoutId);
  const rail = createFakeRail(() => ({ outcome: 'paid' }));
  const second = money.createDispatcher(rail, money.connect());
  assert.equal(await second.runDue(), 0, 'the lease holds');
  await endLease(payout);
  assert.equal(await second.runDue(), 1);
  assert.deepEqual(
    rail.calls.map(({ kind }) => kind),
    ['query'],
  );
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
  assert.equal(before?.fence, 1n);
  late.resolve({ outcome: 'rejected', reason: 'a zombie speaks' });
  await running;
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
  assert.equal(await walletOf(payout), funds - cost);
  assert.deepEqual(await observationsOf(payout), [
    { source: 'query', outcome: 'paid', is_applied: true },
    { source: 'send', outcome: 'rejected', is_applied: false },
  ]);
  assert.deepEqual([first.errors, second.errors], [[], []]);
});

test('a late answer is refused also while the one who took over is still asking', async () => {
  const payout = await createCommitted();
  const calls: PromiseWithResolvers<RailAnswer>[] = [];
  const arrivals = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const rail = createFakeRail(() => {
    const answer = Promise.withResolvers<RailAnswer>();
    calls.push(answer);
    arrivals[calls.length - 1]?.resolve();
    return answer.promise;
  });
  const first = money.createDispatcher(rail).runDue();
  await arrivals[0]?.promise;
  await endLease(payout);
  const second = money.createDispatcher(rail).runDue();
  await arrivals[1]?.promise;
  calls[0]?.resolve({ outcome: 'rejected', reason: 'too late' });
  await first;
  assert.equal((await money.payout(payout.payoutId)).status, 'PROCESSING');
  assert.equal(await walletOf(payout), funds - cost);
  calls[1]?.resolve({ outcome: 'paid' });
  await second;
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
});

test('whoever begins an attempt holds the lease for the whole call, however long the claim had waited', async () => {
  const payout = await createCommitted();
  const [claim] = await claimDispatches(money.db.system, { count: 1, leaseMs: minuteMs });
  await endLease(payout);
  const begun = await money.db.systemTransaction((session) =>
    beginAttempt(session, { ...payout, fence: claim?.fence ?? 0n, reference: 'x' }),
  );
  const others = await claimDispatches(money.db.system, { count: 1, leaseMs: minuteMs });
  // Either it was too late to begin, or nobody else may begin now.
  assert.ok(
    begun.mode === 'none' || others.length === 0,
    `${begun.mode}, claimed by ${others.length}`,
  );
});

test('an outdated claim begins nothing', async () => {
  const payout = await createCommitted();
  const [first] = await claimDispatches(money.db.system, { count: 1, leaseMs: minuteMs });
  await endLease(payout);
  const [second] = await claimDispatches(money.db.system, { count: 1, leaseMs: minuteMs });
  assert.ok((second?.fence ?? 0n) > (first?.fence ?? 0n));
  const begun = await money.db.systemTransaction((session) =>
    beginAttempt(session, { ...payout, fence: first?.fence ?? 0n, reference: 'x' }),
  );
  assert.equal(begun.mode, 'none');
  assert.deepEqual(await money.attempts(payout.payoutId), []);
});

test('what a rail had accepted is never sent a second time, also when a query says that nothing was sent', async () => {
  const payout = await createCommitted();
  const rail = createFakeRail(({ kind }) =>
    kind === 'send' ? { outcome: 'accepted' } : { outcome: 'retry', reason: 'cannot be reached' },
  );
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.runDue();
  for (let looks = 0; looks < 4; looks += 1) {
    await goToNextLook(payout);
    await dispatcher.runDue();
  }
  assert.equal(rail.sends(), 1);
  assert.equal((await money.attempts(payout.payoutId)).length, 1);
});

test('a payout on hold is not sent', async () => {
  const payout = await createCommitted();
  await money.rows(`update payouts set status = 'HOLD' where id = $1`, [payout.payoutId]);
  const rail = createFakeRail(() => ({ outcome: 'paid' }));
  await money.createDispatcher(rail).runDue();
  assert.equal(rail.sends(), 0);
  assert.equal((await money.payout(payout.payoutId)).status, 'HOLD');
});

test('a payout that was put on hold while nothing had been sent is not sent by the next look either', async () => {
  const payout = await createCommitted();
  const rail = createFakeRail(() => ({ outcome: 'retry', reason: 'no connection' }));
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.runDue();
  await money.observe(payout, 'hold', { dueAt: new Date(money.clock.nowMs()) });
  await money.rows(`update attempts set state = 'retry' where payout_id = $1`, [payout.payoutId]);
  await dispatcher.runDue();
  assert.equal(rail.sends(), 1);
});

test('a refusal after the payment is a contradiction: kept on record, without effect', async () => {
  const payout = await createCommitted();
  const rail = createScriptedRail([
    { outcome: 'paid', checkAtMs: money.clock.nowMs() + hourMs },
    { outcome: 'rejected', reason: 'we changed our mind' },
  ]);
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.runDue();
  await goToNextLook(payout);
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

test('a payment after the refusal is a contradiction too: nothing is taken a second time', async () => {
  const payout = await createCommitted();
  const rail = createFakeRail(() => ({ outcome: 'rejected', reason: 'no such account' }));
  await money.createDispatcher(rail).runDue();
  assert.equal(await walletOf(payout), funds);
  const fence = (await money.dispatch(payout.payoutId))?.fence ?? 1n;
  assert.equal(await money.observe(payout, 'paid', { fence }), 'stale');
  assert.equal(await money.observe(payout, 'paid'), 'illegal');
  const { status, status_reason: reason } = await money.payout(payout.payoutId);
  assert.deepEqual([status, reason], ['CANCELLED', 'no such account']);
  assert.equal(await walletOf(payout), funds);
});

test('a return after the payment brings the amount back and keeps the fee', async () => {
  const payout = await createCommitted();
  const rail = createScriptedRail([
    { outcome: 'paid', checkAtMs: money.clock.nowMs() + 72 * hourMs },
    { outcome: 'returned', reason: 'account closed' },
  ]);
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.runDue();
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
  await goToNextLook(payout);
  await dispatcher.runDue();
  const { status, status_reason: reason } = await money.payout(payout.payoutId);
  assert.deepEqual([status, reason], ['CANCELLED', 'returned: account closed']);
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
    ['payout.pending', 'payout.processing', 'payout.completed', 'payout.cancelled'],
  );
});

test('a return of what had never been told to be paid passes through the payment', async () => {
  const payout = await createCommitted();
  const rail = createFakeRail(() => ({ outcome: 'returned', reason: 'sent back' }));
  await money.createDispatcher(rail).runDue();
  assert.equal((await money.payout(payout.payoutId)).status, 'CANCELLED');
  assert.equal(await walletOf(payout), funds - 100n);
});

for (const outcome of ['paid', 'ready_for_pickup'] as const) {
  test(`a rail that cannot be reached after ${outcome} is asked ever less often`, async () => {
    const payout = await createCommitted();
    const rail = createFakeRail(({ kind }) =>
      kind === 'send'
        ? { outcome, checkAtMs: money.clock.nowMs() + hourMs }
        : { outcome: 'unknown', reason: 'cannot be reached' },
    );
    const dispatcher = money.createDispatcher(rail);
    await dispatcher.runDue();
    const waits: number[] = [];
    for (let looks = 0; looks < 8; looks += 1) {
      waits.push(await goToNextLook(payout));
      await dispatcher.runDue();
    }
    // The first wait is the rail's own; from then on the service decides.
    assert.ok((waits.at(-1) ?? 0) > 4 * (waits[1] ?? 0), `waits of ${waits.join(', ')} ms`);
    assert.equal(await walletOf(payout), funds - cost);
  });
}

test('a rail that this process does not have: nothing is sent, and nothing is lost', async () => {
  const payout = await createCommitted();
  const elsewhere = { ...createFakeRail(() => ({ outcome: 'paid' })), name: 'another' };
  await money.createDispatcher(elsewhere).runDue();
  assert.deepEqual(
    (await money.attempts(payout.payoutId)).map(({ state }) => state),
    ['retry'],
  );
  const rail = createFakeRail(() => ({ outcome: 'paid' }));
  await goToNextLook(payout);
  await money.createDispatcher(rail).runDue();
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
});

test('a payout that cannot be read does not stop its neighbours', async () => {
  const owner = await createOwner();
  const bad = await money.quoteAndCommit(await createOwner());
  await money.rows(`update users set sealed = 'broken' where id = $1`, [bad.userId]);
  const good = await Promise.all(Array.from({ length: 10 }, () => money.quoteAndCommit(owner)));
  const rail = createFakeRail(() => ({ outcome: 'paid' }));
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.runDue();
  for (const { payoutId } of good) {
    assert.equal((await money.payout(payoutId)).status, 'COMPLETED');
  }
  assert.equal(dispatcher.errors.length, 1);
  assert.equal((await money.payout(bad.payoutId)).status, 'PROCESSING');
  assert.equal(rail.sends(), 10);
});

test('asking about one payout at once does not disturb who is at it', async () => {
  const payout = await createCommitted();
  const called = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<RailAnswer>();
  const rail = createFakeRail(() => {
    called.resolve();
    return answer.promise;
  });
  const running = money.createDispatcher(rail).runDue();
  await called.promise;
  await money.createDispatcher(rail).runOne(payout.accountId, payout.payoutId);
  assert.equal(rail.calls.length, 1);
  answer.resolve({ outcome: 'accepted' });
  await running;
  await money.createDispatcher(rail).runOne(payout.accountId, payout.payoutId);
  assert.deepEqual(
    rail.calls.map(({ kind }) => kind),
    ['send', 'query'],
  );
});

test('the reference is a function of the payout alone', () => {
  assert.equal(
    formatReference('01890a5d-ac96-774b-bcce-b302099a8057'),
    '01890a5dac96774bbcceb302099a8057',
  );
});
