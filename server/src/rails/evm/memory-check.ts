import type { CallContext, RailHost } from '../contract/contract.ts';
import type { Chain } from './chain.ts';
import {
  changeNonce,
  changeRecovery,
  findKnownCount,
  type NonceMemory,
  readNonceMemory,
} from './nonce-records.ts';
import { connectChain, type EvmParts } from './parts.ts';
import { RpcError } from './rpc.ts';

/**
 * Whether the rail's memory knows everything that the account has sent. A database that was restored
 * from a backup, or is new, does not: the chain then counts more transactions of the account than
 * the memory has nonces. Such a memory must not sign, and must not say of a payment that it was
 * never made, until operators have released the recovery (`confirmRecovery`).
 */

/** `unread`: no endpoint answered, so that nothing is known. */
export type MemoryState = 'current' | 'behind' | 'unread';

/** Reads the chain first: the memory's nonce is written before a transaction leaves. */
export async function checkMemory(parts: EvmParts, chain: Chain): Promise<NonceMemory | 'behind'> {
  const address = parts.account.address;
  const { number } = await chain.getHead();
  const sent = await chain.countSent(address, number);
  const pending = await chain.countSent(address, 'pending');
  return compareMemory(parts, Math.max(sent, pending));
}

/** @param counted How many transactions the chain and its pool count for the account. */
export async function compareMemory(
  { host }: Pick<EvmParts, 'host'>,
  counted: number,
): Promise<NonceMemory | 'behind'> {
  const memory = await readNonceMemory(host);
  if (memory.recovery?.state === 'behind') return 'behind';
  if (counted > findKnownCount(memory)) {
    await markBehind(host, memory, counted);
    return 'behind';
  }
  if (memory.nonce !== undefined || memory.recovery !== undefined) return memory;
  // A new account: nothing of it can have been sent without this memory.
  await host.store.write([changeNonce({ next: 0, revision: 0 }, 0)]);
  return readNonceMemory(host);
}

async function markBehind(host: RailHost, memory: NonceMemory, counted: number): Promise<void> {
  const known = findKnownCount(memory);
  const fields = { counted, known };
  const detail =
    `The chain counts ${counted} transactions of the rail's account and the rail's memory knows ` +
    `${known}. Nothing is signed until the recovery is released.`;
  // Heard first: a second process finds the record and opens nothing.
  const id = `memory_behind:${counted}`;
  const problems = [{ id, kind: 'unmatched' as const, detail }];
  const raw = Buffer.from(JSON.stringify(fields));
  await host.receive({ id, channel: 'poll', raw, observations: [], problems });
  const { recovery } = memory;
  const next = { state: 'behind', upTo: counted, scannedFrom: null, atMs: host.nowMs() } as const;
  if (await host.store.write([changeRecovery(recovery, next)])) {
    host.log('error', 'the chain has transactions of the account that the memory lacks', fields);
  }
}

/** From the rail's memory alone: undefined where only the chain can tell. */
export async function readMemoryState({
  host,
}: Pick<EvmParts, 'host'>): Promise<'current' | 'behind' | undefined> {
  const { nonce, recovery } = await readNonceMemory(host);
  if (recovery?.state === 'behind') return 'behind';
  return nonce === undefined ? undefined : 'current';
}

/**
 * With the chain as it is now. `current` also says that every transaction that a recovery confirmed
 * was read, so that a payment without a record was never made.
 */
export async function askMemoryState(
  parts: EvmParts,
  { signal }: CallContext,
): Promise<MemoryState> {
  try {
    const chain = await connectChain(parts, signal);
    if (chain === undefined) return 'unread';
    const memory = await checkMemory(parts, chain);
    if (memory === 'behind') return 'behind';
    return (memory.nonce?.next ?? 0) < findKnownCount(memory) ? 'behind' : 'current';
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    parts.host.log('warn', error.message, { kind: error.kind });
    return 'unread';
  }
}
