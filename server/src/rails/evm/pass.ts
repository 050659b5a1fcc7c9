import type { RailHost } from '../contract/contract.ts';
import { assignWaiting } from './assign.ts';
import type { Chain } from './chain.ts';
import { broadcastUnmined, replaceStuck } from './mempool.ts';
import { catchUpNonces } from './nonces.ts';
import { connectChain, type EvmParts, listPayments, noFinality, type Pass } from './parts.ts';
import { type KeptPayment, paymentCollection } from './payment.ts';
import { RpcError } from './rpc.ts';
import { followMined, followPaid, followSigned } from './watch.ts';

/**
 * One pass: see what became of what is signed, sign what waits, and tell the network again what it
 * has not mined. Each step may fail or be repeated at any point, since what is signed is kept, and
 * a nonce assigned, in the one write that comes before the broadcast.
 *
 * @returns when to look again, in the environment's milliseconds; undefined: nothing to look after.
 */
export async function runPass(parts: EvmParts, signal: AbortSignal): Promise<number | undefined> {
  const { host, config } = parts;
  // A process looks once without need, so that a memory that is behind is noticed at its start.
  if (parts.memory.isCompared && !(await hasOpenPayments(host))) return undefined;
  const againMs = host.nowMs() + config.pollSeconds * 1000;
  try {
    const chain = await connectChain(parts, signal);
    if (chain === undefined) return againMs;
    const hasMore = await work(await look(parts, chain));
    parts.memory.isCompared = true;
    if (hasMore) return host.nowMs();
    return (await hasOpenPayments(host)) ? againMs : undefined;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    // What was not finished is found again by the next pass.
    host.log('warn', error.message, { kind: error.kind });
    return againMs;
  }
}

async function hasOpenPayments({ store }: RailHost): Promise<boolean> {
  for (const state of ['waiting', 'signed', 'mined', 'paid'] as const) {
    const [record] = await store.list(paymentCollection, { state, count: 1 });
    if (record !== undefined) return true;
  }
  return false;
}

export async function look(parts: EvmParts, chain: Chain): Promise<Pass> {
  const head = await chain.getHead();
  const sent = await chain.countSent(parts.account.address, head.number);
  const finalNumber = await findFinalNumber(parts, chain, head.number);
  return { ...parts, chain: rememberBlocks(chain), head, sent, finalNumber };
}

async function findFinalNumber(
  { config, host }: EvmParts,
  chain: Chain,
  headNumber: number,
): Promise<number> {
  if (config.finalBlocks !== undefined) return headNumber - config.finalBlocks + 1;
  const number = await chain.findFinalizedNumber();
  if (number === undefined) host.log('error', noFinality(chain.endpoint));
  return number === undefined ? -1 : Math.min(number, headNumber);
}

/** Many payments lie in the same blocks, which need to be asked about only once in a pass. */
function rememberBlocks(chain: Chain): Chain {
  const hashes = new Map<number, ReturnType<Chain['findBlockHash']>>();
  return {
    ...chain,
    findBlockHash: (number) => {
      const hash = hashes.get(number) ?? chain.findBlockHash(number);
      hashes.set(number, hash);
      return hash;
    },
  };
}

/** @returns whether waiting payments are left that could be signed at once. */
async function work(pass: Pass): Promise<boolean> {
  for await (const kept of listPayments(pass.host, 'signed')) await followSigned(pass, kept);
  for await (const kept of listPayments(pass.host, 'mined')) await followMined(pass, kept);
  for await (const kept of listPayments(pass.host, 'paid')) await followPaid(pass, kept);
  const next = await catchUpNonces(pass);
  const unmined = await listUnmined(pass);
  await replaceStuck(pass, unmined);
  // Read again, since what was replaced has another hash now.
  await broadcastUnmined(pass, await listUnmined(pass));
  return next === undefined ? false : assignWaiting(pass, { next, unmined });
}

/** In the order of their nonces, as nodes want them. */
async function listUnmined(pass: Pass): Promise<KeptPayment[]> {
  const unmined: KeptPayment[] = [];
  for await (const kept of listPayments(pass.host, 'signed')) {
    if ((kept.payment.nonce ?? 0) >= pass.sent) unmined.push(kept);
  }
  return unmined.toSorted((one, other) => (one.payment.nonce ?? 0) - (other.payment.nonce ?? 0));
}
