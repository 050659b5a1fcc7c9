import { findCurrency } from '../core/currency.ts';
import { convert } from '../core/rate.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { usd } from './pricing.ts';

/** Whether an amount is worth more than so many US dollars; without a rate it counts as more. */
export function isWorthMoreThan(
  amount: { minor: bigint; currency: string },
  dollars: number,
  rates: () => MidRates,
): boolean {
  const source = findCurrency(amount.currency);
  if (source === undefined) return true;
  const boundMinor = BigInt(dollars) * 10n ** BigInt(usd.scale);
  if (source === usd) return amount.minor > boundMinor;
  const found = rates().find(source.code, usd.code);
  if (!found.ok) return true;
  const conversion = { from: source, to: usd, rate: found.rate };
  return convert(amount.minor, conversion, 'ceil') > boundMinor;
}
