import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  bundledRates,
  createCompany,
  createPayer,
  createRail,
  createRates,
  getSandboxPayer,
  sandboxCatalog,
} from '../../testing/setups/destinations.ts';
import { getCurrency } from '../core/currency.ts';
import { amountMinorMax } from '../core/money.ts';
import { convert, formatRate, getRate, type Rate } from '../core/rate.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { compileCatalog, type Payer } from './catalog.ts';
import { findLargestSource } from './pricing.ts';
import { findTerms, type Quote, type QuoteQuery, quotePayer } from './quote.ts';

const rates = createRates({ 'USD/MXN': getRate('18.5'), 'USD/JPY': getRate('152.3') });

function compile(changes: Parameters<typeof createPayer>[1]): Payer {
  const rail = createRail('test', [createCompany('first')], [createPayer('one', changes)]);
  const [payer] = compileCatalog([rail]).payersIn('MEX');
  if (payer === undefined) throw new Error('no payer');
  return payer;
}

function quote(query: Partial<QuoteQuery> & Pick<QuoteQuery, 'amount'>): Quote {
  const result = quotePayer({
    payer: compile({}),
    sourceCurrency: 'USD',
    destinationCurrency: 'MXN',
    rates,
    ...query,
  });
  if (!result.ok) throw new Error(`${result.reason}: ${result.detail}`);
  return result;
}

test('a quote by the source: the margin is in the rate, the fee on top', () => {
  const result = quote({ amount: { side: 'source', minor: 20_000n } });
  assert.equal(formatRate(result.rate), '18.315');
  assert.equal(result.destinationMinor, 366_300n);
  assert.deepEqual([result.sourceMinor, result.feeMinor], [20_000n, 100n]);
  // 1 % of 200.00, and the fee of 1.00.
  assert.equal(result.costMinor, 300n);
  assert.equal(result.roundingNano, 0n);
});

test('a quote by the destination delivers the exact amount for the least source amount', () => {
  const result = quote({ amount: { side: 'destination', minor: 100_000n } });
  assert.equal(result.destinationMinor, 100_000n);
  // 1,000 / 18.315 = 54.6000546...; the 0.99945 cents too much are 18.3 centavos.
  assert.equal(result.sourceMinor, 5_461n);
  assert.equal(result.roundingNano, 18_215_000_000n);
});

test('without a currency exchange there is no margin', () => {
  const payer = compile({ currencies: ['USD'], marginBasisPoints: 500 });
  const amount = { side: 'source', minor: 12_345n } as const;
  const result = quote({ payer, destinationCurrency: 'USD', amount });
  assert.deepEqual([formatRate(result.rate), result.destinationMinor], ['1', 12_345n]);
  assert.equal(result.costMinor, result.feeMinor);
});

test('the limits are those of the source currency, both inclusive', () => {
  const payer = compile({ minLimit: '10', maxLimit: '100', currencies: ['JPY'] });
  const base = { payer, sourceCurrency: 'JPY', destinationCurrency: 'JPY', rates };
  const reasons = [1_522n, 1_523n, 15_230n, 15_231n].map((minor) => {
    const result = quotePayer({ ...base, amount: { side: 'source', minor } });
    return result.ok ? 'ok' : `${result.reason}: ${result.detail}`;
  });
  assert.deepEqual(reasons, [
    'below_minimum: The source amount for Bank must be at least 1523 JPY, and is 1522 JPY',
    'ok',
    'ok',
    'above_maximum: The source amount for Bank must be at most 15230 JPY, and is 15231 JPY',
  ]);
});

test('a refused quote says why', () => {
  const payer = compile({ currencies: ['MXN', 'JPY', 'EUR'] });
  const base: QuoteQuery = {
    payer,
    sourceCurrency: 'USD',
    destinationCurrency: 'MXN',
    amount: { side: 'source', minor: 100n },
    rates,
  };
  const stale: MidRates = { find: () => ({ ok: false, reason: 'stale', detail: 'too old' }) };
  const unexchanged = { payer: compile({ currencies: ['USD'] }), destinationCurrency: 'USD' };
  const cases: [Partial<QuoteQuery>, string][] = [
    [{ destinationCurrency: 'GBP' }, 'currency_not_delivered'],
    [{ destinationCurrency: 'nonsense' }, 'currency_not_delivered'],
    [{ destinationCurrency: 'EUR' }, 'rate_unknown'],
    [{ sourceCurrency: 'EUR' }, 'rate_unknown'],
    [{ sourceCurrency: 'nonsense' }, 'rate_unknown'],
    [{ rates: stale }, 'rate_stale'],
    [{ amount: { side: 'source', minor: amountMinorMax } }, 'amount_too_large'],
    [{ amount: { side: 'source', minor: amountMinorMax / 2n } }, 'amount_too_large'],
    // The amount could be, but not with the fee that is debited with it.
    [{ ...unexchanged, amount: { side: 'source', minor: amountMinorMax } }, 'amount_too_large'],
    [{ ...unexchanged, amount: { side: 'source', minor: amountMinorMax - 100n } }, 'ok'],
    [
      {
        sourceCurrency: 'JPY',
        rates: createRates({ 'USD/JPY': getRate('152'), 'JPY/MXN': getRate('0.001') }),
        amount: { side: 'source', minor: 1n },
      },
      'amount_too_small',
    ],
  ];
  for (const [changes, reason] of cases) {
    const result = quotePayer({ ...base, ...changes });
    assert.equal(result.ok ? 'ok' : result.reason, reason);
  }
});

test('verification is required above 1,000 USD in any currency, or always', () => {
  const ask = (key: string, sourceCurrency: string, minor: bigint): boolean => {
    const payer = getSandboxPayer(key);
    const [destinationCurrency = ''] = payer.currencies;
    const amount = { side: 'source', minor } as const;
    const query = { payer, sourceCurrency, destinationCurrency, amount, rates: bundledRates };
    return quote(query).verificationRequired;
  };
  assert.deepEqual(
    [100_000n, 100_001n].map((minor) => ask('mex-cash-plaza', 'USD', minor)),
    [false, true],
  );
  // 1,000 USD are 862.50 EUR.
  assert.deepEqual(
    [86_250n, 86_251n].map((minor) => ask('mex-cash-plaza', 'EUR', minor)),
    [false, true],
  );
  assert.ok(ask('som-cash-plaza', 'USD', 300n));
  assert.ok(!ask('mex-bank-meridian', 'USD', 1_000_000n));
});

const anyRate: fc.Arbitrary<Rate> = fc.record({
  digits: fc.bigInt(1n, 10n ** 9n),
  scale: fc.integer({ min: 0, max: 9 }),
});
const anyCode = fc.constantFrom('USD', 'MXN', 'JPY', 'KWD', 'BTC', 'ETH', 'USDC', 'VND');
type Case = {
  source: string;
  destination: string;
  rate: Rate;
  usdToSource: Rate;
  margin: number;
  minor: bigint;
  side: 'source' | 'destination';
};
const anyCase: fc.Arbitrary<Case> = fc.record({
  source: anyCode,
  destination: anyCode,
  rate: anyRate,
  usdToSource: anyRate,
  margin: fc.integer({ min: 0, max: 2_000 }),
  minor: fc.bigInt(1n, 10n ** 10n),
  side: fc.constantFrom<('source' | 'destination')[]>('source', 'destination'),
});

/** A quote of an arbitrary case, or undefined where it is refused. */
function quoteCase({
  source,
  destination,
  rate,
  usdToSource,
  margin,
  minor,
  side,
}: Case): Quote | undefined {
  const table = { [`USD/${source}`]: usdToSource, [`${source}/${destination}`]: rate };
  const result = quotePayer({
    payer: compile({ currencies: [destination], marginBasisPoints: margin }),
    sourceCurrency: source,
    destinationCurrency: destination,
    amount: { side, minor },
    rates: createRates(table),
  });
  return result.ok ? result : undefined;
}

test('rounding balances, and is always against the sender', () => {
  fc.assert(
    fc.property(anyCase, (given) => {
      const result = quoteCase(given);
      fc.pre(result !== undefined);
      const { sourceMinor, destinationMinor, rate, roundingNano } = result;
      const from = getCurrency(given.source);
      const to = getCurrency(given.destination);
      const conversion = { from, to, rate };
      // The exact worth is what is delivered and what was cut off, to a billionth.
      const worth = sourceMinor * rate.digits * 10n ** BigInt(to.scale);
      const unit = 10n ** BigInt(rate.scale + from.scale);
      assert.equal(
        (worth * 1_000_000_000n) / unit,
        destinationMinor * 1_000_000_000n + roundingNano,
      );
      assert.ok(roundingNano >= 0n && result.costMinor >= result.feeMinor);
      if (given.side === 'source') {
        assert.equal(sourceMinor, given.minor);
        assert.ok(roundingNano < 1_000_000_000n);
      } else {
        assert.equal(destinationMinor, given.minor);
        assert.ok(convert(sourceMinor - 1n, conversion, 'floor') < destinationMinor);
      }
    }),
  );
});

test('more money never delivers less', () => {
  fc.assert(
    fc.property(anyCase, fc.bigInt(1n, 10n ** 6n), (given, more) => {
      const less = quoteCase(given);
      const greater = quoteCase({ ...given, minor: given.minor + more });
      fc.pre(less !== undefined && greater !== undefined);
      assert.ok(greater.destinationMinor >= less.destinationMinor);
      assert.ok(greater.sourceMinor >= less.sourceMinor);
    }),
  );
});

test('a quote by the destination never costs more than the quote by the source that delivers it', () => {
  fc.assert(
    fc.property(anyCase, (given) => {
      const there = quoteCase({ ...given, side: 'source' });
      fc.pre(there !== undefined);
      const back = quoteCase({ ...given, side: 'destination', minor: there.destinationMinor });
      assert.ok(back !== undefined && back.sourceMinor <= there.sourceMinor);
    }),
  );
});

test('no round trip through the sandbox gains', () => {
  const codes = ['USA', 'MEX', 'JPN', 'KWT', 'VNM', 'LBN', 'IND'];
  const there = fc.constantFrom(...codes.flatMap((code) => sandboxCatalog.payersIn(code)));
  fc.assert(
    fc.property(there, there, fc.bigInt(100n, 10n ** 7n), (first, second, minor) => {
      const [destinationCurrency = ''] = first.currencies;
      const [home = ''] = second.currencies;
      const base = { rates: bundledRates };
      const out = quotePayer({
        ...base,
        payer: first,
        sourceCurrency: home,
        destinationCurrency,
        amount: { side: 'source', minor },
      });
      fc.pre(out.ok);
      const back = quotePayer({
        ...base,
        payer: second,
        sourceCurrency: destinationCurrency,
        destinationCurrency: home,
        amount: { side: 'source', minor: out.destinationMinor },
      });
      fc.pre(back.ok);
      assert.ok(back.destinationMinor <= minor, `${first.key} ${second.key}`);
    }),
  );
});

test('the largest amount within a limit can be quoted, and one minor unit more cannot', () => {
  const payers = sandboxCatalog.payersIn('MEX');
  fc.assert(
    fc.property(
      fc.constantFrom(...payers),
      fc.constantFrom('USD', 'EUR', 'JPY', 'BTC'),
      fc.bigInt(1n, 10n ** 7n),
      (payer, sourceCurrency, limitMinor) => {
        const priced = findTerms(payer, sourceCurrency, bundledRates);
        fc.pre(priced.ok);
        const largestMinor = findLargestSource(priced.terms, limitMinor);
        fc.pre(largestMinor > 0n);
        const [destinationCurrency = ''] = payer.currencies;
        const ask = (minor: bigint) =>
          quotePayer({
            payer,
            sourceCurrency,
            destinationCurrency,
            amount: { side: 'source', minor },
            rates: bundledRates,
          });
        const fitting = ask(largestMinor);
        const over = ask(largestMinor + 1n);
        if (fitting.ok) assert.ok(fitting.sourceMinor + fitting.feeMinor <= limitMinor);
        if (over.ok) assert.ok(over.sourceMinor + over.feeMinor > limitMinor);
      },
    ),
  );
});

test('a limit below the fee leaves no amount', () => {
  const priced = findTerms(getSandboxPayer('mex-bank-harbour'), 'USD', bundledRates);
  assert.ok(priced.ok);
  assert.equal(findLargestSource(priced.terms, 750n), 0n);
  assert.equal(findLargestSource(priced.terms, 751n), 1n);
});
