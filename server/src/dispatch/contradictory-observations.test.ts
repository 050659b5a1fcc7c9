import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import {
  advanceToNextQuery,
  createRouting,
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
  secondPayer,
  thirdPayer,
} from '../../testing/setups/routes.ts';
import type { DecisionAction } from '../exceptions/decisions.ts';
import type { RailAnswer } from '../rails/contract/contract.ts';
import { createDispatcher, dispatchTimes } from './dispatch.ts';

/** Reports of rails that contradict each other must not pay twice, and must open an exception. */

type RoutesTest = Awaited<ReturnType<typeof createRoutesTest>>;
let money: MoneyTest;
let owner: Owner;
let commit: RoutesTest['commit'];
let open: RoutesTest['open'];
let statusOf: RoutesTest['statusOf'];
let openKinds: RoutesTest['openKinds'];
let nextQueryOf: RoutesTest['nextQueryOf'];
let clearDue: RoutesTest['clearDue'];
before(async () => {
  ({ money, owner, commit, open, statusOf, openKinds, nextQueryOf, clearDue } =
    await createRoutesTest());
});
afterEach(async () => {
  await money.assertSound();
  await clearDue();
});
after(() => money[Symbol.asyncDispose]());

describe('paid after it ended', () => {
  it('the answer `paid` after the refund opens an exception', async () => {
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
    await kit.notify('first', payout, { outcome: 'rejected', reason: 'account_closed' });
    assert.equal(await statusOf(payout), 'CANCELLED');
    answer.resolve({ outcome: 'paid' });
    await running;
    assert.deepEqual(await openKinds(payout), ['paid_after_refusal']);
  });

  it('after a failover two payments are reported', async () => {
    const answer = Promise.withResolvers<RailAnswer>();
    const called = Promise.withResolvers<void>();
    const kit = open([
      first(() => {
        called.resolve();
        return answer.promise;
      }),
      secondPayer(pay),
    ]);
    const payout = await commit();
    const running = kit.dispatcher.runDue();
    await called.promise;
    await kit.notify('first', payout, { outcome: 'rejected', reason: 'payer_unavailable' });
    await kit.dispatcher.startDue();
    answer.resolve({ outcome: 'paid' });
    await running;
    await kit.dispatcher.settle();
    assert.equal(await statusOf(payout), 'COMPLETED');
    assert.deepEqual(await openKinds(payout), ['paid_after_refusal']);
  });

  it('a rejection after completion opens an exception if no other payer is left', async () => {
    const kit = open([first(pay)]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.notify('first', payout, { outcome: 'rejected', reason: 'payer_refused' });
    assert.equal(await statusOf(payout), 'COMPLETED');
    assert.deepEqual(await openKinds(payout), ['refused_after_payment']);
  });

  it('a second rail that paid after its rejection opens its own exception', async () => {
    const kit = open([first(refuse), secondPayer(refuse)]);
    const payout = await commit();
    for (let round = 0; round < 3; round += 1) await kit.dispatcher.runDue();
    assert.equal(await statusOf(payout), 'ERROR');
    await kit.decide(payout, 'refund');
    await kit.notify('first', payout, { outcome: 'paid' });
    await kit.notify('second', payout, { outcome: 'paid' });
    assert.deepEqual(await openKinds(payout), ['paid_after_refusal', 'paid_after_refusal']);
  });
});

describe('several payments or returns of one payout', () => {
  const openAmounts = async (payoutId: string) => {
    const found = await money.rows<{ kind: string; amount: string }>(
      `select kind, amount::text from exceptions where payout_id = $1 and closed_at is null
       order by kind, amount`,
      [payoutId],
    );
    return found.map(({ kind, amount }) => `${kind} ${amount}`);
  };

  it('a decision that one was paid leaves the other open', async () => {
    const kit = open([first(refuse), secondPayer(refuse)]);
    const payout = await commit();
    for (let round = 0; round < 3; round += 1) await kit.dispatcher.runDue();
    await kit.notify('first', payout, { outcome: 'paid' });
    await money.advance(1_000);
    await kit.notify('second', payout, { outcome: 'paid' });
    const settled = (rail: string) => money.balance(owner.accountId, 'MXN', `settlement:${rail}`);
    const before = await Promise.all(['first', 'second'].map(settled));
    assert.equal(await kit.decide(payout, 'paid'), 'done');
    assert.equal(await statusOf(payout), 'COMPLETED');
    assert.deepEqual(await openAmounts(payout.payoutId), ['paid_after_refusal 190000']);
    assert.equal(await kit.decide(payout, 'write_off'), 'done');
    const after = await Promise.all(['first', 'second'].map(settled));
    assert.deepEqual(
      after.map((balance, index) => balance - (before[index] ?? 0n)),
      [190_000n, 190_000n],
    );
  });

  it('two payments of one rail are two exceptions', async () => {
    const kit = open([first(refuse)]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    const attempts = await money.rows<{ reference: string }>(
      `insert into attempts (account_id, payout_id, number, rail, payer_key, reference, state, fence, started_at)
       select account_id, payout_id, 2, rail, payer_key, md5(reference), state, 0, started_at
       from attempts where payout_id = $1
       returning reference`,
      [payout.payoutId],
    );
    for (const { reference } of [payout, ...attempts, payout, ...attempts]) {
      await kit.notify('first', { ...payout, reference }, { outcome: 'paid' });
    }
    const both = [
      'paid_after_refusal 190000',
      'paid_after_refusal 190000',
      'routes_exhausted 190000',
    ];
    assert.deepEqual(await openAmounts(payout.payoutId), both);
  });

  it('one that was written off is not asked about again when it is reported again', async () => {
    const kit = open([first(() => ({ outcome: 'rejected', reason: 'account_closed' }))]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.notify('first', payout, { outcome: 'paid' });
    await kit.decide(payout, 'write_off');
    await kit.notify('first', payout, { outcome: 'paid', atMs: money.clock.nowMs() });
    assert.deepEqual(await openAmounts(payout.payoutId), []);
    await kit.notify('first', payout, { outcome: 'returned' });
    await kit.notify('first', payout, { outcome: 'paid' });
    assert.deepEqual(await openAmounts(payout.payoutId), ['paid_after_refusal 190000']);
  });

  it('each part that comes back of an unpaid one is shown', async () => {
    const kit = open([first(() => ({ outcome: 'rejected', reason: 'account_closed' }))]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.notify('first', payout, { outcome: 'returned', amountMinor: 60_000n });
    await kit.notify('first', payout, { outcome: 'returned', amountMinor: 130_000n });
    assert.deepEqual(await openAmounts(payout.payoutId), [
      'return_of_unpaid 130000',
      'return_of_unpaid 60000',
    ]);
  });

  it('each part that comes back above what was paid is shown', async () => {
    const kit = open([first(pay)]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.notify('first', payout, { outcome: 'returned' });
    await kit.notify('first', payout, { outcome: 'returned', amountMinor: 7n });
    await kit.notify('first', payout, { outcome: 'returned', amountMinor: 9n });
    assert.deepEqual(await openAmounts(payout.payoutId), ['excess_return 7', 'excess_return 9']);
  });
});

describe('no second payment', () => {
  it('is sent while an earlier payer reports that it paid', async () => {
    let isSecondClear = false;
    const other = secondPayer((kind) => {
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
    await kit.notify('first', payout, { outcome: 'paid' });
    assert.deepEqual(await openKinds(payout), ['paid_after_refusal']);
    isSecondClear = true;
    for (let round = 0; round < 3; round += 1) {
      if ((await money.dispatch(payout.payoutId)) === undefined) break;
      if ((await nextQueryOf(payout)) === 'never') break;
      await advanceToNextQuery(money, payout);
      await kit.dispatcher.runDue();
    }
    assert.equal(other.sends(), 1, 'it was sent again');
  });

  it('goes to another payer after a payment with another amount', async () => {
    const other = secondPayer(pay);
    const kit = open([first(() => ({ outcome: 'accepted' })), other]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.notify('first', payout, { outcome: 'paid', amountMinor: 189_000n });
    assert.deepEqual(await openKinds(payout), ['amount_differs']);
    await kit.notify('first', payout, { outcome: 'rejected', reason: 'payer_refused' });
    await kit.dispatcher.runDue();
    assert.equal(other.sends(), 0, 'another payer has paid it, too');
  });

  it('goes to another payer after a rejection as a duplicate', async () => {
    const other = secondPayer(pay);
    const kit = open([first(() => ({ outcome: 'rejected', reason: 'duplicate' })), other]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.dispatcher.runDue();
    assert.deepEqual([(await statusOf(payout)) === 'COMPLETED', other.sends()], [false, 0]);
  });

  it('is retried while an earlier payer reports that it paid', async () => {
    const other = thirdPayer(pay);
    const kit = open([first(refuse), secondPayer(refuse)]);
    const payout = await commit();
    for (let round = 0; round < 3; round += 1) await kit.dispatcher.runDue();
    assert.equal(await statusOf(payout), 'ERROR');
    await kit.notify('second', payout, { outcome: 'paid' });
    assert.deepEqual(await openKinds(payout), ['paid_after_refusal', 'routes_exhausted']);
    const later = open([first(refuse), secondPayer(refuse), other]);
    await assert.rejects(later.decide(payout, 'retry'), /is not possible/);
  });
});

describe('an answer that could not be recorded', () => {
  it('does not count as not sent', async () => {
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
    for (let round = 0; round < 7; round += 1) {
      await dispatcher.runDue();
      await advanceToNextQuery(money, payout);
    }
    await dispatcher.runDue();
    await dispatcher.runDue();
    assert.equal(rail.sends(), 1);
    const kit = open([rail]);
    await assert.rejects(kit.decide(payout, 'refund'), /is not possible/);
  });
});

describe('a payout never ends up stuck', () => {
  it('the database refuses one without a next step, whatever is asked about others', async () => {
    const kit = open([first(refuse)]);
    const asked = await commit();
    await kit.dispatcher.runDue();
    assert.deepEqual(await openKinds(asked), ['routes_exhausted']);
    const payout = await commit();
    await assert.rejects(
      money.rows('delete from payout_dispatches where payout_id = $1', [payout.payoutId]),
      /needs a due time or an open exception/,
    );
    assert.equal(await nextQueryOf(payout), 'some time');
  });

  it('ready for pickup, rejected by the payer, no payer left', async () => {
    let isRefused = false;
    const kit = open([first(() => (isRefused ? refuse() : { outcome: 'ready_for_pickup' }))]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    assert.equal(await statusOf(payout), 'READY_FOR_PICKUP');
    isRefused = true;
    await advanceToNextQuery(money, payout);
    await kit.dispatcher.runDue();
    assert.notDeepEqual(
      [await statusOf(payout), await nextQueryOf(payout), await openKinds(payout)],
      ['READY_FOR_PICKUP', 'never', []],
    );
  });

  it('paid with another amount, exception dismissed', async () => {
    const kit = open([first(() => ({ outcome: 'accepted' }))]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.notify('first', payout, { outcome: 'paid', amountMinor: 189_000n });
    await kit.decide(payout, 'dismiss').catch(() => undefined);
    assert.notDeepEqual(
      [await statusOf(payout), await nextQueryOf(payout), await openKinds(payout)],
      ['PROCESSING', 'never', []],
    );
  });

  it('no payer left, paid anyway, written off', async () => {
    const kit = open([first(refuse)]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.notify('first', payout, { outcome: 'paid' });
    await kit.decide(payout, 'write_off').catch(() => undefined);
    assert.notDeepEqual([await statusOf(payout), await openKinds(payout)], ['ERROR', []]);
  });

  it('a person can decide that an exhausted payout was paid', async () => {
    const kit = open([first(refuse)]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.notify('first', payout, { outcome: 'paid' });
    assert.equal(await kit.decide(payout, 'paid'), 'done');
    assert.equal(await statusOf(payout), 'COMPLETED');
  });

  it('a notification that cannot be applied opens an exception', async () => {
    const kit = open([first(() => ({ outcome: 'accepted' }))]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    const charge = { id: 'one', kind: 'fee', currency: 'MXN', amountMinor: 1n } as never;
    await kit.notify('first', payout, { outcome: 'paid', charges: [charge] });
    for (let minute = 0; minute < 20; minute += 1) {
      await money.advance(61_000);
      await kit.notify('first', payout, { outcome: 'accepted' });
    }
    const [row] = await money.rows<{ tries: number; state: string }>(
      `select tries, state from rail_observations where reference = $1 and outcome = 'paid'`,
      [payout.reference],
    );
    assert.notDeepEqual([row, await openKinds(payout)], [{ tries: 21, state: 'waiting' }, []]);
  });
});

describe('returns', () => {
  it('a full return without an amount after a partial one refunds the rest, or opens an exception', async () => {
    const kit = open([first(pay)]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    const before = await money.balance(owner.accountId, 'USD');
    await kit.notify('first', payout, { outcome: 'returned', amountMinor: 19_000n });
    await kit.notify('first', payout, { outcome: 'returned' });
    const back = (await money.balance(owner.accountId, 'USD')) - before;
    assert.notDeepEqual([back, await openKinds(payout)], [1_000n, []]);
  });

  it('a return after a write-off is posted', async () => {
    const kit = open([first(() => ({ outcome: 'rejected', reason: 'account_closed' }))]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    const before = await money.balance(owner.accountId, 'MXN', 'suspense');
    await kit.notify('first', payout, { outcome: 'paid' });
    await kit.decide(payout, 'write_off');
    await kit.notify('first', payout, { outcome: 'returned' });
    const actions: DecisionAction[] = ['returned', 'refund', 'write_off', 'dismiss'];
    for (const action of actions) await kit.decide(payout, action).catch(() => undefined);
    assert.equal((await money.balance(owner.accountId, 'MXN', 'suspense')) - before, 0n);
  });

  it('the return of a second payment that was written off is back at the rail', async () => {
    const kit = open([first(pay)]);
    const payout = await commit();
    const names = ['settlement:first', 'suspense', 'external'];
    const read = () =>
      Promise.all(names.map((name) => money.balance(owner.accountId, 'MXN', name)));
    const before = await read();
    await kit.dispatcher.runDue();
    await kit.notify('first', payout, { outcome: 'returned' });
    await money.advance(1_000);
    await kit.notify('first', payout, { outcome: 'paid', atMs: money.clock.nowMs() });
    assert.deepEqual(await openKinds(payout), ['paid_after_return']);
    await kit.decide(payout, 'write_off');
    await kit.notify('first', payout, { outcome: 'returned', amountMinor: 100_000n });
    await kit.notify('first', payout, { outcome: 'returned', amountMinor: 90_000n });
    assert.deepEqual([await read(), await openKinds(payout)], [before, []]);
    await kit.notify('first', payout, { outcome: 'returned', amountMinor: 7n });
    assert.deepEqual(await openKinds(payout), ['excess_return']);
  });
});
