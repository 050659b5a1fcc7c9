import { reportProblem } from '../kit/problem-messages.ts';
import { readAddress } from './addresses.ts';
import type { PassContext } from './compose.ts';
import { listCounted } from './counted-sends.ts';
import type { Send } from './node.ts';
import { NodeRefusal, refusals } from './node-rpc.ts';
import { type RecordState, type Scan, scanKey, setCounterKey } from './records.ts';

/** Compares what the node's wallet has sent with the rail's records. */

/** How far back records without a scan are compared. */
const lookBackSeconds = 3 * 86_400;
/** With empty records, the wallet's transactions of so long are recorded as unknown. */
const recordSeconds = 30 * 86_400;

/** @throws NodeRefusal or NodeUnavailable. */
export async function compareWallet(context: PassContext): Promise<RecordState> {
  const { tip, stores, node } = context;
  const scan = await stores.scans.find(scanKey);
  const isEmpty = scan === undefined && (await stores.counters.read(setCounterKey)).revision === 0;
  const unknown = await listUnknown(context, await listNewSends(context, scan, isEmpty));
  const counted = await listCounted(node, [...unknown.values()].flat());
  const countedIds = new Set(counted.map(({ txid }) => txid));
  const isBehind = scan?.state === 'behind' || (isEmpty && unknown.size > 0);
  const state = isBehind ? 'behind' : 'current';
  for (const [txid, sends] of unknown) {
    if ((await stores.unknowns.find(txid)) !== undefined) continue;
    // Empty records are reported once, as a whole; a replaced version is no payment of its own, but
    // is recorded, since a reorganization may bring it back.
    if (!isEmpty && countedIds.has(txid)) await reportUnknown(context, txid, sends);
    if (!isEmpty || isRecent(context, sends)) await recordUnknown(context, txid, sends);
  }
  const unknownCount = scan?.value.unknownCount ?? counted.length;
  if (isBehind && scan === undefined) await reportBehind(context, unknownCount);
  if (scan?.value.blockHash !== tip.hash || scan.state !== state) {
    const value = { blockHash: tip.hash, unknownCount };
    // Where another process was faster, its scan is as good as this one.
    await stores.scans.write(scan ?? { key: scanKey, revision: 0 }, { state, value });
  }
  return state;
}

async function listNewSends(
  { node, network, tip }: PassContext,
  scan: Scan | undefined,
  isEmpty: boolean,
): Promise<readonly Send[]> {
  if (isEmpty) return node.listSends(await node.getBlockHash(0));
  try {
    if (scan !== undefined) return await node.listSends(scan.value.blockHash);
  } catch (error) {
    // A reorganization displaced the block of the last scan.
    if (!(error instanceof NodeRefusal) || error.code !== refusals.invalidAddressOrKey) throw error;
  }
  const blocks = Math.ceil(lookBackSeconds / network.blockSeconds);
  return node.listSends(await node.getBlockHash(Math.max(0, tip.height - blocks)));
}

async function listUnknown(
  { stores }: PassContext,
  sends: readonly Send[],
): Promise<Map<string, Send[]>> {
  const byTransaction = Map.groupBy(sends, ({ txid }) => txid);
  for (const txid of byTransaction.keys()) {
    if ((await stores.transactions.find(txid)) !== undefined) byTransaction.delete(txid);
  }
  return byTransaction;
}

function isRecent({ tip }: PassContext, sends: readonly Send[]): boolean {
  return sends.some(({ timeSeconds }) => timeSeconds + recordSeconds >= tip.timeSeconds);
}

async function recordUnknown(
  { host, network, stores }: PassContext,
  txid: string,
  sends: readonly Send[],
): Promise<void> {
  const outputs = sends.flatMap(({ address, amountMinor }) => {
    const script = readAddress(network, address)?.script;
    return script === undefined ? [] : { script, amountMinor };
  });
  const value = { outputs, notedAtMs: host.realNowMs() };
  await stores.unknowns.write({ key: txid, revision: 0 }, { state: 'open', value });
}

async function reportUnknown(
  context: PassContext,
  txid: string,
  sends: readonly Send[],
): Promise<void> {
  const { host, network } = context;
  const totalMinor = sends.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
  const detail = `The wallet sent transaction ${txid}, which is not in the rail's records.`;
  const id = `unknown:${txid}`;
  const money = totalMinor > 0n ? { currency: network.currency, amountMinor: totalMinor } : {};
  const problem = { id, kind: 'unmatched', detail, ...money } as const;
  await reportProblem(host, problem, JSON.stringify({ event: 'unknown', txid }));
  context.note('error', 'the wallet sent a transaction that is not in the records', { txid });
}

async function reportBehind({ host }: PassContext, unknownCount: number): Promise<void> {
  const id = `memory_behind:${unknownCount}`;
  const detail =
    `The wallet has sent ${unknownCount} transactions and the rail's records are empty. ` +
    'Nothing is paid until the recovery is released.';
  const raw = JSON.stringify({ event: 'memory_behind', unknownCount });
  await reportProblem(host, { id, kind: 'unmatched', detail }, raw);
  host.log('error', 'the wallet has sent transactions and the records are empty', { unknownCount });
}

/** Accepts everything that the wallet has sent. */
export async function acceptWallet(context: PassContext): Promise<boolean> {
  const { tip, stores } = context;
  if ((await compareWallet(context)) === 'current') return true;
  const scan = await stores.scans.find(scanKey);
  if (scan === undefined) return false;
  const value = { ...scan.value, blockHash: tip.hash };
  return stores.scans.write(scan, { state: 'current', value });
}
