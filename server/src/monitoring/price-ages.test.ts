import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCompany, createPayer, createRail } from '../../testing/setups/destinations.ts';
import { compileCatalog } from '../destinations/catalog.ts';
import { measurePrices } from './price-ages.ts';

test('the age of prices and the payers without a fresh one are counted by rail', () => {
  const keys = ['fresh', 'stale', 'missing'];
  const quoting = (name: string) => ({
    ...createRail(
      name,
      [createCompany('first')],
      keys.map((key) => createPayer(key)),
    ),
    readPrices: async () => [],
    priceRules: { readEveryMs: 1000, ageMsMax: 10_000, bearBasisPoints: 0 },
  });
  const tariff = createRail('tariff', [createCompany('first')], [createPayer('any')]);
  const priceOf = (payer_key: string, at: number) => ({
    rail: 'one',
    payer_key,
    source_currency: 'EUR',
    destination_currency: 'MXN',
    rate: '20',
    fee: [{ upTo: null, fixed: '0', basisPoints: 0 }],
    read_at: new Date(at),
    holds_until: null,
    delivery_seconds: null,
  });
  const prices = [priceOf('fresh', 95_000), priceOf('stale', 5_000)];
  const catalog = compileCatalog([quoting('one'), quoting('two'), tariff], 100_000, prices);
  assert.deepEqual(measurePrices(catalog, 100_000), [
    { rail: 'one', ageMs: 5_000, unpriced: 2 },
    { rail: 'two', ageMs: undefined, unpriced: 3 },
  ]);
});
