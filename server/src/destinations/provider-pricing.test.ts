import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createCompany,
  createPayer,
  createRail,
  createRates,
} from '../../testing/setups/destinations.ts';
import { getCurrency } from '../core/currency.ts';
import { formatRate, getRate } from '../core/rate.ts';
import type { PayerDeclaration, Tariff } from '../rails/contract/declarations.ts';
import { defaultPriceRules } from '../rails/contract/price-rules.ts';
import type { StoredPrice } from '../rails/host/prices.ts';
import { compileCatalog, createCurrentCatalog } from './catalog.ts';
import { lookUpCountry } from './lookup.ts';
import {
  describeWorsePrice,
  getProviderCost,
  type ProviderPrice,
  readProviderPrice,
} from './provider-pricing.ts';
import { type QuoteResult, quotePayer } from './quote.ts';

/** A provider of payments from dollars or euros to Mexico, with a tariff of the operator on top. */

const rates = createRates({
  'USD/MXN': getRate('20'),
  'EUR/MXN': getRate('22'),
  'USD/EUR': getRate('0.9'),
  'EUR/USD': getRate('1.1'),
  'USD/GBP': getRate('0.8'),
  'GBP/USD': getRate('1.25'),
  'GBP/MXN': getRate('25'),
});
const readAtMs = 1_000_000;

function createPrice(changes: Partial<StoredPrice> = {}): StoredPrice {
  return {
    rail: 'provider',
    payer_key: 'bank',
    source_currency: 'USD',
    destination_currency: 'MXN',
    rate: '19.8',
    fee: [{ upTo: null, fixed: '0.5', basisPoints: 40 }],
    read_at: new Date(readAtMs),
    holds_until: null,
    delivery_seconds: null,
    ...changes,
  };
}

function createProvider(changes: Partial<PayerDeclaration & Tariff> = {}) {
  const payer = createPayer('bank', { payerName: 'Provider', marginBasisPoints: 0, ...changes });
  return {
    ...createRail('provider', [createCompany('first')], [payer]),
    readPrices: async () => [],
  };
}

type Asked = {
  prices?: StoredPrice[];
  payer?: Partial<PayerDeclaration & Tariff>;
  nowMs?: number;
  sourceCurrency?: string;
  amount?: { side: 'source' | 'destination'; minor: bigint };
};

function quote({ prices = [createPrice()], nowMs = readAtMs, ...asked }: Asked = {}): QuoteResult {
  const catalog = compileCatalog([createProvider(asked.payer)], nowMs, prices);
  const [payer] = catalog.payersIn('MEX');
  assert.ok(payer !== undefined);
  return quotePayer({
    payer,
    sourceCurrency: asked.sourceCurrency ?? 'USD',
    destinationCurrency: 'MXN',
    amount: asked.amount ?? { side: 'source', minor: 10_000n },
    rates,
  });
}

function getQuote(asked: Asked = {}) {
  const result = quote(asked);
  assert.ok(result.ok, 'there is a quote');
  return result;
}

test("a payer costs its provider's price with the operator's tariff on top", () => {
  const plain = getQuote({ payer: { fee: [{ upTo: null, fixed: '0', basisPoints: 0 }] } });
  assert.deepEqual(
    [plain.feeMinor, formatRate(plain.rate), plain.destinationMinor, formatRate(plain.midRate)],
    [90n, '19.8', 198_000n, '20'],
  );
  // 0.90 of fee, and 198,000 of what would be 200,000 at the mid rate.
  assert.equal(plain.costMinor, 190n);
  const marked = getQuote({
    payer: { fee: [{ upTo: null, fixed: '1', basisPoints: 10 }], marginBasisPoints: 100 },
  });
  assert.deepEqual([marked.feeMinor, formatRate(marked.rate)], [200n, '19.602']);
});

test("a client's other currency is converted at the mid rate", () => {
  const free = { payer: { fee: [{ upTo: null, fixed: '0', basisPoints: 0 }] } };
  const pounds = getQuote({ ...free, sourceCurrency: 'GBP' });
  // 19.8 MXN for a dollar, 1.25 dollars for a pound; 0.50 USD are 0.40 GBP.
  assert.deepEqual([formatRate(pounds.rate), pounds.feeMinor], ['24.75', 80n]);
  assert.equal(pounds.providerPrice?.source.code, 'USD');
  const prices = [createPrice(), createPrice({ source_currency: 'EUR', rate: '21' })];
  const euros = getQuote({ ...free, prices, sourceCurrency: 'EUR' });
  assert.deepEqual([formatRate(euros.rate), euros.providerPrice?.source.code], ['21', 'EUR']);
});

test('steps of both schedules are added between all bounds', () => {
  const fee = [
    { upTo: '50', fixed: '1', basisPoints: 0 },
    { upTo: null, fixed: '2', basisPoints: 0 },
  ];
  const prices = [
    createPrice({
      fee: [
        { upTo: '100', fixed: '0.3', basisPoints: 100 },
        { upTo: '1000', fixed: '0.1', basisPoints: 50 },
      ],
    }),
  ];
  const feeOf = (minor: bigint) => {
    const result = quote({ payer: { fee }, prices, amount: { side: 'source', minor } });
    return result.ok ? result.feeMinor : result.reason;
  };
  assert.deepEqual([1n, 5_000n, 5_001n, 10_000n, 10_001n, 100_000n, 100_001n].map(feeOf), [
    131n,
    180n,
    281n,
    330n,
    261n,
    710n,
    'above_maximum',
  ]);
});

test('a payer without a fresh price is not offered', () => {
  const ageMsMax = defaultPriceRules.ageMsMax;
  assert.ok(quote({ nowMs: readAtMs + ageMsMax }).ok);
  const stale = quote({ nowMs: readAtMs + ageMsMax + 1 });
  assert.ok(!stale.ok);
  assert.equal(stale.reason, 'price_stale');
  assert.match(
    stale.detail,
    /Provider for MXN was last read at 1970-01-01T00:16:40Z, more than 900 s/,
  );
  const missing = quote({ prices: [] });
  assert.ok(!missing.ok && /has not been read yet/.test(missing.detail));
  // A fresh one from another balance is used instead.
  const dollars = createPrice({ read_at: new Date(0) });
  const euros = createPrice({ source_currency: 'EUR', rate: '21' });
  const other = getQuote({ prices: [dollars, euros], nowMs: ageMsMax + 1 });
  assert.equal(other.providerPrice?.source.code, 'EUR');
});

test('the cheapest look-up compares provider and tariff, and leaves a stale price out', () => {
  const tariff = createRail(
    'tariff',
    [createCompany('first')],
    [createPayer('bank', { payerName: 'Provider', marginBasisPoints: 150 })],
  );
  let prices = [createPrice()];
  let nowMs = readAtMs;
  const catalog = createCurrentCatalog(
    [tariff, createProvider({ fee: [{ upTo: null, fixed: '0', basisPoints: 0 }] })],
    { nowMs: () => nowMs },
    { listPrices: () => prices },
  );
  const look = (cheapestOnly: boolean) => {
    const found = lookUpCountry({
      catalog: catalog(),
      rates,
      countryCode: 'MEX',
      sourceCurrency: 'USD',
      nowMs,
      cheapestOnly,
    });
    assert.ok(found.ok);
    return found.companies.flatMap(({ services }) =>
      services.flatMap(({ payers }) => payers.map(({ payer }) => payer.railName)),
    );
  };
  assert.deepEqual(look(true), ['provider']);
  const before = catalog();
  assert.equal(catalog(), before, 'nothing is compiled without a change');
  prices = [createPrice({ rate: '19.5' })];
  assert.deepEqual(look(true), ['tariff']);
  assert.deepEqual(look(false), ['tariff', 'provider']);
  prices = [createPrice()];
  nowMs = catalog().untilMs;
  assert.deepEqual(look(false), ['tariff']);
});

test("the provider's estimate of the delivery replaces that of the declaration", () => {
  const prices = [createPrice({ delivery_seconds: 90 })];
  const [payer] = compileCatalog([createProvider()], readAtMs, prices).payersIn('MEX');
  assert.deepEqual(
    [payer?.arrival.delay, payer?.availability.delay],
    [{ minutes: 2 }, { minutes: 5 }],
  );
});

test('a price is the same after it was stored', () => {
  const price = getQuote().providerPrice;
  assert.ok(price !== undefined);
  assert.deepEqual(readProviderPrice(price.text), price);
});

test('a price is worse from the basis points on that the rail bears', () => {
  const compile = (changes: Partial<StoredPrice>): ProviderPrice => {
    const catalog = compileCatalog([createProvider()], readAtMs, [createPrice(changes)]);
    const price = catalog.payersIn('MEX')[0]?.offer?.prices[0];
    assert.ok(price !== undefined);
    return price;
  };
  const fixed = (amount: string) => [{ upTo: null, fixed: amount, basisPoints: 0 }];
  const quoted = compile({ rate: '20', fee: fixed('1') });
  const later = { read_at: new Date(readAtMs + 1), rate: '20' };
  const judge = (present: ProviderPrice) =>
    describeWorsePrice(present, quoted, { destinationMinor: 200_000n, bearBasisPoints: 50 });
  // 100 dollars are converted, so that half a dollar is borne.
  assert.equal(judge(compile({ ...later, fee: fixed('1.5') })), undefined);
  assert.equal(
    judge(compile({ ...later, fee: fixed('1.51') })),
    'quoted 101 USD, now 101.51 USD, more than 50 basis points above',
  );
  assert.ok(judge(compile({ ...later, rate: '19.8', fee: fixed('1') })) !== undefined);
  assert.equal(judge(compile({ ...later, rate: '21', fee: fixed('3') })), undefined);
  // An older reading, and one from another balance, say nothing about it.
  assert.equal(judge(compile({ read_at: new Date(readAtMs - 1), fee: fixed('9') })), undefined);
  const bounded = compile({ ...later, fee: [{ upTo: '50', fixed: '0', basisPoints: 0 }] });
  assert.equal(judge(bounded), 'quoted 101 USD, now without a price for this amount');
  assert.deepEqual(getProviderCost(quoted, 200_001n), { amountMinor: 10_001n, feeMinor: 100n });
  assert.equal(quoted.source, getCurrency('USD'));
});
