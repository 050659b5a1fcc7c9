import { readScaled } from '../../core/money.ts';

/** Fees. Rates are whole minor units per 1,000 vbytes; four weight units are a vbyte (BIP 141). */

/** Decimals of a rate in minor units per vbyte. */
const rateScale = 3;

/** From decimal text in minor units per vbyte; undefined when it is invalid. */
export function parseRate(text: string): bigint | undefined {
  const rate = readScaled(text, rateScale);
  return rate === 0n ? undefined : rate;
}

/** Rounded up, so that the rate is reached. */
export function getFeeMinor(weight: number, rate: bigint): bigint {
  return (BigInt(weight) * rate + 3999n) / 4000n;
}

export type FeeBounds = {
  readonly rateMin: bigint;
  readonly rateMax: bigint;
  /** Highest share of the amounts that goes to the network. */
  readonly shareMaxBasisPoints: number;
};

/** The rate within the bounds; undefined where the node's minimum exceeds them. */
export function boundRate(
  requested: bigint,
  nodeMinimum: bigint,
  bounds: FeeBounds,
): bigint | undefined {
  const floor = nodeMinimum > bounds.rateMin ? nodeMinimum : bounds.rateMin;
  if (floor > bounds.rateMax) return undefined;
  if (requested < floor) return floor;
  return requested > bounds.rateMax ? bounds.rateMax : requested;
}

/** The highest fee for payments of this total. */
export function getShareMinor(paidMinor: bigint, bounds: FeeBounds): bigint {
  return (paidMinor * BigInt(bounds.shareMaxBasisPoints)) / 10_000n;
}

/** Equal parts that sum up exactly: the first ones are larger by one. */
export function splitFee(feeMinor: bigint, parts: number): bigint[] {
  const each = feeMinor / BigInt(parts);
  const remainder = Number(feeMinor % BigInt(parts));
  return Array.from({ length: parts }, (_, index) => each + (index < remainder ? 1n : 0n));
}
