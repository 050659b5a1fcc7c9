import type { Currency } from './currency.ts';
import { formatScaled, readDecimal } from './money.ts';

/** An exact decimal exchange rate, digits x 10^-scale: units of the destination for one of the source. */
export type Rate = { readonly digits: bigint; readonly scale: number };

export type Rounding = 'floor' | 'ceil';

/** Rates are cut to this many significant digits when a division makes them endless. */
const significantDigits = 12;

export const rateOfOne: Rate = { digits: 1n, scale: 0 };

/** The only place that rounds: its caller names the direction. Both operands are positive. */
export function divideRounded(numerator: bigint, denominator: bigint, rounding: Rounding): bigint {
  if (numerator < 0n || denominator <= 0n) throw new Error('division outside its domain');
  const quotient = numerator / denominator;
  return rounding === 'ceil' && numerator % denominator !== 0n ? quotient + 1n : quotient;
}

export function parseRate(text: string): Rate | undefined {
  const decimal = readDecimal(text);
  return decimal === undefined || decimal.digits <= 0n ? undefined : decimal;
}

export function getRate(text: string): Rate {
  const rate = parseRate(text);
  if (rate === undefined) throw new Error(`not a rate: ${text}`);
  return rate;
}

export function formatRate(rate: Rate): string {
  return formatScaled(rate.digits, rate.scale);
}

/** numerator / denominator, cut (towards zero) to twelve significant digits. */
export function divideRates(numerator: Rate, denominator: Rate): Rate {
  return cutRate(
    numerator.digits * 10n ** BigInt(denominator.scale),
    denominator.digits * 10n ** BigInt(numerator.scale),
  );
}

export function multiplyRates(left: Rate, right: Rate): Rate {
  return cutRate(left.digits * right.digits, 10n ** BigInt(left.scale + right.scale));
}

/**
 * The rate after a margin in basis points is taken from it, cut towards zero, so that the payer of
 * the margin never gets a better rate than the one that was declared.
 */
export function takeMargin(rate: Rate, marginBasisPoints: number): Rate {
  if (
    !Number.isInteger(marginBasisPoints) ||
    marginBasisPoints < 0 ||
    marginBasisPoints >= 10_000
  ) {
    throw new Error(`margin outside 0 to 9999 basis points: ${marginBasisPoints}`);
  }
  if (marginBasisPoints === 0) return rate;
  return cutRate(rate.digits * BigInt(10_000 - marginBasisPoints), 10n ** BigInt(rate.scale + 4));
}

const marginScale = 6;

/**
 * The part of the mid rate that an all-in rate leaves out, 1 - rate / mid, as a decimal text with at
 * most six fraction digits (a hundredth of a basis point), rounded half away from zero. Negative if the rate is
 * better than the mid rate.
 */
export function formatMargin(rate: Rate, mid: Rate): string {
  const all = mid.digits * 10n ** BigInt(rate.scale);
  const kept = rate.digits * 10n ** BigInt(mid.scale);
  const taken = all > kept ? all - kept : kept - all;
  const digits = divideRounded(2n * taken * 10n ** BigInt(marginScale) + all, 2n * all, 'floor');
  return formatScaled(all < kept ? -digits : digits, marginScale);
}

/** The fraction numerator / denominator as a rate of at most twelve significant digits. */
function cutRate(numerator: bigint, denominator: bigint): Rate {
  if (numerator <= 0n || denominator <= 0n) throw new Error('a rate is positive');
  // One spare place covers the case that the leading digits divide to less than one.
  let scale = Math.max(
    0,
    significantDigits + denominator.toString().length - numerator.toString().length,
  );
  let digits = (numerator * 10n ** BigInt(scale)) / denominator;
  const excess = digits.toString().length - significantDigits;
  if (excess > 0) {
    const removed = Math.min(excess, scale);
    digits /= 10n ** BigInt(removed);
    scale -= removed;
  }
  while (scale > 0 && digits % 10n === 0n) {
    digits /= 10n;
    scale -= 1;
  }
  if (digits === 0n) throw new Error('a rate too small to be written');
  return { digits, scale };
}

export type Conversion = { from: Currency; to: Currency; rate: Rate };

/** Minor units of `to` for minor units of `from`. */
export function convert(minor: bigint, conversion: Conversion, rounding: Rounding): bigint {
  const { from, to, rate } = conversion;
  return divideRounded(
    minor * rate.digits * 10n ** BigInt(to.scale),
    10n ** BigInt(rate.scale + from.scale),
    rounding,
  );
}

/** Minor units of `from` that are worth minor units of `to`: the inverse of `convert`. */
export function convertBack(minor: bigint, conversion: Conversion, rounding: Rounding): bigint {
  const { from, to, rate } = conversion;
  return divideRounded(
    minor * 10n ** BigInt(rate.scale + from.scale),
    rate.digits * 10n ** BigInt(to.scale),
    rounding,
  );
}

/**
 * What `convert(..., 'floor')` cut off, in billionths of a minor unit of `to` (0 to 999,999,999).
 * It is what the fx position gains by rounding.
 */
export function getRoundingNano(minor: bigint, delivered: bigint, conversion: Conversion): bigint {
  const { from, to, rate } = conversion;
  const numerator = minor * rate.digits * 10n ** BigInt(to.scale);
  const denominator = 10n ** BigInt(rate.scale + from.scale);
  return ((numerator - delivered * denominator) * 1_000_000_000n) / denominator;
}
