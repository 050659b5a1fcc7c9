import { z } from 'zod';
import { findScriptKind } from './addresses.ts';
import type { Coin } from './coin-selection.ts';
import { findInputWeight } from './coin-selection.ts';
import { jsonCoins, jsonInteger, NodeRefusal, type NodeRpc, refusals } from './node-rpc.ts';
import type { Outpoint } from './transaction.ts';

/** What the rail asks of a node and of the wallet in it, in its own words. */

export type Tip = {
  readonly height: number;
  readonly hash: string;
  /** The node knows of more blocks than it has looked at, or its last one is old. */
  readonly isBehind: boolean;
  readonly chain: string;
  /** The median time of the last eleven blocks. */
  readonly timeSeconds: number;
};

export type WalletTransaction = {
  readonly rawHex: string;
  /** Of the block that holds it on the main chain; undefined: in none. */
  readonly block: { readonly hash: string; readonly depth: number } | undefined;
  /** Other transactions that spend the same coins, as far as the wallet knows. */
  readonly conflicts: readonly string[];
};

export type BroadcastResult =
  | { readonly kind: 'taken' }
  /** `isConflict`: another transaction is in its place, which the node does not let go. */
  | { readonly kind: 'refused'; readonly detail: string; readonly isConflict: boolean };

export type Send = {
  readonly txid: string;
  readonly address: string;
  readonly amountMinor: bigint;
  /** When the wallet saw it first, or its block was made. */
  readonly timeSeconds: number;
};

export type Node = {
  getTip(): Promise<Tip>;
  getBlockHash(height: number): Promise<string>;
  /** Minor units per 1,000 vbytes; undefined when the node has too little to go by. */
  estimateRate(targetBlocks: number): Promise<bigint | undefined>;
  /** The lowest rate that the node takes at present, and the step that a replacement must add. */
  getRateLimits(): Promise<{ minimum: bigint; increment: bigint }>;
  /**
   * Coins that can be spent now; locked and immature ones are not among them. With `owns` those on
   * scripts of ours, else those that the wallet describes as spendable.
   */
  listCoins(
    confirmationsMin: number,
    owns: ((script: string) => boolean) | undefined,
  ): Promise<Coin[]>;
  findTransaction(txid: string): Promise<WalletTransaction | undefined>;
  isInMempool(txid: string): Promise<boolean>;
  /** Whether the coin exists and neither chain nor mempool spends it. */
  isUnspent(outpoint: Outpoint): Promise<boolean>;
  /** What the wallet has seen since a block, in any state. */
  listWalletTransactions(sinceBlockHash: string): Promise<string[]>;
  /** What the wallet has paid to whom since a block, in the chain or not. */
  listSends(sinceBlockHash: string): Promise<readonly Send[]>;
  broadcast(rawHex: string, rateMax: bigint): Promise<BroadcastResult>;
  getChangeScript(kind: string): Promise<string>;
  /** Signed by the node's wallet and complete. @throws NodeRefusal */
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
    /** Whether the wallet has the keys; it lists what it only watches, too. */
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

/** A block more than this behind the headers is looked at as an outdated state of the chain. */
const blocksBehindMax = 1;

type Ask = <T>(method: string, params: readonly unknown[], result: z.ZodType<T>) => Promise<T>;

export function createNode(rpc: NodeRpc, wallet: string, signal: AbortSignal): Node {
  const ask: Ask = (method, params, result) => rpc.call({ method, params, result }, signal);
  const askWallet: Ask = (method, params, result) =>
    rpc.call({ method, params, result, wallet }, signal);
  return { ...createChainCalls(ask), ...createWalletCalls(ask, askWallet) };
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

/** What needs no wallet. */
function createChainCalls(ask: Ask): ChainCalls {
  return {
    getTip: async () => {
      const info = await ask('getblockchaininfo', [], chainInfo);
      const { blocks, headers, initialblockdownload } = info;
      return {
        height: blocks,
        hash: info.bestblockhash,
        isBehind: initialblockdownload || headers - blocks > blocksBehindMax,
        chain: info.chain,
        timeSeconds: info.mediantime,
      };
    },
    getBlockHash: (height) => ask('getblockhash', [height], hash),
    estimateRate: async (targetBlocks) =>
      (await ask('estimatesmartfee', [targetBlocks], estimate)).feerate,
    getRateLimits: async () => {
      const network = await ask('getnetworkinfo', [], networkInfo);
      const { mempoolminfee } = await ask('getmempoolinfo', [], mempoolInfo);
      const minimum = mempoolminfee > network.relayfee ? mempoolminfee : network.relayfee;
      return { minimum, increment: network.incrementalfee };
    },
    isInMempool: async (txid) =>
      (await unlessUnknown(ask('getmempoolentry', [txid], z.object({})))) !== undefined,
    isUnspent: async ({ txid, vout }) =>
      (await ask('gettxout', [txid, vout, true], z.object({}).nullable())) !== null,
    broadcast: (rawHex, rateMax) => broadcast(ask, rawHex, rateMax),
  };
}

function createWalletCalls(ask: Ask, askWallet: Ask): Omit<Node, keyof ChainCalls> {
  const listSince = async (blockHash: string) =>
    (await askWallet('listsinceblock', [blockHash, 1, true], sinceBlock)).transactions;
  return {
    listCoins: async (confirmationsMin, owns) => {
      const found = await askWallet('listunspent', [confirmationsMin, 9_999_999], unspent);
      return found.flatMap((entry) => readCoin(entry, owns) ?? []);
    },
    findTransaction: async (txid) => {
      const found = await unlessUnknown(
        askWallet('gettransaction', [txid, true], walletTransaction),
      );
      if (found === undefined) return undefined;
      const block =
        found.blockhash === undefined ? undefined : await findBlock(ask, found.blockhash);
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
      const address = await askWallet('getrawchangeaddress', [kind], z.string().max(120));
      const info = z.object({ scriptPubKey: rawHexText, ismine: z.literal(true) });
      return (await askWallet('getaddressinfo', [address], info)).scriptPubKey;
    },
    signPsbt: async (psbt) => {
      const signed = await askWallet('walletprocesspsbt', [psbt, true, 'ALL', false], signedPsbt);
      const { hex, complete } = await ask('finalizepsbt', [signed.psbt, true], finalPsbt);
      if (complete && hex !== undefined) return hex;
      throw new NodeRefusal(
        'walletprocesspsbt',
        refusals.walletError,
        'it does not sign all inputs',
      );
    },
  };
}

/** Undefined where the node says that it does not know it. */
async function unlessUnknown<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof NodeRefusal && error.code === refusals.invalidAddressOrKey) {
      return undefined;
    }
    throw error;
  }
}

/**
 * The block, if it is on the main chain. The wallet's own count of confirmations is not used: older
 * versions keep counting for what a reorganisation has undone.
 */
async function findBlock(ask: Ask, blockHash: string): Promise<WalletTransaction['block']> {
  const header = z.object({ confirmations: jsonInteger });
  const found = await unlessUnknown(ask('getblockheader', [blockHash], header));
  if (found === undefined || found.confirmations < 1) return undefined;
  return { hash: blockHash, depth: found.confirmations };
}

/** Descriptors of coins whose spending leaves no room for another transaction id (BIP 141). */
const spendable = /^(?:wpkh|sh\(wpkh|tr)\(/;

function readCoin(
  entry: z.infer<typeof unspent>[number],
  owns: ((script: string) => boolean) | undefined,
): Coin | undefined {
  const { txid, vout, amount, scriptPubKey, desc } = entry;
  // Litecoin's confidential coins have no place and no script of the kind that is meant here.
  if (vout === undefined || scriptPubKey === undefined || entry.safe === false) return undefined;
  const isSpendable =
    owns?.(scriptPubKey) ??
    (entry.spendable !== false && desc !== undefined && spendable.test(desc));
  if (!isSpendable || amount <= 0n) return undefined;
  const kind = findScriptKind(scriptPubKey);
  if (kind === undefined || findInputWeight(kind) === undefined) return undefined;
  return { txid, vout, amountMinor: amount, script: scriptPubKey, kind };
}

async function broadcast(ask: Ask, rawHex: string, rateMax: bigint): Promise<BroadcastResult> {
  // Twice our own bound: the node compares the fee with another estimate of the size.
  const limit = formatCoins(rateMax * 2n);
  try {
    await ask('sendrawtransaction', [rawHex, limit], hash);
    return { kind: 'taken' };
  } catch (error) {
    if (!(error instanceof NodeRefusal)) throw error;
    if (error.code === refusals.alreadyInChain) return { kind: 'taken' };
    if (/already.in.(?:the )?mempool|already.known/i.test(error.message)) return { kind: 'taken' };
    const isConflict = /txn-mempool-conflict/.test(error.message);
    return { kind: 'refused', detail: error.message, isConflict };
  }
}

/** Minor units as a decimal text of coins with eight decimals. */
export function formatCoins(minor: bigint): string {
  const digits = minor.toString().padStart(9, '0');
  return `${digits.slice(0, -8)}.${digits.slice(-8)}`;
}
