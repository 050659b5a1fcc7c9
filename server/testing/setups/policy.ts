import type { Policy } from '../../src/operators/policies.ts';

/** A policy of two people above a value in whole USD. */
export function twoPersonsAbove(usd: number): () => Promise<Pick<Policy, 'persons' | 'aboveUsd'>> {
  return () => Promise.resolve({ persons: 2, aboveUsd: BigInt(usd) });
}
