import { readAddress } from './addresses.ts';
import type { PassContext } from './compose.ts';
import type { Send } from './node.ts';
import { NodeRefusal, refusals } from './node-rpc.ts';
import { getCounter, knowsTransaction } from './records.ts';
import {
  addUnknown,
  changeScan,
  hasUnknown,
  type MemoryState,
  readScan,
  type Scan,
} from './wallet-records.ts';

/** Compares what the node's wallet has sent with the rail's memory. */

/** How far back a memory from before these records is compared. */
const lookBackSeconds = 3 * 86_400;
/** Of an empty memory, what the wallet has sent in so long is noted. */
const noteSeconds = 30 * 86_400;
/** @throws NodeRefusal or NodeSilence. */
export async function compareWallet(context: PassContext): Promise<MemoryState> {
  const { host, tip } = context;
  const scan = await readScan(host.store);
  const isEmpty = scan === undefined && (await getCounter(host.store)).revision === 0;
  const unknown = await listUnknown(context, await listNewSends(context, scan, isEmpty));
  const isBehind = scan?.state === 'behind' || (isEmpty && unknown.size > 0);
  const state = isBehind ? 'behind' : 'current';
  for (const [txid, sends] of unknown) {
    if (await hasUnknown(host.store, txid)) continue;
    // An empty memory is reported as a whole.
    if (!isEmpty) await reportUnknown(context, txid, sends);
    if (!isEmpty || isRecent(context, sends)) await noteUnknown(context, txid, sends);
  }
  const unknownCount = scan?.unknownCount ?? unknown.size;
  if (isBehind && scan === undefined) await reportBehind(context, unknownCount);
  if (scan?.blockHash !== tip.hash || scan.state !== state) {
    // Where another process was faster, its scan is as good as this one.
    await host.store.write([changeScan(scan, { state, blockHash: tip.hash, unknownCount })]);
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
    if (scan !== undefined) return await node.listSends(scan.blockHash);
  } catch (error) {
    // The block of the last scan is gone with a chain that was displaced.
    if (!(error instanceof NodeRefusal) || error.code !== refusals.invalidAddressOrKey) throw error;
  }
  const blocks = Math.ceil(lookBackSeconds / network.blockSeconds);
  return node.listSends(await node.getBlockHash(Math.max(0, tip.height - blocks)));
}

async function listUnknown(
  { host }: PassContext,
  sends: readonly Send[],
): Promise<Map<string, Send[]>> {
  const byTransaction = Map.groupBy(sends, ({ txid }) => txid);
  for (const txid of byTransaction.keys()) {
    if (await knowsTransaction(host.store, txid)) byTransaction.delete(txid);
  }
  return byTransaction;
}

function isRecent({ tip }: PassContext, sends: readonly Send[]): boolean {
  return sends.some(({ timeSeconds }) => timeSeconds + noteSeconds >= tip.timeSeconds);
}

async function noteUnknown(
  { host, network }: PassContext,
  txid: string,
  sends: readonly Send[],
): Promise<void> {
  const outputs = sends.flatMap(({ address, amountMinor }) => {
    const script = readAddress(network, address)?.script;
    return script === undefined ? [] : { script, amountMinor };
  });
  await host.store.write([addUnknown(txid, outputs, host.realNowMs())]);
}

async function reportUnknown(
  context: PassContext,
  txid: string,
  sends: readonly Send[],
): Promise<void> {
  const { host, network } = context;
  const totalMinor = sends.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
  const detail = `The wallet sent transaction ${txid}, which the rail's memory does not know.`;
  const id = `unknown:${txid}`;
  const money = totalMinor > 0n ? { currency: network.currency, amountMinor: totalMinor } : {};
  await host.receive({
    id,
    channel: 'poll',
    raw: Buffer.from(JSON.stringify({ event: 'unknown', txid })),
    observations: [],
    problems: [{ id, kind: 'unmatched', detail, ...money }],
  });
  context.note('error', 'the wallet sent a transaction that the memory does not know', { txid });
}

async function reportBehind({ host }: PassContext, unknownCount: number): Promise<void> {
  const id = `memory_behind:${unknownCount}`;
  const detail =
    `The wallet has sent ${unknownCount} transactions and the rail's memory is empty. ` +
    'Nothing is paid until the recovery is released.';
  const raw = Buffer.from(JSON.stringify({ event: 'memory_behind', unknownCount }));
  const problems = [{ id, kind: 'unmatched' as const, detail }];
  await host.receive({ id, channel: 'poll', raw, observations: [], problems });
  host.log('error', 'the wallet has sent what the empty memory does not know', { unknownCount });
}

/** Everything that the wallet has sent by now is accepted. */
export async function acceptWallet(context: PassContext): Promise<boolean> {
  const { host, tip } = context;
  if ((await compareWallet(context)) === 'current') return true;
  const scan = await readScan(host.store);
  if (scan === undefined) return false;
  const next = { ...scan, state: 'current', blockHash: tip.hash } as const;
  return host.store.write([changeScan(scan, omitRevision(next))]);
}

function omitRevision({ revision: _, ...rest }: Scan): Omit<Scan, 'revision'> {
  return rest;
}
