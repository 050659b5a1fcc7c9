import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { listCurrencies } from './currency.ts';
import { amountMinorMax, formatScaled } from './money.ts';
import {
  convert,
  convertBack,
  divideRates,
  divideRounded,
  formatMargin,
  formatRate,
  getRate,
  getRoundingNano,
  multiplyRates,
  parseRate,
  type Rate,
  rateOfOne,
  takeMargin,
} from './rate.ts';

const currency = fc.constantFrom(...listCurrencies());
const minor = fc.bigInt(1n, amountMinorMax);
/** From about a ten-billionth to ten billion, with at most twelve significant digits. */
const rate: fc.Arbitrary<Rate> = fc
  .tuple(fc.bigInt(1n, 999_999_999_999n), fc.integer({ min: 0, max: 20 }))
  .map(([digits, scale]) => getRate(formatScaled(digits, scale)));
const conversion = fc.record({ from: currency, to: currency, rate });

/** left <=> right as fractions. */
function compare(left: Rate, right: Rate): number {
  const a = left.digits * 10n ** BigInt(right.scale);
  const b = right.digits * 10n ** BigInt(left.scale);
  return a === b ? 0 : a < b ? -1 : 1;
}

test('a rate that is written is read back the same', () => {
  fc.assert(fc.property(rate, (one) => assert.deepEqual(parseRate(formatRate(one)), one)));
  for (const text of ['0', '-1', '', 'x', '1/2', 'NaN']) assert.equal(parseRate(text), undefined);
});

test('floor is at most, ceil at least, and they are one apart where it does not divide', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 10n ** 40n), fc.bigInt(1n, 10n ** 30n), (numerator, denominator) => {
      const floor = divideRounded(numerator, denominator, 'floor');
      const ceil = divideRounded(numerator, denominator, 'ceil');
      assert.ok(floor * denominator <= numerator && ceil * denominator >= numerator);
      assert.equal(ceil - floor, numerator % denominator === 0n ? 0n : 1n);
    }),
  );
  assert.throws(() => divideRounded(-1n, 1n, 'floor'));
  assert.throws(() => divideRounded(1n, 0n, 'floor'));
});

test('no round trip gains: there and back is never more than there was', () => {
  fc.assert(
    fc.property(minor, conversion, (amount, by) => {
      assert.ok(convertBack(convert(amount, by, 'floor'), by, 'floor') <= amount);
    }),
  );
});

test('a requested amount is delivered: the source for a destination suffices, and a unit less does not', () => {
  fc.assert(
    fc.property(minor, conversion, (wanted, by) => {
      const source = convertBack(wanted, by, 'ceil');
      assert.ok(convert(source, by, 'floor') >= wanted);
      assert.ok(source === 0n || convert(source - 1n, by, 'floor') < wanted);
    }),
  );
});

test('more never delivers less, and a sum never less than its parts', () => {
  fc.assert(
    fc.property(minor, minor, conversion, (a, b, by) => {
      const whole = convert(a + b, by, 'floor');
      const parts = convert(a, by, 'floor') + convert(b, by, 'floor');
      assert.ok(whole >= parts && whole <= parts + 1n);
    }),
  );
});

test('the rounding difference is less than one minor unit, and with it no amount is lost', () => {
  fc.assert(
    fc.property(minor, conversion, (amount, by) => {
      const delivered = convert(amount, by, 'floor');
      const nano = getRoundingNano(amount, delivered, by);
      assert.ok(nano >= 0n && nano < 1_000_000_000n);
      // delivered + nano is the exact value, cut to billionths.
      const numerator = amount * by.rate.digits * 10n ** BigInt(by.to.scale) * 1_000_000_000n;
      const denominator = 10n ** BigInt(by.rate.scale + by.from.scale);
      assert.equal(delivered * 1_000_000_000n + nano, numerator / denominator);
    }),
  );
});

test('a rate of one between currencies of one scale changes nothing', () => {
  fc.assert(
    fc.property(minor, currency, (amount, of) => {
      const by = { from: of, to: of, rate: rateOfOne };
      assert.equal(convert(amount, by, 'floor'), amount);
      assert.equal(convertBack(amount, by, 'ceil'), amount);
    }),
  );
});

test('a margin never makes a rate better, and a larger one never makes it better than a smaller', () => {
  const margin = fc.integer({ min: 0, max: 9_999 });
  fc.assert(
    fc.property(rate, margin, margin, (mid, a, b) => {
      const [small, large] = a < b ? [a, b] : [b, a];
      assert.ok(compare(takeMargin(mid, small), mid) <= 0);
      assert.ok(compare(takeMargin(mid, large), takeMargin(mid, small)) <= 0);
      assert.equal(takeMargin(mid, 0), mid);
    }),
  );
  for (const wrong of [-1, 10_000, 0.5, Number.NaN]) {
    assert.throws(() => takeMargin(rateOfOne, wrong));
  }
});

test('a cross rate is cut towards zero, with an error below one in a hundred billion', () => {
  fc.assert(
    fc.property(rate, rate, (a, b) => {
      const quotient = divideRates(a, b);
      // quotient x b <= a < quotient x b x (1 + 10^-11).
      const back = { digits: quotient.digits * b.digits, scale: quotient.scale + b.scale };
      assert.ok(compare(back, a) <= 0);
      const above = { digits: back.digits * (10n ** 11n + 1n), scale: back.scale + 11 };
      assert.ok(compare(above, a) > 0);
      const product = multiplyRates(a, b);
      const exact = { digits: a.digits * b.digits, scale: a.scale + b.scale };
      assert.ok(compare(product, exact) <= 0);
      const productAbove = {
        digits: product.digits * (10n ** 11n + 1n),
        scale: product.scale + 11,
      };
      assert.ok(compare(productAbove, exact) > 0);
    }),
  );
});

test('there and back over the inverse of a rate never gains', () => {
  fc.assert(
    fc.property(minor, conversion, (amount, { from, to, rate: there }) => {
      const back = divideRates(rateOfOne, there);
      const abroad = convert(amount, { from, to, rate: there }, 'floor');
      assert.ok(convert(abroad, { from: to, to: from, rate: back }, 'floor') <= amount);
    }),
  );
});

test('a way over three currencies never ends with more than it began with', () => {
  fc.assert(
    fc.property(
      minor,
      fc.tuple(currency, currency, currency),
      fc.tuple(rate, rate),
      (amount, [a, b, c], [ab, bc]) => {
        const ca = divideRates(rateOfOne, multiplyRates(ab, bc));
        // The product was cut, so its inverse may be the better by what was cut: less than 10^-11 of it.
        const round = convert(
          convert(
            convert(amount, { from: a, to: b, rate: ab }, 'floor'),
            { from: b, to: c, rate: bc },
            'floor',
          ),
          { from: c, to: a, rate: ca },
          'floor',
        );
        assert.ok(round <= amount + amount / 100_000_000_000n);
      },
    ),
  );
});

test('the margin is the part of the mid rate that the all-in rate leaves out', () => {
  const margin = (allIn: string, mid: string) => formatMargin(getRate(allIn), getRate(mid));
  assert.equal(margin('18.32325', '18.6'), '0.014879');
  assert.equal(margin('1', '1'), '0');
  assert.equal(margin('0.0000116233', '0.0000119827'), '0.029993');
  assert.equal(margin('1.01', '1'), '-0.01');
  assert.equal(margin('2', '3'), '0.333333');
  assert.equal(margin('1', '3'), '0.666667');
});

test('the margin in basis points that was taken from a rate is its margin', () => {
  fc.assert(
    fc.property(rate, fc.integer({ min: 0, max: 9_999 }), (mid, basisPoints) => {
      assert.equal(
        formatMargin(takeMargin(mid, basisPoints), mid),
        formatScaled(BigInt(basisPoints), 4),
      );
    }),
  );
});
