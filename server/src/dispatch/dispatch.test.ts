import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import {
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import { createStepFollower } from '../db/environment-clock.ts';
import { reportMissingRails } from '../exceptions/decisions.ts';
import type { RailAnswer } from '../rails/contract/contract.ts';
import { derivePaymentId, encodeReference } from '../rails/contract/references.ts';
import { claimDispatches, dueCountQuery } from './dispatch.sql.ts';

const minuteMs = 60_000;
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

/** Ends the lease, as if its process had died. */
async function endLease({ payoutId }: CommittedPayout): Promise<void> {
  await money.rows(
    `update payout_dispatches set lease_until = clock_timestamp() - interval '1 second'
     where payout_id = $1`,
    [payoutId],
  );
}

async function observationsOf({ payoutId }: CommittedPayout) {
  return money.rows<{ source: string; outcome: string; is_applied: boolean }>(
    'select source, outcome, is_applied from observations where payout_id = $1 order by observed_at, id',
    [payoutId],
  );
}

test('the attempt is committed before the rail is called', async () => {
  const payout = await createCommitted();
  let recorded: unknown;
  let inTransaction: unknown;
  const rail = createFakeRail(async () => {
    recorded = (await money.attempts(payout.payoutId)).map(({ fence: _, ...attempt }) => attempt);
    inTransaction = await money.rows(
      `select pid from pg_stat_activity
       where datname = current_database() and state like 'idle in transaction%'`,
    );
    return { outcome: 'paid' };
  });
  await money.createDispatcher(rail).runDue();
  const reference = payout.reference;
  assert.deepEqual(recorded, [{ number: 1, state: 'sending', reference }]);
  assert.deepEqual(inTransaction, []);
  assert.deepEqual(rail.calls, [{ kind: 'send', reference }]);
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
  assert.equal(await money.dispatch(payout.payoutId), undefined);
  assert.equal(await walletOf(payout), funds - cost);
  assert.equal(await money.balance(payout.accountId, 'MXN', 'settlement:fake'), 180_000n);
});

test('concurrent dispatchers send each payout once', async () => {
  const owner = await money.createOwner({ USD: 60n * cost });
  const payouts = await Promise.all(Array.from({ length: 60 }, () => money.quoteAndCommit(owner)));
  const rail = createFakeRail(async () => ({ outcome: 'paid' }));
  const other = money.connect();
  const dispatchers = [money.db, other, money.db, other].map((db) =>
    money.createDispatcher(rail, db),
  );
  await Promise.all(dispatchers.map((dispatcher) => dispatcher.drain()));
  const sent = rail.calls.map(({ reference }) => reference).toSorted();
  assert.deepEqual(sent, payouts.map(({ reference }) => reference).toSorted());
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

test('after a crash between the attempt and the call the payout is queried, not sent', async () => {
  const payout = await createCommitted();
  const [taken] = await claimDispatches(money.db.system, {
    counts: new Map([['fake', 1]]),
    leaseMs: minuteMs,
    hasRules: false,
  });
  assert.equal(taken?.payout_id, payout.payoutId);
  assert.equal(taken?.mode, 'send');
  assert.equal((await money.attempts(payout.payoutId))[0]?.reference, payout.reference);
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

test('an expired lease is claimed anew, and the late answer of the first is refused', async () => {
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
  late.resolve({ outcome: 'rejected', reason: 'payer_refused' });
  await running;
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
  assert.equal(await walletOf(payout), funds - cost);
  assert.deepEqual(await observationsOf(payout), [
    { source: 'query', outcome: 'paid', is_applied: true },
    { source: 'send', outcome: 'rejected', is_applied: false },
  ]);
  assert.deepEqual([first.errors, second.errors], [[], []]);
});

test('a late answer is refused while the second claim is still querying', async () => {
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
  calls[0]?.resolve({ outcome: 'rejected', reason: 'payer_refused' });
  await first;
  assert.equal((await money.payout(payout.payoutId)).status, 'PROCESSING');
  assert.equal(await walletOf(payout), funds - cost);
  calls[1]?.resolve({ outcome: 'paid' });
  await second;
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
});

test('a payout whose rail is not configured is neither sent nor lost', async () => {
  const payout = await createCommitted();
  const elsewhere = { ...createFakeRail(() => ({ outcome: 'paid' })), name: 'another' };
  await money.createDispatcher(elsewhere).runDue();
  assert.deepEqual(await money.attempts(payout.payoutId), []);
  await money.advance(60 * minuteMs);
  assert.equal(await reportMissingRails(money.db, ['another']), 1);
  assert.equal(await reportMissingRails(money.db, ['another']), 0, 'asked once');
  const rail = createFakeRail(() => ({ outcome: 'paid' }));
  await money.createDispatcher(rail).runDue();
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
});

test('a payout that cannot be decrypted does not affect others', async () => {
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

test('a payout that cannot be decrypted is postponed, so that drain returns', async () => {
  const bad = await createCommitted();
  await money.rows(`update users set sealed = 'broken' where id = $1`, [bad.userId]);
  await money.createDispatcher(createFakeRail(() => ({ outcome: 'paid' }))).runDue();
  await money.clock.refresh(money.db.system);
  const row = await money.dispatch(bad.payoutId);
  assert.ok(row !== undefined, 'it is not forgotten');
  assert.ok(row.due_at.getTime() > money.clock.nowMs(), 'it is still due');
  assert.equal((await money.payout(bad.payoutId)).status, 'PROCESSING');
});

test('runOne does not disturb a process that has claimed the payout', async () => {
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

test('an observation waits for a concurrent claim and then finds its attempt', async () => {
  const payout = await createCommitted();
  const observed = await money.db.systemTransaction(async (session) => {
    const [taken] = await claimDispatches(session, {
      counts: new Map([['fake', 1]]),
      leaseMs: minuteMs,
      hasRules: false,
    });
    assert.equal(taken?.mode, 'send');
    // In an object, so that the transaction does not await what waits for it.
    const waiting = { result: money.observe(payout, 'rejected') };
    await waitForLock();
    return waiting;
  });
  assert.equal(await observed.result, 'applied');
  assert.deepEqual(
    (await money.attempts(payout.payoutId)).map(({ state }) => state),
    ['rejected'],
  );
});

test('a payout whose row is locked is not claimed', async () => {
  const payout = await createCommitted();
  await money.db.systemTransaction(async (session) => {
    await readRows(
      session,
      { name: '', text: 'select 1 from payout_dispatches where payout_id = $1 for update' },
      [payout.payoutId],
    );
    assert.deepEqual(
      await claimDispatches(money.db.system, {
        counts: new Map([['fake', 1]]),
        leaseMs: minuteMs,
        hasRules: false,
      }),
      [],
    );
  });
});

test('a rail that hangs does not delay others', async () => {
  const [slow, quick] = [await createCommitted(), await createCommitted()];
  const answer = Promise.withResolvers<RailAnswer>();
  const rail = createFakeRail(({ reference }) =>
    reference === slow.reference ? answer.promise : { outcome: 'paid' },
  );
  const dispatcher = money.createDispatcher(rail);
  assert.equal(await dispatcher.startDue(), 2);
  while ((await money.payout(quick.payoutId)).status !== 'COMPLETED') {
    assert.equal((await money.payout(slow.payoutId)).status, 'PROCESSING');
  }
  const later = await createCommitted();
  assert.equal(await dispatcher.runDue(), 1);
  assert.equal((await money.payout(later.payoutId)).status, 'COMPLETED');
  answer.resolve({ outcome: 'paid' });
  await dispatcher.settle();
  assert.equal((await money.payout(slow.payoutId)).status, 'COMPLETED');
});

test('after a step back of the clock nothing waits for as long as the step', async () => {
  const rail = createFakeRail(({ kind }) => ({ outcome: kind === 'send' ? 'accepted' : 'paid' }));
  let stepsBack = 0;
  const follow = createStepFollower(money.db, { ...money.clock, stepsBack: () => stepsBack });
  await follow();
  while ((await money.createDispatcher(rail).runDue()) > 0);
  const { length: earlier } = rail.calls;
  const [died, accepted, unsent] = [
    await createCommitted(),
    await createCommitted(),
    await createCommitted(),
  ];
  const dispatcher = money.createDispatcher(rail);
  for (const { accountId, payoutId } of [died, accepted]) {
    await dispatcher.runOne(accountId, payoutId);
  }
  // As rows are that were written when the clock was an hour ahead.
  const change = `update payout_dispatches set due_at = environment_now() + interval '1 hour',
    lease_until = clock_timestamp() + $2 * interval '1 hour' where payout_id = $1`;
  await money.rows(change, [died.payoutId, 1]);
  for (const { payoutId } of [accepted, unsent]) await money.rows(change, [payoutId, null]);
  await money.rows(`insert into rail_passes (rail, lease_until)
    values ('files', clock_timestamp() + interval '1 hour')`);
  await follow();
  assert.equal(await dispatcher.runDue(), 0);
  stepsBack = 1;
  await follow();
  await dispatcher.runDue();
  assert.ok(rail.calls.some(({ reference }) => reference === unsent.reference));
  // Of a payment under way its rail says when to ask.
  assert.ok(rail.calls.slice(earlier).every(({ kind }) => kind === 'send'));
  const ends = `lease_until - clock_timestamp() between interval '1 minute' and interval '2 minutes'`;
  const [row] = await money.rows<{ count: number }>(
    `select (select count(*) from payout_dispatches where payout_id = $1 and ${ends})::integer
       + (select count(*) from rail_passes where ${ends})::integer as count`,
    [died.payoutId],
  );
  assert.equal(row?.count, 2);
});

/** Waits until a session of this database waits for a lock. */
async function waitForLock(): Promise<void> {
  for (;;) {
    const waiting = await money.rows(
      `select 1 from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    );
    if (waiting.length > 0) return;
  }
}

test('SQL and TypeScript derive the same reference from account, client_transfer_id and try', async () => {
  const { accountId } = await money.createOwner();
  for (let attempt = 1; attempt <= 40; attempt += 1) {
    const clientTransferId = attempt % 2 === 0 ? `rent/ø ${attempt}` : 'rent';
    const [row] = await money.rows<{ reference: string }>(
      'select payment_reference($1, $2, $3) as reference',
      [accountId, clientTransferId, attempt],
    );
    const paymentId = derivePaymentId({ accountId, clientTransferId, attempt });
    assert.equal(row?.reference, encodeReference('digits', paymentId));
    assert.match(
      paymentId,
      /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  }
});

test('what is due is counted by the index, however much is due later', async () => {
  const plan = await money.db.systemTransaction(async (session) => {
    const run = (text: string) => readRows<Record<string, string>>(session, { name: '', text });
    await run(`prepare due as ${dueCountQuery.text}`);
    return run(`explain (costs off) execute due('{fake}')`);
  });
  const text = plan.map((row) => row['QUERY PLAN']).join('\n');
  // PostgreSQL 15 writes $0 for the value that is computed once.
  assert.match(text, /Index Cond: .*due_at <= (?:\(InitPlan|\$0)/, text);
});
