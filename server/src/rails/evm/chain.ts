import type { Address, Hex } from 'viem';
import { z } from 'zod';
import { createRpc, type Rpc, RpcError, type RpcOptions } from '../kit/json-rpc.ts';

/** Typed JSON-RPC calls; every answer is validated. One `Chain` talks to one endpoint. */

const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform((text) => BigInt(text));
const smallNumber = quantity
  .refine((value) => value <= BigInt(Number.MAX_SAFE_INTEGER))
  .transform(Number);
const hash = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/)
  .transform((text) => text.toLowerCase() as Hex);
const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/)
  .transform((text) => text.toLowerCase() as Address);
const data = z
  .string()
  .regex(/^0x(?:[0-9a-fA-F]{2})*$/)
  .transform((text) => text.toLowerCase() as Hex);

const headSchema = z.object({
  number: smallNumber,
  hash,
  timestamp: smallNumber,
  baseFeePerGas: quantity,
});

const fullBlockSchema = z.object({
  number: smallNumber,
  hash,
  timestamp: smallNumber,
  transactions: z.array(
    z.object({
      hash,
      from: address,
      to: address.nullish().transform((to) => to ?? null),
      nonce: smallNumber,
      value: quantity,
      input: data,
    }),
  ),
});

const receiptSchema = z.object({
  transactionHash: hash,
  blockHash: hash,
  blockNumber: smallNumber,
  from: address,
  to: address.nullable(),
  status: z.enum(['0x0', '0x1']),
  gasUsed: quantity,
  effectiveGasPrice: quantity,
  /** What a rollup of the OP stack takes for the first layer, in addition to gas. */
  l1Fee: quantity.nullish().transform((fee) => fee ?? 0n),
  logs: z.array(z.object({ address, topics: z.array(hash), data })),
});

export type Head = z.infer<typeof headSchema>;
export type FullBlock = z.infer<typeof fullBlockSchema>;
export type BlockTransaction = FullBlock['transactions'][number];
export type SentTransaction = { readonly transaction: BlockTransaction; readonly block: FullBlock };
export type Receipt = z.infer<typeof receiptSchema>;
export type CallRequest = {
  readonly from: Address;
  readonly to: Address;
  readonly value: bigint;
  readonly data: Hex;
};

/** Every function may throw an RpcError. `at` is a block number. */
export type Chain = {
  readonly endpoint: string;
  getChainId(): Promise<number>;
  getHead(): Promise<Head>;
  /** undefined where the node has no such block yet. */
  findBlockHash(number: number): Promise<Hex | undefined>;
  /** Seconds; undefined where the node no longer has the block. */
  findBlockTime(number: number): Promise<number | undefined>;
  /** The newest finalized block; undefined where the node does not support the tag. */
  findFinalizedNumber(): Promise<number | undefined>;
  findFullBlock(number: number): Promise<FullBlock | undefined>;
  /** The number of transactions that the account has sent, which is its next nonce. */
  countSent(account: Address, at: number | 'pending'): Promise<number>;
  getBalance(account: Address, at: number): Promise<bigint>;
  findReceipt(transactionHash: Hex): Promise<Receipt | undefined>;
  suggestPriorityFee(): Promise<bigint>;
  estimateGas(request: CallRequest): Promise<bigint>;
  call(request: Pick<CallRequest, 'to' | 'data'> & { from?: Address }, at: number): Promise<Hex>;
  broadcast(raw: Hex): Promise<Hex>;
};

export function createChain(options: RpcOptions): Chain {
  const rpc = createRpc(options);
  return {
    endpoint: options.name,
    getChainId: () => rpc.call('eth_chainId', [], smallNumber),
    getHead: () => rpc.call('eth_getBlockByNumber', ['latest', false], headSchema),
    ...createBlockReads(rpc),
    countSent: (account, at) =>
      rpc.call('eth_getTransactionCount', [account, nameBlock(at)], smallNumber),
    getBalance: (account, at) => rpc.call('eth_getBalance', [account, nameBlock(at)], quantity),
    findReceipt: async (transactionHash) => {
      const schema = receiptSchema.nullable();
      const receipt = await rpc.call('eth_getTransactionReceipt', [transactionHash], schema);
      if (receipt !== null && receipt.transactionHash !== transactionHash) {
        throw new RpcError('the receipt is for another transaction', { kind: 'garbage' });
      }
      return receipt ?? undefined;
    },
    suggestPriorityFee: () => rpc.call('eth_maxPriorityFeePerGas', [], quantity),
    estimateGas: (request) =>
      rpc.call('eth_estimateGas', [{ ...request, value: toQuantity(request.value) }], quantity),
    call: (request, at) => rpc.call('eth_call', [request, nameBlock(at)], data),
    broadcast: (raw) => rpc.call('eth_sendRawTransaction', [raw], hash),
  };
}

type BlockReads = Pick<
  Chain,
  'findBlockHash' | 'findBlockTime' | 'findFinalizedNumber' | 'findFullBlock'
>;

function createBlockReads(rpc: Rpc): BlockReads {
  const check = <Block extends { number: number }>(block: Block | null, number: number) => {
    if (block !== null && block.number !== number) {
      throw new RpcError('the block is not the requested one', { kind: 'garbage' });
    }
    return block ?? undefined;
  };
  return {
    findBlockHash: async (number) => {
      const schema = z.object({ number: smallNumber, hash }).nullable();
      const block = await rpc.call('eth_getBlockByNumber', [nameBlock(number), false], schema);
      return check(block, number)?.hash;
    },
    findBlockTime: async (number) => {
      const schema = z.object({ number: smallNumber, timestamp: smallNumber }).nullable();
      const block = await rpc.call('eth_getBlockByNumber', [nameBlock(number), false], schema);
      return check(block, number)?.timestamp;
    },
    findFinalizedNumber: async () => {
      const schema = z.object({ number: smallNumber }).nullable();
      try {
        return (await rpc.call('eth_getBlockByNumber', ['finalized', false], schema))?.number;
      } catch (error) {
        // Nodes of chains without finality reject the tag.
        if (error instanceof RpcError && error.kind === 'refused') return undefined;
        throw error;
      }
    },
    findFullBlock: async (number) => {
      const schema = fullBlockSchema.nullable();
      const block = await rpc.call('eth_getBlockByNumber', [nameBlock(number), true], schema);
      return check(block, number);
    },
  };
}

function toQuantity(value: bigint): string {
  return `0x${value.toString(16)}`;
}

function nameBlock(at: number | 'pending'): string {
  return at === 'pending' ? at : toQuantity(BigInt(at));
}

/** The node ran the transfer, and the contract turned it down. Geth and others use code 3. */
export function isRevert(error: unknown): boolean {
  if (!(error instanceof RpcError) || error.kind !== 'refused') return false;
  return error.code === 3 || error.refusal.includes('revert');
}
