import type { ScriptKind } from './addresses.ts';
import { getFeeMinor } from './fees.ts';

/**
 * Selects the coins that pay. First a branch and bound search over effective values (amount less the
 * fee of spending) for a set without change, which saves the change output and its later spending.
 * Otherwise the largest coins first, which needs the fewest inputs; while fees are low, a limited
 * number of the smallest coins is consolidated.
 */

export type Coin = {
  readonly txid: string;
  readonly vout: number;
  readonly amountMinor: bigint;
  readonly script: string;
  readonly kind: ScriptKind;
};

export type SelectionTask = {
  readonly coins: readonly Coin[];
  /** Always spent. */
  readonly mustSpend: readonly Coin[];
  readonly payments: readonly { readonly script: string; readonly amountMinor: bigint }[];
  readonly changeScript: string;
  readonly changeKind: ScriptKind;
  /** Change below this goes to the fee. */
  readonly dustMinor: bigint;
  readonly rate: bigint;
  /** The lowest fee of a replacement, by its weight; zero otherwise. */
  readonly feeMin: (weight: number) => bigint;
  readonly inputsMax: number;
  /** At or below `rate`, up to `inputs` coins are consolidated. */
  readonly consolidation: { readonly rate: bigint; readonly inputs: number };
};

export type Selection = {
  readonly coins: readonly Coin[];
  readonly feeMinor: bigint;
  /** 0: no change output. */
  readonly changeMinor: bigint;
  /** Upper bound of the signed transaction's weight. */
  readonly weight: number;
};

/**
 * Signed inputs at their largest (72 bytes of ECDSA signature, 64 of Schnorr), weight units. Only
 * inputs with a witness: with others, third parties could change the transaction's id, and the rail
 * would take its own payment for an unknown one.
 */
const inputWeights: Readonly<Record<ScriptKind, number | undefined>> = {
  pkh: undefined,
  /** P2SH-P2WPKH; the node distinguishes it from other script hashes. */
  sh: 64 * 4 + 109,
  wpkh: 41 * 4 + 109,
  wsh: undefined,
  tr: 41 * 4 + 67,
};

/** Version, lock time, two counts of three bytes, and the witness marker. */
const frameWeight = (4 + 4 + 3 + 3) * 4 + 2;

/** Undefined for a kind that the rail cannot spend. */
export function findInputWeight(kind: ScriptKind): number | undefined {
  return inputWeights[kind];
}

function getInputWeight(kind: ScriptKind): number {
  const weight = inputWeights[kind];
  if (weight === undefined) throw new Error(`coins of kind ${kind} cannot be spent`);
  return weight;
}

export function getOutputWeight(script: string): number {
  return (8 + 1 + script.length / 2) * 4;
}

/** Combinations that the search tries; more gain nothing in the literature. */
const triesMax = 20_000;

/** Undefined for insufficient funds. */
export function selectCoins(task: SelectionTask): Selection | undefined {
  const worthwhile = task.coins.filter((coin) => getEffective(coin, task.rate) > 0n);
  const ranked = worthwhile.toSorted(byAmountDescending);
  if (task.mustSpend.length === 0 && !isCheap(task)) {
    const exact = findExact(task, ranked);
    if (exact !== undefined) return exact;
  }
  return accumulate(task, ranked);
}

function isCheap({ rate, consolidation }: SelectionTask): boolean {
  return consolidation.inputs > 0 && rate <= consolidation.rate;
}

function byAmountDescending(left: Coin, right: Coin): number {
  if (left.amountMinor !== right.amountMinor) return left.amountMinor > right.amountMinor ? -1 : 1;
  // A fixed order among equals, so that the selection is repeatable.
  return left.txid === right.txid ? left.vout - right.vout : left.txid < right.txid ? -1 : 1;
}

function getEffective(coin: Coin, rate: bigint): bigint {
  return coin.amountMinor - getFeeMinor(getInputWeight(coin.kind), rate);
}

function sumAmounts(coins: readonly { readonly amountMinor: bigint }[]): bigint {
  return coins.reduce((sum, coin) => sum + coin.amountMinor, 0n);
}

function getBaseWeight(task: SelectionTask): number {
  return task.payments.reduce((sum, { script }) => sum + getOutputWeight(script), frameWeight);
}

function getFee(task: SelectionTask, weight: number): bigint {
  const byRate = getFeeMinor(weight, task.rate);
  const least = task.feeMin(weight);
  return byRate > least ? byRate : least;
}

/** The cost of change now and later; a surplus up to this is cheaper as fee. */
function getChangeCost({ changeScript, changeKind, rate, dustMinor }: SelectionTask): bigint {
  const now = getFeeMinor(getOutputWeight(changeScript) + getInputWeight(changeKind), rate);
  return now > dustMinor ? now : dustMinor;
}

/**
 * The coins of `ranked` (descending) whose effective values exceed the target least, by at most the
 * cost of change. Depth first, inclusion first; a branch ends above the window or when the remaining
 * coins cannot reach the target.
 */
function findExact(task: SelectionTask, ranked: readonly Coin[]): Selection | undefined {
  const values = ranked.map((coin) => getEffective(coin, task.rate));
  const target = sumAmounts(task.payments) + getFee(task, getBaseWeight(task));
  const window = target + getChangeCost(task);
  // The sum of the values from each position on.
  const restFrom: bigint[] = [...values, 0n];
  for (let at = values.length - 1; at >= 0; at -= 1) {
    restFrom[at] = (values[at] ?? 0n) + (restFrom[at + 1] ?? 0n);
  }
  let best: { picked: number[]; sum: bigint } | undefined;
  let tries = 0;
  const picked: number[] = [];
  let sum = 0n;
  let index = 0;
  while (tries < triesMax) {
    tries += 1;
    if (sum >= target && sum <= window && (best === undefined || sum < best.sum)) {
      best = { picked: [...picked], sum };
      if (sum === target) break;
    }
    const isDeadEnd =
      sum >= target || sum + (restFrom[index] ?? 0n) < target || picked.length >= task.inputsMax;
    if (index < values.length && !isDeadEnd) {
      picked.push(index);
      sum += values[index] ?? 0n;
      index += 1;
      continue;
    }
    const last = picked.pop();
    if (last === undefined) break;
    sum -= values[last] ?? 0n;
    index = last + 1;
  }
  if (best === undefined) return undefined;
  const coins = best.picked.flatMap((position) => ranked[position] ?? []);
  const weight = getBaseWeight(task) + sumWeights(coins);
  const feeMinor = sumAmounts(coins) - sumAmounts(task.payments);
  return { coins, feeMinor, changeMinor: 0n, weight };
}

function sumWeights(coins: readonly Coin[]): number {
  return coins.reduce((sum, coin) => sum + getInputWeight(coin.kind), 0);
}

/** Adds coin after coin until they suffice, then makes change where that is worth it. */
function accumulate(task: SelectionTask, ranked: readonly Coin[]): Selection | undefined {
  const coins = [...task.mustSpend];
  const left = [...ranked];
  if (isCheap(task)) {
    const room = Math.min(task.consolidation.inputs, task.inputsMax) - coins.length;
    // One input is left for the largest coin, since small ones may never suffice.
    for (let count = 1; count < room && left.length > 1; count += 1) {
      const smallest = left.pop();
      if (smallest !== undefined) coins.push(smallest);
    }
  }
  for (;;) {
    const selection = finish(task, coins);
    if (selection !== undefined) return selection;
    const next = left.shift();
    if (next === undefined || coins.length >= task.inputsMax) return undefined;
    coins.push(next);
  }
}

function finish(task: SelectionTask, coins: readonly Coin[]): Selection | undefined {
  if (coins.length === 0) return undefined;
  const spare = sumAmounts(coins) - sumAmounts(task.payments);
  const plainWeight = getBaseWeight(task) + sumWeights(coins);
  const changeWeight = plainWeight + getOutputWeight(task.changeScript);
  const feeMinor = getFee(task, changeWeight);
  const changeMinor = spare - feeMinor;
  const spendFee = getFeeMinor(getInputWeight(task.changeKind), task.rate);
  const changeMin = spendFee > task.dustMinor ? spendFee : task.dustMinor;
  if (changeMinor >= changeMin) {
    return { coins: [...coins], feeMinor, changeMinor, weight: changeWeight };
  }
  if (spare < getFee(task, plainWeight)) return undefined;
  return { coins: [...coins], feeMinor: spare, changeMinor: 0n, weight: plainWeight };
}
