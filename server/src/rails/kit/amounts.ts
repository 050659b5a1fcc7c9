import { getCurrency } from '../../core/currency.ts';
import { readScaled } from '../../core/money.ts';

/** Exact conversions between the amounts of counterparties and chains and our minor units. */

/** Minor units of a decimal text; undefined where it is invalid, negative or has too many decimals. */
export function readMinor(text: string, currency: string): bigint | undefined {
  return readScaled(text, getCurrency(currency).scale);
}

/** A decimal with all digits of the scale: 10010n with scale 2 is "100.10". */
export function formatFixed(minor: bigint, scale: number): string {
  if (scale === 0) return minor.toString();
  const digits = minor.toString().padStart(scale + 1, '0');
  return `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** With all digits of the currency. */
export function formatFixedAmount(minor: bigint, currency: string): string {
  return formatFixed(minor, getCurrency(currency).scale);
}

/** Decimals of a currency, and of its coin or token on a chain. */
export type Scales = { readonly currency: number; readonly chain: number };

/** @returns undefined where the amount is finer than the unit of the chain. */
export function toChainUnits(amountMinor: bigint, scales: Scales): bigint | undefined {
  const difference = scales.chain - scales.currency;
  if (difference >= 0) return amountMinor * 10n ** BigInt(difference);
  const step = 10n ** BigInt(-difference);
  return amountMinor % step === 0n ? amountMinor / step : undefined;
}

/** Rounded down to whole minor units. */
export function toCurrencyUnits(units: bigint, scales: Scales): bigint {
  const difference = scales.chain - scales.currency;
  const step = 10n ** BigInt(Math.abs(difference));
  return difference >= 0 ? units / step : units * step;
}
