import type { RecoveredPayment } from '../contract/contract.ts';
import { readAddress } from './addresses.ts';
import type { PassContext } from './compose.ts';
import { getDepthNeeded } from './config.ts';
import { listCounted } from './counted-sends.ts';
import type { Send } from './node.ts';
import { findReplacementSet } from './records.ts';

/**
 * What the wallet has sent since a time, for the recovery of a restored database; of the versions of a
 * transaction the one that counts.
 */
export async function listSent(
  context: PassContext,
  sinceMs: number,
): Promise<readonly RecoveredPayment[]> {
  const { node } = context;
  const sends = await node.listSends(await findBlockBefore(context, sinceMs));
  const recent = sends.filter(({ timeSeconds }) => timeSeconds * 1000 >= sinceMs);
  const recovered: RecoveredPayment[] = [];
  for (const { depth, sends: counted } of await listCounted(node, recent)) {
    for (const send of counted) recovered.push(await describe(context, send, depth));
  }
  return recovered;
}

/** Twice the average number of blocks, since their intervals vary. */
async function findBlockBefore(
  { node, network, tip }: PassContext,
  sinceMs: number,
): Promise<string> {
  const seconds = Math.max(0, tip.timeSeconds - sinceMs / 1000);
  const blocks = 144 + Math.ceil((2 * seconds) / network.blockSeconds);
  return node.getBlockHash(Math.max(0, tip.height - blocks));
}

async function describe(
  context: PassContext,
  send: Send,
  depth: number,
): Promise<RecoveredPayment> {
  const { network, config } = context;
  const { txid, address, amountMinor, timeSeconds } = send;
  return {
    reference: await findReference(context, send),
    currency: network.currency,
    amountMinor,
    outcome: depth >= getDepthNeeded(config.confirmations, amountMinor) ? 'paid' : 'accepted',
    providerReference: txid,
    atMs: timeSeconds * 1000,
    destination: address,
    detail: `${depth} confirmations`,
  };
}

/** From the record of the transaction, since a chain carries no references. */
async function findReference(
  { stores, network }: PassContext,
  { txid, address, amountMinor }: Send,
): Promise<string> {
  const key = (await stores.transactions.find(txid))?.value.replacementSetKey;
  const set = key === undefined ? undefined : await findReplacementSet(stores, key);
  const script = readAddress(network, address)?.script;
  const entries = (set?.payments ?? []).filter(
    (entry) => entry.script === script && entry.amountMinor === amountMinor,
  );
  // Two payments of the same amount to the same address cannot be distinguished.
  return entries.length === 1 ? (entries[0]?.reference ?? '') : '';
}
