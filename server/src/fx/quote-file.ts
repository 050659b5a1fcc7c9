import { parseRate, type Rate } from '../core/rate.ts';
import type { RateQuote } from './rate-book.ts';

/**
 * What a file of rates says. It is taken whole or not at all: a file with one impossible price
 * casts doubt on the others. Only currencies that Outlay does not know are left out, by their code.
 */
export type ParsedQuotes =
  | { ok: true; quotes: RateQuote[]; unknownCurrencies: string[] }
  | { ok: false; fault: string };

/** Eighteen digits fit a 64-bit integer, which is how a quote is stored. */
export const quoteDigitsMax = 10n ** 18n - 1n;
export const quoteScaleMax = 24;
/** No pair of real currencies is further apart than 1 to 10^12. */
const magnitudeMax = 10n ** 12n;

/** The exact rate of a decimal text, or undefined when it is none, not positive, or out of range. */
export function parseQuoteRate(text: string): Rate | undefined {
  const rate = parseRate(text);
  if (rate === undefined || rate.digits > quoteDigitsMax || rate.scale > quoteScaleMax) {
    return undefined;
  }
  const one = 10n ** BigInt(rate.scale);
  const isWithin = rate.digits <= magnitudeMax * one && rate.digits * magnitudeMax >= one;
  return isWithin ? rate : undefined;
}

/** Text of a stranger for a message: short, and without control characters. */
export function quoteText(text: string): string {
  const visible = text.replaceAll(/[^\x20-\x7e]/g, '?');
  return `"${visible.length > 40 ? `${visible.slice(0, 40)}...` : visible}"`;
}
