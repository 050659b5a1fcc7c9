import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { getCurrency, listCurrencies } from './currency.ts';
import {
  amountMinorMax,
  formatAmount,
  formatScaled,
  getAmountMinor,
  parseAmount,
  readDecimal,
} from './money.ts';

const currency = fc.constantFrom(...listCurrencies());
const minor = fc.bigInt(1n, amountMinorMax);

/** A decimal text in one of the many spellings of the same value. */
const spelling = fc.record({
  zeros: fc.integer({ min: 0, max: 3 }),
  trailing: fc.integer({ min: 0, max: 4 }),
  exponent: fc.integer({ min: -8, max: 8 }),
});

test('a formatted amount parses to the same amount, in every currency', () => {
  fc.assert(
    fc.property(minor, currency, (amount, of) => {
      assert.deepEqual(parseAmount(formatAmount(amount, of), of), { ok: true, minor: amount });
    }),
  );
});

test('an amount is written as the shortest plain decimal', () => {
  fc.assert(
    fc.property(minor, currency, (amount, of) => {
      const text = formatAmount(amount, of);
      assert.match(text, /^(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/);
      const [, fraction = ''] = text.split('.');
      assert.ok(fraction.length <= of.scale);
    }),
  );
  assert.equal(formatAmount(10_010n, getCurrency('USD')), '100.1');
  assert.equal(formatAmount(1n, getCurrency('BTC')), '0.00000001');
  assert.equal(formatAmount(5n, getCurrency('JPY')), '5');
  assert.equal(formatAmount(0n, getCurrency('USD')), '0');
  assert.equal(formatAmount(-1n, getCurrency('USD')), '-0.01');
});

test('every spelling of a value is the same amount', () => {
  fc.assert(
    fc.property(minor, currency, spelling, (amount, of, { zeros, trailing, exponent }) => {
      // amount x 10^-scale, with the point moved and the exponent that moves it back.
      const shifted = of.scale + exponent;
      const digits = shifted < 0 ? amount * 10n ** BigInt(-shifted) : amount;
      const plain = formatScaled(digits, Math.max(0, shifted));
      const padded = plain.includes('.') ? plain : `${plain}.0`;
      const text = `${'0'.repeat(zeros)}${padded}${'0'.repeat(trailing)}e${exponent}`;
      assert.deepEqual(parseAmount(text, of), { ok: true, minor: amount }, text);
    }),
  );
});

test('one digit more than the currency has is a fault, and never rounded away', () => {
  fc.assert(
    fc.property(minor, currency, fc.integer({ min: 1, max: 9 }), (amount, of, digit) => {
      const text = formatScaled(amount * 10n + BigInt(digit), of.scale + 1);
      assert.deepEqual(parseAmount(text, of), { ok: false, fault: 'amount_too_precise' }, text);
    }),
  );
});

test('zero, negative and excessive amounts have faults of their own', () => {
  const usd = getCurrency('USD');
  const faultOf = (text: string) => {
    const result = parseAmount(text, usd);
    return result.ok ? 'none' : result.fault;
  };
  for (const text of ['0', '-0', '0.00', '0e5', '-1', '-0.01', '-1e3']) {
    assert.equal(faultOf(text), 'amount_not_positive', text);
  }
  assert.equal(faultOf(formatScaled(amountMinorMax, 2)), 'none');
  assert.equal(faultOf(formatScaled(amountMinorMax + 1n, 2)), 'amount_too_large');
  for (const text of ['1e50', '99999999999999999999', '1e13']) {
    assert.equal(faultOf(text), 'amount_too_large', text);
  }
});

test('a text that is not a decimal is refused, however long or odd', () => {
  const texts = ['', ' ', '1 ', ' 1', '+1', '.5', '1.', '1,5', '0x10', '1_000', 'NaN', 'Infinity'];
  const odd = ['1e', '1e+', '--1', '1e400', '1e-400', '١', '1\n', '1'.repeat(61), '0b1', '1n', '½'];
  for (const text of [...texts, ...odd]) {
    assert.equal(readDecimal(text), undefined, JSON.stringify(text));
    assert.throws(() => getAmountMinor(text, getCurrency('USD')));
  }
  fc.assert(
    fc.property(fc.string({ maxLength: 80 }), (text) => {
      const isDecimal = text.length <= 60 && /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text);
      if (!isDecimal) assert.equal(readDecimal(text), undefined);
    }),
  );
});

test('no amount is seen through a binary double', () => {
  const usd = getCurrency('USD');
  assert.deepEqual(parseAmount('0.1', usd), { ok: true, minor: 10n });
  assert.deepEqual(parseAmount('1.005', usd), { ok: false, fault: 'amount_too_precise' });
  assert.deepEqual(parseAmount('9999999999999.99', usd), { ok: true, minor: 999_999_999_999_999n });
  fc.assert(
    fc.property(minor, minor, currency, (a, b, of) => {
      const read = (amount: bigint) => getAmountMinor(formatAmount(amount, of), of);
      assert.equal(read(a) + read(b), a + b);
    }),
  );
});
