import { findCurrency, getCurrency } from '../core/currency.ts';
import { convert } from '../core/rate.ts';
import type { MidRates } from './rate-book.ts';

const usd = getCurrency('USD');

/** Cents of USD, rounded up; undefined without a rate. */
export function findUsdWorth(
  rates: MidRates,
  { currency, minor }: { currency: string; minor: bigint },
): bigint | undefined {
  const from = findCurrency(currency);
  if (from === undefined) return undefined;
  if (from === usd) return minor;
  const found = rates.find(from.code, usd.code);
  return found.ok ? convert(minor, { from, to: usd, rate: found.rate }, 'ceil') : undefined;
}
