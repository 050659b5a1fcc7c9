import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { getCurrency } from '../core/currency.ts';
import { getRate, rateOfOne } from '../core/rate.ts';
import {
  findLargestSource,
  fitsLimits,
  getFeeMinor,
  getTerms,
  type Pricing,
  readUsdMinor,
  type Terms,
  usd,
} from './pricing.ts';

const tiers: Pricing = {
  steps: [
    { upToUsdMinor: 10_000n, fixedUsdMinor: 125n, basisPoints: 0 },
    { upToUsdMinor: 100_000n, fixedUsdMinor: 90n, basisPoints: 50 },
    { upToUsdMinor: null, fixedUsdMinor: 350n, basisPoints: 30 },
  ],
  marginBasisPoints: 75,
  rates: new Map(),
  minLimitUsdMinor: 100n,
  maxLimitUsdMinor: 250_000n,
};

test('in dollars a schedule is as declared, with inclusive bounds', () => {
  const terms = getTerms(tiers, usd, rateOfOne);
  const fees = [1n, 10_000n, 10_001n, 100_000n, 100_001n].map((amount) =>
    getFeeMinor(terms, amount),
  );
  // 0.5 % of 100.01 is 0.50005 and is rounded up to 0.51; 0.3 % of 1,000.01 is 3.00003.
  assert.deepEqual(fees, [125n, 125n, 141n, 590n, 651n]);
});

test('the step depends on the worth in dollars, and the fixed fee is rounded up', () => {
  // 1 USD = 152.3 JPY: 100 USD are 15,230 JPY, and 1.25 USD are 190.375 JPY.
  const terms = getTerms(tiers, getCurrency('JPY'), getRate('152.3'));
  assert.equal(getFeeMinor(terms, 15_230n), 191n);
  assert.equal(getFeeMinor(terms, 15_231n), 138n + 77n);
});

test('the minimum is rounded up and the maximum down, both inclusive', () => {
  const terms = getTerms(tiers, getCurrency('JPY'), getRate('152.3'));
  assert.deepEqual([terms.minLimitMinor, terms.maxLimitMinor], [153n, 380_750n]);
  const fits = [152n, 153n, 380_750n, 380_751n].map((amount) => fitsLimits(terms, amount));
  assert.deepEqual(fits, [false, true, true, false]);
});

test('a limit of 0 means no limit', () => {
  const free = { ...tiers, minLimitUsdMinor: 0n, maxLimitUsdMinor: 0n };
  const terms = getTerms(free, usd, rateOfOne);
  assert.ok(fitsLimits(terms, 1n) && fitsLimits(terms, 10n ** 15n));
});

test('cached terms are of the requested currency', () => {
  // The same rate object for two currencies of different minor units.
  const rate = getRate('152.3');
  assert.equal(getTerms(tiers, getCurrency('JPY'), rate).minLimitMinor, 153n);
  assert.equal(getTerms(tiers, getCurrency('KES'), rate).minLimitMinor, 15_230n);
});

test('amounts of a declaration are whole cents', () => {
  assert.deepEqual(['0', '1', '1.5', '1.05'].map(readUsdMinor), [0n, 100n, 150n, 105n]);
  assert.deepEqual(['', '-1', '1.005', 'one'].map(readUsdMinor), [
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

/** Ascending steps whose fees jump up and down at the bounds. */
const anyTerms: fc.Arbitrary<Terms> = fc
  .array(
    fc.record({
      width: fc.bigInt(1n, 60n),
      fixed: fc.bigInt(0n, 40n),
      points: fc.bigInt(0n, 2_000n),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((steps) => {
    let upTo = 0n;
    return {
      source: usd,
      minLimitMinor: 0n,
      maxLimitMinor: 0n,
      steps: steps.map(({ width, fixed, points }, index) => {
        upTo += width;
        const isLast = index === steps.length - 1;
        return { upToMinor: isLast ? null : upTo, fixedMinor: fixed, basisPoints: points };
      }),
    };
  });

test('the largest amount within a limit equals that of an exhaustive search', () => {
  fc.assert(
    fc.property(anyTerms, fc.bigInt(0n, 300n), (terms, limit) => {
      let largest = 0n;
      for (let amount = 1n; amount <= limit; amount += 1n) {
        if (amount + getFeeMinor(terms, amount) <= limit) largest = amount;
      }
      assert.equal(findLargestSource(terms, limit), largest);
    }),
    { numRuns: 2_000 },
  );
});
