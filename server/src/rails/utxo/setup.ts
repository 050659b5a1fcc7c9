import { z } from 'zod';
import type { RailStore } from '../contract/contract.ts';
import { openRecords } from '../kit/records.ts';
import { formatScript } from './addresses.ts';
import type { Config } from './config.ts';
import type { OwnKeys, WatchedDescriptor } from './keys.ts';
import type { Network } from './networks.ts';
import type { Node, Tip } from './node.ts';
import { NodeRefusal, type NodeRpc, refusals } from './node-rpc.ts';

/** Checks the node and prepares its wallet. */

export type SetupContext = {
  readonly config: Config;
  readonly network: Network;
  readonly keys: OwnKeys | undefined;
  readonly rpc: NodeRpc;
  readonly node: Node;
  readonly signal: AbortSignal;
  readonly store: RailStore;
  readonly tip: Tip;
};

/** The rail cannot work with this node as it is; a sentence for the operator. */
export class SetupError extends Error {}

/** @throws SetupError when the node is on another chain. */
export async function getCheckedTip({
  node,
  network,
}: Pick<SetupContext, 'node' | 'network'>): Promise<Tip> {
  const tip = await node.getTip();
  if (tip.chain !== network.chain) {
    throw new SetupError(`the node is on chain ${tip.chain} instead of ${network.chain}`);
  }
  return tip;
}

/** @throws SetupError, NodeRefusal or NodeUnavailable. */
export async function prepareNode(context: SetupContext): Promise<void> {
  const { node, network, config, keys } = context;
  if ((await node.getBlockHash(0)) !== network.firstBlockHash) {
    throw new SetupError(`the node does not follow ${network.name} ${network.chain}`);
  }
  const info = await openWallet(context);
  if (typeof info.scanning === 'object' && info.scanning !== null) {
    // Transactions not scanned yet would look as if they never happened.
    throw new SetupError(`the wallet ${config.keys.wallet} is still scanning the chain`);
  }
  if (config.keys.mode === 'node') {
    if (!info.private_keys_enabled) {
      throw new SetupError(`the wallet ${config.keys.wallet} has no private keys`);
    }
    return;
  }
  if (info.private_keys_enabled) {
    throw new SetupError(`the wallet ${config.keys.wallet} must be watch-only`);
  }
  const isDescriptorWallet = info.descriptors ?? false;
  const fromSeconds = await getWatchTime(context, config.keys.watchFrom);
  for (const descriptor of keys?.descriptors ?? []) {
    await watchDescriptor(context, descriptor, { isDescriptorWallet, fromSeconds });
  }
}

const walletInfo = z.object({
  private_keys_enabled: z.boolean(),
  descriptors: z.boolean().optional(),
  /** False, or the progress. */
  scanning: z.unknown(),
});

async function openWallet(context: SetupContext): Promise<z.infer<typeof walletInfo>> {
  const { rpc, config, signal } = context;
  const { wallet } = config.keys;
  const call = { method: 'getwalletinfo', params: [], result: walletInfo, wallet };
  try {
    return await rpc.call(call, signal);
  } catch (error) {
    if (!isRefusal(error, [refusals.walletNotFound])) throw error;
  }
  const load = { method: 'loadwallet', params: [wallet], result: z.unknown() };
  try {
    await rpc.call(load, signal);
  } catch (error) {
    const isAbsent = isRefusal(error, [refusals.walletNotFound]);
    if (isAbsent && config.keys.mode === 'own') await createWatchWallet(context);
    else if (isAbsent) throw new SetupError(`the node has no wallet ${wallet}`);
    else if (!isRefusal(error, [refusals.walletLoaded])) throw error;
  }
  return rpc.call(call, signal);
}

function isRefusal(error: unknown, codes: readonly number[]): error is NodeRefusal {
  return error instanceof NodeRefusal && codes.includes(error.code);
}

async function createWatchWallet({ rpc, config, signal }: SetupContext): Promise<void> {
  const create = (isDescriptors: boolean): Promise<unknown> =>
    rpc.call(
      {
        method: 'createwallet',
        // Without private keys, blank, no passphrase, no avoid_reuse.
        params: [config.keys.wallet, true, true, '', false, isDescriptors],
        result: z.unknown(),
      },
      signal,
    );
  try {
    await create(true);
  } catch (error) {
    // Builds without SQLite support only legacy wallets.
    if (!isRefusal(error, [refusals.walletError]) || !/sqlite/i.test(error.message)) throw error;
    await create(false);
  }
}

/**
 * From when the node scans for coins. The time of the first setup is recorded, so that a node that
 * lost its wallet scans from there.
 */
async function getWatchTime({ store, tip }: SetupContext, watchFrom: string): Promise<number> {
  if (watchFrom !== 'now') return Math.floor(Date.parse(watchFrom) / 1000);
  const records = openRecords(store, {
    collection: 'setup',
    states: ['current'],
    value: z.object({ fromSeconds: z.number() }),
  });
  const key = 'watch';
  const known = await records.find(key);
  if (known !== undefined) return known.value.fromSeconds;
  const value = { fromSeconds: tip.timeSeconds };
  // Where another process was faster, its time is as good as this one.
  await records.write({ key, revision: 0 }, { state: 'current', value });
  return tip.timeSeconds;
}

type WatchOptions = { isDescriptorWallet: boolean; fromSeconds: number };

async function watchDescriptor(
  context: SetupContext,
  descriptor: WatchedDescriptor,
  options: WatchOptions,
): Promise<void> {
  const { rpc, config, network, signal } = context;
  const { wallet } = config.keys;
  const addresses = descriptor.scripts.flatMap((script) => formatScript(network, script) ?? []);
  const addressInfo = z.object({ ismine: z.boolean(), iswatchonly: z.boolean().optional() });
  // A wallet that watches the last address watches all of them.
  const call = {
    method: 'getaddressinfo',
    params: [addresses.at(-1)],
    result: addressInfo,
    wallet,
  };
  const known = await rpc.call(call, signal);
  if (known.ismine || known.iswatchonly === true) return;
  const ranged = await addChecksum(context, descriptor.text);
  if (ranged !== undefined) {
    const range = descriptor.lastIndex === undefined ? {} : { range: [0, descriptor.lastIndex] };
    const internal = descriptor.isChange ? { internal: true } : {};
    return importDescriptors(context, [{ desc: ranged, ...range, ...internal }], options);
  }
  // Nodes without this kind of descriptor (Taproot, in older ones) still support addresses.
  const requests = [];
  for (const address of addresses) {
    requests.push({ desc: await addChecksum(context, `addr(${address})`) });
  }
  return importDescriptors(context, requests, options);
}

/** Undefined where the node does not support the descriptor. */
async function addChecksum(
  { rpc, signal }: SetupContext,
  text: string,
): Promise<string | undefined> {
  const result = z.object({ descriptor: z.string() });
  try {
    return (await rpc.call({ method: 'getdescriptorinfo', params: [text], result }, signal))
      .descriptor;
  } catch (error) {
    if (isRefusal(error, [refusals.invalidAddressOrKey])) return undefined;
    throw error;
  }
}

async function importDescriptors(
  { rpc, config, signal }: SetupContext,
  descriptors: readonly object[],
  { isDescriptorWallet, fromSeconds }: WatchOptions,
): Promise<void> {
  const { wallet } = config.keys;
  const requests = descriptors.map((descriptor) => ({
    ...descriptor,
    timestamp: fromSeconds,
    ...(isDescriptorWallet ? {} : { watchonly: true, keypool: false }),
  }));
  const method = isDescriptorWallet ? 'importdescriptors' : 'importmulti';
  const outcome = z.array(z.object({ success: z.boolean() }));
  const results = await rpc.call({ method, params: [requests], result: outcome, wallet }, signal);
  if (results.every(({ success }) => success)) return;
  throw new SetupError(`the node does not import the keys into its wallet ${wallet}`);
}
