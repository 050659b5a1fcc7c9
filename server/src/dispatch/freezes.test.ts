import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import {
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import type { FreezeObject } from '../controls/freezes.sql.ts';
import {
  findGlobalFreeze,
  readFreezesInForce,
  readUndrained,
  resume,
  type Stopped,
  stop,
} from '../controls/freezes.ts';
import { AppError } from '../core/errors.ts';
import type { Rail } from '../rails/contract/contract.ts';
import { claimDispatches } from './dispatch.sql.ts';

let money: MoneyTest;
let owner: Owner;
before(async () => {
  money = await createMoneyTest();
  owner = await money.createOwner({ USD: 100_000_000n });
});
afterEach(async () => {
  const { freezes } = await readFreezesInForce(money.db.system);
  for (const { id } of freezes) await lift(id);
  await money.assertSound();
  await money.rows(`update payout_dispatches set due_at = '9999-01-01'`);
});
after(async () => {
  await money[Symbol.asyncDispose]();
});

const ada = { by: 'ada', reason: 'the partner pays twice' };
const freeze = (object: FreezeObject): Promise<Stopped> => stop(money.db, object, ada);
const lift = (id: string) => resume(money.db, id, { by: 'bob', reason: 'solved' });
const paying = () => createFakeRail(() => ({ outcome: 'paid' }));
const statusOf = async ({ payoutId }: CommittedPayout): Promise<string> =>
  (await money.payout(payoutId)).status;

test('a stop says what is being sent, what the rail has and what waits; resuming sends it', async () => {
  const claimed = await money.quoteAndCommit(owner);
  await claimDispatches(money.db.system, {
    counts: new Map([['fake', 1]]),
    leaseMs: 60_000,
    hasRules: false,
  });
  const accepted = await money.quoteAndCommit(owner);
  const accepting = createFakeRail(() => ({ outcome: 'accepted' }));
  await money.createDispatcher(accepting).runDue();
  const waiting = await money.quoteAndCommit(owner);

  const stopped = await freeze({ scope: 'sending' });
  assert.equal(stopped.isNew, true);
  assert.deepEqual(stopped.rails, [{ rail: 'fake', being_sent: 1, handed_over: 1, waiting: 1 }]);
  assert.equal((await freeze({ scope: 'sending' })).isNew, false);

  const rail = paying();
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.runDue();
  const after = await money.quoteAndCommit(owner);
  await dispatcher.runDue();
  assert.equal(rail.sends(), 0);
  await money.rows(
    `update payout_dispatches set due_at = now() - interval '1 day'
     where payout_id = $1`,
    [accepted.payoutId],
  );
  await dispatcher.runDue();
  assert.equal(rail.sends(), 0);
  assert.equal(await statusOf(accepted), 'COMPLETED', 'what the rail has is still queried');
  await money.assertSound();

  const { released } = await lift(stopped.freeze.id);
  assert.equal(released, 2);
  await dispatcher.runDue();
  const sent = rail.calls.filter(({ kind }) => kind === 'send').map(({ reference }) => reference);
  assert.deepEqual(sent.toSorted(), [waiting.reference, after.reference].toSorted());
  await money.rows('update payout_dispatches set lease_until = null where payout_id = $1', [
    claimed.payoutId,
  ]);
  await dispatcher.runDue();
  assert.equal(await statusOf(claimed), 'COMPLETED');
  assert.equal(rail.sends(), 2, 'the one whose process died was queried');
});

test('what a rail may have is queried during a stop, without leave to order it again', async () => {
  const other = await money.createOwner({ USD: 1_000_000n });
  const unclear = await money.quoteAndCommit(other);
  const asked: unknown[] = [];
  const fake = createFakeRail(() => ({ outcome: 'unknown', reason: 'no_answer' }));
  const rail: Rail = {
    ...fake,
    query: async (instruction, context) => {
      asked.push(context.isStopped);
      return fake.query(instruction);
    },
  };
  const dispatcher = money.createDispatcher(rail);
  const again = async (): Promise<void> => {
    await money.rows(`update payout_dispatches set due_at = now() where payout_id = $1`, [
      unclear.payoutId,
    ]);
    await dispatcher.runDue();
  };
  await dispatcher.runDue();
  await again();
  const scopes: readonly FreezeObject[] = [
    { scope: 'sending' },
    { scope: 'rail', rail: 'fake' },
    { scope: 'account', account_id: other.accountId },
    { scope: 'recipient', account_id: other.accountId, user_id: other.userId },
    { scope: 'corridor', country: 'MEX', currency: 'MXN' },
    { scope: 'corridor', country: 'PHL' },
  ];
  for (const scope of scopes) {
    const { freeze: row } = await freeze(scope);
    await again();
    await lift(row.id);
  }
  assert.deepEqual(asked, [undefined, true, true, true, true, true, undefined]);
  assert.equal(fake.sends(), 1);
});

test('a stop amid sending: no instruction begins after its answer, and each payout is sent once', async () => {
  const payouts = await Promise.all(Array.from({ length: 120 }, () => money.quoteAndCommit(owner)));
  const stopped = Promise.withResolvers<void>();
  const fake = createFakeRail(async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    // However slow the stop is, some have not begun when it comes.
    if (fake.sends() > 60) await stopped.promise;
    return { outcome: 'paid' };
  });
  const rail = { ...fake, pace: { ...fake.pace, concurrencyMax: 4 } };
  const other = money.connect();
  const dispatchers = [money.db, other].map((db) => money.createDispatcher(rail, db));
  const running = dispatchers.map((dispatcher) => dispatcher.drain());
  while (rail.sends() === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const { freeze: row, rails } = await freeze({ scope: 'rail', rail: 'fake' });
  stopped.resolve();
  const waiting = rails.reduce((sum, one) => sum + one.waiting, 0);
  await Promise.all(running);
  assert.equal(rail.sends(), 120 - waiting, 'exactly those that did not wait were sent');
  assert.ok(waiting > 0, 'the stop came while some waited');
  assert.equal((await lift(row.id)).released, waiting);
  await Promise.all(dispatchers.map((dispatcher) => dispatcher.drain()));
  assert.equal(rail.sends(), 120);
  assert.equal(new Set(rail.calls.map(({ reference }) => reference)).size, 120);
  for (const payout of payouts) assert.equal(await statusOf(payout), 'COMPLETED');
});

test('a payout under two freezes waits for the end of both', async () => {
  const payout = await money.quoteAndCommit(owner);
  const rail = paying();
  const dispatcher = money.createDispatcher(rail);
  const corridor = await freeze({ scope: 'corridor', country: 'MEX', currency: 'MXN' });
  const whole = await freeze({ scope: 'rail', rail: 'fake' });
  await freeze({ scope: 'corridor', country: 'PHL' });
  await dispatcher.drain();
  await lift(corridor.freeze.id);
  await dispatcher.drain();
  assert.equal(rail.sends(), 0);
  await lift(whole.freeze.id);
  await dispatcher.drain();
  assert.equal(await statusOf(payout), 'COMPLETED');
});

test('a frozen account commits nothing, and what it has committed is not sent', async () => {
  const other = await money.createOwner({ USD: 1_000_000n });
  const committed = await money.quoteAndCommit(owner);
  const quoted = await money.quote(owner);
  const { freeze: row } = await freeze({ scope: 'account', account_id: owner.accountId });
  assert.equal((await money.commit(owner, quoted.id)).result, 'account_frozen');
  assert.equal((await money.commit(owner, committed.payoutId)).result, 'success');
  const theirs = await money.quoteAndCommit(other);
  const rail = paying();
  await money.createDispatcher(rail).drain();
  assert.deepEqual(rail.calls, [{ kind: 'send', reference: theirs.reference }]);
  await lift(row.id);
  assert.equal((await money.commit(owner, quoted.id)).result, 'success');
  const events = await money.rows<{ type: string }>(
    `select type from events where account_id = $1 and type like 'account.%' order by sequence`,
    [owner.accountId],
  );
  assert.deepEqual(
    events.map(({ type }) => type),
    ['account.frozen', 'account.unfrozen'],
  );
});

test('a frozen recipient is locked, and active again afterwards', async () => {
  const payout = await money.quoteAndCommit(owner);
  const { freeze: row } = await freeze({
    scope: 'recipient',
    account_id: owner.accountId,
    user_id: owner.userId,
  });
  const { id } = await money.quote(owner);
  assert.equal((await money.commit(owner, id)).result, 'user_not_active');
  const rail = paying();
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.drain();
  assert.equal(rail.sends(), 0);
  await lift(row.id);
  await dispatcher.drain();
  assert.equal(await statusOf(payout), 'COMPLETED');
  assert.equal((await money.commit(owner, id)).result, 'success');
});

test('a drain refuses commits and sends what is committed', async () => {
  const { unsent: left } = await readUndrained(money.db.system);
  const payout = await money.quoteAndCommit(owner);
  const { id } = await money.quote(owner);
  const { freeze: row } = await freeze({ scope: 'commits' });
  assert.deepEqual(await readUndrained(money.db.system), { batches: 0, unsent: left + 1 });
  assert.equal((await money.commit(owner, id)).result, 'commits_stopped');
  await money.createDispatcher(paying()).drain();
  assert.equal(await statusOf(payout), 'COMPLETED');
  assert.deepEqual(await readUndrained(money.db.system), { batches: 0, unsent: left });
  assert.equal((await findGlobalFreeze(money.db.system, 'commits'))?.id, row.id);
});

test('a payout that a freeze holds can be canceled, and is never sent then', async () => {
  const payout = await money.quoteAndCommit(owner);
  const { freeze: row } = await freeze({ scope: 'sending' });
  const rail = paying();
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.drain();
  assert.equal(await dispatcher.cancelOne(payout.accountId, payout.payoutId), true);
  assert.equal(await statusOf(payout), 'CANCELLED');
  assert.equal((await lift(row.id)).released, 0);
  await dispatcher.drain();
  assert.equal(rail.calls.length, 0);
});

test('a freeze is lifted once', async () => {
  const { freeze: row } = await freeze({ scope: 'sending' });
  await lift(row.id);
  await assert.rejects(
    lift(row.id),
    (error) => error instanceof AppError && error.code === 'illegal_move',
  );
});
