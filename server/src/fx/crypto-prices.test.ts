import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatRate } from '../core/rate.ts';
import { parsePrices } from './crypto-prices.ts';

const asOf = '2026-11-20T07:00:00Z';

function readPrices(json: string): Record<string, string> {
  const parsed = parsePrices(json, 'crypto');
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.fault);
  return Object.fromEntries(
    parsed.quotes.map((quote) => [`${quote.base}/${quote.quote}`, formatRate(quote.rate)]),
  );
}

function readFault(json: string): string {
  const parsed = parsePrices(json, 'crypto');
  assert.ok(!parsed.ok, `taken: ${json.slice(0, 80)}`);
  return parsed.fault;
}

test('an object of prices is in dollars by default', () => {
  const prices = '"prices": { "BTC": "101234.56789012", "ETH": 3620.10 }';
  assert.deepEqual(readPrices(`{ "as_of": "${asOf}", ${prices} }`), {
    'BTC/USD': '101234.56789012',
    'ETH/USD': '3620.1',
  });
  assert.deepEqual(readPrices(`{ "as_of": "${asOf}", "quote": "EUR", ${prices} }`), {
    'BTC/EUR': '101234.56789012',
    'ETH/EUR': '3620.1',
  });
});

test('a list of prices gives each its own pair and time', () => {
  const parsed = parsePrices(
    `[{ "base": "BTC", "price": 1.5e5, "as_of": "${asOf}" },
      { "base": "USD", "quote": "NGN", "price": "1450.25", "as_of": "2026-11-20T08:30:00.5+01:00" }]`,
    'table',
  );
  assert.deepEqual(parsed, {
    ok: true,
    unknownCurrencies: [],
    quotes: [
      {
        base: 'BTC',
        quote: 'USD',
        rate: { digits: 150000n, scale: 0 },
        source: 'table',
        asOfMs: Date.parse(asOf),
      },
      {
        base: 'USD',
        quote: 'NGN',
        rate: { digits: 145025n, scale: 2 },
        source: 'table',
        asOfMs: Date.parse('2026-11-20T07:30:00.500Z'),
      },
    ],
  });
});

test('a JSON number keeps digits that a binary double cannot hold', () => {
  const json = `{ "as_of": "${asOf}", "prices": { "BTC": 101234.000000000001, "LTC": 0.1 } }`;
  assert.deepEqual(readPrices(json), { 'BTC/USD': '101234.000000000001', 'LTC/USD': '0.1' });
  fc.assert(
    fc.property(
      fc.bigInt({ min: 1n, max: 10n ** 18n - 1n }),
      fc.integer({ min: 6, max: 12 }),
      (digits, scale) => {
        const text = formatRate({ digits, scale });
        const prices = `{ "as_of": "${asOf}", "prices": { "BTC": ${text}, "LTC": "${text}" } }`;
        assert.deepEqual(readPrices(prices), { 'BTC/USD': text, 'LTC/USD': text });
      },
    ),
  );
});

test('an unknown currency is left out and reported', () => {
  const parsed = parsePrices(
    `{ "as_of": "${asOf}", "prices": { "DOGE": 0.2, "BTC": 100000, "__proto__": 1 } }`,
    'crypto',
  );
  assert.ok(parsed.ok);
  assert.equal(parsed.quotes.length, 1);
  assert.ok(parsed.unknownCurrencies.includes('"DOGE"'));
});

test('an invalid price makes the whole file invalid', () => {
  for (const price of ['0', '-1', '""', '"abc"', '1e400', 'null', 'true', '{}', '[]', '"1 000"']) {
    readFault(`{ "as_of": "${asOf}", "prices": { "BTC": ${price}, "ETH": 1 } }`);
    readFault(`[{ "base": "BTC", "price": ${price}, "as_of": "${asOf}" }]`);
  }
});

test('a repeated pair or name makes the file invalid', () => {
  assert.match(readFault(`{ "as_of": "${asOf}", "prices": { "BTC": 1, "BTC": 2 } }`), /twice/);
  const row = `{ "base": "BTC", "price": 1, "as_of": "${asOf}" }`;
  assert.match(readFault(`[${row}, ${row}]`), /occurs twice/);
  assert.match(
    readFault(`{ "as_of": "${asOf}", "prices": { "USD": 1 } }`),
    /must be two currencies/,
  );
});

test('a missing or impossible time makes the file invalid', () => {
  for (const time of ['', '2026-11-20', '2026-11-20T07:00:00', '2026-02-30T00:00:00Z', 'now']) {
    readFault(`{ "as_of": "${time}", "prices": { "BTC": 1 } }`);
  }
  readFault(`{ "as_of": 1763622000, "prices": { "BTC": 1 } }`);
  readFault('{ "prices": { "BTC": 1 } }');
});

test('an invalid file is a fault and not an exception', () => {
  const others = ['', '{', 'null', '1', '"x"', '{}', '[]', '{"as_of":1}', '['.repeat(300_000)];
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const empty = `{ "as_of": "${asOf}", "prices": {} }`;
  for (const json of [...others, deep, empty]) readFault(json);
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), (json) => {
      readFault(json);
    }),
  );
});
