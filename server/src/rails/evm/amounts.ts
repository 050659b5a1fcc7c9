import { assert } from '../../core/errors.ts';

/** Between our minor units, the smallest units of a chain or token, and decimal text. All exact. */

/** @returns undefined where the chain has no such fine step. */
export function toChainUnits(
  amountMinor: bigint,
  scales: { readonly currency: number; readonly chain: number },
): bigint | undefined {
  const difference = scales.chain - scales.currency;
  if (difference >= 0) return amountMinor * 10n ** BigInt(difference);
  const step = 10n ** BigInt(-difference);
  return amountMinor % step === 0n ? amountMinor / step : undefined;
}

/** The whole minor units in an amount of the chain; a finer rest is cut. */
export function toCurrencyUnits(
  units: bigint,
  scales: { readonly currency: number; readonly chain: number },
): bigint {
  const difference = scales.chain - scales.currency;
  const step = 10n ** BigInt(Math.abs(difference));
  return difference >= 0 ? units / step : units * step;
}

/** Wei of the chain's coin, which has 18 decimals everywhere. */
export const coinDecimals = 18;

/** What a transaction cost, in minor units; rounded up, since less would hide a part of it. */
export function toMinorUnitsUp(wei: bigint, currencyScale: number): bigint {
  const step = 10n ** BigInt(coinDecimals - currencyScale);
  return (wei + step - 1n) / step;
}

/** @param text Digits with at most `scale` decimals, as the configuration's schema lets through. */
export function parseDecimal(text: string, scale: number): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  assert(fraction.length <= scale, 'a decimal text has no more decimals than its unit');
  return BigInt(whole + fraction.padEnd(scale, '0'));
}
