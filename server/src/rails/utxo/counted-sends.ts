import type { Node, Send } from './node.ts';

/**
 * The wallet lists each version of a replaced transaction (BIP 125) and what others have displaced. Of
 * transactions that spend a common coin at most one confirms: the one in the chain, else the one in the
 * mempool, else the newest counts.
 */

export type CountedTransaction = {
  readonly txid: string;
  readonly sends: readonly Send[];
  /** 0: not in the chain. */
  readonly depth: number;
};

type Candidate = CountedTransaction & { readonly conflicts: readonly string[] };

export async function listCounted(
  node: Pick<Node, 'findTransaction' | 'isInMempool'>,
  sends: readonly Send[],
): Promise<CountedTransaction[]> {
  const candidates = new Map<string, Candidate>();
  for (const [txid, some] of Map.groupBy(sends, (send) => send.txid)) {
    const found = await node.findTransaction(txid);
    const depth = found?.block?.depth ?? 0;
    candidates.set(txid, { txid, sends: some, depth, conflicts: found?.conflicts ?? [] });
  }
  const counted = new Map<string, Candidate>();
  for (const candidate of [...candidates.values()].toSorted(compareNewest)) {
    if (candidate.depth > 0 || !(await isReplaced(node, candidate, { candidates, counted }))) {
      counted.set(candidate.txid, candidate);
    }
  }
  return [...counted.values()];
}

type Known = {
  readonly candidates: ReadonlyMap<string, Candidate>;
  readonly counted: ReadonlyMap<string, Candidate>;
};

/** Whether a transaction that spends one of its coins counts instead. */
async function isReplaced(
  node: Pick<Node, 'findTransaction' | 'isInMempool'>,
  { txid, conflicts }: Candidate,
  { candidates, counted }: Known,
): Promise<boolean> {
  for (const conflict of conflicts) {
    // What displaced it may pay nobody, so that it is not among the candidates.
    const depth =
      candidates.get(conflict)?.depth ?? (await node.findTransaction(conflict))?.block?.depth ?? 0;
    if (depth > 0) return true;
  }
  if (conflicts.length === 0 || (await node.isInMempool(txid))) return false;
  for (const conflict of conflicts) {
    if (counted.has(conflict) || (await node.isInMempool(conflict))) return true;
  }
  return false;
}

/** The wallet's times are whole seconds: of two in one second either may come first. */
function compareNewest(one: Candidate, other: Candidate): number {
  const [oneAt = 0, otherAt = 0] = [one, other].map(({ sends }) => sends[0]?.timeSeconds);
  return otherAt - oneAt;
}
