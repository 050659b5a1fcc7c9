import type {
  CallContext,
  ExclusiveResource,
  RailCalls,
  RailHost,
  RailModule,
} from '../contract/contract.ts';
import { type Config, configSchema } from './config.ts';
import { createOwnKeys } from './keys.ts';
import { getNetwork } from './networks.ts';
import { createNode } from './node.ts';
import { createNodeRpc } from './node-rpc.ts';
import { createPasses } from './passes.ts';
import { cancelPayment, openPayments, queryPayment, sendPayment } from './payments.ts';
import { openStores } from './records.ts';

const create = (config: Config, host: RailHost): Promise<RailCalls> => {
  const network = getNetwork(config.network, config.chain);
  for (const { key, currencies } of host.payers) {
    if (currencies.every((code) => code === network.currency)) continue;
    throw new Error(`payer ${key}: the rail pays in ${network.currency} only`);
  }
  const keys =
    config.keys.mode === 'own'
      ? createOwnKeys(network, { ...config.keys, path: config.keys.path })
      : undefined;
  const rpc = createNodeRpc({
    ...config.rpc,
    timeoutMs: config.rpc.timeoutSeconds * 1000,
    fetch: host.fetch,
  });
  const base = { config, network, host, stores: openStores(host) };
  const context = { ...base, payments: openPayments(base) };
  const passes = createPasses({
    ...context,
    keys,
    rpc,
    openNode: (signal) => createNode(rpc, config.keys.wallet, signal),
  });
  return Promise.resolve({
    send: (instruction) => sendPayment(context, instruction),
    query: (instruction, { signal }) =>
      queryPayment(context, instruction, () => passes.compare(signal)),
    cancel: (instruction, { signal }) =>
      cancelPayment(context, instruction, () => passes.compare(signal)),
    work: ({ signal }: CallContext) => passes.work(signal),
    workIdleMs: config.pollSeconds * 1000,
    networks: {
      [network.currency]:
        network.chain === 'main' ? network.name : `${network.name}-${network.chain}`,
    },
    readFunds: ({ signal }: CallContext) => passes.readFunds(signal),
    check: ({ signal }: CallContext) => passes.check(signal),
    // The chain has real time, and the environment's clock may be ahead.
    recover: (sinceMs, { signal }) =>
      passes.recover(sinceMs - (host.nowMs() - host.realNowMs()), signal),
    confirmRecovery: ({ signal }) => passes.confirmRecovery(signal),
  });
};

/** Coins of a key are spent once, and a wallet of the node belongs to one rail. */
function listExclusives({ network: name, chain, keys, rpc }: Config): ExclusiveResource[] {
  const isLocal = /^(?:127\.|localhost$|\[::1\]$)/.test(new URL(rpc.url).hostname);
  const wallet = { what: 'the wallet of the node', value: `${rpc.url} ${keys.wallet}`, isLocal };
  if (keys.mode === 'node') return [wallet];
  const own = createOwnKeys(getNetwork(name, chain), { ...keys, path: keys.path });
  const scripts = own.descriptors.flatMap((one) => (one.isChange ? [] : one.scripts.slice(0, 1)));
  const what = 'the key (by its first address)';
  return [wallet, ...scripts.map((script) => ({ what, value: `${name}-${chain} ${script}` }))];
}

/** Payments on Bitcoin and Litecoin through the operator's own node. */
export const railModule: RailModule<Config> = {
  kind: 'utxo',
  about:
    'Bitcoin and Litecoin through a node of your own (Bitcoin Core, Litecoin Core), with keys of ' +
    "the rail's or the node's wallet; many payouts share a transaction.",
  corridors: [{ countries: 'any', deliveryType: 'CRYPTOCURRENCY', currencies: ['BTC', 'LTC'] }],
  // Only the key of the rail's records; the chain carries no reference.
  reference: { lengthMax: 64, charset: /^[0-9A-Za-z_-]+$/ },
  // A send only writes a record and does not wait for the node.
  pace: { concurrencyMax: 16, perSecondMax: null },
  configSchema,
  listExclusives,
  create,
};
