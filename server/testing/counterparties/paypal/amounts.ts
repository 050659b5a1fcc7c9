import { getCurrency } from '../../../src/core/currency.ts';
import { formatScaled, getAmountMinor } from '../../../src/core/money.ts';
import type { BookedItem } from './paypal-books.ts';

/** Fees and amounts of the simulated PayPal. */

/** Two percent, at most one unit of the currency. */
export function computeFee({ currency, value }: Pick<BookedItem, 'currency' | 'value'>): bigint {
  const amount = getAmountMinor(value, getCurrency(currency));
  const max = 10n ** BigInt(getCurrency(currency).scale);
  const fee = amount / 50n;
  return fee > max ? max : fee;
}

export function formatMinor(amountMinor: bigint, code: string): string {
  const { scale } = getCurrency(code);
  const text = formatScaled(amountMinor, scale);
  if (scale === 0) return text;
  const [whole = '', fraction = ''] = text.split('.');
  return `${whole}.${fraction.padEnd(scale, '0')}`;
}
