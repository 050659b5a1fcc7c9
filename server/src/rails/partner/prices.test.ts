import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import {
  context,
  declarePartnerPayer,
  newInstruction,
  type openWithSecrets,
  type PartnerRail,
} from '../../../testing/setups/partner.ts';
import { servePartnerParts } from '../../../testing/setups/partner-parts.ts';
import type { QuotedPrice } from '../contract/contract.ts';
import { findPriceLimit } from './price-limit.ts';

/** Prices of a partner that quotes them, and orders that must not cost more. */

const price = {
  payer: 'ES-1',
  source_currency: 'USD',
  destination_currency: 'EUR',
  rate: '0.9',
  fee: [
    { up_to: '100', fixed: '1.00', basis_points: '0' },
    { fixed: '0.50', basis_points: '25' },
  ],
  delivery_seconds: '3600',
};
const quoted: QuotedPrice = {
  sourceCurrency: 'USD',
  rate: '0.9',
  feeMinor: 78n,
  asOfMs: 0,
  bearBasisPoints: 50,
};

let partner: Awaited<ReturnType<typeof openWithSecrets>>;
let subject: PartnerRail;
servePartnerParts(
  {
    capabilities: ['prices'],
    behavior: { prices: [price] },
    payers: [declarePartnerPayer({ options: { code: 'ES-1' } })],
  },
  (opened) => ({ partner, subject } = opened),
);
afterEach(() => {
  partner.state.options.prices = [price];
});

const read = async () => subject.rail.readPrices?.(context);

test('a price of the partner is one of each payer that it names, in the form of the contract', async () => {
  const expected = {
    payerKey: 'bank',
    sourceCurrency: 'USD',
    destinationCurrency: 'EUR',
    rate: '0.9',
    fee: [
      { upTo: '100', fixed: '1.00', basisPoints: 0 },
      { upTo: null, fixed: '0.50', basisPoints: 25 },
    ],
    deliverySeconds: 3600,
  };
  const { prices } = partner.state.options;
  partner.state.options.prices = [...prices, { ...price, payer: 'other' }];
  assert.deepEqual(await read(), [expected]);
});

test('an expired price is left out, and another one says until when it holds', async () => {
  partner.state.options.prices = [{ ...price, expires_at: '2020-01-01T00:00:00Z' }];
  assert.deepEqual(await read(), []);
  const expiresAt = new Date(Date.now() + 60_000).toISOString();
  partner.state.options.prices = [{ ...price, expires_at: expiresAt }];
  const [held] = (await read()) ?? [];
  const leftMs = (held?.holdsUntilMs ?? 0) - Date.now();
  assert.ok(leftMs > 0 && leftMs <= 61_000);
});

test('an answer that cannot be read states no price', async () => {
  for (const kind of ['garbage', 'error_before', 'busy', 'no_time'] as const) {
    const times = { share: 1, count: null, pattern: '', delayMs: 0 };
    partner.state.options.faults = [{ on: 'prices', kind, ...times }];
    await assert.rejects(read(), /the partner does not state its prices/, kind);
  }
  partner.state.options.faults = [];
  partner.state.options.defects = ['states_rates_as_numbers'];
  await assert.rejects(read(), /does not have its form/);
});

test('the limit is the quoted cost with what the operator bears, rounded up', () => {
  // 100.10 EUR / 0.9 = 111.2222… USD; 0.78 fee; 50 basis points are 0.5562.
  const limit = findPriceLimit({ ...newInstruction(), quoted });
  assert.deepEqual(limit, { currency: 'USD', amountMinor: 11_123n + 78n + 56n });
  assert.equal(findPriceLimit(newInstruction()), undefined);
});

test('a payment within the limit is booked, and a dearer one is rejected before it is', async () => {
  const within = await subject.rail.send(newInstruction({ quoted }), context);
  assert.equal(within.outcome, 'accepted');
  partner.state.options.prices = [{ ...price, rate: '0.89' }];
  const dearer = await subject.rail.send(newInstruction({ quoted }), context);
  assert.deepEqual('reason' in dearer && [dearer.outcome, dearer.reason], [
    'rejected',
    'price_worse',
  ]);
});
