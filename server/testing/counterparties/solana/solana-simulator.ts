import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import {
  type Address,
  address,
  generateKeyPairSigner,
  getAddressDecoder,
  getBase58Decoder,
  getCompiledTransactionMessageDecoder,
  getSignatureFromTransaction,
  getTransactionDecoder,
  lamports,
} from '@solana/kit';
import {
  AccountState,
  findAssociatedTokenPda,
  getMintEncoder,
  getTokenDecoder,
  getTokenEncoder,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';
import { FailedTransactionMetadata, LiteSVM } from 'litesvm';
import { z } from 'zod';
import { readTransfer } from '../../../src/rails/solana/transfer.ts';

/**
 * A Solana cluster of one validator: LiteSVM (Solana's own runtime, with the real token programs) runs
 * the transactions, and around it stand the blocks, blockhashes, commitments and the history of a
 * cluster, as JSON-RPC shows them. A block is made by `advance`, and a block is final when two more are
 * above it. A blockhash is accepted for 150 blocks. There are no forks.
 */

const lifetimeBlocks = 150;
const finalBlocks = 2;
/** Slots that no block was made in. */
const skippedSlots = 1000;

type Landed = {
  readonly signature: string;
  readonly wire: string;
  readonly height: number;
  readonly err: unknown;
  readonly keys: readonly string[];
  readonly fee: number;
  readonly balances: { readonly before: number; readonly after: number };
  readonly blockTime: number;
};

export type Solana = Awaited<ReturnType<typeof startSolana>>;

export async function startSolana() {
  const genesisHash = getBase58Decoder().decode(randomBytes(32));
  // Blockhashes are the simulator's own, since LiteSVM keeps only the newest one.
  const svm = new LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n);
  const state = {
    svm,
    genesisHash,
    height: 10,
    hashes: new Map<string, number>(),
    newest: '',
    landed: new Map<string, Landed>(),
    pool: new Map<string, string>(),
    /** Transactions are taken from the sender and reach no block. */
    losesTransactions: false,
    /** Methods that are answered with an error. */
    refused: new Set<string>(),
    sends: [] as string[],
  };
  makeHash(state);
  const server = createServer((request, response) => {
    readText(request)
      .then((text) => answer(state, text))
      .then((body) => response.setHeader('content-type', 'application/json').end(body))
      .catch(() => response.writeHead(400).end());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  return {
    state,
    genesisHash,
    port,
    url: `http://127.0.0.1:${port}`,
    ...createHands(state),
    advance: (blocks = 1) => {
      for (let block = 0; block < blocks; block += 1) makeBlock(state);
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

type State = {
  readonly svm: LiteSVM;
  readonly genesisHash: string;
  height: number;
  readonly hashes: Map<string, number>;
  newest: string;
  readonly landed: Map<string, Landed>;
  readonly pool: Map<string, string>;
  losesTransactions: boolean;
  readonly refused: Set<string>;
  readonly sends: string[];
};

/** What a test does to accounts without a transaction. */
function createHands({ svm, landed, pool }: State) {
  const findHolder = async (owner: Address, mint: Address) =>
    (await findAssociatedTokenPda({ owner, mint, tokenProgram: TOKEN_PROGRAM_ADDRESS }))[0];
  const setAccount = (account: Address, data: Uint8Array) =>
    svm.setAccount({
      address: account,
      data,
      executable: false,
      lamports: lamports(svm.minimumBalanceForRentExemption(BigInt(data.length))),
      programAddress: TOKEN_PROGRAM_ADDRESS,
      space: BigInt(data.length),
    });
  return {
    createMint: async (decimals: number): Promise<Address> => {
      const { address: mint } = await generateKeyPairSigner();
      const data = getMintEncoder().encode({
        mintAuthority: mint,
        supply: 10n ** 18n,
        decimals,
        isInitialized: true,
        freezeAuthority: mint,
      });
      setAccount(mint, new Uint8Array(data));
      return mint;
    },
    giveSol: (owner: Address, amount: bigint) => svm.airdrop(owner, lamports(amount)),
    /** Creates the account, or sets what it holds. */
    giveTokens: async (
      { owner, mint }: { readonly owner: Address; readonly mint: Address },
      amount: bigint,
      how: { isFrozen?: boolean; heldBy?: Address } = {},
    ) => {
      const data = getTokenEncoder().encode({
        mint,
        owner: how.heldBy ?? owner,
        amount,
        delegate: null,
        state: how.isFrozen === true ? AccountState.Frozen : AccountState.Initialized,
        isNative: null,
        delegatedAmount: 0n,
        closeAuthority: null,
      });
      setAccount(await findHolder(owner, mint), new Uint8Array(data));
    },
    readTokens: async (owner: Address, mint: Address): Promise<bigint | undefined> => {
      const account = svm.getAccount(await findHolder(owner, mint));
      return account.exists && account.data.length > 0
        ? getTokenDecoder().decode(account.data).amount
        : undefined;
    },
    readSol: (owner: Address): bigint => svm.getBalance(owner) ?? 0n,
    /** What was paid, or may still be paid, to the owner: smallest units of the mint. */
    listPaid: async (owner: Address, mint: Address): Promise<bigint[]> => {
      const holder = await findHolder(owner, mint);
      const wires = [...landed.values()].filter(({ err }) => err === null).map(({ wire }) => wire);
      return [...wires, ...pool.values()].flatMap((wire) => {
        const transfer = readTransfer(wire);
        return transfer?.destination === holder ? [transfer.units] : [];
      });
    },
  };
}

function makeHash(state: State): void {
  state.newest = getBase58Decoder().decode(randomBytes(32));
  state.hashes.set(state.newest, state.height);
}

function makeBlock(state: State): void {
  state.height += 1;
  for (const [signature, wire] of state.pool) {
    state.pool.delete(signature);
    if (isValidNow(state, wire)) land(state, signature, wire);
  }
  makeHash(state);
}

function read(wire: string) {
  const transaction = getTransactionDecoder().decode(Buffer.from(wire, 'base64'));
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
  return { transaction, message };
}

function isValidNow({ hashes, height }: State, wire: string): boolean {
  const madeAt = hashes.get(read(wire).message.lifetimeToken);
  return madeAt !== undefined && height <= madeAt + lifetimeBlocks;
}

function land(state: State, signature: string, wire: string): void {
  if (state.landed.has(signature)) return;
  const { svm } = state;
  const { transaction, message } = read(wire);
  const [payer] = message.staticAccounts;
  if (payer === undefined) return;
  const before = Number(svm.getBalance(payer) ?? 0n);
  const result = svm.sendTransaction(transaction);
  const after = Number(svm.getBalance(payer) ?? 0n);
  const isFailed = result instanceof FailedTransactionMetadata;
  // Without a fee it was not taken: a wrong signature, or no funds for the fee.
  if (isFailed && before === after) return;
  state.landed.set(signature, {
    signature,
    wire,
    height: state.height,
    err: isFailed ? { InstructionError: [0, 'Custom'] } : null,
    keys: message.staticAccounts,
    fee: isFailed ? before - after : Math.min(before - after, feeOf(before - after)),
    balances: { before, after },
    blockTime: Math.floor(Date.now() / 1000),
  });
}

const rentOfTokenAccount = 2_039_280;

function feeOf(cost: number): number {
  return cost > rentOfTokenAccount ? cost - rentOfTokenAccount : cost;
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const requestSchema = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.int(),
  method: z.string(),
  params: z.array(z.unknown()),
});

function answer(state: State, text: string): string {
  const { id, method, params } = requestSchema.parse(JSON.parse(text));
  const handle = methods[method];
  if (handle === undefined || state.refused.has(method)) {
    const error = { code: -32_601, message: `${method} is not available` };
    return JSON.stringify({ jsonrpc: '2.0', id, error });
  }
  const result = handle(state, params);
  if (result instanceof RpcFault) {
    const error = { code: result.code, message: result.message };
    return JSON.stringify({ jsonrpc: '2.0', id, error });
  }
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}

class RpcFault extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const optionsSchema = z.object({ commitment: z.string().default('finalized') }).prefault({});

function heightAt(state: State, options: unknown): number {
  const { commitment } = optionsSchema.parse(options);
  return commitment === 'finalized' ? state.height - finalBlocks : state.height;
}

const slotOf = (height: number) => height + skippedSlots;
const text = z.string();

function inContext(state: State, options: unknown, value: unknown) {
  return { context: { slot: slotOf(heightAt(state, options)) }, value };
}

type Handle = (state: State, params: readonly unknown[]) => unknown;

const methods: Readonly<Record<string, Handle>> = {
  getGenesisHash: ({ genesisHash }) => genesisHash,
  getBlockHeight: (state, [options]) => heightAt(state, options),
  getSlot: (state, [options]) => slotOf(heightAt(state, options)),
  getLatestBlockhash: (state, [options]) => {
    const height = heightAt(state, options);
    const known = [...state.hashes].findLast(([, madeAt]) => madeAt <= height);
    const [blockhash, madeAt] = known ?? [state.newest, state.height];
    const value = { blockhash, lastValidBlockHeight: madeAt + lifetimeBlocks };
    return inContext(state, options, value);
  },
  getBalance: (state, [account, options]) => {
    const value = Number(state.svm.getBalance(address(text.parse(account))) ?? 0n);
    return inContext(state, options, value);
  },
  getMinimumBalanceForRentExemption: ({ svm }, [bytes]) =>
    Number(svm.minimumBalanceForRentExemption(BigInt(z.int().parse(bytes)))),
  getAccountInfo: (state, [account, options]) => {
    const found = state.svm.getAccount(address(text.parse(account)));
    if (!found.exists || found.lamports === 0n) return inContext(state, options, null);
    return inContext(state, options, {
      owner: found.programAddress,
      lamports: Number(found.lamports),
      data: [Buffer.from(found.data).toString('base64'), 'base64'],
      executable: found.executable,
      space: found.data.length,
    });
  },
  sendTransaction: (state, [wire]) => {
    const bytes = text.parse(wire);
    const signature = getSignatureFromTransaction(read(bytes).transaction);
    state.sends.push(signature);
    if (!isValidNow(state, bytes)) return new RpcFault(-32_002, 'Blockhash not found');
    if (!state.losesTransactions && !state.landed.has(signature)) state.pool.set(signature, bytes);
    return signature;
  },
  simulateTransaction: (state, [wire, options]) => {
    const result = state.svm
      .withSigverify(false)
      .simulateTransaction(read(text.parse(wire)).transaction);
    state.svm.withSigverify(true);
    const isFailed = result instanceof FailedTransactionMetadata;
    return inContext(state, options, { err: isFailed ? 'InstructionError' : null, logs: [] });
  },
  getSignatureStatuses: (state, [signatures]) => ({
    context: { slot: slotOf(state.height) },
    value: z
      .array(text)
      .parse(signatures)
      .map((signature) => describeStatus(state, state.landed.get(signature))),
  }),
  getTransaction: (state, [signature, options]) => {
    const found = state.landed.get(text.parse(signature));
    if (found === undefined || found.height > heightAt(state, options)) return null;
    const { before, after } = found.balances;
    return {
      slot: slotOf(found.height),
      blockTime: found.blockTime,
      meta: { err: found.err, fee: found.fee, preBalances: [before], postBalances: [after] },
      transaction: [found.wire, 'base64'],
    };
  },
  getSignaturesForAddress: (state, [account, options]) => {
    const { until, before, limit } = listSchema.parse(options);
    const newest = [...state.landed.values()]
      .filter(({ keys, height }) => {
        return keys.includes(text.parse(account)) && height <= heightAt(state, options);
      })
      .toReversed();
    const from = before === undefined ? 0 : newest.findIndex((one) => one.signature === before) + 1;
    const end = until === undefined ? -1 : newest.findIndex((one) => one.signature === until);
    return newest
      .slice(from, end < 0 ? undefined : end)
      .slice(0, limit)
      .map(describeListed);
  },
};

const listSchema = z.object({
  until: z.string().optional(),
  before: z.string().optional(),
  limit: z.int().max(1000).default(1000),
});

function describeStatus(state: State, found: Landed | undefined) {
  if (found === undefined) return null;
  const isFinal = found.height <= state.height - finalBlocks;
  return {
    slot: slotOf(found.height),
    confirmations: isFinal ? null : state.height - found.height,
    err: found.err,
    confirmationStatus: isFinal ? 'finalized' : 'confirmed',
  };
}

function describeListed({ signature, wire, height, err, blockTime }: Landed) {
  const memo = readTransfer(wire)?.reference ?? '';
  return {
    signature,
    slot: slotOf(height),
    err,
    memo: memo === '' ? null : `[${memo.length}] ${memo}`,
    blockTime,
    confirmationStatus: 'finalized',
  };
}

/** A new key, as the configuration holds it. */
export function makeKey(): { readonly secretKey: string; readonly address: Address } {
  const { privateKey } = generateKeyPairSync('ed25519');
  const { d = '', x = '' } = privateKey.export({ format: 'jwk' });
  const publicKey = Buffer.from(x, 'base64url');
  const secretKey = JSON.stringify([...Buffer.from(d, 'base64url'), ...publicKey]);
  return { secretKey, address: getAddressDecoder().decode(publicKey) };
}
