import type { RecordChange } from '../contract/contract.ts';
import type { PassContext } from './compose.ts';
import type { Node } from './node.ts';
import { changeFamily, changePayment, type Family, findPayment, type Version } from './records.ts';
import { nameOutpoint, type Output, type ReadTransaction, readTransaction } from './transaction.ts';
import { hearDisplaced } from './unconfirmed.ts';

/** Families whose coins something else has spent. */

export type ForeignSpender = {
  readonly txid: string;
  /** 0: not in the chain. */
  readonly depth: number;
  /** It has outputs for all payments of the family: it may be a version that is forgotten. */
  readonly paysTheSame: boolean;
};

/**
 * The transaction, none of ours, that spends a coin which all versions need; of several one that
 * makes the same payments, or else the deepest. It is looked for among what the wallet knows: a coin of the wallet cannot be spent
 * without the wallet seeing it. What the node says about it is checked against its own bytes.
 */
export async function findForeignSpender(
  { node }: { readonly node: Pick<Node, 'listWalletTransactions' | 'findTransaction'> },
  family: Family,
  anchors: Version['coins'],
): Promise<ForeignSpender | undefined> {
  const wanted = new Set(anchors.map(nameOutpoint));
  const ours = new Set(family.versions.map(({ txid }) => txid));
  const candidates = new Set(await node.listWalletTransactions(family.sinceBlockHash));
  for (const txid of ours) {
    const known = await node.findTransaction(txid);
    for (const conflict of known?.conflicts ?? []) candidates.add(conflict);
  }
  let deepest: ForeignSpender | undefined;
  for (const candidate of candidates) {
    if (ours.has(candidate)) continue;
    const found = await node.findTransaction(candidate);
    if (found === undefined) continue;
    const read = readForeign(found.rawHex);
    if (read === undefined) continue;
    const { txid, inputs, outputs } = read;
    if (ours.has(txid) || !inputs.some((input) => wanted.has(nameOutpoint(input)))) continue;
    const depth = found.block?.depth ?? 0;
    // Whatever lies deeper, what may be a version of ours is never passed over.
    if (includesAll(outputs, family.payments)) return { txid, depth, paysTheSame: true };
    if (deepest !== undefined && deepest.depth >= depth) continue;
    deepest = { txid, depth, paysTheSame: false };
  }
  return deepest;
}

/** Undefined for a form of others that is not understood, such as Litecoin's extension blocks. */
function readForeign(rawHex: string): ReadTransaction | undefined {
  try {
    return readTransaction(rawHex);
  } catch (cause) {
    if (cause instanceof Error) return undefined;
    throw cause;
  }
}

function includesAll(outputs: readonly Output[], payments: readonly Output[]): boolean {
  const left = outputs.map(nameOutput);
  return payments.every((payment) => {
    const index = left.indexOf(nameOutput(payment));
    if (index >= 0) left.splice(index, 1);
    return index >= 0;
  });
}

function nameOutput({ script, amountMinor }: Output): string {
  return `${amountMinor}:${script}`;
}

/**
 * None of its versions can confirm any more. What was not paid waits anew, under the same
 * reference; what had counted as paid is told to have come back, and is not paid again.
 */
export async function buryFamily(
  { host }: PassContext,
  family: Family,
  displacedBy: string,
): Promise<void> {
  await hearDisplaced(host, family, displacedBy);
  const changes: RecordChange[] = [changeFamily(family, 'dead', { ...family, displacedBy })];
  for (const { reference, isPaid } of family.payments) {
    if (isPaid) continue;
    const payment = await findPayment(host.store, reference);
    if (payment?.state !== 'sent' || payment.familyKey !== family.key) continue;
    changes.push(
      changePayment(payment, 'waiting', {
        ...payment,
        familyKey: null,
        formerFamilyKeys: [...payment.formerFamilyKeys, family.key],
        askedAtMs: host.nowMs(),
      }),
    );
  }
  if (!(await host.store.write(changes))) return;
  const fields = { family: family.key, displacedBy, payments: changes.length - 1 };
  host.log('warn', 'a transaction was displaced for good; its payments are made anew', fields);
  host.wake();
}
