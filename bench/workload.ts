import type { Workload } from './subject.ts';

/** Which of the accounts a command charges. */

export const accountCount = 1000;

/** The same sequence in every run: a subject must not be lucky. */
export function createPicker(workload: Workload, seed = 1): () => number {
  if (workload === 'hot') return () => 0;
  const random = createRandom(seed);
  if (workload === 'uniform') return () => Math.floor(random() * accountCount);
  const shares = sumZipfShares();
  return () => findFirstAtLeast(shares, random());
}

/** Cumulative shares: account k is charged in proportion to 1 / (k + 1). */
function sumZipfShares(): number[] {
  let total = 0;
  const sums = Array.from({ length: accountCount }, (_, index) => (total += 1 / (index + 1)));
  return sums.map((sum) => sum / total);
}

function findFirstAtLeast(sorted: readonly number[], wanted: number): number {
  let low = 0;
  let high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 1) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A linear congruential generator (modulus 2^32); good enough to choose an account. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
