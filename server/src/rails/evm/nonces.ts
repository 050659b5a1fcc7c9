import type { Address } from 'viem';
import { z } from 'zod';
import type { RailHost, RecordChange, StoredRecord } from '../contract.ts';
import type { BlockTransaction, FullBlock } from './chain.ts';
import type { EvmParts, Pass } from './parts.ts';
import { makeTransfer, type Payment } from './payment.ts';
import { RpcError } from './rpc.ts';
import { isSameTransfer, readOrder } from './transaction.ts';

/**
 * The account's nonces. The next one to assign is a record that every assignment rewrites together
 * with the payment, so that two processes can never assign the same one, and none is left out.
 *
 * A nonce that the chain consumed and this memory does not know of was used by somebody else who
 * has the key, or by this very rail before its memory was restored from an older copy. What such a
 * stray transaction paid is kept, and a payment that orders exactly that takes it for its own
 * instead of paying again.
 */

const nonceCollection = 'nonce';
const nonceKey = 'next';
const strayCollection = 'stray';
const nonceSchema = z.object({ next: z.int().min(0) });

const hexText = z.templateLiteral(['0x', z.string()]);
const straySchema = z.object({
  nonce: z.int(),
  hash: hexText,
  minedAtMs: z.number(),
  order: z
    .object({ recipient: hexText, units: z.string(), contract: hexText.nullable() })
    .nullable(),
});

/** The next nonce with the revision of its record, which the assigning write must name. */
export type NextNonce = { readonly next: number; readonly revision: number };

export function changeNonce(current: NextNonce, next: number): RecordChange {
  return {
    collection: nonceCollection,
    key: nonceKey,
    revision: current.revision,
    next: { state: '', value: { next } },
  };
}

async function readNonce({ host }: EvmParts): Promise<NextNonce | undefined> {
  const record = await host.store.get(nonceCollection, nonceKey);
  if (record === undefined) return undefined;
  return { next: nonceSchema.parse(record.value).next, revision: record.revision };
}

/** So many strays are looked into in one pass. */
const straysMax = 20;

/**
 * Brings the record up to the chain.
 *
 * @returns undefined while nothing may be signed: unknown transactions of the account are in the
 * chain and not understood yet, or wait in the network and could still be mined.
 */
export async function catchUpNonces(pass: Pass): Promise<NextNonce | undefined> {
  const { chain, host, account } = pass;
  const pending = await chain.countSent(account.address, 'pending');
  let current = await readNonce(pass);
  if (current === undefined) {
    if (isPending(pass, pending, pass.sent)) return undefined;
    const first = changeNonce({ next: 0, revision: 0 }, pass.sent);
    if (!(await host.store.write([first]))) return undefined;
    current = { next: pass.sent, revision: 1 };
  }
  for (let count = 0; current.next < pass.sent; count += 1) {
    if (count === straysMax) return undefined;
    const consumer = await findConsumer(pass, current.next);
    // Were it displaced after all, its nonce would be left out and hold up all later ones.
    if (consumer === undefined || !isFinal(pass, consumer.block)) return undefined;
    const isWritten = await host.store.write([
      changeNonce(current, current.next + 1),
      keepStray(consumer),
    ]);
    if (!isWritten) return undefined;
    host.log('error', 'the account sent a transaction that this rail does not know', {
      nonce: current.next,
      transaction: consumer.transaction.hash,
    });
    current = { next: current.next + 1, revision: current.revision + 1 };
  }
  return isPending(pass, pending, current.next) ? undefined : current;
}

/** Whether transactions that nobody here has signed could still be mined. */
function isPending({ host }: Pass, pending: number, next: number): boolean {
  if (pending <= next) return false;
  host.log('error', 'unknown transactions of the account wait in the network', { next, pending });
  return true;
}

export type Consumer = { readonly transaction: BlockTransaction; readonly block: FullBlock };

/** So deep in the chain that nothing is expected to displace it any more. */
export function isFinal({ head, config }: Pass, block: { readonly number: number }): boolean {
  return head.number - block.number + 1 >= config.finalBlocks;
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
    pass.host.log('error', 'the node does not know the state in which a nonce was used', { nonce });
    return undefined;
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

/** Keeps what a foreign transaction paid; one that pays nothing we could have ordered is only noted. */
export function keepStray({ transaction, block }: Consumer): RecordChange {
  const order = readOrder(transaction);
  return {
    collection: strayCollection,
    key: transaction.hash,
    revision: 0,
    next: {
      state: order === undefined ? 'other' : 'open',
      value: {
        nonce: transaction.nonce,
        hash: transaction.hash,
        minedAtMs: block.timestamp * 1000,
        order: order === undefined ? null : { ...order, units: order.units.toString() },
      },
    },
  };
}

export type Stray = z.infer<typeof straySchema> & { readonly record: StoredRecord };

export async function listStrays({ host }: EvmParts): Promise<Stray[]> {
  const strays: Stray[] = [];
  const count = 200;
  let after = '';
  for (;;) {
    const records = await host.store.list(strayCollection, { state: 'open', after, count });
    for (const record of records) strays.push({ ...straySchema.parse(record.value), record });
    const last = records.at(-1);
    if (last === undefined || records.length < count) return strays;
    after = last.key;
  }
}

export function takeStray({ record }: Stray): RecordChange {
  const { key, revision, value } = record;
  return { collection: strayCollection, key, revision, next: { state: 'taken', value } };
}

/** Clocks of blocks and of the service may be apart by so much. */
const clockSlackMs = 10 * 60_000;

/**
 * A payment cannot have been paid before it was ordered. Blocks have the time of day, and an order
 * that of the environment, which is never further ahead at the order than it is now.
 */
export function findStray(
  { nowMs, realNowMs }: Pick<RailHost, 'nowMs' | 'realNowMs'>,
  strays: readonly Stray[],
  payment: Payment,
): Stray | undefined {
  const orderedAtMs = payment.committedAtMs - Math.max(0, nowMs() - realNowMs());
  return strays.find(
    ({ order, minedAtMs }) =>
      order !== null &&
      minedAtMs + clockSlackMs >= orderedAtMs &&
      isSameTransfer(
        {
          recipient: order.recipient,
          units: BigInt(order.units),
          contract: order.contract,
        },
        makeTransfer(payment),
      ),
  );
}
