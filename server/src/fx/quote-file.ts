import { parseRate, type Rate } from '../core/rate.ts';
import type { RateQuote } from './rate-book.ts';

/**
 * The quotes of a file of rates. A file with one invalid price is refused as a whole, because the
 * others are doubtful too. Unknown currencies are left out.
 */
export type ParsedQuotes =
  | { ok: true; quotes: RateQuote[]; unknownCurrencies: string[] }
  | { ok: false; fault: string };

/** Quotes are stored as 64-bit integers, which hold eighteen digits. */
const quoteDigitsMax = 10n ** 18n - 1n;
const quoteScaleMax = 24;
/** No rate between real currencies is beyond 10^12 or 10^-12. */
const magnitudeMax = 10n ** 12n;

/** The exact rate of a decimal text; undefined if it is malformed, not positive or out of range. */
export function parseQuoteRate(text: string): Rate | undefined {
  const rate = parseRate(text);
  if (rate === undefined || rate.digits > quoteDigitsMax || rate.scale > quoteScaleMax) {
    return undefined;
  }
  const one = 10n ** BigInt(rate.scale);
  const isWithin = rate.digits <= magnitudeMax * one && rate.digits * magnitudeMax >= one;
  return isWithin ? rate : undefined;
}

/** Untrusted text for a message: shortened, and in visible ASCII. */
export function quoteText(text: string): string {
  const visible = text.replaceAll(/[^\x20-\x7e]/g, '?');
  return `"${visible.length > 40 ? `${visible.slice(0, 40)}...` : visible}"`;
}
