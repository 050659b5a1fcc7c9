import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { getCurrency, listCurrencies } from '../core/currency.ts';
import { convert, formatRate, getRate, parseRate, type Rate } from '../core/rate.ts';
import { liveAgeLimits } from './age-limits.ts';
import { createRateBook, type MidRates, type RateQuote } from './rate-book.ts';

const noonMs = Date.parse('2026-11-18T12:00:00Z');
const minuteMs = 60_000;

type QuoteText = [pair: string, rate: string, source?: string, asOfMs?: number];

function listQuotes(...texts: QuoteText[]): RateQuote[] {
  return texts.map(([pair, rate, source = 'ecb', asOfMs = noonMs]) => {
    const [base = '', quote = ''] = pair.split('/');
    return { base, quote, rate: getRate(rate), source, asOfMs };
  });
}

function createBook(...texts: QuoteText[]): MidRates {
  return createRateBook(listQuotes(...texts), { maxAgeMs: null, nowMs: () => noonMs });
}

function find(book: MidRates, from: string, to: string): string {
  const result = book.find(from, to);
  return result.ok ? formatRate(result.rate) : result.reason;
}

test('a quoted rate is returned exactly, whatever its number of digits', () => {
  const book = createBook(['BTC/USD', '101234.567890123456']);
  assert.equal(find(book, 'BTC', 'USD'), '101234.567890123456');
});

test('the inverse of a quote is truncated to twelve significant digits', () => {
  assert.equal(find(createBook(['EUR/USD', '1.5']), 'USD', 'EUR'), '0.666666666666');
});

test('a currency is worth exactly one of itself, quoted or not', () => {
  assert.equal(find(createBook(), 'MXN', 'MXN'), '1');
  assert.equal(find(createBook(), 'XXZ', 'XXZ'), 'unknown');
});

test('a pair without a path of quotes is unknown', () => {
  const book = createBook(['EUR/USD', '1.16']);
  assert.equal(find(book, 'USD', 'MXN'), 'unknown');
  assert.equal(find(book, '__proto__', 'constructor'), 'unknown');
});

test('two currencies linked by a third one have a cross rate', () => {
  const book = createBook(['EUR/USD', '1.25'], ['EUR/MXN', '20']);
  assert.equal(find(book, 'USD', 'MXN'), '16');
  assert.equal(find(book, 'MXN', 'USD'), '0.0625');
});

test('a cryptocurrency priced in dollars has a rate to a currency quoted in euros', () => {
  const book = createBook(
    ['BTC/USD', '100000', 'crypto'],
    ['EUR/USD', '1.25'],
    ['EUR/MXN', '20'],
    ['ETH/USD', '4000', 'crypto'],
  );
  assert.equal(find(book, 'BTC', 'MXN'), '1600000');
  assert.equal(find(book, 'MXN', 'BTC'), '0.000000625');
  assert.equal(find(book, 'BTC', 'ETH'), '25');
});

test('a cryptocurrency is no bridge between two national currencies', () => {
  const book = createBook(['BTC/USD', '100000'], ['BTC/EUR', '86000']);
  assert.equal(find(book, 'EUR', 'USD'), 'unknown');
});

test('a quoted pair is preferred to a cross rate of newer quotes', () => {
  const book = createBook(
    ['USD/MXN', '17', 'table', noonMs - minuteMs],
    ['EUR/USD', '1.25'],
    ['EUR/MXN', '20'],
  );
  assert.equal(find(book, 'USD', 'MXN'), '17');
  assert.equal(find(book, 'MXN', 'USD'), '0.0588235294117');
});

test('the newest quote of a pair wins, in whichever direction it was quoted', () => {
  const older = ['EUR/USD', '1.25', 'ecb', noonMs - minuteMs] as QuoteText;
  const newer = ['USD/EUR', '0.5', 'table', noonMs] as QuoteText;
  for (const book of [createBook(older, newer), createBook(newer, older)]) {
    assert.equal(find(book, 'EUR', 'USD'), '2');
    assert.equal(find(book, 'USD', 'EUR'), '0.5');
  }
});

test('the age of a cross rate is that of its oldest quote', () => {
  const book = createBook(['EUR/USD', '1.25'], ['EUR/MXN', '20', 'ecb', noonMs - minuteMs]);
  const result = book.find('USD', 'MXN');
  assert.ok(result.ok);
  assert.equal(result.asOfMs, noonMs - minuteMs);
});

test('a rate becomes stale with its oldest quote, and the fault says since when', () => {
  let nowMs = noonMs;
  const quotes = listQuotes(['EUR/USD', '1.25'], ['BTC/USD', '100000', 'crypto']);
  const options = { maxAgeMs: minuteMs, limits: liveAgeLimits, nowMs: () => nowMs };
  const book = createRateBook(quotes, options);
  assert.equal(find(book, 'BTC', 'EUR'), '80000');
  nowMs = noonMs + 15 * minuteMs;
  assert.equal(find(book, 'BTC', 'EUR'), '80000');
  nowMs += 1;
  assert.deepEqual(book.find('BTC', 'EUR'), {
    ok: false,
    reason: 'stale',
    detail:
      'The exchange rate from BTC to EUR of 2026-11-18T12:00:00.000Z ' +
      'expired at 2026-11-18T12:15:00.000Z',
  });
  assert.equal(find(book, 'EUR', 'USD'), '1.25');
});

test('if the preferred quote is stale, the next path is used', () => {
  const yearMs = 365 * 24 * 60 * minuteMs;
  const quotes = listQuotes(
    ['USD/MXN', '9', 'old_table', noonMs - yearMs],
    ['EUR/USD', '1.25'],
    ['EUR/MXN', '20'],
  );
  const options = { maxAgeMs: minuteMs, limits: liveAgeLimits, nowMs: () => noonMs };
  assert.equal(find(createRateBook(quotes, options), 'USD', 'MXN'), '16');
});

test('a central bank rate is not stale after a weekend, but after a missed Monday', () => {
  let nowMs = 0;
  const fridayMs = Date.parse('2026-11-20T14:00:00Z');
  const quotes = listQuotes(['EUR/USD', '1.25', 'ecb', fridayMs]);
  const options = { maxAgeMs: minuteMs, limits: liveAgeLimits, nowMs: () => nowMs };
  const book = createRateBook(quotes, options);
  nowMs = Date.parse('2026-11-23T16:00:00Z');
  assert.equal(find(book, 'USD', 'EUR'), '0.8');
  nowMs = Date.parse('2026-11-24T16:00:00Z');
  assert.equal(find(book, 'USD', 'EUR'), 'stale');
});

test('repeated look-ups return the same object', () => {
  const book = createBook(['EUR/USD', '1.25'], ['EUR/MXN', '20']);
  assert.equal(book.find('USD', 'MXN'), book.find('USD', 'MXN'));
});

test('a quote of a currency against itself is refused', () => {
  assert.throws(() => createBook(['EUR/EUR', '1']), /invalid quote/);
});

const codes = listCurrencies().map((currency) => currency.code);
const rateTexts = fc
  .tuple(fc.bigInt({ min: 1n, max: 10n ** 12n - 1n }), fc.integer({ min: 0, max: 11 }))
  .map(([digits, scale]) => ({ digits, scale }));

test('a rate survives formatting and parsing', () => {
  fc.assert(
    fc.property(rateTexts, (rate) => {
      const parsed = parseRate(formatRate(rate));
      assert.ok(parsed);
      assert.equal(
        parsed.digits * 10n ** BigInt(rate.scale),
        rate.digits * 10n ** BigInt(parsed.scale),
      );
    }),
  );
});

/** Both operands over one denominator, so that they compare as integers. */
function alignRates(left: Rate, right: Rate): [bigint, bigint] {
  return [left.digits * 10n ** BigInt(right.scale), right.digits * 10n ** BigInt(left.scale)];
}

const pairOfQuotes = fc.record({
  codes: fc.shuffledSubarray(codes, { minLength: 3, maxLength: 3 }),
  first: rateTexts,
  second: rateTexts,
  firstInverted: fc.boolean(),
  secondInverted: fc.boolean(),
});

test('a cross rate is the exact quotient, less than one unit of its twelfth digit away', () => {
  fc.assert(
    fc.property(rateTexts, rateTexts, (first, second) => {
      const quotes = [
        { base: 'EUR', quote: 'USD', rate: first, source: 'ecb', asOfMs: noonMs },
        { base: 'EUR', quote: 'MXN', rate: second, source: 'ecb', asOfMs: noonMs },
      ];
      const book = createRateBook(quotes, { maxAgeMs: null, nowMs: () => noonMs });
      const cross = book.find('USD', 'MXN');
      assert.ok(cross.ok);
      // cross <= second / first < cross x (1 + 10^-11), multiplied out.
      const [low, exact] = alignRates(
        { digits: cross.rate.digits * first.digits, scale: cross.rate.scale + first.scale },
        second,
      );
      assert.ok(low <= exact);
      assert.ok(exact * 10n ** 11n < low * (10n ** 11n + 1n));
    }),
  );
});

test('no round trip through any rate gains', () => {
  const amounts = fc.bigInt({ min: 1n, max: 10n ** 15n - 1n });
  fc.assert(
    fc.property(pairOfQuotes, amounts, (given, minor) => {
      const [from = '', pivot = '', to = ''] = given.codes;
      const link = (base: string, quote: string, isInverted: boolean): [string, string] =>
        isInverted ? [quote, base] : [base, quote];
      const [firstBase, firstQuote] = link(from, pivot, given.firstInverted);
      const [secondBase, secondQuote] = link(pivot, to, given.secondInverted);
      const origin = { source: 'ecb', asOfMs: noonMs };
      const quotes = [
        { base: firstBase, quote: firstQuote, rate: given.first, ...origin },
        { base: secondBase, quote: secondQuote, rate: given.second, ...origin },
      ];
      const book = createRateBook(quotes, { maxAgeMs: null, nowMs: () => noonMs });
      for (const [left, right] of [
        [from, pivot],
        [pivot, to],
        [from, to],
      ] as const) {
        const there = book.find(left, right);
        const back = book.find(right, left);
        if (!there.ok || !back.ok) {
          // Only a coin in the middle keeps the two apart.
          assert.ok(getCurrency(pivot).isCrypto && left === from && right === to);
          continue;
        }
        const [product, one] = alignRates(
          {
            digits: there.rate.digits * back.rate.digits,
            scale: there.rate.scale + back.rate.scale,
          },
          { digits: 1n, scale: 0 },
        );
        assert.ok(product <= one);
        const away = { from: getCurrency(left), to: getCurrency(right), rate: there.rate };
        const home = { from: getCurrency(right), to: getCurrency(left), rate: back.rate };
        assert.ok(convert(convert(minor, away, 'floor'), home, 'floor') <= minor);
      }
    }),
    { numRuns: 300 },
  );
});

test('the order of quotes does not matter', () => {
  const quotes = fc.array(
    fc.record({
      codes: fc.shuffledSubarray(['EUR', 'USD', 'MXN', 'GBP', 'BTC'], {
        minLength: 2,
        maxLength: 2,
      }),
      rate: rateTexts,
      source: fc.constantFrom('ecb', 'crypto', 'table'),
      ageMinutes: fc.integer({ min: 0, max: 60 }),
    }),
    { minLength: 1, maxLength: 12 },
  );
  fc.assert(
    fc.property(quotes, (rows) => {
      const list = rows.map((row, index) => ({
        base: row.codes[0] ?? '',
        quote: row.codes[1] ?? '',
        rate: row.rate,
        // The index keeps two quotes from being of one instant and one source, as the table does.
        source: `${row.source}${index}`,
        asOfMs: noonMs - row.ageMinutes * minuteMs,
      }));
      const options = { maxAgeMs: 30 * minuteMs, nowMs: () => noonMs };
      const book = createRateBook(list, options);
      const reversed = createRateBook(list.toReversed(), options);
      for (const from of ['EUR', 'BTC']) {
        assert.deepEqual(book.find(from, 'MXN'), reversed.find(from, 'MXN'));
      }
    }),
  );
});
