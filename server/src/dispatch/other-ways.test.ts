import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bundledRates,
  getSandboxPayer,
  sandboxCatalog,
} from '../../testing/setups/destinations.ts';
import { listOtherWays } from './other-ways.ts';
import type { RouterServices } from './routing.ts';

const services: RouterServices = {
  catalog: () => sandboxCatalog,
  rates: () => bundledRates,
  healthOf: () => 'up',
  measure: () => ({ availabilityPercent: undefined, ratingTenths: undefined }),
  nowMs: () => 0,
  hasIndependentPayers: () => true,
  readObjections: async () => () => undefined,
};
const list = (payerKey: string, sourceMinor = 20_000n) => {
  const payer = getSandboxPayer(payerKey);
  const ways = listOtherWays(services, {
    destinationToken: payer.destinationToken,
    destinationCurrency: 'MXN',
    sourceCurrency: 'USD',
    sourceMinor,
  });
  return { payer, ways };
};

test('every other payer of the country is listed with each currency, the cheapest first', () => {
  const { payer, ways } = list('mex-cash-plaza');
  const competing = [payer, ...sandboxCatalog.findEquivalents(payer, 'MXN')];
  const expected = sandboxCatalog
    .payersIn('MEX')
    .flatMap((one) =>
      one.currencies
        .filter((code) => code !== 'MXN' || !competing.includes(one))
        .map((code) => `${one.destinationToken} ${code}`),
    );
  const found = ways.map((way) => `${way.destination_token} ${way.destination_currency_code}`);
  assert.deepEqual(found.toSorted(), expected.toSorted());
  const scores = ways.map(({ score }) => score ?? -1);
  assert.deepEqual(
    scores,
    scores.toSorted((a, b) => b - a),
  );
  const chain = ways.find((way) => way.destination_currency_code === 'USDC');
  assert.ok(chain !== undefined);
  assert.equal(chain.delivery_type, 'CRYPTOCURRENCY');
  assert.ok(Number(chain.destination_amount) > 150 && Number(chain.destination_amount) <= 200);
});

test('a way that gives no price for the amount says why, and comes last', () => {
  const { ways } = list('mex-cash-plaza', 1n);
  assert.ok(ways.length > 0);
  for (const way of ways.filter(({ score }) => score === null)) {
    assert.equal(way.destination_amount, '');
    assert.notEqual(way.detail, '');
  }
  const firstWithout = ways.findIndex(({ score }) => score === null);
  assert.ok(firstWithout >= 0);
  assert.ok(ways.slice(firstWithout).every(({ score }) => score === null));
});
