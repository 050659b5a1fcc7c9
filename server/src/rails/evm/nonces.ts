import type { Address } from 'viem';
import { compareMemory } from './memory-check.ts';
import { changeNonce, findKnownCount, type NextNonce } from './nonce-records.ts';
import type { Pass } from './parts.ts';
import { RpcError } from './rpc.ts';
import { type Consumer, findSentBackwards } from './scan.ts';
import { keepStray } from './unknown-transactions.ts';

/**
 * The account's nonces. The next one to assign is a record that every assignment rewrites together
 * with the payment, so that two processes can never assign the same one, and none is left out.
 *
 * A nonce that the chain consumed and this memory does not know of was used by somebody else who
 * has the key, or by this very rail before its memory was restored from an older copy. Nothing is
 * signed then until operators have released the recovery (`memory-check.ts`).
 */

/** So many strays are looked into in one pass. */
const straysMax = 200;

/**
 * Compares the memory with the chain, and after a confirmed recovery reads the transactions that the
 * memory lacks.
 *
 * @returns undefined while nothing may be signed: the memory lacks transactions of the account, or
 * those that a recovery confirmed are not final yet.
 */
export async function catchUpNonces(pass: Pass): Promise<NextNonce | undefined> {
  const { chain, host, account } = pass;
  const pending = await chain.countSent(account.address, 'pending');
  const memory = await compareMemory(pass, Math.max(pass.sent, pending));
  if (memory === 'behind') return undefined;
  const { nonce, recovery } = memory;
  if (nonce === undefined) return undefined;
  let current = nonce;
  const knownCount = findKnownCount(memory);
  for (let count = 0; current.next < knownCount; count += 1) {
    if (count === straysMax || current.next >= pass.sent) return undefined;
    const consumer = await findConsumer(pass, current.next);
    // Were it displaced after all, its nonce would be left out and hold up all later ones.
    if (consumer === undefined || !isFinal(pass, consumer.block)) return undefined;
    const isWritten = await host.store.write([
      changeNonce(current, current.next + 1),
      keepStray(consumer, recovery),
    ]);
    if (!isWritten) return undefined;
    host.log('warn', 'a transaction that the memory lacked is taken note of', {
      nonce: current.next,
      transaction: consumer.transaction.hash,
    });
    current = { next: current.next + 1, revision: current.revision + 1 };
  }
  return current;
}

/** So deep in the chain that nothing is expected to displace it any more. */
export function isFinal({ finalNumber }: Pass, block: { readonly number: number }): boolean {
  return block.number <= finalNumber;
}

/**
 * Which transaction used a nonce that the chain has consumed: the block is found by halving, as the
 * account's count is known of every block whose state the node still has.
 *
 * @returns undefined where the node does not reach back so far, or the chain moved meanwhile.
 */
export async function findConsumer(pass: Pass, nonce: number): Promise<Consumer | undefined> {
  try {
    const number = await findConsumingBlock(pass, nonce);
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

async function findConsumingBlock(pass: Pass, nonce: number): Promise<number | undefined> {
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
