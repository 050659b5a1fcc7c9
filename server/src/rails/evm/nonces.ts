import type { Address } from 'viem';
import type { Counter } from '../kit/counters.ts';
import { RpcError } from '../kit/json-rpc.ts';
import type { SentTransaction } from './chain.ts';
import { findKnownCount } from './nonce-records.ts';
import type { Pass } from './parts.ts';
import { compareRecords } from './record-check.ts';
import { findSentBackwards } from './scan.ts';
import { storeUnknownTransaction } from './unknown-transactions.ts';

/**
 * The account's nonces. Every assignment advances the counter in the write that records the payment,
 * so that no nonce is assigned twice and none is skipped.
 *
 * A used nonce without a record was used outside the rail, or before its database was restored from
 * a backup. Nothing is signed then until operators have released the recovery (`record-check.ts`).
 */

/** Unknown transactions read in one pass. */
const readMax = 200;

/**
 * Compares the records with the chain, and after a confirmed recovery records the transactions that
 * are missing.
 *
 * @returns undefined while nothing may be signed: transactions are missing, or those that a recovery
 * confirmed are not final yet.
 */
export async function catchUpNonces(pass: Pass): Promise<Counter | undefined> {
  const { chain, host, account, nonces } = pass;
  const pending = await chain.countSent(account.address, 'pending');
  const record = await compareRecords(pass, Math.max(pass.sent, pending));
  if (record === 'behind') return undefined;
  const { recovery } = record;
  let current = record.nonce;
  if (current.revision === 0) return undefined;
  const knownCount = findKnownCount(record);
  for (let count = 0; current.next < knownCount; count += 1) {
    if (count === readMax || current.next >= pass.sent) return undefined;
    const found = await findNonceUse(pass, current.next);
    // If it were displaced later, its nonce would be skipped and block all later ones.
    if (found === undefined || !isFinal(pass, found.block)) return undefined;
    const isWritten = await host.store.write([
      nonces.change(current, current.next + 1),
      storeUnknownTransaction(pass.unknownTransactions, found, recovery),
    ]);
    if (!isWritten) return undefined;
    host.log('warn', 'an unknown transaction of the account is recorded', {
      nonce: current.next,
      transaction: found.transaction.hash,
    });
    current = { ...current, next: current.next + 1, revision: current.revision + 1 };
  }
  return current;
}

/** Whether the block can no longer be displaced. */
export function isFinal({ finalNumber }: Pass, block: { readonly number: number }): boolean {
  return block.number <= finalNumber;
}

/**
 * The transaction that used a nonce. Its block is found by binary search over the account's
 * transaction count.
 *
 * @returns undefined where the node does not reach back so far, or the chain has changed meanwhile.
 */
export async function findNonceUse(
  pass: Pass,
  nonce: number,
): Promise<SentTransaction | undefined> {
  try {
    const number = await findNonceUseBlock(pass, nonce);
    const block = number === undefined ? undefined : await pass.chain.findFullBlock(number);
    const transaction = block?.transactions.find(
      ({ from, nonce: used }) => used === nonce && isSameAddress(from, pass.account.address),
    );
    return block === undefined || transaction === undefined ? undefined : { block, transaction };
  } catch (error) {
    if (!(error instanceof RpcError) || error.kind !== 'refused') throw error;
    pass.host.log('warn', 'the node has no state of the block in which a nonce was used', {
      nonce,
    });
    return findSentBackwards(pass, nonce);
  }
}

async function findNonceUseBlock(pass: Pass, nonce: number): Promise<number | undefined> {
  const isConsumedAt = async (number: number): Promise<boolean> =>
    (await pass.chain.countSent(pass.account.address, number)) > nonce;
  let high = pass.head.number;
  let low = high;
  for (let step = 1; low === high; step *= 2) {
    if (high === 0) return undefined;
    low = Math.max(0, high - step);
    if (await isConsumedAt(low)) high = low;
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await isConsumedAt(middle)) high = middle;
    else low = middle;
  }
  return high;
}

function isSameAddress(first: Address, second: Address): boolean {
  return first.toLowerCase() === second.toLowerCase();
}
