import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listCurrencies } from '../core/currency.ts';
import { formatRate } from '../core/rate.ts';
import { bundledAsOfMs, bundledQuotes } from './bundled-rates.ts';
import { parseQuoteRate } from './quote-file.ts';
import { createRateBook } from './rate-book.ts';

const book = createRateBook(bundledQuotes, { maxAgeMs: null, nowMs: () => bundledAsOfMs });

function find(from: string, to: string): string {
  const result = book.find(from, to);
  return result.ok ? formatRate(result.rate) : result.detail;
}

test('every currency has exactly one quote, against the dollar', () => {
  const others = bundledQuotes.map((quote) => (quote.base === 'USD' ? quote.quote : quote.base));
  const expected = listCurrencies().map((currency) => currency.code);
  assert.deepEqual([...others, 'USD'].toSorted(), expected.toSorted());
  assert.ok(bundledQuotes.every((quote) => quote.base === 'USD' || quote.quote === 'USD'));
});

test('every pair of currencies has a rate', () => {
  for (const from of listCurrencies()) {
    for (const to of listCurrencies()) {
      assert.ok(book.find(from.code, to.code).ok, `${from.code} to ${to.code}`);
    }
  }
});

test('every rate is within the range of quotes', () => {
  for (const quote of bundledQuotes) {
    assert.ok(parseQuoteRate(formatRate(quote.rate)), `${quote.base}/${quote.quote}`);
  }
});

test('currencies fixed to another one have their fixed rate', () => {
  const fixed = [
    ['USD', 'AED', '3.6725'],
    ['USD', 'BHD', '0.376'],
    ['USD', 'SAR', '3.75'],
    ['USD', 'QAR', '3.64'],
    ['USD', 'JOD', '0.709'],
    ['USD', 'XCD', '2.7'],
    ['USD', 'PAB', '1'],
    ['EUR', 'XOF', '655.957'],
    ['EUR', 'XAF', '655.957'],
    ['EUR', 'KMF', '491.96775'],
    ['EUR', 'XPF', '119.331742'],
    ['EUR', 'BGN', '1.95583'],
    ['EUR', 'BAM', '1.95583'],
    ['EUR', 'CVE', '110.265'],
    ['XAF', 'XOF', '1'],
    ['GBP', 'GIP', '1'],
    ['GBP', 'FKP', '1'],
    ['GBP', 'SHP', '1'],
    ['INR', 'NPR', '1.6'],
    ['INR', 'BTN', '1'],
    ['SGD', 'BND', '1'],
    ['ZAR', 'NAD', '1'],
    ['ZAR', 'LSL', '1'],
    ['ZAR', 'SZL', '1'],
    ['HKD', 'MOP', '1.03'],
    ['ANG', 'XCG', '1'],
    ['USDC', 'USD', '1'],
  ] as const;
  for (const [from, to, rate] of fixed) assert.equal(find(from, to), rate, `${from} to ${to}`);
});

test('the table is dated in the past', () => {
  assert.equal(new Date(bundledAsOfMs).toISOString(), '2026-10-30T14:00:00.000Z');
  assert.ok(bundledQuotes.every((quote) => quote.asOfMs === bundledAsOfMs));
});
