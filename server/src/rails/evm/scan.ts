import { RpcError } from '../kit/json-rpc.ts';
import type { Chain, SentTransaction } from './chain.ts';
import type { Pass } from './parts.ts';

/** Finds transactions of the account on the chain, with or without the state of older blocks. */

/** A week of Ethereum's blocks. */
const blocksReadMax = 50_400;

/** The blocks after `low`, up to which the account had sent `lowCount` transactions. */
export type ScanRange = { readonly low: number; readonly lowCount: number };

/**
 * Bisects over the account's transaction counts. Nodes without the state of older blocks refuse
 * them; then every block is read.
 *
 * @throws RpcError where blocks are missing, or too many to read them all.
 */
export async function scanSent(
  pass: Pass,
  { low, lowCount }: ScanRange,
): Promise<SentTransaction[]> {
  const { head, sent } = pass;
  const numbers = await findSpendingBlocks(pass, {
    low,
    lowCount,
    high: head.number,
    highCount: sent,
  });
  const found: SentTransaction[] = [];
  for (const number of numbers) found.push(...(await readSent(pass, number)));
  return found;
}

type CountedRange = {
  readonly low: number;
  readonly lowCount: number;
  readonly high: number;
  readonly highCount: number;
};

async function findSpendingBlocks(pass: Pass, range: CountedRange): Promise<number[]> {
  const { low, lowCount, high, highCount } = range;
  if (lowCount === highCount || high <= low) return [];
  if (high - low === 1) return [high];
  const middle = Math.floor((low + high) / 2);
  const count = await countSentAt(pass, middle);
  if (count === undefined) return listNumbers(pass.chain, low, high);
  const older = { low, lowCount, high: middle, highCount: count };
  const newer = { low: middle, lowCount: count, high, highCount };
  return [...(await findSpendingBlocks(pass, older)), ...(await findSpendingBlocks(pass, newer))];
}

function listNumbers({ endpoint }: Chain, low: number, high: number): number[] {
  if (high - low > blocksReadMax) {
    const message = `${endpoint} keeps no state of older blocks and ${high - low} are too many to read: use an archive node`;
    throw new RpcError(message, { kind: 'refused' });
  }
  return Array.from({ length: high - low }, (_, index) => low + 1 + index);
}

/** undefined where the node does not have the state of the block. */
export async function countSentAt(pass: Pass, number: number): Promise<number | undefined> {
  try {
    return await pass.chain.countSent(pass.account.address, number);
  } catch (error) {
    if (error instanceof RpcError && error.kind === 'refused') return undefined;
    throw error;
  }
}

async function readSent({ chain, account }: Pass, number: number): Promise<SentTransaction[]> {
  const block = await chain.findFullBlock(number);
  if (block === undefined) {
    throw new RpcError(`${chain.endpoint} does not have block ${number}`, { kind: 'refused' });
  }
  const address = account.address.toLowerCase();
  return block.transactions
    .filter(({ from }) => from.toLowerCase() === address)
    .map((transaction) => ({ transaction, block }));
}

/** Transactions read back from the head to that nonce, by pass. */
const readBack = new WeakMap<
  Chain,
  { readonly nonce: number; readonly found: SentTransaction[] }
>();

/** Reads block by block, from the head backwards. */
export async function findSentBackwards(
  pass: Pass,
  nonce: number,
): Promise<SentTransaction | undefined> {
  const known = readBack.get(pass.chain);
  if (known === undefined || known.nonce > nonce) {
    const found: SentTransaction[] = [];
    const last = Math.max(0, pass.head.number - blocksReadMax);
    for (let number = pass.head.number; number >= last; number -= 1) {
      const sent = await readSent(pass, number);
      found.push(...sent);
      if (sent.some(({ transaction }) => transaction.nonce <= nonce)) break;
    }
    readBack.set(pass.chain, { nonce, found });
  }
  return readBack.get(pass.chain)?.found.find(({ transaction }) => transaction.nonce === nonce);
}

/** The last block before that time; undefined where there is none. */
export async function findBlockBefore(
  { chain, head }: Pass,
  timeMs: number,
): Promise<number | undefined> {
  const isBefore = async (number: number): Promise<boolean> => {
    const seconds = await chain.findBlockTime(number);
    // A node prunes the oldest blocks.
    return seconds === undefined || seconds * 1000 < timeMs;
  };
  if (head.timestamp * 1000 < timeMs) return head.number;
  if (!(await isBefore(0))) return undefined;
  let low = 0;
  let high = head.number;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await isBefore(middle)) low = middle;
    else high = middle;
  }
  return low;
}
