import type { FeeLimits } from './config.ts';

/** Gas fees (EIP-1559) in wei, always within the operator's limits. */

export type FeeOffer = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint };
export type FeeMarket = { readonly baseFee: bigint; readonly priorityFee: bigint };

/** The highest price of a unit of gas within both limits. */
function findCap(limits: FeeLimits, gas: bigint): bigint {
  const byTotal = limits.totalMax / gas;
  return byTotal < limits.perGasMax ? byTotal : limits.perGasMax;
}

function least(first: bigint, ...others: readonly bigint[]): bigint {
  return others.reduce((lowest, value) => (value < lowest ? value : lowest), first);
}

function most(first: bigint, ...others: readonly bigint[]): bigint {
  return others.reduce((highest, value) => (value > highest ? value : highest), first);
}

/**
 * Twice the base fee covers six full blocks in a row, each of which raises it by an eighth. The
 * sender pays only the base fee of the block and the tip.
 *
 * @returns undefined while the base fee is above the limits.
 */
export function chooseOffer(
  limits: FeeLimits,
  market: FeeMarket,
  gas: bigint,
): FeeOffer | undefined {
  const cap = findCap(limits, gas);
  if (market.baseFee + limits.priorityMin > cap) return undefined;
  const wished = least(most(market.priorityFee, limits.priorityMin), limits.priorityMax);
  const maxPriorityFeePerGas = least(wished, cap - market.baseFee);
  const maxFeePerGas = least(2n * market.baseFee + maxPriorityFeePerGas, cap);
  return { maxFeePerGas, maxPriorityFeePerGas };
}

/** Whether the limits allow any fee: the lowest tip with a base fee of zero. */
export function isPayable(limits: FeeLimits, gas: bigint): boolean {
  return limits.priorityMin < findCap(limits, gas);
}

/** Nodes require a tenth more of both fees (geth's `txpool.pricebump`); an eighth is added. */
function raise(value: bigint): bigint {
  return value + (value + 7n) / 8n;
}

/**
 * The tip may exceed the limit of a first offer, which the network has just ignored; the total
 * stays within the cap.
 *
 * @returns undefined where the limits allow no higher offer.
 */
export function raiseOffer(
  limits: FeeLimits,
  market: FeeMarket,
  previous: FeeOffer & { readonly gas: bigint },
): FeeOffer | undefined {
  const fresh = chooseOffer(limits, market, previous.gas);
  const maxFeePerGas = most(raise(previous.maxFeePerGas), fresh?.maxFeePerGas ?? 0n);
  const maxPriorityFeePerGas = most(
    raise(previous.maxPriorityFeePerGas),
    fresh?.maxPriorityFeePerGas ?? 0n,
  );
  const isWithin =
    maxFeePerGas <= findCap(limits, previous.gas) && maxPriorityFeePerGas <= maxFeePerGas;
  return isWithin ? { maxFeePerGas, maxPriorityFeePerGas } : undefined;
}

/** Adds a quarter, since the state may differ when the transaction is mined. */
export function addGasMargin(estimate: bigint): bigint {
  return estimate === 21_000n ? estimate : estimate + estimate / 4n;
}
