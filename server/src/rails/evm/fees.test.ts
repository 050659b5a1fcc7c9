import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { toChainUnits } from '../kit/amounts.ts';
import { parseDecimal, toMinorUnitsUp } from './amounts.ts';
import { chooseOffer, raiseOffer } from './fees.ts';

const gwei = 10n ** 9n;
const wei = (most: bigint) => fc.bigInt({ min: 0n, max: most });
const limitsArbitrary = fc.record({
  perGasMax: wei(1000n * gwei),
  totalMax: wei(10n ** 18n),
  priorityMin: wei(5n * gwei),
  priorityMax: wei(50n * gwei),
  gasMax: fc.constant(300_000n),
});
const marketArbitrary = fc.record({ baseFee: wei(2000n * gwei), priorityFee: wei(2000n * gwei) });
const gasArbitrary = fc.bigInt({ min: 21_000n, max: 300_000n });

test('every offer is within the limits and covers the next base fee', () => {
  fc.assert(
    fc.property(limitsArbitrary, marketArbitrary, gasArbitrary, (limits, market, gas) => {
      const offer = chooseOffer(limits, market, gas);
      if (offer === undefined) return;
      assert.ok(offer.maxFeePerGas <= limits.perGasMax);
      assert.ok(offer.maxFeePerGas * gas <= limits.totalMax);
      assert.ok(offer.maxPriorityFeePerGas <= offer.maxFeePerGas);
      assert.ok(offer.maxFeePerGas >= market.baseFee + offer.maxPriorityFeePerGas);
      const floor =
        limits.priorityMin < limits.priorityMax ? limits.priorityMin : limits.priorityMax;
      assert.ok(offer.maxPriorityFeePerGas >= floor);
    }),
  );
});

test('a replacement raises both fees by a tenth or more, within the limits', () => {
  fc.assert(
    fc.property(limitsArbitrary, marketArbitrary, gasArbitrary, (limits, market, gas) => {
      const first = chooseOffer(limits, market, gas);
      if (first === undefined) return;
      const next = raiseOffer(limits, market, { ...first, gas });
      if (next === undefined) return;
      assert.ok(next.maxFeePerGas * 10n >= first.maxFeePerGas * 11n);
      assert.ok(next.maxPriorityFeePerGas * 10n >= first.maxPriorityFeePerGas * 11n);
      assert.ok(next.maxFeePerGas <= limits.perGasMax);
      assert.ok(next.maxFeePerGas * gas <= limits.totalMax);
    }),
  );
});

test('no offer is made while the base fee is above the limits', () => {
  const limits = {
    perGasMax: 20n * gwei,
    totalMax: 10n ** 18n,
    priorityMin: gwei,
    priorityMax: 5n * gwei,
    gasMax: 300_000n,
  };
  const at = (baseFee: bigint) => chooseOffer(limits, { baseFee, priorityFee: 0n }, 21_000n);
  assert.equal(at(19n * gwei + 1n), undefined);
  assert.deepEqual(at(19n * gwei), { maxFeePerGas: 20n * gwei, maxPriorityFeePerGas: gwei });
  assert.deepEqual(at(3n * gwei), { maxFeePerGas: 7n * gwei, maxPriorityFeePerGas: gwei });
});

test('amounts are converted to chain units exactly or not at all', () => {
  assert.equal(toChainUnits(1n, { currency: 9, chain: 18 }), 10n ** 9n);
  assert.equal(toChainUnits(12_345_678n, { currency: 6, chain: 6 }), 12_345_678n);
  assert.equal(toChainUnits(1_500n, { currency: 6, chain: 4 }), 15n);
  assert.equal(toChainUnits(1_550n, { currency: 6, chain: 4 }), undefined);
  assert.equal(toMinorUnitsUp(21_000n * 10n ** 9n, 9), 21_000n);
  assert.equal(toMinorUnitsUp(1n, 9), 1n);
  assert.equal(toMinorUnitsUp(0n, 9), 0n);
  assert.equal(parseDecimal('12.5', 9), 12_500_000_000n);
  assert.equal(parseDecimal('0.000000001', 9), 1n);
});
