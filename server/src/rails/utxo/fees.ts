import { readDecimal } from '../../core/money.ts';

/**
 * Fees. A rate is minor units per 1,000 vbytes, an integer; a weight is in weight units, four of
 * which are a vbyte (BIP 141).
 */

/** Rates are written with at most this many decimals of minor units per vbyte. */
const rateScale = 3;

/** A rate from its decimal text in minor units per vbyte; undefined when it is none. */
export function parseRate(text: string): bigint | undefined {
  const decimal = readDecimal(text);
  if (decimal === undefined || decimal.digits <= 0n || decimal.scale > rateScale) return undefined;
  return decimal.digits * 10n ** BigInt(rateScale - decimal.scale);
}

/** The fee of a weight, rounded up so that the rate is reached. */
export function getFeeMinor(weight: number, rate: bigint): bigint {
  return (BigInt(weight) * rate + 3999n) / 4000n;
}

export type FeeBounds = {
  readonly rateMin: bigint;
  readonly rateMax: bigint;
  /** At most this many hundredths of a percent of what is paid out go to the network. */
  readonly shareMaxBasisPoints: number;
};

/**
 * The rate asked for, brought within the bounds; undefined where the node takes nothing below a
 * rate that exceeds them.
 */
export function boundRate(
  asked: bigint,
  nodeMinimum: bigint,
  bounds: FeeBounds,
): bigint | undefined {
  const floor = nodeMinimum > bounds.rateMin ? nodeMinimum : bounds.rateMin;
  if (floor > bounds.rateMax) return undefined;
  if (asked < floor) return floor;
  return asked > bounds.rateMax ? bounds.rateMax : asked;
}

/** The most that may go to the network for payments of so much. */
export function getShareMinor(paidMinor: bigint, bounds: FeeBounds): bigint {
  return (paidMinor * BigInt(bounds.shareMaxBasisPoints)) / 10_000n;
}

/** A fee in equal parts, the remainder one each to the first ones; the parts sum up exactly. */
export function splitFee(feeMinor: bigint, parts: number): bigint[] {
  const each = feeMinor / BigInt(parts);
  const remainder = Number(feeMinor % BigInt(parts));
  return Array.from({ length: parts }, (_, index) => each + (index < remainder ? 1n : 0n));
}
