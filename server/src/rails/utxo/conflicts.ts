import { attempt } from '../../core/attempt.ts';
import type { RecordChange } from '../contract/contract.ts';
import type { PassContext } from './compose.ts';
import type { Node } from './node.ts';
import { notifyDisplaced } from './notify.ts';
import type { ReplacementSet, Version } from './records.ts';
import {
  formatOutput,
  nameOutpoint,
  type Output,
  type ReadTransaction,
  readTransaction,
} from './transaction.ts';

/** Replacement sets whose coins another transaction has spent. */

export type ConflictingSpender = {
  readonly txid: string;
  /** 0: not in the chain. */
  readonly depth: number;
  /** It has outputs for all payments of the set: it may be a version without a record. */
  readonly paysTheSame: boolean;
};

/**
 * The transaction outside the set that spends a coin which all versions need; of several, one that
 * makes the same payments, or else the deepest. The wallet knows every transaction that spends its
 * coins; what the node reports is checked against the bytes.
 */
export async function findConflictingSpender(
  { node }: { readonly node: Pick<Node, 'listWalletTransactions' | 'findTransaction'> },
  set: ReplacementSet,
  anchors: Version['coins'],
): Promise<ConflictingSpender | undefined> {
  const wanted = new Set(anchors.map(nameOutpoint));
  const ownIds = new Set(set.versions.map(({ txid }) => txid));
  const candidates = new Set(await node.listWalletTransactions(set.sinceBlockHash));
  for (const txid of ownIds) {
    const known = await node.findTransaction(txid);
    for (const conflict of known?.conflicts ?? []) candidates.add(conflict);
  }
  let deepest: ConflictingSpender | undefined;
  for (const candidate of candidates) {
    if (ownIds.has(candidate)) continue;
    const found = await node.findTransaction(candidate);
    if (found === undefined) continue;
    const read = readConflicting(found.rawHex);
    if (read === undefined) continue;
    const { txid, inputs, outputs } = read;
    if (ownIds.has(txid) || !inputs.some((input) => wanted.has(nameOutpoint(input)))) continue;
    const depth = found.block?.depth ?? 0;
    // A possible version of the set counts whatever is deeper.
    if (includesAll(outputs, set.payments)) return { txid, depth, paysTheSame: true };
    if (deepest !== undefined && deepest.depth >= depth) continue;
    deepest = { txid, depth, paysTheSame: false };
  }
  return deepest;
}

/** Undefined for unsupported forms, such as Litecoin's extension blocks. */
function readConflicting(rawHex: string): ReadTransaction | undefined {
  return attempt(() => readTransaction(rawHex));
}

function includesAll(outputs: readonly Output[], payments: readonly Output[]): boolean {
  const left = outputs.map(formatOutput);
  return payments.every((payment) => {
    const index = left.indexOf(formatOutput(payment));
    if (index >= 0) left.splice(index, 1);
    return index >= 0;
  });
}

/**
 * No version can be confirmed. Unpaid payments wait again under the same reference; paid ones are
 * reported as returned and not paid again.
 */
export async function closeDisplacedSet(
  { host, stores, payments }: PassContext,
  set: ReplacementSet,
  displacedBy: string,
): Promise<void> {
  await notifyDisplaced(host, set, displacedBy);
  const changes: RecordChange[] = [
    stores.sets.change(set, { state: 'dead', value: { ...set, displacedBy } }),
  ];
  for (const { reference, isPaid } of set.payments) {
    if (isPaid) continue;
    const payment = await payments.find(reference);
    if (payment?.state !== 'sent' || payment.value.replacementSetKey !== set.key) continue;
    const { value } = payment;
    const formerFamilyKeys = [...value.formerFamilyKeys, set.key];
    const next = { ...value, replacementSetKey: null, formerFamilyKeys, askedAtMs: host.nowMs() };
    changes.push(...payments.change(payment, { state: 'waiting', value: next }));
  }
  if (!(await host.store.write(changes))) return;
  const fields = { set: set.key, displacedBy, payments: changes.length - 1 };
  host.log('warn', 'a transaction was displaced for good; its payments wait again', fields);
  host.wake();
}
