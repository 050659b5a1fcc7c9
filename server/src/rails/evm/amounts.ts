import { assert } from '../../core/errors.ts';

/** Amounts of the native coin, and decimals of the configuration. */

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
