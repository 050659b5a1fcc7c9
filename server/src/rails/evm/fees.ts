import type { FeeLimits } from './config.ts';

/** What is offered for gas (EIP-1559), all in wei. The limits of the operator hold always. */

export type FeeOffer = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint };
export type FeeMarket = { readonly baseFee: bigint; readonly priorityFee: bigint };

/** The most that a unit of gas may cost, so that neither limit is passed. */
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
 * Twice the base fee leaves room for six full blocks in a row, each of which raises it by an
 * eighth. Only what the block asks for is paid.
 *
 * @returns undefined while the chain is dearer than the limits allow.
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

/** Whether the limits leave room for a fee at all, at the lowest tip and without a base fee. */
export function isPayable(limits: FeeLimits, gas: bigint): boolean {
  return limits.priorityMin < findCap(limits, gas);
}

/** Nodes want a tenth more of both numbers (geth's `txpool.pricebump`); an eighth is offered. */
function raise(value: bigint): bigint {
  return value + (value + 7n) / 8n;
}

/**
 * The tip may pass the limit of a first offer, since a network that takes nothing at that price is
 * asked in vain; what is paid at most stays within the cap.
 *
 * @returns undefined where the limits leave no room for another offer.
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

/** What an estimate needs on top, since the state may differ when the transaction is mined. */
export function addGasMargin(estimate: bigint): bigint {
  return estimate === 21_000n ? estimate : estimate + estimate / 4n;
}
