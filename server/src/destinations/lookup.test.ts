import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bundledRates,
  createCompany,
  createPayer,
  createRail,
  createRates,
  sandboxCatalog,
} from '../../testing/setups/destinations.ts';
import { formatRate, getRate } from '../core/rate.ts';
import type { MidRates } from '../fx/rate-book.ts';
import type { DeliveryType } from '../rails/contract/declarations.ts';
import { compileCatalog } from './catalog.ts';
import { type LookUp, type LookUpQuery, lookUpCountry, type PayerOffer } from './lookup.ts';
import { createCachedLookUp } from './lookup-cache.ts';
import { quotePayer } from './quote.ts';

const nowMs = Date.UTC(2026, 2, 10, 16);
const cheapest: LookUpQuery = {
  catalog: sandboxCatalog,
  rates: bundledRates,
  countryCode: 'MEX',
  sourceCurrency: 'USD',
  nowMs,
  cheapestOnly: true,
};

function lookUp(changes: Partial<LookUpQuery>): LookUp {
  const result = lookUpCountry({ ...cheapest, ...changes });
  if (!result.ok) throw new Error(`${result.reason}: ${result.detail}`);
  return result;
}

function listOffers(changes: Partial<LookUpQuery>): PayerOffer[] {
  return lookUp(changes).companies.flatMap(({ services }) =>
    services.flatMap(({ payers }) => payers),
  );
}

function getCheapestKey(deliveryType: DeliveryType, changes: Partial<LookUpQuery>): string {
  const offers = listOffers(changes).filter(({ payer }) => payer.deliveryType === deliveryType);
  const costs = offers.map(({ costMinor }) => costMinor);
  const first = offers.find(({ costMinor }) => costs.every((cost) => costMinor <= cost));
  if (first === undefined) throw new Error(`nothing of ${deliveryType}`);
  return first.payer.company.key;
}

for (const countryCode of ['MEX', 'IND', 'PHL', 'NGA']) {
  for (const deliveryType of ['BANK_DEPOSIT', 'CASH_PICKUP'] as const) {
    test(`in ${countryCode} the cheapest payer for ${deliveryType} depends on the amount`, () => {
      const keys = [2_000n, 20_000n, 200_000n].map((amountMinor) =>
        getCheapestKey(deliveryType, { countryCode, amountMinor }),
      );
      assert.equal(new Set(keys).size, 3, keys.join());
    });
  }
}

test('payers of one name that take different forms of account do not compete', () => {
  const payers = [undefined, 'stored_card', 'provider_account'] as const;
  const catalog = compileCatalog([
    createRail(
      'forms',
      [createCompany('first')],
      payers.map((accountForm, index) => ({
        ...createPayer(`payer-${index}`),
        payerName: 'Same',
        deliveryType: 'BANK_DEPOSIT',
        accountForm,
      })),
    ),
  ]);
  const keys = listOffers({ catalog }).map(({ payer }) => payer.key);
  assert.deepEqual(keys.toSorted(), ['payer-0', 'payer-1', 'payer-2']);
});

test('every country has a cheapest bank deposit and the four cryptocurrencies by default', () => {
  for (const { country } of sandboxCatalog.servedCountries()) {
    const offers = listOffers({ countryCode: country.code });
    const crypto = offers.filter(({ payer }) => payer.deliveryType === 'CRYPTOCURRENCY');
    const codes = crypto.flatMap(({ currencies }) => currencies.map(({ code }) => code));
    assert.deepEqual(codes, ['BTC', 'LTC', 'ETH', 'USDC'], country.code);
    const banks = offers.filter(({ payer }) => payer.deliveryType === 'BANK_DEPOSIT');
    const delivered = banks.flatMap(({ currencies }) => currencies.map(({ code }) => code));
    assert.ok(delivered.includes(country.currency), country.code);
  }
});

test('of equivalent payers only the cheapest is shown, and each shown one can be used', () => {
  for (const amountMinor of [2_000n, 20_000n, 200_000n, 5_000_000n]) {
    for (const countryCode of ['MEX', 'LBN', 'USA', 'PAN']) {
      const all = listOffers({ countryCode, amountMinor, cheapestOnly: false });
      const shown = listOffers({ countryCode, amountMinor });
      const things = shown.flatMap(({ payer, currencies }) =>
        currencies.map(({ code }) => `${payer.deliveryType} ${code} ${payer.name}`),
      );
      assert.equal(new Set(things).size, things.length, countryCode);
      for (const { payer, currencies } of shown) {
        for (const { code } of currencies) {
          const quoteOf = (other: typeof payer) =>
            quotePayer({
              payer: other,
              sourceCurrency: 'USD',
              destinationCurrency: code,
              amount: { side: 'source', minor: amountMinor },
              rates: bundledRates,
            });
          const own = quoteOf(payer);
          assert.ok(own.ok, payer.key);
          const rivals = all.filter(
            (offer) =>
              offer.payer.name === payer.name && offer.payer.deliveryType === payer.deliveryType,
          );
          for (const rival of rivals) {
            const other = quoteOf(rival.payer);
            if (other.ok) assert.ok(own.costMinor <= other.costMinor, `${payer.key} ${code}`);
          }
        }
      }
    }
  }
});

test('companies, services and payers are ordered by their cheapest', () => {
  const first = (offers: readonly PayerOffer[]): bigint => offers[0]?.costMinor ?? -1n;
  const isSorted = (costs: bigint[]): boolean =>
    costs.every((cost, index) => index === 0 || (costs[index - 1] ?? 0n) <= cost);
  for (const cheapestOnly of [true, false]) {
    const { companies } = lookUp({ cheapestOnly });
    const byCompany = companies.map(({ services }) => first(services[0]?.payers ?? []));
    assert.ok(companies.length > 4 && isSorted(byCompany));
    for (const { services } of companies) {
      assert.ok(isSorted(services.map(({ payers }) => first(payers))));
      for (const { payers } of services) assert.ok(isSorted(payers.map((p) => p.costMinor)));
    }
  }
});

test('an offer equals a quote at the same rates', () => {
  for (const offer of listOffers({ countryCode: 'PHL', sourceCurrency: 'EUR' })) {
    for (const { code, rate } of offer.currencies) {
      const quoted = quotePayer({
        payer: offer.payer,
        sourceCurrency: 'EUR',
        destinationCurrency: code,
        amount: { side: 'source', minor: offer.sourceMinor },
        rates: bundledRates,
      });
      assert.ok(quoted.ok && offer.sourceMinor === 20_000n);
      assert.deepEqual(quoted.rate, rate);
      assert.equal(quoted.feeMinor, offer.feeMinor);
      assert.equal(quoted.minLimitMinor, offer.minLimitMinor);
      assert.equal(quoted.maxLimitMinor, offer.maxLimitMinor);
    }
  }
});

/** Two companies, one name, two currencies: the one is cheaper for pesos, the other for dollars. */
const rivals = compileCatalog([
  createRail(
    'test',
    [createCompany('first'), createCompany('second')],
    [
      createPayer('pesos', {
        currencies: ['MXN', 'USD'],
        marginBasisPoints: 10,
        fee: [{ upTo: null, fixed: '2', basisPoints: 0 }],
      }),
      createPayer('dollars', {
        companyKey: 'second',
        currencies: ['MXN', 'USD'],
        marginBasisPoints: 300,
        maxLimit: '500',
      }),
    ],
  ),
]);
const rivalRates = createRates({ 'USD/MXN': getRate('18.5') });

test('a payer is shown with the currencies in which it is the cheapest of its name', () => {
  const shown = listOffers({ catalog: rivals, rates: rivalRates }).map(({ payer, currencies }) => [
    payer.key,
    ...currencies.map(({ code, rate }) => `${code} ${formatRate(rate)}`),
  ]);
  assert.deepEqual(shown, [
    ['dollars', 'USD 1'],
    ['pesos', 'MXN 18.4815'],
  ]);
  const all = listOffers({ catalog: rivals, rates: rivalRates, cheapestOnly: false });
  assert.deepEqual(
    all.map(({ currencies }) => currencies.map(({ code }) => code)),
    [
      ['MXN', 'USD'],
      ['MXN', 'USD'],
    ],
  );
});

test('a payer whose limits exclude the amount is in the full list only', () => {
  const query = { catalog: rivals, rates: rivalRates, amountMinor: 60_000n };
  assert.deepEqual(
    listOffers(query).map(({ payer, currencies }) => [payer.key, currencies.length]),
    [['pesos', 2]],
  );
  const all = listOffers({ ...query, cheapestOnly: false });
  assert.deepEqual(all.map(({ payer, fits }) => [payer.key, fits]).toSorted(), [
    ['dollars', false],
    ['pesos', true],
  ]);
});

test('with a limit the amount is the most within it, and at most the requested one', () => {
  const only = { destinationCurrency: 'MXN', payerName: 'sandbox national bank mexico' };
  const sizes = (changes: Partial<LookUpQuery>): [string, bigint, bigint][] =>
    listOffers({ ...only, cheapestOnly: false, ...changes }).map((offer) => [
      offer.payer.company.key,
      offer.sourceMinor,
      offer.feeMinor,
    ]);
  assert.deepEqual(sizes({ limitMinor: 20_000n }).toSorted(), [
    ['harbour', 19_250n, 750n],
    ['kestrel', 19_832n, 168n],
    ['meridian', 19_801n, 199n],
  ]);
  assert.deepEqual(
    sizes({ limitMinor: 20_000n, amountMinor: 10_000n }).map(([, minor]) => minor),
    [10_000n, 10_000n, 10_000n],
  );
  assert.deepEqual(
    sizes({ limitMinor: 100n })
      .map(([key, minor]) => `${key} ${minor}`)
      .toSorted(),
    ['harbour 0', 'kestrel 50', 'meridian 0'],
  );
  assert.deepEqual(
    listOffers({ ...only, limitMinor: 100n }).map(({ payer }) => payer.company.key),
    ['kestrel'],
  );
});

test('the default amount is 200, or the worth of 200 USD in a cryptocurrency', () => {
  const size = (sourceCurrency: string): bigint | undefined =>
    listOffers({ sourceCurrency, destinationCurrency: 'USDC' })[0]?.sourceMinor;
  assert.deepEqual(['USD', 'GBP', 'JPY', 'KWD'].map(size), [20_000n, 20_000n, 200n, 200_000n]);
  // 200 / 101,500 = 0.00197...; the prices of the bundled table.
  assert.deepEqual(['BTC', 'USDC'].map(size), [200_000n, 200_000_000n]);
});

test('filters select payers by currency and name', () => {
  const dollars = listOffers({ countryCode: 'LBN', destinationCurrency: 'USD' });
  assert.ok(dollars.length > 0);
  for (const { currencies } of dollars)
    assert.deepEqual(
      currencies.map(({ code }) => code),
      ['USD'],
    );
  const named = listOffers({ payerName: 'Sandbox Cash Points Mexico', cheapestOnly: false });
  assert.equal(named.length, 3);
  assert.deepEqual(lookUp({ payerName: 'nobody' }).companies, []);
});

test('a refused look-up says why', () => {
  const reason = (changes: Partial<LookUpQuery>): string => {
    const result = lookUpCountry({ ...cheapest, ...changes });
    return result.ok ? 'ok' : result.reason;
  };
  const stale: MidRates = { find: () => ({ ok: false, reason: 'stale', detail: 'too old' }) };
  assert.equal(reason({ countryCode: 'XXX' }), 'country_unknown');
  assert.equal(reason({ sourceCurrency: 'XXX' }), 'currency_unknown');
  assert.equal(reason({ sourceCurrency: 'EUR', rates: createRates({}) }), 'rate_unknown');
  assert.equal(reason({ sourceCurrency: 'EUR', rates: stale }), 'rate_stale');
  assert.equal(reason({ rates: stale }), 'rate_stale');
  // Without the rate of the peso, what needs no exchange is still there.
  assert.equal(reason({ countryCode: 'SLV', rates: stale }), 'ok');
  assert.deepEqual(lookUp({ countryCode: 'FRA', catalog: rivals }).companies, []);
});

test('results are cached by query, rates and minute', () => {
  const ask = createCachedLookUp(() => sandboxCatalog, 3);
  const { catalog: _, ...query } = cheapest;
  const first = ask(query);
  assert.ok(first.ok && first.untilMs === nowMs + 60_000);
  assert.equal(ask({ ...query, nowMs: nowMs + 59_999 }), first);
  assert.notEqual(ask({ ...query, payerName: 'Bank' }), first);
  assert.notEqual(ask({ ...query, cheapestOnly: false }), first);
  assert.equal(ask(query), first);
  assert.notEqual(ask({ ...query, rates: { ...bundledRates } }), first);
  const next = ask({ ...query, nowMs: nowMs + 60_000 });
  assert.notEqual(next, first);
  // Three other questions push it out.
  for (const countryCode of ['PHL', 'IND', 'NGA']) ask({ ...query, countryCode });
  assert.notEqual(ask({ ...query, nowMs: nowMs + 60_000 }), next);
});

test('a cached result ends with the catalog, which is another one after each reading of prices', () => {
  let catalog = sandboxCatalog;
  const ask = createCachedLookUp(() => catalog, 3);
  const { catalog: _, ...query } = cheapest;
  const before = ask(query);
  catalog = { ...sandboxCatalog, payersIn: () => sandboxCatalog.payersIn('MEX').slice(0, 1) };
  const after = ask(query);
  assert.notEqual(after, before);
  assert.ok(after.ok);
  assert.equal(after.companies.length, 1);
  assert.equal(ask(query), after);
});
