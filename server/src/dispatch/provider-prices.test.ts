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
import { createPersons, type Person } from '../../testing/setups/persons.ts';
import { AppError } from '../core/errors.ts';
import { getRate } from '../core/rate.ts';
import { compileCatalog, getDestinationToken } from '../destinations/catalog.ts';
import { quotePayer } from '../destinations/quote.ts';
import { decidePayout } from '../exceptions/decisions.ts';
import { findMargin } from '../payouts/margin.ts';
import type { Instruction, QuotedPrice, Rail, RailAnswer } from '../rails/contract/contract.ts';
import { createHost } from '../rails/host/host.ts';
import type { StoredPrice } from '../rails/host/prices.ts';
import { explainPayout } from './explain.ts';
import { applyNotifications } from './notifications.ts';

/** Providers that reach the same bank in Mexico, with prices that move between quote and sending. */

const rates = createRates({ 'USD/MXN': getRate('20') });
const noFee = [{ upTo: null, fixed: '0', basisPoints: 0 }];

/** One whose decisions need nobody else's. */
const ada: Person = { decidedBy: 'ada', operatorId: '00000000-0000-7000-8000-0000000000aa' };

let money: MoneyTest;
let owner: Owner;
let person: ReturnType<typeof createPersons>;
before(async () => {
  money = await createMoneyTest();
  person = createPersons(money);
  owner = await money.createOwner({ USD: 10_000_000n });
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

type Answering = (instruction: Instruction, sends: number) => RailAnswer;

function createProvider(name: string, answer: Answering) {
  const sent: Instruction[] = [];
  const payers = [
    createPayer('dynamic', { fee: noFee, marginBasisPoints: 0, isDynamicToken: true }),
    createPayer('single', { fee: noFee, marginBasisPoints: 0, payerName: 'Alone' }),
  ];
  const rail: Rail = {
    ...createFakeRail(() => ({ outcome: 'unknown', reason: 'no_answer' })),
    name,
    companies: [createCompany('first')],
    payers,
    readPrices: async () => [],
    send: async (instruction) => {
      sent.push(instruction);
      return answer(instruction, sent.length);
    },
  };
  return { rail, sent };
}

/** The provider's fee in dollars, at an all-in rate of 20. */
function createPrice(rail: string, fee: string, ageMs = 0): StoredPrice[] {
  return ['dynamic', 'single'].map((key) => ({
    rail,
    payer_key: key,
    source_currency: 'USD',
    destination_currency: 'MXN',
    rate: '20',
    fee: [{ upTo: null, fixed: fee, basisPoints: 0 }],
    read_at: new Date(money.clock.nowMs() - ageMs),
    holds_until: null,
    delivery_seconds: null,
  }));
}

/** The prices of some rails, which a test moves. */
function openMarket(rails: readonly Rail[], first: StoredPrice[]) {
  let prices = first;
  const requested: string[] = [];
  const catalog = () => compileCatalog(rails, money.clock.nowMs(), prices);
  const open = (through = money.db) =>
    money.createDispatcherOf(rails, {
      through,
      rates,
      catalog,
      requestPrices: async (rail) => void requested.push(rail),
    });
  const dispatcher = open();
  return {
    open,
    requested,
    dispatcher,
    move: (next: StoredPrice[]) => {
      prices = next;
    },
    /** Quotes 100 dollars at the present price, and commits. */
    commit: (payerKey: 'dynamic' | 'single', rail = 'first') => {
      const destinationToken = getDestinationToken(rail, payerKey);
      const payer = catalog().findPayer(destinationToken);
      assert.ok(payer !== undefined);
      const quote = quotePayer({
        payer,
        sourceCurrency: 'USD',
        destinationCurrency: 'MXN',
        amount: { side: 'source', minor: 10_000n },
        rates,
      });
      assert.ok(quote.ok, 'there is a quote');
      return money.quoteAndCommit(owner, {
        rail,
        payerKey,
        destinationToken,
        feeMinor: quote.feeMinor,
        destinationMinor: quote.destinationMinor,
        exchangeRate: '20',
        providerPrice: quote.providerPrice?.text,
      });
    },
    run: async (payout: CommittedPayout) => {
      for (let round = 0; round < 3; round += 1) await dispatcher.runDue();
      assert.deepEqual(dispatcher.errors, []);
      const name = { accountId: payout.accountId, payoutId: payout.payoutId };
      return explainPayout({ session: money.db.system, router: dispatcher.router }, name);
    },
    decide: (
      payout: CommittedPayout,
      action: 'retry' | 'refund',
      { persons, ...by }: Person & { persons: 1 | 2 } = { ...ada, persons: 1 },
    ) =>
      decidePayout(
        {
          db: money.db,
          keys: money.keys,
          dispatcher,
          rates: () => rates,
          readPolicy: async () => ({ persons, aboveUsd: 0n }),
        },
        {
          ...payout,
          action,
          ...by,
          reason: 'a test',
        },
      ),
  };
}

const pay: Answering = () => ({ outcome: 'paid' });
const quotedOf = (sent: readonly Instruction[]): (QuotedPrice | undefined)[] =>
  sent.map(({ quoted }) => quoted);

describe('a payout through a provider that quotes prices', () => {
  it('is sent with the price of its quote each time, after a restart too', async () => {
    const { rail, sent } = createProvider('first', (_instruction, sends) =>
      sends === 1 ? { outcome: 'retry', reason: 'busy' } : { outcome: 'paid' },
    );
    const prices = createPrice('first', '1');
    const market = openMarket([rail], prices);
    const payout = await market.commit('single');
    market.move(createPrice('first', '1.2'));
    await market.run(payout);
    await advanceToNextQuery(money, payout);
    await market.open(money.connect()).runDue();
    assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
    const [first, second, ...more] = quotedOf(sent);
    assert.deepEqual([first, more.length], [second, 0]);
    const asOfMs = prices[0]?.read_at.getTime();
    const expected = { sourceCurrency: 'USD', rate: '20', feeMinor: 100n, bearBasisPoints: 50 };
    assert.deepEqual(first, { ...expected, asOfMs });
  });

  it('shows what its rail charged above the quote', async () => {
    const charge = { id: 'fee', kind: 'partner', currency: 'USD', amountMinor: 130n } as const;
    const { rail } = createProvider('first', () => ({ outcome: 'paid', charges: [charge] }));
    const market = openMarket([rail], createPrice('first', '1'));
    const payout = await market.commit('single');
    // Less than half a percent of 100 dollars is borne.
    market.move(createPrice('first', '1.3'));
    const before = await money.balance(owner.accountId, 'USD', 'costs');
    await market.run(payout);
    const margin = await findMargin(money.db.system, payout);
    assert.deepEqual(
      [margin?.fee, margin?.quoted_charge, margin?.quoted_currency, margin?.borne],
      ['1', '1', 'USD', '0.3'],
    );
    assert.equal((await money.balance(owner.accountId, 'USD', 'costs')) - before, -130n);
  });

  it('waits for a person when the price is worse, who sends it at the present price', async () => {
    const { rail, sent } = createProvider('first', pay);
    const market = openMarket([rail], createPrice('first', '1'));
    const payout = await market.commit('single');
    market.move(createPrice('first', '2'));
    const explained = await market.run(payout);
    assert.deepEqual([explained.status, sent.length, market.requested], ['ERROR', 0, []]);
    assert.deepEqual(
      explained.exceptions.map(({ kind, closed_at }) => [kind, closed_at]),
      [['price_worse', '']],
    );
    const candidate = explained.decisions.at(-1)?.candidates[0];
    assert.deepEqual(
      [candidate?.excluded_by, candidate?.detail, candidate?.provider_price?.fee],
      ['price_worse', 'quoted 101 USD, now 102 USD, more than 50 basis points above', '2'],
    );
    market.move(createPrice('first', '2', 3_600_000));
    await assert.rejects(
      market.decide(payout, 'retry'),
      (error) => error instanceof AppError && /no fresh price/.test(error.message),
    );
    market.move(createPrice('first', '2.5'));
    assert.equal(await market.decide(payout, 'retry'), 'done');
    assert.equal((await market.run(payout)).status, 'COMPLETED');
    assert.deepEqual(
      quotedOf(sent).map((quoted) => quoted?.feeMinor),
      [250n],
    );
    const attempts = await money.attempts(payout.payoutId);
    assert.deepEqual(
      attempts.map(({ state }) => state),
      ['rejected', 'paid'],
    );
    assert.notEqual(attempts[0]?.reference, attempts[1]?.reference);
  });

  it('is sent at the price that both persons accepted, not at a later one', async () => {
    const { rail, sent } = createProvider('first', pay);
    const market = openMarket([rail], createPrice('first', '1'));
    const payout = await market.commit('single');
    market.move(createPrice('first', '2'));
    assert.equal((await market.run(payout)).status, 'ERROR');
    const retry = async (name: string) =>
      market.decide(payout, 'retry', { ...(await person(name)), persons: 2 });
    assert.equal(await retry('ada'), 'waiting');
    market.move(createPrice('first', '5'));
    assert.equal(await retry('bob'), 'waiting');
    assert.equal(await retry('ada'), 'done');
    assert.equal((await market.run(payout)).status, 'COMPLETED');
    assert.deepEqual(
      quotedOf(sent).map((quoted) => quoted?.feeMinor),
      [500n],
    );
  });

  it('is held again when the price rises above the accepted one, and can be refunded', async () => {
    const balance = await money.balance(owner.accountId, 'USD');
    const { rail, sent } = createProvider('first', pay);
    const market = openMarket([rail], createPrice('first', '1'));
    const payout = await market.commit('single');
    for (const fee of ['2', '3']) {
      market.move(createPrice('first', fee));
      assert.equal((await market.run(payout)).status, 'ERROR');
      if (fee === '2') await market.decide(payout, 'retry');
      market.move(createPrice('first', '9'));
    }
    assert.equal(await market.decide(payout, 'refund'), 'done');
    assert.deepEqual([sent.length, await money.balance(owner.accountId, 'USD')], [0, balance]);
  });

  it('waits too when the rail itself refuses the price, and its prices are read again', async () => {
    const { rail, sent } = createProvider('first', (_instruction, sends) =>
      sends === 1 ? { outcome: 'rejected', reason: 'price_worse' } : { outcome: 'paid' },
    );
    const market = openMarket([rail], createPrice('first', '1'));
    const payout = await market.commit('single');
    assert.equal((await market.run(payout)).status, 'ERROR');
    assert.deepEqual(market.requested, ['first']);
    market.move(createPrice('first', '4'));
    await market.decide(payout, 'retry');
    assert.equal((await market.run(payout)).status, 'COMPLETED');
    assert.notEqual(sent[0]?.reference, sent[1]?.reference);
  });

  it('waits too when a notification refuses the price', async () => {
    const { rail, sent } = createProvider('first', () => ({ outcome: 'accepted' }));
    const market = openMarket([rail], createPrice('first', '1'));
    const payout = await market.commit('single');
    await market.run(payout);
    const host = createHost({
      name: 'first',
      payers: [],
      db: money.db,
      keys: money.keys,
      nowMs: money.clock.nowMs,
      realNowMs: Date.now,
      fetch,
      callbackUrl: '',
      wake: () => undefined,
      onInboundMessage: () => undefined,
      log: () => undefined,
    });
    const { reference } = payout;
    const refused = { outcome: 'rejected', reason: 'price_worse', reference } as const;
    const observations = [{ ...refused, id: 'refused', atMs: money.clock.nowMs() }];
    await host.receive({ id: 'message', channel: 'callback', raw: Buffer.of(1), observations });
    await applyNotifications({
      db: money.db,
      keys: money.keys,
      router: market.dispatcher.router,
      measurements: market.dispatcher.measurements,
      nowMs: money.clock.nowMs,
      onNotification: () => undefined,
      onError: (error) => assert.fail(String(error)),
    });
    const explained = await market.run(payout);
    assert.deepEqual([explained.status, sent.length], ['ERROR', 1]);
    assert.deepEqual(
      explained.exceptions.map(({ kind }) => kind),
      ['price_worse'],
    );
    assert.equal(await market.decide(payout, 'refund'), 'done');
  });

  it('goes to another provider within the quoted cost, at the price of that one', async () => {
    const [first, second, expensive] = ['first', 'second', 'expensive'].map((name) =>
      createProvider(name, pay),
    );
    assert.ok(first !== undefined && second !== undefined && expensive !== undefined);
    const others = [...createPrice('second', '0.8'), ...createPrice('expensive', '5')];
    const rails = [first.rail, second.rail, expensive.rail];
    const market = openMarket(rails, [...createPrice('first', '1'), ...others]);
    const payout = await market.commit('dynamic');
    market.move([...createPrice('first', '3'), ...others]);
    const explained = await market.run(payout);
    assert.equal(explained.status, 'COMPLETED');
    assert.deepEqual([first.sent.length, expensive.sent.length], [0, 0]);
    assert.deepEqual(
      quotedOf(second.sent).map((quoted) => quoted?.feeMinor),
      [80n],
    );
    // What was promised, although its provider asks more by now.
    const named = explained.decisions[0]?.candidates.find((one) => one.is_chosen);
    assert.deepEqual(
      [named?.fee, named?.exchange_rate, named?.cost, named?.score, named?.provider_price?.fee],
      ['1', '20', '101', 900, '3'],
    );
    const candidates = explained.decisions.at(-1)?.candidates ?? [];
    assert.deepEqual(
      candidates.map((one) => [one.excluded_by, one.is_chosen, one.provider_price?.fee]).toSorted(),
      [
        ['', true, '0.8'],
        ['over_quoted_cost', false, '5'],
        ['price_worse', false, '3'],
      ],
    );
    assert.equal(await money.balance(owner.accountId, 'MXN', 'in_transit:first'), 0n);
  });

  it('shows candidates without a fresh price, and their age', async () => {
    const first = createProvider('first', () => ({
      outcome: 'rejected',
      reason: 'payer_unavailable',
    }));
    const second = createProvider('second', pay);
    const hourMs = 3_600_000;
    const old = createPrice('second', '0.5', hourMs);
    const market = openMarket([first.rail, second.rail], [...createPrice('first', '1'), ...old]);
    const explained = await market.run(await market.commit('dynamic'));
    assert.deepEqual([explained.status, second.sent.length], ['ERROR', 0]);
    assert.deepEqual(
      explained.exceptions.map(({ kind }) => kind),
      ['routes_exhausted'],
    );
    const stale = explained.decisions
      .at(-1)
      ?.candidates.find((one) => one.excluded_by === 'price_stale');
    assert.match(stale?.detail ?? '', /was last read at .*, more than 900 s ago/);
    assert.ok((stale?.provider_price?.age_seconds ?? 0) >= 3600);
  });
});
