import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import {
  createRouting,
  goToNextLook,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import {
  createRail,
  createRoutesTest,
  first,
  pay,
  rates,
  refuse,
  second,
  third,
} from '../../testing/setups/routes.ts';
import type { DecisionAction } from '../exceptions/decisions.ts';
import type { RailAnswer } from '../rails/contract/contract.ts';
import { createDispatcher, dispatchTimes } from './dispatch.ts';

/** What rails say that cannot all be true: nobody is paid twice by it, and a person hears of it. */

type RoutesTest = Awaited<ReturnType<typeof createRoutesTest>>;
let money: MoneyTest;
let owner: Owner;
let commit: RoutesTest['commit'];
let open: RoutesTest['open'];
let statusOf: RoutesTest['statusOf'];
let openKinds: RoutesTest['openKinds'];
let lookOf: RoutesTest['lookOf'];
let forgetDue: RoutesTest['forgetDue'];
before(async () => {
  ({ money, owner, commit, open, statusOf, openKinds, lookOf, forgetDue } =
    await createRoutesTest());
});
afterEach(async () => {
  await money.assertSound();
  await forgetDue();
});
after(() => money[Symbol.asyncDispose]());

describe('paid, and nobody is told', () => {
  it('an answer of `paid` that comes after the payout was refunded asks a person', async () => {
    const answer = Promise.withResolvers<RailAnswer>();
    const called = Promise.withResolvers<void>();
    const kit = open([
      first(() => {
        called.resolve();
        return answer.promise;
      }),
    ]);
    const payout = await commit();
    const running = kit.dispatcher.runDue();
    await called.promise;
    await kit.say('first', payout, { outcome: 'rejected', reason: 'account_closed' });
    assert.equal(await statusOf(payout), 'CANCELLED');
    answer.resolve({ outcome: 'paid' });
    await running;
    assert.deepEqual(await openKinds(payout), ['paid_after_refusal']);
  });

  it('the same after a failover: two payments are told', async () => {
    const answer = Promise.withResolvers<RailAnswer>();
    const called = Promise.withResolvers<void>();
    const kit = open([
      first(() => {
        called.resolve();
        return answer.promise;
      }),
      second(pay),
    ]);
    const payout = await commit();
    const running = kit.dispatcher.runDue();
    await called.promise;
    await kit.say('first', payout, { outcome: 'rejected', reason: 'payer_unavailable' });
    await kit.dispatcher.startDue();
    answer.resolve({ outcome: 'paid' });
    await running;
    await kit.dispatcher.settle();
    assert.equal(await statusOf(payout), 'COMPLETED');
    assert.deepEqual(await openKinds(payout), ['paid_after_refusal']);
  });

  it('a refusal after completion asks a person where no other payer is left', async () => {
    const kit = open([first(pay)]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.say('first', payout, { outcome: 'rejected', reason: 'payer_refused' });
    assert.equal(await statusOf(payout), 'COMPLETED');
    assert.deepEqual(await openKinds(payout), ['refused_after_payment']);
  });

  it('a second rail that paid after its refusal is a question of its own', async () => {
    const kit = open([first(refuse), second(refuse)]);
    const payout = await commit();
    for (let round = 0; round < 3; round += 1) await kit.dispatcher.runDue();
    assert.equal(await statusOf(payout), 'ERROR');
    await kit.decide(payout, 'refund');
    await kit.say('first', payout, { outcome: 'paid' });
    await kit.say('second', payout, { outcome: 'paid' });
    assert.deepEqual(await openKinds(payout), ['paid_after_refusal', 'paid_after_refusal']);
  });
});

describe('paid twice by the machinery', () => {
  it('nothing is sent while an earlier payer says that it paid', async () => {
    let isSecondClear = false;
    const other = second((kind) => {
      if (kind === 'send' && isSecondClear) return { outcome: 'paid' };
      return kind === 'send'
        ? { outcome: 'unknown', reason: 'no_answer' }
        : { outcome: 'retry', reason: 'unreachable' };
    });
    const kit = open([first(refuse), other]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.dispatcher.runDue();
    assert.equal(other.sends(), 1);
    await kit.say('first', payout, { outcome: 'paid' });
    assert.deepEqual(await openKinds(payout), ['paid_after_refusal']);
    isSecondClear = true;
    for (let look = 0; look < 3; look += 1) {
      if ((await money.dispatch(payout.payoutId)) === undefined) break;
      if ((await lookOf(payout)) === 'never') break;
      await goToNextLook(money, payout);
      await kit.dispatcher.runDue();
    }
    assert.equal(other.sends(), 1, 'it was sent again');
  });

  it('what left with another amount does not go to another payer', async () => {
    const other = second(pay);
    const kit = open([first(() => ({ outcome: 'accepted' })), other]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.say('first', payout, { outcome: 'paid', amountMinor: 189_000n });
    assert.deepEqual(await openKinds(payout), ['amount_differs']);
    await kit.say('first', payout, { outcome: 'rejected', reason: 'payer_refused' });
    await kit.dispatcher.runDue();
    assert.equal(other.sends(), 0, 'another payer has paid it, too');
  });

  it('what a payer takes for a duplicate does not go to another payer', async () => {
    const other = second(pay);
    const kit = open([first(() => ({ outcome: 'rejected', reason: 'duplicate' })), other]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.dispatcher.runDue();
    assert.deepEqual([(await statusOf(payout)) === 'COMPLETED', other.sends()], [false, 0]);
  });

  it('a retry is refused while an earlier payer says that it paid', async () => {
    const other = third(pay);
    const kit = open([first(refuse), second(refuse)]);
    const payout = await commit();
    for (let round = 0; round < 3; round += 1) await kit.dispatcher.runDue();
    assert.equal(await statusOf(payout), 'ERROR');
    await kit.say('second', payout, { outcome: 'paid' });
    assert.deepEqual(await openKinds(payout), ['paid_after_refusal', 'routes_exhausted']);
    const later = open([first(refuse), second(refuse), other]);
    await assert.rejects(later.decide(payout, 'retry'), /cannot follow/);
  });
});

describe('an answer that could not be recorded', () => {
  it('does not count as never sent', async () => {
    const rail = createRail('silent', false, pay);
    const dispatcher = createDispatcher({
      times: dispatchTimes.staging,
      db: money.db,
      keys: money.keys,
      clock: money.clock,
      rails: new Map([[rail.name, rail]]),
      ...createRouting(money.db, [rail], rates),
      rules: {
        check: async (rows) => {
          looks += 1;
          if (looks <= 7) throw new Error('a list is too old');
          return rows.map(() => undefined);
        },
      },
      onAnswer: () => {
        throw new Error('what follows the answer fails, once');
      },
      onError: () => undefined,
    });
    let looks = 0;
    const payout = await money.quoteAndCommit(owner, { rail: 'silent', payerKey: 'silent' });
    for (let look = 0; look < 7; look += 1) {
      await dispatcher.runDue();
      await goToNextLook(money, payout);
    }
    await dispatcher.runDue();
    await dispatcher.runDue();
    assert.equal(rail.sends(), 1);
    const kit = open([rail]);
    // The rail has paid it.
    await assert.rejects(kit.decide(payout, 'refund'), /cannot follow/);
  });
});

describe('stuck, and nobody sees it', () => {
  it('ready for pickup, refused by the payer, nobody left', async () => {
    let isRefused = false;
    const kit = open([first(() => (isRefused ? refuse() : { outcome: 'ready_for_pickup' }))]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    assert.equal(await statusOf(payout), 'READY_FOR_PICKUP');
    isRefused = true;
    await goToNextLook(money, payout);
    await kit.dispatcher.runDue();
    assert.notDeepEqual(
      [await statusOf(payout), await lookOf(payout), await openKinds(payout)],
      ['READY_FOR_PICKUP', 'never', []],
    );
  });

  it('another amount, and the question dismissed', async () => {
    const kit = open([first(() => ({ outcome: 'accepted' }))]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.say('first', payout, { outcome: 'paid', amountMinor: 189_000n });
    await kit.decide(payout, 'dismiss').catch(() => undefined);
    assert.notDeepEqual(
      [await statusOf(payout), await lookOf(payout), await openKinds(payout)],
      ['PROCESSING', 'never', []],
    );
  });

  it('nobody left, paid all the same, and written off', async () => {
    const kit = open([first(refuse)]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.say('first', payout, { outcome: 'paid' });
    await kit.decide(payout, 'write_off').catch(() => undefined);
    assert.notDeepEqual([await statusOf(payout), await openKinds(payout)], ['ERROR', []]);
  });

  it('a person can say that an exhausted payout was paid after all', async () => {
    const kit = open([first(refuse)]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.say('first', payout, { outcome: 'paid' });
    assert.equal(await kit.decide(payout, 'paid'), 'done');
    assert.equal(await statusOf(payout), 'COMPLETED');
  });

  it('what is heard and cannot be applied is put before a person', async () => {
    const kit = open([first(() => ({ outcome: 'accepted' }))]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    const charge = { id: 'one', kind: 'fee', currency: 'MXN', amountMinor: 1n } as never;
    await kit.say('first', payout, { outcome: 'paid', charges: [charge] });
    for (let minute = 0; minute < 20; minute += 1) {
      await money.advance(61_000);
      await kit.say('first', payout, { outcome: 'accepted' });
    }
    const [row] = await money.rows<{ tries: number; state: string }>(
      `select tries, state from rail_observations where reference = $1 and outcome = 'paid'`,
      [payout.reference],
    );
    assert.notDeepEqual([row, await openKinds(payout)], [{ tries: 21, state: 'waiting' }, []]);
  });
});

describe('returns', () => {
  it('the whole told without an amount after a part gives back the rest, or asks', async () => {
    const kit = open([first(pay)]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    const before = await money.balance(owner.accountId, 'USD');
    await kit.say('first', payout, { outcome: 'returned', amountMinor: 19_000n });
    await kit.say('first', payout, { outcome: 'returned' });
    const back = (await money.balance(owner.accountId, 'USD')) - before;
    assert.notDeepEqual([back, await openKinds(payout)], [1_000n, []]);
  });

  it('what comes back after it was written off is in the books', async () => {
    const kit = open([first(() => ({ outcome: 'rejected', reason: 'account_closed' }))]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    const before = await money.balance(owner.accountId, 'MXN', 'suspense');
    await kit.say('first', payout, { outcome: 'paid' });
    await kit.decide(payout, 'write_off');
    await kit.say('first', payout, { outcome: 'returned' });
    const actions: DecisionAction[] = ['returned', 'refund', 'write_off', 'dismiss'];
    for (const action of actions) await kit.decide(payout, action).catch(() => undefined);
    assert.equal((await money.balance(owner.accountId, 'MXN', 'suspense')) - before, 0n);
  });
});
