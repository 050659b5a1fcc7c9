import type { CallContext, RailHost } from '../contract/contract.ts';
import { logRpcFailure } from '../kit/json-rpc.ts';
import { reportProblem } from '../kit/problem-messages.ts';
import { findKnownCount, type NonceRecord, type Nonces } from './nonce-records.ts';
import { connectChain, type EvmParts } from './parts.ts';

/**
 * Whether the rail's records contain everything that the account has sent. After a restore from a
 * backup, or with an empty database, the chain counts more transactions of the account than nonces
 * are recorded. The rail then signs nothing, and answers `unknown` for payments without a record,
 * until operators have released the recovery (`confirmRecovery`).
 */

/** `unread`: no endpoint answered. */
export type RecordState = 'current' | 'behind' | 'unread';

/** @param counted Transactions of the account on the chain and in the mempool. */
export async function compareRecords(
  { host, nonces }: Pick<EvmParts, 'host' | 'nonces'>,
  counted: number,
): Promise<NonceRecord | 'behind'> {
  const record = await nonces.read();
  if (record.recovery?.state === 'behind') return 'behind';
  if (counted > findKnownCount(record)) {
    await markBehind({ host, nonces }, record, counted);
    return 'behind';
  }
  if (record.nonce.revision > 0 || record.recovery !== undefined) return record;
  // A new account without transactions.
  await host.store.write([nonces.change(record.nonce, 0)]);
  return nonces.read();
}

async function markBehind(
  { host, nonces }: { readonly host: RailHost; readonly nonces: Nonces },
  record: NonceRecord,
  counted: number,
): Promise<void> {
  const known = findKnownCount(record);
  const fields = { counted, known };
  const detail =
    `The chain counts ${counted} transactions of the rail's account and the rail's records contain ` +
    `${known}. Nothing is signed until the recovery is released.`;
  // Reported before it is recorded, so that the exception is never missing.
  const id = `memory_behind:${counted}`;
  await reportProblem(host, { id, kind: 'unmatched', detail }, JSON.stringify(fields));
  const value = { upTo: counted, scannedFrom: null, atMs: host.nowMs() };
  const change = nonces.changeRecovery(record.recovery, { state: 'behind', value });
  if (await host.store.write([change])) {
    host.log('error', 'the chain has transactions of the account that the records lack', fields);
  }
}

/**
 * Compares the records with the chain now. `current` also means that every transaction that a
 * recovery confirmed has been read, so that a payment without a record was never made.
 */
export async function readRecordState(
  parts: EvmParts,
  { signal }: CallContext,
): Promise<RecordState> {
  const { address } = parts.account;
  try {
    const chain = await connectChain(parts, signal);
    if (chain === undefined) return 'unread';
    // The chain first, since a nonce is recorded before its transaction is broadcast.
    const { number } = await chain.getHead();
    const sent = await chain.countSent(address, number);
    const pending = await chain.countSent(address, 'pending');
    const record = await compareRecords(parts, Math.max(sent, pending));
    if (record === 'behind') return 'behind';
    return record.nonce.next < findKnownCount(record) ? 'behind' : 'current';
  } catch (error) {
    logRpcFailure(parts.host, error);
    return 'unread';
  }
}
