import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createCompany, createPayer, createRail } from '../../testing/setups/destinations.ts';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { compileCatalog } from '../destinations/catalog.ts';
import { getLeftMinor, listPrefunding } from './prefunding.ts';
import { openRailReports } from './rail-reports.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

/** A provider that pays pesos from dollars, 20 for one, for 0.50 and one percent. */
function createProvider() {
  const provider = {
    ...createRail('provider', [createCompany('first')], [createPayer('bank')]),
    readPrices: async () => [],
  };
  const price = {
    rail: 'provider',
    payer_key: 'bank',
    source_currency: 'USD',
    destination_currency: 'MXN',
    rate: '20',
    fee: [{ upTo: null, fixed: '0.5', basisPoints: 100 }],
    read_at: new Date(),
    holds_until: null,
    delivery_seconds: null,
  };
  return { provider, catalog: compileCatalog([provider], price.read_at.getTime(), [price]) };
}

test('committed and scheduled payouts count against the balance that pays them', () => {
  const { catalog } = createProvider();
  const need = { rail: 'provider', payer_key: 'bank', currency: 'MXN', is_scheduled: false };
  const rows = listPrefunding({
    catalog,
    needs: [
      // Two payouts of 100 dollars: 1.50 of fee each.
      { ...need, count: 2, amount: '400000' },
      { ...need, count: 1, amount: '200000', is_scheduled: true },
      {
        rail: 'tariff',
        payer_key: 'x',
        currency: 'EUR',
        is_scheduled: false,
        count: 1,
        amount: '5',
      },
    ],
    funds: new Map([['provider', [{ currency: 'USD', amount: '300' }]]]),
  });
  const [dollars] = rows.get('provider') ?? [];
  assert.deepEqual(
    [dollars?.committedMinor, dollars?.scheduledMinor, dollars && getLeftMinor(dollars)],
    [20_300n, 10_150n, -450n],
  );
  const [euros] = rows.get('tariff') ?? [];
  assert.deepEqual([euros?.currency.code, euros?.committedMinor], ['EUR', 5n]);
  assert.equal(euros && getLeftMinor(euros), undefined);
});

test('a rail is described by its funds, the payouts that wait for it, and its last answer', async () => {
  const { provider, catalog } = createProvider();
  const owner = await money.createOwner({ USD: 100_000n });
  const through = { rail: 'provider', payerKey: 'bank', destinationMinor: 200_000n };
  await money.quoteAndCommit(owner, through);
  const describe = async () => {
    const report = await openRailReports({
      db: money.connect(),
      clock: money.clock,
      catalog,
      rails: [provider],
      railFunds: () => new Map([['provider', [{ currency: 'USD', amount: '150.5' }]]]),
    });
    return report('provider');
  };
  const first = await describe();
  assert.deepEqual(first.prefunding, [
    { currency: 'USD', funds: '150.5', committed: '101.5', scheduled: '0', left: '49' },
  ]);
  assert.deepEqual(
    [first.reported_at, first.oldest_unanswered_at, first.prices?.unpriced],
    ['', '', 0],
  );
  assert.deepEqual([first.last_day?.committed, first.last_30_days?.committed], [1, 1]);
  assert.deepEqual([first.being_sent, first.handed_over, first.waiting], [0, 0, 1]);
  const dispatcher = money.createDispatcherOf([
    { ...provider, send: async () => ({ outcome: 'accepted' }) },
  ]);
  await dispatcher.runDue();
  await dispatcher.measurements.exchange();
  const second = await describe();
  assert.deepEqual(second.prefunding[0]?.committed, '0');
  assert.deepEqual([second.being_sent, second.handed_over, second.waiting], [0, 1, 0]);
  assert.match(second.reported_at, /^\d{4}-/);
  assert.match(second.oldest_unanswered_at, /^\d{4}-/);
  await money.assertSound();
});
