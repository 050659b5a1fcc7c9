import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { goToNextLook, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import {
  createRail,
  createRoutesTest,
  first,
  pay,
  refuse,
  second,
} from '../../testing/setups/routes.ts';
import { reportMissingRails } from '../exceptions/decisions.ts';
import type { RailAnswer } from '../rails/contract/contract.ts';

/** From one payer to the next, and what comes in between. */

type RoutesTest = Awaited<ReturnType<typeof createRoutesTest>>;
let money: MoneyTest;
let owner: Owner;
let commit: RoutesTest['commit'];
let open: RoutesTest['open'];
let statusOf: RoutesTest['statusOf'];
let openKinds: RoutesTest['openKinds'];
let settled: RoutesTest['settled'];
let forgetDue: RoutesTest['forgetDue'];
before(async () => {
  ({ money, owner, commit, open, statusOf, openKinds, settled, forgetDue } =
    await createRoutesTest());
});
afterEach(async () => {
  await money.assertSound();
  await forgetDue();
});
after(() => money[Symbol.asyncDispose]());

const hourMs = 3_600_000;

describe('between a failover and the next sending', () => {
  const reroute = async () => {
    // The second rail is not served by this process at the moment.
    const other = second(pay);
    const all = [first(refuse), other] as const;
    const kit = open(all);
    const payout = await commit();
    await kit.dispatcher.runDue();
    assert.deepEqual([await statusOf(payout), other.sends()], ['PROCESSING', 0]);
    return { kit, other, payout };
  };

  it('the refusal told again changes nothing', async () => {
    const { kit, other, payout } = await reroute();
    await kit.say('first', payout, { outcome: 'rejected', reason: 'payer_unavailable' });
    await kit.dispatcher.runDue();
    assert.deepEqual([await statusOf(payout), other.sends()], ['COMPLETED', 1]);
  });

  it('an `accepted` from before the refusal, told late, changes nothing', async () => {
    const { kit, other, payout } = await reroute();
    await kit.say('first', payout, { outcome: 'accepted' });
    await kit.dispatcher.runDue();
    assert.deepEqual([await statusOf(payout), other.sends()], ['COMPLETED', 1]);
  });

  it('what the first one paid is not booked as paid by the second', async () => {
    const before = await settled('second');
    const { kit, payout } = await reroute();
    await kit.say('first', payout, { outcome: 'paid' });
    await money.assertSound();
    assert.equal((await settled('second')) - before, 0n);
    assert.deepEqual(await openKinds(payout), ['paid_after_refusal']);
  });

  it('after the next sending a late `accepted` of the first one is no contradiction', async () => {
    const kit = open([first(refuse), second(pay)]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.dispatcher.runDue();
    await kit.say('first', payout, { outcome: 'accepted', atMs: 1 });
    assert.deepEqual(await openKinds(payout), []);
  });
});

describe('checks', () => {
  it('what could not be checked is checked after its release', async () => {
    let isBroken = true;
    let checked = 0;
    const kit = open([first(pay)], {
      check: async (rows) => {
        if (isBroken) throw new Error('a list is too old');
        checked += rows.length;
        return rows.map(() => undefined);
      },
    });
    const payout = await commit();
    for (let look = 0; look < 12 && (await statusOf(payout)) === 'PROCESSING'; look += 1) {
      await kit.dispatcher.runDue();
      if ((await statusOf(payout)) === 'PROCESSING') await goToNextLook(money, payout);
    }
    assert.deepEqual([await statusOf(payout), await openKinds(payout)], ['HOLD', ['parked']]);
    isBroken = false;
    await kit.decide(payout, 'release');
    await kit.dispatcher.runDue();
    await kit.dispatcher.runDue();
    assert.deepEqual([await statusOf(payout), checked], ['COMPLETED', 1]);
  });
});

describe('cancelling and failing over', () => {
  it('what was cancelled and never sent is not sent afterwards', async () => {
    let isClear = false;
    const rail = first((kind) => {
      if (!isClear) return { outcome: 'unknown', reason: 'no_answer' };
      return kind === 'query' ? { outcome: 'retry', reason: 'unreachable' } : { outcome: 'paid' };
    });
    const kit = open([rail]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    isClear = true;
    await kit.dispatcher.cancelOne(payout.accountId, payout.payoutId);
    if ((await money.dispatch(payout.payoutId)) !== undefined) {
      await goToNextLook(money, payout);
      await kit.dispatcher.runDue();
    }
    assert.deepEqual([await statusOf(payout), rail.sends()], ['CANCELLED', 1]);
  });

  it('a payer that takes over has a day of its own', async () => {
    let isRefused = false;
    const kit = open([
      first(() => (isRefused ? refuse() : { outcome: 'unknown', reason: 'no_answer' })),
      second(() => ({ outcome: 'retry', reason: 'unreachable' })),
    ]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await money.advance(23 * hourMs);
    isRefused = true;
    await kit.dispatcher.runDue();
    await kit.dispatcher.runDue();
    assert.equal((await money.attempts(payout.payoutId)).at(-1)?.state, 'retry');
    await money.advance(2 * hourMs);
    await kit.dispatcher.runDue();
    assert.deepEqual([await statusOf(payout), await openKinds(payout)], ['PROCESSING', []]);
  });

  it('an unsure second payer that was not reached is retried, not in doubt', async () => {
    let isRefused = false;
    const other = second(() => ({ outcome: 'retry', reason: 'unreachable' }));
    const kit = open([first(() => (isRefused ? refuse() : { outcome: 'accepted' })), other]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    isRefused = true;
    for (let look = 0; look < 4 && other.sends() === 0; look += 1) {
      await goToNextLook(money, payout);
      await kit.dispatcher.runDue();
    }
    assert.equal((await money.attempts(payout.payoutId)).at(-1)?.state, 'retry');
  });

  it('a refusal ends a hold with the next payer, as it says', async () => {
    let isClear = false;
    const other = second(pay);
    const kit = open([
      first(() => (isClear ? refuse() : { outcome: 'unknown', reason: 'no_answer' })),
      other,
    ]);
    const payout = await commit();
    for (let look = 0; look < 20 && (await statusOf(payout)) === 'PROCESSING'; look += 1) {
      await kit.dispatcher.runDue();
      if ((await statusOf(payout)) === 'PROCESSING') await goToNextLook(money, payout);
    }
    assert.equal(await statusOf(payout), 'HOLD');
    isClear = true;
    await goToNextLook(money, payout);
    await kit.dispatcher.runDue();
    await kit.dispatcher.runDue();
    assert.deepEqual([await statusOf(payout), other.sends()], ['COMPLETED', 1]);
  });
});

describe('measuring', () => {
  it("one payment counts once, and our own limit is not the payer's fault", async () => {
    const answer = Promise.withResolvers<RailAnswer>();
    const called = Promise.withResolvers<void>();
    const rail = createRail('measured', false, () => {
      called.resolve();
      return answer.promise;
    });
    const kit = open([rail]);
    const payout = await money.quoteAndCommit(owner, { rail: 'measured', payerKey: 'measured' });
    const running = kit.dispatcher.runDue();
    await called.promise;
    await kit.say('measured', payout, { outcome: 'paid' });
    answer.resolve({ outcome: 'paid' });
    await running;
    const limited = { ...createRail('limited', false, pay), dailyLimits: { MXN: 1n } };
    const other = open([limited]);
    await money.quoteAndCommit(owner, { rail: 'limited', payerKey: 'limited' });
    await other.dispatcher.runDue();
    await kit.dispatcher.measurements.exchange();
    await other.dispatcher.measurements.exchange();
    const rows = await money.rows(
      `select rail, paid, unreached from payer_days where rail in ('measured', 'limited')
       order by rail`,
    );
    assert.deepEqual(rows, [{ rail: 'measured', paid: 1n, unreached: 0n }]);
  });
});

describe('a rail that was missing', () => {
  it('asks nobody any more when it has come back', async () => {
    const rail = createRail('gone', false, pay);
    const payout = await money.quoteAndCommit(owner, { rail: 'gone', payerKey: 'gone' });
    await money.advance(11 * 60_000);
    await reportMissingRails(money.db, ['first']);
    assert.deepEqual(await openKinds(payout), ['rail_missing']);
    await open([rail]).dispatcher.runDue();
    assert.equal(await statusOf(payout), 'COMPLETED');
    assert.deepEqual(await openKinds(payout), []);
  });
});
