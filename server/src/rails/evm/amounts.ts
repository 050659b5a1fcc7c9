import { assert } from '../../core/errors.ts';

/** Exact conversions between minor units, the smallest units of a chain or token, and decimals. */

/** @returns undefined where the amount is finer than the unit of the chain. */
export function toChainUnits(
  amountMinor: bigint,
  scales: { readonly currency: number; readonly chain: number },
): bigint | undefined {
  const difference = scales.chain - scales.currency;
  if (difference >= 0) return amountMinor * 10n ** BigInt(difference);
  const step = 10n ** BigInt(-difference);
  return amountMinor % step === 0n ? amountMinor / step : undefined;
}

/** Rounded down to whole minor units. */
export function toCurrencyUnits(
  units: bigint,
  scales: { readonly currency: number; readonly chain: number },
): bigint {
  const difference = scales.chain - scales.currency;
  const step = 10n ** BigInt(Math.abs(difference));
  return difference >= 0 ? units / step : units * step;
}

/** Of the native coin; 18 on every EVM chain. */
export const coinDecimals = 18;

/** The cost of a transaction in minor units, rounded up so that no part of it is lost. */
export function toMinorUnitsUp(wei: bigint, currencyScale: number): bigint {
  const step = 10n ** BigInt(coinDecimals - currencyScale);
  return (wei + step - 1n) / step;
}

/** @param text Digits with at most `scale` decimals, as the configuration's schema requires. */
export function parseDecimal(text: string, scale: number): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  assert(fraction.length <= scale, 'a decimal text has no more decimals than its unit');
  return BigInt(whole + fraction.padEnd(scale, '0'));
}
