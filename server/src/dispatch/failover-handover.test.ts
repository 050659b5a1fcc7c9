import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { advanceToNextQuery, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import {
  createRail,
  createRoutesTest,
  first,
  pay,
  refuse,
  secondPayer,
} from '../../testing/setups/routes.ts';
import { reportMissingRails } from '../exceptions/decisions.ts';
import type { RailAnswer } from '../rails/contract/contract.ts';

type RoutesTest = Awaited<ReturnType<typeof createRoutesTest>>;
let money: MoneyTest;
let owner: Owner;
let commit: RoutesTest['commit'];
let open: RoutesTest['open'];
let statusOf: RoutesTest['statusOf'];
let openKinds: RoutesTest['openKinds'];
let settled: RoutesTest['settled'];
let clearDue: RoutesTest['clearDue'];
before(async () => {
  ({ money, owner, commit, open, statusOf, openKinds, settled, clearDue } =
    await createRoutesTest());
});
afterEach(async () => {
  await money.assertSound();
  await clearDue();
});
after(() => money[Symbol.asyncDispose]());

const hourMs = 3_600_000;

describe('between a failover and the next sending', () => {
  const reroute = async () => {
    // This process does not have the second rail.
    const other = secondPayer(pay);
    const all = [first(refuse), other] as const;
    const kit = open(all);
    const payout = await commit();
    await kit.dispatcher.runDue();
    assert.deepEqual([await statusOf(payout), other.sends()], ['PROCESSING', 0]);
    return { kit, other, payout };
  };

  it('the rejection reported again changes nothing', async () => {
    const { kit, other, payout } = await reroute();
    await kit.notify('first', payout, { outcome: 'rejected', reason: 'payer_unavailable' });
    await kit.dispatcher.runDue();
    assert.deepEqual([await statusOf(payout), other.sends()], ['COMPLETED', 1]);
  });

  it('a late `accepted` from before the rejection changes nothing', async () => {
    const { kit, other, payout } = await reroute();
    await kit.notify('first', payout, { outcome: 'accepted' });
    await kit.dispatcher.runDue();
    assert.deepEqual([await statusOf(payout), other.sends()], ['COMPLETED', 1]);
  });

  it('a payment by the first payer is not posted for the second', async () => {
    const before = await settled('second');
    const { kit, payout } = await reroute();
    await kit.notify('first', payout, { outcome: 'paid' });
    await money.assertSound();
    assert.equal((await settled('second')) - before, 0n);
    assert.deepEqual(await openKinds(payout), ['paid_after_refusal']);
  });

  it('a late `accepted` of the first payer after the next sending is no contradiction', async () => {
    const kit = open([first(refuse), secondPayer(pay)]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.dispatcher.runDue();
    await kit.notify('first', payout, { outcome: 'accepted', atMs: 1 });
    assert.deepEqual(await openKinds(payout), []);
  });
});

describe('checks', () => {
  it('a payout that could not be checked is checked after its release', async () => {
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
    for (let round = 0; round < 12 && (await statusOf(payout)) === 'PROCESSING'; round += 1) {
      await kit.dispatcher.runDue();
      if ((await statusOf(payout)) === 'PROCESSING') await advanceToNextQuery(money, payout);
    }
    assert.deepEqual([await statusOf(payout), await openKinds(payout)], ['HOLD', ['parked']]);
    isBroken = false;
    await kit.decide(payout, 'release');
    await kit.dispatcher.runDue();
    await kit.dispatcher.runDue();
    assert.deepEqual([await statusOf(payout), checked], ['COMPLETED', 1]);
  });
});

describe('canceling and failing over', () => {
  it('a payout canceled before it was sent is never sent', async () => {
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
      await advanceToNextQuery(money, payout);
      await kit.dispatcher.runDue();
    }
    assert.deepEqual([await statusOf(payout), rail.sends()], ['CANCELLED', 1]);
  });

  it('the time limit starts anew with the next payer', async () => {
    let isRefused = false;
    const kit = open([
      first(() => (isRefused ? refuse() : { outcome: 'unknown', reason: 'no_answer' })),
      secondPayer(() => ({ outcome: 'retry', reason: 'unreachable' })),
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

  it('a second payer that was not reached is retried, not unknown', async () => {
    let isRefused = false;
    const other = secondPayer(() => ({ outcome: 'retry', reason: 'unreachable' }));
    const kit = open([first(() => (isRefused ? refuse() : { outcome: 'accepted' })), other]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    isRefused = true;
    for (let round = 0; round < 4 && other.sends() === 0; round += 1) {
      await advanceToNextQuery(money, payout);
      await kit.dispatcher.runDue();
    }
    assert.equal((await money.attempts(payout.payoutId)).at(-1)?.state, 'retry');
  });

  it('a rejection ends a hold and the payout goes to the next payer', async () => {
    let isClear = false;
    const other = secondPayer(pay);
    const kit = open([
      first(() => (isClear ? refuse() : { outcome: 'unknown', reason: 'no_answer' })),
      other,
    ]);
    const payout = await commit();
    for (let round = 0; round < 20 && (await statusOf(payout)) === 'PROCESSING'; round += 1) {
      await kit.dispatcher.runDue();
      if ((await statusOf(payout)) === 'PROCESSING') await advanceToNextQuery(money, payout);
    }
    assert.equal(await statusOf(payout), 'HOLD');
    isClear = true;
    await advanceToNextQuery(money, payout);
    await kit.dispatcher.runDue();
    await kit.dispatcher.runDue();
    assert.deepEqual([await statusOf(payout), other.sends()], ['COMPLETED', 1]);
  });
});

describe('measuring', () => {
  it('a payment counts once, and a daily limit does not count against the payer', async () => {
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
    await kit.notify('measured', payout, { outcome: 'paid' });
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
  it('has no open exception once it is configured again', async () => {
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
