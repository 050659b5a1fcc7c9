import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { boundRate, getFeeMinor, getShareMinor, parseRate, splitFee } from './fees.ts';

const bounds = { rateMin: 1000n, rateMax: 50_000n, shareMaxBasisPoints: 150 };

test('a rate is read exactly with up to three decimals', () => {
  assert.equal(parseRate('1'), 1000n);
  assert.equal(parseRate('0.001'), 1n);
  assert.equal(parseRate('12.345'), 12_345n);
  for (const text of ['0', '-1', '0.0001', 'x', '']) assert.equal(parseRate(text), undefined);
});

test('the fee exceeds the rate by less than one unit', () => {
  const weight = fc.integer({ min: 1, max: 400_000 });
  fc.assert(
    fc.property(weight, fc.bigInt({ min: 1n, max: 1_000_000n }), (units, rate) => {
      const fee = getFeeMinor(units, rate);
      assert.ok(fee * 4000n >= BigInt(units) * rate);
      assert.ok((fee - 1n) * 4000n < BigInt(units) * rate);
    }),
  );
});

test('parts of a fee sum up exactly and differ by one unit at most', () => {
  const parts = fc.integer({ min: 1, max: 500 });
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 12n }), parts, (fee, count) => {
      const split = splitFee(fee, count);
      assert.equal(split.length, count);
      assert.equal(
        split.reduce((sum, part) => sum + part, 0n),
        fee,
      );
      assert.ok((split[0] ?? 0n) - (split.at(-1) ?? 0n) <= 1n);
    }),
  );
});

test('the rate is within the bounds, or undefined when the node requires more', () => {
  assert.equal(boundRate(10_000n, 1000n, bounds), 10_000n);
  assert.equal(boundRate(10n, 1000n, bounds), 1000n);
  assert.equal(boundRate(10n, 7000n, bounds), 7000n);
  assert.equal(boundRate(90_000n, 1000n, bounds), 50_000n);
  assert.equal(boundRate(90_000n, 60_000n, bounds), undefined);
});

test('a share is rounded down', () => {
  assert.equal(getShareMinor(10_000n, bounds), 150n);
  assert.equal(getShareMinor(9_999n, bounds), 149n);
});
