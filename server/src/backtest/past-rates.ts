import { findCurrency } from '../core/currency.ts';
import { assert } from '../core/errors.ts';
import {
  type Conversion,
  convertBack,
  divideRates,
  getRate,
  type Rate,
  rateOfOne,
} from '../core/rate.ts';
import { usd } from '../destinations/pricing.ts';
import type { MidRates } from '../fx/rate-book.ts';
import type { PastRow } from './past-payouts.sql.ts';

/** The rates at which a past payout was priced. */

export type PastRates = {
  /** Of the payout's pair, and from USD to its source; no others. */
  readonly mid: MidRates;
  /** The source's value in USD was not stored, and is that of the present rates. */
  readonly usesPresentRate: boolean;
  /** Millionths of a cent for minor units of the source, rounded towards zero. */
  sourceToUsdMicro(minor: bigint): bigint;
  /** Undefined without a rate, which is then a present one. */
  toUsdMicro(minor: bigint, currencyCode: string): bigint | undefined;
};

export const microOfCent = 1_000_000n;
const ratesKept = 4_096;

type Terms = Pick<
  PastRow,
  'source_currency' | 'source_amount' | 'destination_currency' | 'mid_rate' | 'usd_amount'
>;

/**
 * Rates of the pair are those stored with the payout. Fees and limits are in USD: the value of a source
 * in another currency follows from the rate of the pair, or from the value in USD that was stored (to a
 * cent); without both the present rate is taken. Undefined where there is none either.
 */
export function createPastRates(present: MidRates): (row: Terms) => PastRates | undefined {
  // Equal rates are one object, because terms are cached by it.
  const known = new Map<string, Rate>();
  const share = (key: string, compute: () => Rate): Rate => {
    const found = known.get(key);
    if (found !== undefined) return found;
    if (known.size >= ratesKept) known.clear();
    const rate = compute();
    known.set(key, rate);
    return rate;
  };
  return (row) => {
    const source = findCurrency(row.source_currency);
    const destination = findCurrency(row.destination_currency);
    if (source === undefined || destination === undefined) return undefined;
    const midRate = share(row.mid_rate, () => getRate(row.mid_rate));
    const past = findPastUsdRate(row, { source, midRate, share });
    const found = past === undefined ? present.find(usd.code, source.code) : undefined;
    const usdToSource = past ?? (found?.ok === true ? found.rate : undefined);
    if (usdToSource === undefined) return undefined;
    const ofSource = { from: usd, to: source, rate: usdToSource };
    const ofPair = { from: source, to: destination, rate: midRate };
    return {
      mid: createMidRates(ofPair, ofSource),
      usesPresentRate: past === undefined,
      sourceToUsdMicro: (minor) => toUsdMicro(minor, ofSource),
      toUsdMicro: (minor, code) => valueInUsd({ minor, code }, { ofPair, ofSource }, present),
    };
  };
}

type Known = {
  source: Conversion['from'];
  midRate: Rate;
  share: (key: string, compute: () => Rate) => Rate;
};

/** Units of the source for one USD when the payout was priced. */
function findPastUsdRate(row: Terms, { source, midRate, share }: Known): Rate | undefined {
  if (source === usd) return rateOfOne;
  if (row.destination_currency === usd.code) {
    return share(`1/${row.mid_rate}`, () => divideRates(rateOfOne, midRate));
  }
  if (row.usd_amount === 0n) return undefined;
  return share(`${source.code} ${row.source_amount}/${row.usd_amount}`, () =>
    divideRates(
      { digits: row.source_amount, scale: source.scale },
      { digits: row.usd_amount, scale: usd.scale },
    ),
  );
}

function createMidRates(ofPair: Conversion, ofSource: Conversion): MidRates {
  return {
    find: (from, to) => {
      for (const { from: base, to: quote, rate } of [ofPair, ofSource]) {
        if (base.code === from && quote.code === to) return { ok: true, rate, asOfMs: 0 };
      }
      return { ok: false, reason: 'unknown', detail: `no rate from ${from} to ${to} was stored` };
    },
  };
}

function toUsdMicro(minor: bigint, conversion: Conversion): bigint {
  assert(conversion.from === usd, 'the value is in USD');
  const size = minor < 0n ? -minor : minor;
  const value = convertBack(size * microOfCent, conversion, 'floor');
  return minor < 0n ? -value : value;
}

type Conversions = { ofPair: Conversion; ofSource: Conversion };

function valueInUsd(
  { minor, code }: { minor: bigint; code: string },
  { ofPair, ofSource }: Conversions,
  present: MidRates,
): bigint | undefined {
  if (code === usd.code) return minor * microOfCent;
  if (code === ofSource.to.code) return toUsdMicro(minor, ofSource);
  if (code === ofPair.to.code) {
    const inSource = convertBack(minor * microOfCent, ofPair, 'floor');
    return convertBack(inSource, ofSource, 'floor');
  }
  const currency = findCurrency(code);
  const found = present.find(usd.code, code);
  if (currency === undefined || !found.ok) return undefined;
  return toUsdMicro(minor, { from: usd, to: currency, rate: found.rate });
}
