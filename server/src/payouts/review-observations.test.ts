import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { getRate } from '../core/rate.ts';
import { getDestinationToken } from '../destinations/catalogue.ts';
import {
  createCompany,
  createPayer,
  createRates,
} from '../destinations/destinations-test-setup.ts';
import type { Rail, RailAnswer, RailObservation } from '../rails/contract.ts';
import type { PayerDeclaration, Tariff } from '../rails/declarations.ts';
import { createHost } from '../rails/host.ts';
import { type DecisionAction, decidePayout, reportMissingRails } from './decisions.ts';
import { formatReference, type Rules } from './dispatch.ts';
import { applyHeard } from './heard.ts';
import {
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  goToNextLook,
  type MoneyTest,
  type Owner,
} from './money-test-setup.ts';

/** What a review found: each test says what should be, and does not hold at present. */

const rates = createRates({ 'USD/MXN': getRate('20') });
const hourMs = 3_600_000;

let money: MoneyTest;
let owner: Owner;
before(async () => {
  money = await createMoneyTest();
  owner = await money.createOwner({ USD: 100_000_000n });
});
after(() => money[Symbol.asyncDispose]());

type Answering = (kind: 'send' | 'query') => RailAnswer | Promise<RailAnswer>;
type Said = Partial<RailObservation> & Pick<RailObservation, 'outcome'>;

const payerOf = (key: string, changes: Partial<PayerDeclaration & Tariff> = {}) =>
  createPayer(key, { payerName: 'Bank', ...changes });

function createRail(name: string, isDynamicToken: boolean, answer: Answering) {
  const fake = createFakeRail(({ kind }) => answer(kind));
  const payers = [payerOf(name, { isDynamicToken })];
  return { ...fake, name, companies: [createCompany('first')], payers };
}

const first = (answer: Answering) => createRail('first', true, answer);
const second = (answer: Answering) => createRail('second', false, answer);
const third = (answer: Answering) => createRail('third', false, answer);

/** 100 USD and a fee of 1, for 1,900 MXN, through the dynamic payer of rail `first`. */
const commit = () =>
  money.quoteAndCommit(owner, {
    rail: 'first',
    payerKey: 'first',
    destinationToken: getDestinationToken('first', 'first'),
    destinationMinor: 190_000n,
  });

function open(rails: readonly Rail[], rules?: Rules) {
  const dispatcher = money.createDispatcherOf(rails, { rates, ...(rules && { rules }) });
  const errors: unknown[] = [];
  const services = {
    db: money.db,
    router: dispatcher.router,
    measurements: dispatcher.measurements,
    nowMs: money.clock.nowMs,
    onHeard: () => undefined,
    onError: (error: unknown) => errors.push(error),
  };
  const say = async (rail: string, payout: CommittedPayout, said: Said) => {
    const host = createHost({
      name: rail,
      payers: [],
      db: money.db,
      keys: money.keys,
      nowMs: money.clock.nowMs,
      realNowMs: Date.now,
      fetch,
      callbackUrl: '',
      wake: () => undefined,
      onHeard: () => undefined,
      log: () => undefined,
    });
    const reference = formatReference(payout.payoutId);
    const observation = { id: randomUUID(), reference, atMs: 0, ...said };
    await host.hear({
      id: randomUUID(),
      channel: 'callback',
      raw: Buffer.of(1),
      observations: [observation],
    });
    await applyHeard(services);
  };
  const decide = (payout: CommittedPayout, action: DecisionAction) =>
    decidePayout(
      {
        db: money.db,
        keys: money.keys,
        router: dispatcher.router,
        rates: () => rates,
        twoPersonsAboveUsd: 1e6,
      },
      { ...payout, action, decidedBy: 'Ada', reason: 'a test' },
    );
  return { dispatcher, say, decide, errors };
}

const statusOf = async ({ payoutId }: CommittedPayout) => (await money.payout(payoutId)).status;
const openKinds = async ({ payoutId }: CommittedPayout) =>
  (
    await money.rows<{ kind: string }>(
      'select kind from exceptions where payout_id = $1 and closed_at is null order by kind',
      [payoutId],
    )
  ).map(({ kind }) => kind);
const never = (): RailAnswer => assert.fail('this rail is not to be called');
const refuse = (): RailAnswer => ({ outcome: 'rejected', reason: 'payer_unavailable' });
const pay = (): RailAnswer => ({ outcome: 'paid' });
const settled = (rail: string) => money.balance(owner.accountId, 'MXN', `settlement:${rail}`);
/** When somebody looks again; undefined: never. */
const lookOf = async ({ payoutId }: CommittedPayout) => {
  const [row] = await money.rows<{ is_ever: boolean }>(
    `select due_at < 'infinity' as is_ever from payout_dispatches where payout_id = $1`,
    [payoutId],
  );
  return row?.is_ever === true ? 'some time' : 'never';
};

describe('paid, and nobody is told', () => {
  it('R1 an answer of `paid` that comes after the payout was refunded asks a person', async () => {
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

  it('R1b the same after a failover: two payments are told', async () => {
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

  it('R2 a refusal after completion asks a person where no other payer is left', async () => {
    const kit = open([first(pay)]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.say('first', payout, { outcome: 'rejected', reason: 'payer_refused' });
    assert.equal(await statusOf(payout), 'COMPLETED');
    assert.deepEqual(await openKinds(payout), ['refused_after_payment']);
  });

  it('R3 a second rail that paid after its refusal is a question of its own', async () => {
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
  it('R4 nothing is sent while an earlier payer says that it paid', async () => {
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

  it('R5 what left with another amount does not go to another payer', async () => {
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

  it('R6 a retry is refused while an earlier payer says that it paid', async () => {
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

  it('R7 the refusal told again changes nothing', async () => {
    const { kit, other, payout } = await reroute();
    await kit.say('first', payout, { outcome: 'rejected', reason: 'payer_unavailable' });
    await kit.dispatcher.runDue();
    assert.deepEqual([await statusOf(payout), other.sends()], ['COMPLETED', 1]);
  });

  it('R8 an `accepted` from before the refusal, told late, changes nothing', async () => {
    const { kit, other, payout } = await reroute();
    await kit.say('first', payout, { outcome: 'accepted' });
    await kit.dispatcher.runDue();
    assert.deepEqual([await statusOf(payout), other.sends()], ['COMPLETED', 1]);
  });

  it('R9 what the first one paid is not booked as paid by the second', async () => {
    const before = await settled('second');
    const { kit, payout } = await reroute();
    await kit.say('first', payout, { outcome: 'paid' });
    assert.equal((await settled('second')) - before, 0n);
    assert.deepEqual(await openKinds(payout), ['paid_after_refusal']);
  });

  it('R10 after the next sending a late `accepted` of the first one is no contradiction', async () => {
    const kit = open([first(refuse), second(pay)]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.dispatcher.runDue();
    await kit.say('first', payout, { outcome: 'accepted', atMs: 1 });
    assert.deepEqual(await openKinds(payout), []);
  });
});

describe('stuck, and nobody sees it', () => {
  it('R11 ready for pickup, refused by the payer, nobody left', async () => {
    let isRefused = false;
    const kit = open([
      first(() => (isRefused ? refuse() : { outcome: 'ready_for_pickup' })),
    ]);
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

  it('R12 another amount, and the question dismissed', async () => {
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

  it('R13 nobody left, paid all the same, and written off', async () => {
    const kit = open([first(refuse)]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.say('first', payout, { outcome: 'paid' });
    await kit.decide(payout, 'write_off').catch(() => undefined);
    assert.notDeepEqual([await statusOf(payout), await openKinds(payout)], ['ERROR', []]);
  });

  it('R14 a person can say that an exhausted payout was paid after all', async () => {
    const kit = open([first(refuse)]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    await kit.say('first', payout, { outcome: 'paid' });
    assert.equal(await kit.decide(payout, 'paid'), 'done');
    assert.equal(await statusOf(payout), 'COMPLETED');
  });

  it('R15 what is heard and cannot be applied is put before a person', async () => {
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
      [formatReference(payout.payoutId)],
    );
    assert.notDeepEqual([row, await openKinds(payout)], [{ tries: 21, state: 'waiting' }, []]);
  });
});

describe('returns', () => {
  it('R16 the whole told without an amount after a part gives back the rest, or asks', async () => {
    const kit = open([first(pay)]);
    const payout = await commit();
    await kit.dispatcher.runDue();
    const before = await money.balance(owner.accountId, 'USD');
    await kit.say('first', payout, { outcome: 'returned', amountMinor: 19_000n });
    await kit.say('first', payout, { outcome: 'returned' });
    const back = (await money.balance(owner.accountId, 'USD')) - before;
    assert.notDeepEqual([back, await openKinds(payout)], [1_000n, []]);
  });

  it('R17 what comes back after it was written off is in the books', async () => {
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

describe('checks', () => {
  it('R18 what could not be checked is checked after its release', async () => {
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
  it('R19 what was cancelled and never sent is not sent afterwards', async () => {
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

  it('R20 a payer that takes over has a day of its own', async () => {
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

  it('R20b an unsure second payer that was not reached is retried, not in doubt', async () => {
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

  it('R21 a refusal ends a hold with the next payer, as it says', async () => {
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
  it('R22 one payment counts once, and our own limit is not the payer\'s fault', async () => {
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
  it('R23 asks nobody any more when it has come back', async () => {
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
