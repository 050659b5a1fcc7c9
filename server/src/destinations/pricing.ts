import { type Currency, getCurrency } from '../core/currency.ts';
import { readScaled } from '../core/money.ts';
import { type Conversion, convert, divideRounded, type Rate } from '../core/rate.ts';
import type { FeeStep } from '../rails/contract/declarations.ts';

export const usd: Currency = getCurrency('USD');

/** A step of a fee schedule in cents of USD; `upToUsdMinor` is inclusive, null: no limit. */
export type UsdFeeStep = {
  readonly upToUsdMinor: bigint | null;
  readonly fixedUsdMinor: bigint;
  readonly basisPoints: number;
};

/** The fees and limits of a payer in cents of USD. Payers with equal tariffs share one object. */
export type Pricing = {
  readonly steps: readonly UsdFeeStep[];
  readonly marginBasisPoints: number;
  /** All-in rates by pair (`USD/EUR`) that replace mid rate and margin. */
  readonly rates: ReadonlyMap<string, Rate>;
  readonly minLimitUsdMinor: bigint;
  readonly maxLimitUsdMinor: bigint;
};

/** A step in minor units of a source currency. */
export type FeeTerm = {
  readonly upToMinor: bigint | null;
  readonly fixedMinor: bigint;
  readonly basisPoints: bigint;
};

/** A pricing in minor units of a source currency; 0n means no limit. */
export type Terms = {
  readonly source: Currency;
  readonly steps: readonly FeeTerm[];
  readonly minLimitMinor: bigint;
  readonly maxLimitMinor: bigint;
};

const basisPointsOfOne = 10_000n;

/** An amount of USD in cents ("0" included); undefined if it is malformed. */
export function readUsdMinor(text: string): bigint | undefined {
  return readScaled(text, usd.scale);
}

/** A fee schedule in cents; undefined if an amount is malformed. */
export function readFeeSteps(steps: readonly FeeStep[]): UsdFeeStep[] | undefined {
  const compiled: UsdFeeStep[] = [];
  for (const { upTo, fixed, basisPoints } of steps) {
    const upToUsdMinor = upTo === null ? null : readUsdMinor(upTo);
    const fixedUsdMinor = readUsdMinor(fixed);
    if (upToUsdMinor === undefined || fixedUsdMinor === undefined) return undefined;
    compiled.push({ upToUsdMinor, fixedUsdMinor, basisPoints });
  }
  return compiled;
}

const knownTerms = new WeakMap<Rate, WeakMap<Pricing, Terms>>();

/**
 * The pricing in the source currency; `usdToSource` is its units for one USD. Fixed fees and the
 * minimum are rounded up, the maximum and the bounds of steps down, so that an amount is within a
 * bound in the source currency exactly if its worth in USD is.
 *
 * Cached by the identity of both arguments, since a rate book returns the same rate object until
 * the rate changes.
 */
export function getTerms(pricing: Pricing, source: Currency, usdToSource: Rate): Terms {
  let byPricing = knownTerms.get(usdToSource);
  if (byPricing === undefined) {
    byPricing = new WeakMap();
    knownTerms.set(usdToSource, byPricing);
  }
  const known = byPricing.get(pricing);
  if (known !== undefined && known.source === source) return known;
  const terms = computeTerms(pricing, { from: usd, to: source, rate: usdToSource });
  byPricing.set(pricing, terms);
  return terms;
}

function computeTerms(pricing: Pricing, conversion: Conversion): Terms {
  return {
    source: conversion.to,
    steps: pricing.steps.map(({ upToUsdMinor, fixedUsdMinor, basisPoints }) => ({
      upToMinor: upToUsdMinor === null ? null : convert(upToUsdMinor, conversion, 'floor'),
      fixedMinor: convert(fixedUsdMinor, conversion, 'ceil'),
      basisPoints: BigInt(basisPoints),
    })),
    minLimitMinor: convert(pricing.minLimitUsdMinor, conversion, 'ceil'),
    maxLimitMinor: convert(pricing.maxLimitUsdMinor, conversion, 'floor'),
  };
}

/** The step that an amount falls into; undefined where it exceeds the last bound. */
export function findFeeTerm(steps: readonly FeeTerm[], minor: bigint): FeeTerm | undefined {
  return steps.find(({ upToMinor }) => upToMinor === null || minor <= upToMinor);
}

/** The fee of an amount, both in minor units of the source; a percentage is rounded up. */
export function getFeeMinor(terms: Terms, sourceMinor: bigint): bigint {
  const step = findFeeTerm(terms.steps, sourceMinor) as FeeTerm;
  return step.fixedMinor + divideRounded(sourceMinor * step.basisPoints, basisPointsOfOne, 'ceil');
}

/**
 * The largest amount that together with its fee does not exceed the limit, or 0n. A fee may jump up
 * or down between steps, so that each step is tried, the highest first.
 *
 * Inside a step: s + ceil(s b / 10^4) <= r holds for whole r exactly when s (10^4 + b) <= 10^4 r.
 */
export function findLargestSource(terms: Terms, limitMinor: bigint): bigint {
  for (let index = terms.steps.length - 1; index >= 0; index -= 1) {
    const { upToMinor, fixedMinor, basisPoints } = terms.steps[index] as FeeTerm;
    const over = terms.steps[index - 1]?.upToMinor ?? 0n;
    const rest = limitMinor - fixedMinor;
    if (rest <= over) continue;
    const denominator = basisPointsOfOne + basisPoints;
    const most = divideRounded(rest * basisPointsOfOne, denominator, 'floor');
    const source = upToMinor !== null && most > upToMinor ? upToMinor : most;
    if (source > over) return source;
  }
  return 0n;
}

/** Whether the amount is within the payer's limits, both inclusive. */
export function fitsLimits(terms: Terms, sourceMinor: bigint): boolean {
  if (sourceMinor < terms.minLimitMinor) return false;
  return terms.maxLimitMinor === 0n || sourceMinor <= terms.maxLimitMinor;
}
