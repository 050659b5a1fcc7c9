import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createRates } from '../../testing/setups/destinations.ts';
import {
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
} from '../../testing/setups/money.ts';
import { getRate } from '../core/rate.ts';
import { createScreeningCache } from '../screening/screening.ts';
import { type AccountLimit, isRaised, setAccountLimit } from './account-limits.ts';
import { createRules } from './rules.ts';
import type { VelocityLimit } from './velocity.ts';

/** Velocity limits. */

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

const rates = createRates({ 'EUR/USD': getRate('1.2') });
const hourMs = 3_600_000;

function open(...limits: VelocityLimit[]) {
  const rules = createRules({
    db: money.db,
    keys: money.keys,
    rates: () => rates,
    limits,
    screening: undefined,
    cache: createScreeningCache(),
    realNowMs: Date.now,
  });
  const rail = createFakeRail(() => ({ outcome: 'paid' }));
  const dispatcher = money.createDispatcherOf([rail], { rules });
  return async (...payouts: CommittedPayout[]): Promise<string[]> => {
    await dispatcher.drain();
    assert.deepEqual(dispatcher.errors, []);
    return Promise.all(payouts.map(async ({ payoutId }) => (await money.payout(payoutId)).status));
  };
}

const createOwner = () => money.createOwner({ USD: 10_000_000n, EUR: 10_000_000n });

describe('a limit of an account', () => {
  const set = (accountId: string, limit: Partial<AccountLimit>) =>
    setAccountLimit(money.db.system, accountId, {
      name: 'a limit',
      per: 'account',
      seconds: 86_400n,
      count_max: null,
      usd_max: null,
      corridor: null,
      ...limit,
      by: 'ada',
      why: 'a new client',
    });

  it('holds what is above it, of this account alone and without a file of limits', async () => {
    const settle = open();
    const [owner, other] = [await createOwner(), await createOwner()];
    await set(owner.accountId, { usd_max: 15_000n });
    const pay = () => money.quoteAndCommit(owner);
    assert.deepEqual(await settle(await pay()), ['COMPLETED']);
    assert.deepEqual(await settle(await pay(), await money.quoteAndCommit(other)), [
      'HOLD',
      'COMPLETED',
    ]);
    await set(owner.accountId, { name: 'others', per: 'corridor', usd_max: 0n, corridor: 'PHL' });
    await set(owner.accountId, { usd_max: 100_000n });
    assert.deepEqual(await settle(await pay()), ['COMPLETED']);
  });

  it('holds a payout that is too large by itself', async () => {
    const settle = open();
    const owner = await createOwner();
    await set(owner.accountId, { per: 'payout', usd_max: 9_999n });
    assert.deepEqual(await settle(await money.quoteAndCommit(owner)), ['HOLD']);
    await set(owner.accountId, { per: 'payout', usd_max: 10_000n });
    assert.deepEqual(await settle(await money.quoteAndCommit(owner)), ['COMPLETED']);
  });

  it('is raised by whatever lets more pass', () => {
    const was: AccountLimit = {
      name: 'a',
      per: 'account',
      seconds: 86_400n,
      count_max: 10n,
      usd_max: null,
      corridor: null,
    };
    const raises = (changes: Partial<AccountLimit>) => isRaised(was, { ...was, ...changes });
    assert.equal(raises({}), false);
    assert.equal(raises({ count_max: 9n, usd_max: 1n, seconds: 90_000n }), false);
    assert.equal(raises({ count_max: 11n }), true);
    assert.equal(raises({ count_max: null, usd_max: 1n }), true);
    assert.equal(raises({ seconds: 3600n }), true);
    assert.equal(raises({ corridor: 'MEX BANK_DEPOSIT MXN' }), true);
    assert.equal(raises({ per: 'corridor' }), true);
    assert.equal(isRaised(undefined, was), false);
  });
});

describe('a velocity limit', () => {
  it('holds what comes after this many payouts to a recipient, until the window has passed', async () => {
    const settle = open({ name: 'two a day', per: 'recipient', windowHours: 24, countMax: 2 });
    const owner = await createOwner();
    const other = { ...owner, userId: await money.createUser(owner.accountId) };
    const pay = () => money.quoteAndCommit(owner);
    const first = [await pay(), await pay()];
    assert.deepEqual(await settle(...first), ['COMPLETED', 'COMPLETED']);
    await money.advance(12 * hourMs);
    assert.deepEqual(await settle(await pay(), await money.quoteAndCommit(other)), [
      'HOLD',
      'COMPLETED',
    ]);
    await money.advance(25 * hourMs);
    assert.deepEqual(await settle(await pay()), ['COMPLETED']);
  });

  it('adds up what an account pays, in whatever currency', async () => {
    const settle = open({ name: 'a day', per: 'account', windowHours: 24, usdMax: 21_999n });
    const owner = await createOwner();
    const inEuro = { sourceCurrency: 'EUR' };
    assert.deepEqual(await settle(await money.quoteAndCommit(owner)), ['COMPLETED']);
    assert.deepEqual(await settle(await money.quoteAndCommit(owner, inEuro)), ['HOLD']);
  });

  it('can be for one corridor', async () => {
    const corridor = 'MEX BANK_DEPOSIT MXN';
    const settle = open({ name: 'MX', per: 'corridor', windowHours: 1, countMax: 0, corridor });
    const owner = await createOwner();
    const cash = { deliveryType: 'CASH_PICKUP' };
    assert.deepEqual(
      await settle(await money.quoteAndCommit(owner), await money.quoteAndCommit(owner, cash)),
      ['HOLD', 'COMPLETED'],
    );
  });

  it('lets one of two pass that come at once', async () => {
    const settle = open({ name: 'one', per: 'account', windowHours: 1, countMax: 1 });
    const owner = await createOwner();
    const both = await Promise.all([money.quoteAndCommit(owner), money.quoteAndCommit(owner)]);
    assert.deepEqual((await settle(...both)).toSorted(), ['COMPLETED', 'HOLD']);
  });

  it('counts a payout without a rate among the payouts of its recipient', async () => {
    const settle = open({ name: 'one', per: 'recipient', windowHours: 1, countMax: 1 });
    const owner = await money.createOwner({ GBP: 1_000_000n, USD: 1_000_000n });
    const inPounds = { sourceCurrency: 'GBP' };
    assert.deepEqual(await settle(await money.quoteAndCommit(owner, inPounds)), ['HOLD']);
    // A person may release the first one; with the second one there would be two.
    assert.deepEqual(await settle(await money.quoteAndCommit(owner)), ['HOLD']);
  });

  it('holds payouts without a rate', async () => {
    const settle = open({ name: 'value', per: 'account', windowHours: 1, usdMax: 1_000_000n });
    const owner = await money.createOwner({ GBP: 1_000_000n });
    assert.deepEqual(await settle(await money.quoteAndCommit(owner, { sourceCurrency: 'GBP' })), [
      'HOLD',
    ]);
  });
});
