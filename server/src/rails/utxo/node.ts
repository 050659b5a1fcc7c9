import { z } from 'zod';
import { formatFixed } from '../kit/amounts.ts';
import { findScriptKind } from './addresses.ts';
import type { Coin } from './coin-selection.ts';
import { findInputWeight } from './coin-selection.ts';
import { jsonCoins, jsonInteger, NodeRefusal, type NodeRpc, refusals } from './node-rpc.ts';
import type { Outpoint } from './transaction.ts';

/** The calls to a node and to its wallet. */

export type Tip = {
  readonly height: number;
  readonly hash: string;
  /** The node has not validated all blocks, or its last one is old. */
  readonly isBehind: boolean;
  readonly chain: string;
  /** The median time of the last eleven blocks. */
  readonly timeSeconds: number;
};

export type WalletTransaction = {
  readonly rawHex: string;
  /** On the main chain; undefined: not in a block. */
  readonly block: { readonly hash: string; readonly depth: number } | undefined;
  /** Other transactions in the wallet that spend the same coins. */
  readonly conflicts: readonly string[];
};

export type BroadcastResult =
  | { readonly kind: 'accepted' }
  /** `isConflict`: the node keeps another transaction that spends the same coins. */
  | { readonly kind: 'refused'; readonly detail: string; readonly isConflict: boolean };

export type Send = {
  readonly txid: string;
  readonly address: string;
  readonly amountMinor: bigint;
  /** When the wallet first saw it, or the time of its block. */
  readonly timeSeconds: number;
};

export type Node = {
  getTip(): Promise<Tip>;
  getBlockHash(height: number): Promise<string>;
  /** Minor units per 1,000 vbytes; undefined when the node has no estimate. */
  estimateRate(targetBlocks: number): Promise<bigint | undefined>;
  /** The lowest rate that the node accepts, and the increment of a replacement. */
  getRateLimits(): Promise<{ minimum: bigint; increment: bigint }>;
  /**
   * Spendable coins, without locked and immature ones: with `owns` those on such scripts, else those
   * that the wallet reports as spendable.
   */
  listCoins(
    confirmationsMin: number,
    owns: ((script: string) => boolean) | undefined,
  ): Promise<Coin[]>;
  findTransaction(txid: string): Promise<WalletTransaction | undefined>;
  isInMempool(txid: string): Promise<boolean>;
  /** Whether the coin exists and is spent neither in the chain nor in the mempool. */
  isUnspent(outpoint: Outpoint): Promise<boolean>;
  /** Of the wallet, since a block, in any state. */
  listWalletTransactions(sinceBlockHash: string): Promise<string[]>;
  /** Outputs that the wallet has paid since a block, in the chain or not. */
  listSends(sinceBlockHash: string): Promise<readonly Send[]>;
  broadcast(rawHex: string, rateMax: bigint): Promise<BroadcastResult>;
  getChangeScript(kind: string): Promise<string>;
  /** Completely signed by the node's wallet. @throws NodeRefusal */
  signPsbt(psbt: string): Promise<string>;
};

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const rawHexText = z.string().regex(/^(?:[0-9a-f]{2})+$/);

const chainInfo = z.object({
  chain: z.string(),
  blocks: jsonInteger,
  headers: jsonInteger,
  bestblockhash: hash,
  mediantime: jsonInteger,
  initialblockdownload: z.boolean(),
});
const estimate = z.object({ feerate: jsonCoins.optional() });
const networkInfo = z.object({ relayfee: jsonCoins, incrementalfee: jsonCoins });
const mempoolInfo = z.object({ mempoolminfee: jsonCoins });
const unspent = z.array(
  z.object({
    txid: hash,
    vout: jsonInteger.optional(),
    amount: jsonCoins,
    scriptPubKey: z.string().optional(),
    desc: z.string().optional(),
    safe: z.boolean().optional(),
    /** Whether the wallet has the keys; it also lists coins that it only watches. */
    spendable: z.boolean().optional(),
  }),
);
const walletTransaction = z.object({
  hex: rawHexText,
  blockhash: hash.optional(),
  walletconflicts: z.array(hash),
});
const sinceBlock = z.object({
  transactions: z.array(
    z.object({
      txid: hash,
      category: z.string(),
      address: z.string().optional(),
      amount: jsonCoins.optional(),
      time: jsonInteger,
      abandoned: z.boolean().optional(),
    }),
  ),
});
const signedPsbt = z.object({ psbt: z.string() });
const finalPsbt = z.object({ hex: rawHexText.optional(), complete: z.boolean() });

/** A node more blocks behind its headers is out of sync. */
const blocksBehindMax = 1;

type Call = <T>(method: string, params: readonly unknown[], result: z.ZodType<T>) => Promise<T>;

export function createNode(rpc: NodeRpc, wallet: string, signal: AbortSignal): Node {
  const call: Call = (method, params, result) => rpc.call({ method, params, result }, signal);
  const callWallet: Call = (method, params, result) =>
    rpc.call({ method, params, result, wallet }, signal);
  return { ...createChainCalls(call), ...createWalletCalls(call, callWallet) };
}

type ChainCalls = Pick<
  Node,
  | 'getTip'
  | 'getBlockHash'
  | 'estimateRate'
  | 'getRateLimits'
  | 'isInMempool'
  | 'isUnspent'
  | 'broadcast'
>;

/** Calls that need no wallet. */
function createChainCalls(call: Call): ChainCalls {
  return {
    getTip: async () => {
      const info = await call('getblockchaininfo', [], chainInfo);
      const { blocks, headers, initialblockdownload } = info;
      return {
        height: blocks,
        hash: info.bestblockhash,
        isBehind: initialblockdownload || headers - blocks > blocksBehindMax,
        chain: info.chain,
        timeSeconds: info.mediantime,
      };
    },
    getBlockHash: (height) => call('getblockhash', [height], hash),
    estimateRate: async (targetBlocks) =>
      (await call('estimatesmartfee', [targetBlocks], estimate)).feerate,
    getRateLimits: async () => {
      const network = await call('getnetworkinfo', [], networkInfo);
      const { mempoolminfee } = await call('getmempoolinfo', [], mempoolInfo);
      const minimum = mempoolminfee > network.relayfee ? mempoolminfee : network.relayfee;
      return { minimum, increment: network.incrementalfee };
    },
    isInMempool: async (txid) =>
      (await unlessUnknown(call('getmempoolentry', [txid], z.object({})))) !== undefined,
    isUnspent: async ({ txid, vout }) =>
      (await call('gettxout', [txid, vout, true], z.object({}).nullable())) !== null,
    broadcast: (rawHex, rateMax) => broadcast(call, rawHex, rateMax),
  };
}

function createWalletCalls(call: Call, callWallet: Call): Omit<Node, keyof ChainCalls> {
  const listSince = async (blockHash: string) =>
    (await callWallet('listsinceblock', [blockHash, 1, true], sinceBlock)).transactions;
  return {
    listCoins: async (confirmationsMin, owns) => {
      const found = await callWallet('listunspent', [confirmationsMin, 9_999_999], unspent);
      return found.flatMap((entry) => readCoin(entry, owns) ?? []);
    },
    findTransaction: async (txid) => {
      const found = await unlessUnknown(
        callWallet('gettransaction', [txid, true], walletTransaction),
      );
      if (found === undefined) return undefined;
      const block =
        found.blockhash === undefined ? undefined : await findBlock(call, found.blockhash);
      return { rawHex: found.hex, block, conflicts: found.walletconflicts };
    },
    listWalletTransactions: async (sinceBlockHash) => {
      const transactions = await listSince(sinceBlockHash);
      return [...new Set(transactions.map(({ txid }) => txid))];
    },
    listSends: async (sinceBlockHash) => {
      const transactions = await listSince(sinceBlockHash);
      return transactions.flatMap(({ txid, category, address, amount, time, abandoned }) =>
        category !== 'send' || address === undefined || amount === undefined || abandoned === true
          ? []
          : { txid, address, amountMinor: -amount, timeSeconds: time },
      );
    },
    getChangeScript: async (kind) => {
      const address = await callWallet('getrawchangeaddress', [kind], z.string().max(120));
      const info = z.object({ scriptPubKey: rawHexText, ismine: z.literal(true) });
      return (await callWallet('getaddressinfo', [address], info)).scriptPubKey;
    },
    signPsbt: async (psbt) => {
      const signed = await callWallet('walletprocesspsbt', [psbt, true, 'ALL', false], signedPsbt);
      const { hex, complete } = await call('finalizepsbt', [signed.psbt, true], finalPsbt);
      if (complete && hex !== undefined) return hex;
      throw new NodeRefusal(
        'walletprocesspsbt',
        refusals.walletError,
        'the wallet did not sign all inputs',
      );
    },
  };
}

/** Undefined where the node does not know the transaction or block. */
async function unlessUnknown<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof NodeRefusal && error.code === refusals.invalidAddressOrKey) {
      return undefined;
    }
    throw error;
  }
}

/**
 * The block, if it is on the main chain. The wallet's own confirmations are not used: older versions
 * keep counting after a reorganization.
 */
async function findBlock(call: Call, blockHash: string): Promise<WalletTransaction['block']> {
  const header = z.object({ confirmations: jsonInteger });
  const found = await unlessUnknown(call('getblockheader', [blockHash], header));
  if (found === undefined || found.confirmations < 1) return undefined;
  return { hash: blockHash, depth: found.confirmations };
}

/** Descriptors of coins whose spending cannot change the transaction's id (BIP 141). */
const spendable = /^(?:wpkh|sh\(wpkh|tr)\(/;

function readCoin(
  entry: z.infer<typeof unspent>[number],
  owns: ((script: string) => boolean) | undefined,
): Coin | undefined {
  const { txid, vout, amount, scriptPubKey, desc } = entry;
  // Litecoin's confidential coins have neither an index nor a script.
  if (vout === undefined || scriptPubKey === undefined || entry.safe === false) return undefined;
  const isSpendable =
    owns?.(scriptPubKey) ??
    (entry.spendable !== false && desc !== undefined && spendable.test(desc));
  if (!isSpendable || amount <= 0n) return undefined;
  const kind = findScriptKind(scriptPubKey);
  if (kind === undefined || findInputWeight(kind) === undefined) return undefined;
  return { txid, vout, amountMinor: amount, script: scriptPubKey, kind };
}

async function broadcast(call: Call, rawHex: string, rateMax: bigint): Promise<BroadcastResult> {
  // Twice the rail's own limit, since the node estimates the size differently.
  const limit = formatFixed(rateMax * 2n, 8);
  try {
    await call('sendrawtransaction', [rawHex, limit], hash);
    return { kind: 'accepted' };
  } catch (error) {
    if (!(error instanceof NodeRefusal)) throw error;
    if (error.code === refusals.alreadyInChain) return { kind: 'accepted' };
    if (/already.in.(?:the )?mempool|already.known/i.test(error.message))
      return { kind: 'accepted' };
    const isConflict = /txn-mempool-conflict/.test(error.message);
    return { kind: 'refused', detail: error.message, isConflict };
  }
}
