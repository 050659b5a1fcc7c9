/** How the host uses the prices that a rail's counterparty quotes; an operator may configure each. */
export type PriceRules = {
  /** Between two readings, milliseconds. */
  readonly readEveryMs: number;
  /** Payers whose price is older are not offered. */
  readonly ageMsMax: number;
  /** By how much a payment may cost more than it was quoted, in basis points of its source amount. */
  readonly bearBasisPoints: number;
};

export const defaultPriceRules: PriceRules = {
  readEveryMs: 60_000,
  ageMsMax: 15 * 60_000,
  bearBasisPoints: 50,
};
