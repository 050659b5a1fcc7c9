import type { RecoveredPayment } from '../contract/contract.ts';
import { readAddress } from './addresses.ts';
import type { PassContext } from './compose.ts';
import { getDepthNeeded } from './config.ts';
import type { Send } from './node.ts';
import { findFamily, findFamilyKey } from './records.ts';

/** What the wallet has sent since a time, for the recovery of a database that was restored. */
export async function listSent(
  context: PassContext,
  sinceMs: number,
): Promise<readonly RecoveredPayment[]> {
  const { node } = context;
  const sends = await node.listSends(await findBlockBefore(context, sinceMs));
  const recovered: RecoveredPayment[] = [];
  for (const send of sends) {
    if (send.timeSeconds * 1000 >= sinceMs) recovered.push(await describe(context, send));
  }
  return recovered;
}

/** Blocks are made sooner or later than on average: twice as many go back far enough. */
async function findBlockBefore(
  { node, network, tip }: PassContext,
  sinceMs: number,
): Promise<string> {
  const seconds = Math.max(0, tip.timeSeconds - sinceMs / 1000);
  const blocks = 144 + Math.ceil((2 * seconds) / network.blockSeconds);
  return node.getBlockHash(Math.max(0, tip.height - blocks));
}

async function describe(context: PassContext, send: Send): Promise<RecoveredPayment> {
  const { network, node, config } = context;
  const { txid, address, amountMinor, timeSeconds } = send;
  const depth = (await node.findTransaction(txid))?.block?.depth ?? 0;
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

/** Of the payment that the memory made in that transaction; a chain carries none. */
async function findReference(
  { host, network }: PassContext,
  { txid, address, amountMinor }: Send,
): Promise<string> {
  const key = await findFamilyKey(host.store, txid);
  const family = key === undefined ? undefined : await findFamily(host.store, key);
  const script = readAddress(network, address)?.script;
  const entries = (family?.payments ?? []).filter(
    (entry) => entry.script === script && entry.amountMinor === amountMinor,
  );
  // Two payments of the same amount to the same address cannot be told apart here.
  return entries.length === 1 ? (entries[0]?.reference ?? '') : '';
}
