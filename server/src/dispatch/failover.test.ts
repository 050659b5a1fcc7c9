import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { createCompany, createPayer, createRates } from '../../testing/setups/destinations.ts';
import {
  advanceToNextQuery,
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import { getRate } from '../core/rate.ts';
import { getDestinationToken } from '../destinations/catalog.ts';
import type { Rail, RailAnswer } from '../rails/contract/contract.ts';
import type { PayerDeclaration, Tariff } from '../rails/contract/declarations.ts';
import { explainPayout } from './explain.ts';

/** A dynamic destination in Mexico, and two other rails that reach the same bank. */

const rates = createRates({ 'USD/MXN': getRate('20') });
const payerOf = (key: string, changes: Partial<PayerDeclaration & Tariff> = {}) =>
  createPayer(key, { payerName: 'Bank', ...changes });

type Answering = (kind: 'send' | 'query') => RailAnswer;

function createRail(name: string, payers: readonly PayerDeclaration[], answer: Answering) {
  const fake = createFakeRail(({ kind }) => answer(kind));
  return { ...fake, name, companies: [createCompany('first')], payers };
}

let money: MoneyTest;
let owner: Owner;
before(async () => {
  money = await createMoneyTest();
  owner = await money.createOwner({ USD: 10_000_000n });
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

const refuse = (): RailAnswer => ({ outcome: 'rejected', reason: 'payer_unavailable' });
const pay = (): RailAnswer => ({ outcome: 'paid' });

/** 100 USD and a fee of 1, for 1,900 MXN. */
const commit = (changes: Parameters<MoneyTest['quoteAndCommit']>[1] = {}) =>
  money.quoteAndCommit(owner, {
    rail: 'first',
    payerKey: 'dynamic',
    destinationToken: getDestinationToken('first', 'dynamic'),
    destinationMinor: 190_000n,
    ...changes,
  });

async function run(rails: readonly Rail[], payout: CommittedPayout, rounds = 4) {
  const dispatcher = money.createDispatcherOf(rails, { rates });
  for (let round = 0; round < rounds; round += 1) await dispatcher.runDue();
  assert.deepEqual(dispatcher.errors, []);
  const name = { accountId: payout.accountId, payoutId: payout.payoutId };
  return explainPayout({ session: money.db.system, router: dispatcher.router }, name);
}

const dynamic = (answer: Answering) =>
  createRail('first', [payerOf('dynamic', { isDynamicToken: true })], answer);

describe('a payout through a dynamic destination', () => {
  it('goes to the best payer within the quoted cost when the first one refuses', async () => {
    const payout = await commit();
    const expensive = createRail(
      'expensive',
      [payerOf('expensive', { marginBasisPoints: 900 })],
      pay,
    );
    const good = createRail('good', [payerOf('good', { marginBasisPoints: 200 })], pay);
    const fair = createRail('fair', [payerOf('fair', { marginBasisPoints: 300 })], pay);
    const explained = await run([dynamic(refuse), expensive, good, fair], payout);
    assert.equal(explained.status, 'COMPLETED');
    assert.deepEqual([good.sends(), expensive.sends(), fair.sends()], [1, 0, 0]);
    assert.deepEqual(
      explained.attempts.map(({ rail, state }) => [rail, state]),
      [
        ['first', 'rejected'],
        ['good', 'paid'],
      ],
    );
    const rules = (explained.decisions[1]?.candidates ?? []).map((one) => [
      one.is_chosen,
      one.excluded_by,
    ]);
    assert.deepEqual(rules.toSorted(), [
      [false, ''],
      [false, 'over_quoted_cost'],
      [false, 'tried_before'],
      [true, ''],
    ]);
    assert.equal(explained.decisions[1]?.refused_because, 'payer_unavailable');
    assert.equal(await money.balance(owner.accountId, 'MXN', 'in_transit:first'), 0n);
    assert.equal(await money.balance(owner.accountId, 'MXN', 'settlement:good'), 190_000n);
  });

  it('ends as ERROR with the funds kept when no payer is left, and can be retried or refunded', async () => {
    const before = await money.balance(owner.accountId, 'USD');
    const payout = await commit();
    const second = createRail('second', [payerOf('other')], refuse);
    const explained = await run([dynamic(refuse), second], payout);
    assert.equal(explained.status, 'ERROR');
    assert.deepEqual(
      explained.exceptions.map(({ kind, closed_at }) => [kind, closed_at]),
      [['routes_exhausted', '']],
    );
    assert.equal(await money.balance(owner.accountId, 'USD'), before - 10_100n);
    // A repeated commit succeeds: the payout is committed.
    assert.equal((await money.commit(payout, payout.payoutId)).result, 'success');
  });

  it('stays with its payer when the reason lies with the recipient', async () => {
    const payout = await commit();
    const other = createRail('second', [payerOf('other')], pay);
    const closed = dynamic(() => ({ outcome: 'rejected', reason: 'account_closed' }));
    const explained = await run([closed, other], payout);
    assert.equal(explained.status, 'CANCELLED');
    assert.equal(other.sends(), 0);
  });

  it('stays with a payer that accepted it and fell silent, and is held after a day', async () => {
    const payout = await commit();
    const other = createRail('second', [payerOf('other')], pay);
    const silent = dynamic((kind) =>
      kind === 'send' ? { outcome: 'accepted' } : { outcome: 'unknown', reason: 'no_answer' },
    );
    await run([silent, other], payout);
    let status = '';
    for (let round = 0; round < 40 && status !== 'HOLD'; round += 1) {
      await advanceToNextQuery(money, payout);
      ({ status } = await run([silent, other], payout, 1));
    }
    assert.equal(status, 'HOLD');
    assert.deepEqual([silent.sends(), other.sends()], [1, 0]);
  });

  it('stays with its payer while the attempt may be in flight', async () => {
    const payout = await commit();
    const other = createRail('second', [payerOf('other')], pay);
    let isClear = false;
    const vague = dynamic(() => (isClear ? refuse() : { outcome: 'unknown', reason: 'no_answer' }));
    await run([vague, other], payout);
    for (let round = 0; round < 3; round += 1) {
      await advanceToNextQuery(money, payout);
      await run([vague, other], payout);
    }
    assert.equal(other.sends(), 0);
    isClear = true;
    await advanceToNextQuery(money, payout);
    const explained = await run([vague, other], payout);
    assert.deepEqual([explained.status, other.sends(), vague.sends()], ['COMPLETED', 1, 1]);
  });

  it('is never sent again to a rail that refused its reference', async () => {
    const payout = await commit();
    const twoPayers = createRail(
      'first',
      [payerOf('dynamic', { isDynamicToken: true }), payerOf('sister')],
      refuse,
    );
    const explained = await run([twoPayers], payout);
    assert.deepEqual([explained.status, twoPayers.sends()], ['ERROR', 1]);
    const sister = explained.decisions
      .at(-1)
      ?.candidates.find((one) => one.excluded_by === 'same_rail');
    assert.ok(sister !== undefined);
  });
});

describe('a payout through a destination of one payer', () => {
  it('ends with the rejection, and explains the standing of the payer', async () => {
    const payout = await commit({
      payerKey: 'single',
      destinationToken: getDestinationToken('first', 'single'),
    });
    const single = createRail('first', [payerOf('single')], refuse);
    const other = createRail('second', [payerOf('other')], pay);
    const explained = await run([single, other], payout);
    assert.equal(explained.status, 'CANCELLED');
    assert.equal(other.sends(), 0);
    const [decision] = explained.decisions;
    assert.deepEqual(
      decision?.candidates.map((one) => [one.is_chosen, one.fee, one.health, one.min_limit_usd]),
      [[true, '1', 'up', '0']],
    );
  });
});
