import { logRpcFailure } from '../kit/json-rpc.ts';
import { assignWaiting } from './assign.ts';
import type { Chain } from './chain.ts';
import { broadcastUnmined, replaceStuck } from './mempool.ts';
import { catchUpNonces } from './nonces.ts';
import { connectChain, type EvmParts, noFinality, type Pass } from './parts.ts';
import type { StoredPayment } from './payment.ts';
import { trackMined, trackPaid, trackSigned } from './watch.ts';

/**
 * One pass: track signed transactions, sign waiting payments, and broadcast again what is not mined.
 * Each step may fail or repeat at any point, since a signed transaction is recorded with its nonce
 * in one write before it is broadcast.
 *
 * @returns the time of the next pass, in the environment's milliseconds; undefined: no open payment.
 */
export async function runPass(parts: EvmParts, signal: AbortSignal): Promise<number | undefined> {
  const { host, config } = parts;
  // The first pass always runs, so that missing records are noticed at the start.
  if (parts.progress.isCompared && !(await hasOpenPayments(parts))) return undefined;
  const againMs = host.nowMs() + config.pollSeconds * 1000;
  try {
    const chain = await connectChain(parts, signal);
    if (chain === undefined) return againMs;
    const hasMore = await work(await readChain(parts, chain));
    parts.progress.isCompared = true;
    if (hasMore) return host.nowMs();
    return (await hasOpenPayments(parts)) ? againMs : undefined;
  } catch (error) {
    // The next pass continues.
    logRpcFailure(host, error);
    return againMs;
  }
}

function hasOpenPayments({ payments }: EvmParts): Promise<boolean> {
  return payments.hasAny(['waiting', 'signed', 'mined', 'paid']);
}

export async function readChain(parts: EvmParts, chain: Chain): Promise<Pass> {
  const head = await chain.getHead();
  const sent = await chain.countSent(parts.account.address, head.number);
  const finalNumber = await findFinalNumber(parts, chain, head.number);
  return { ...parts, chain: cacheBlockHashes(chain), head, sent, finalNumber };
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

/** Reads each block hash once per pass, since many payments share a block. */
function cacheBlockHashes(chain: Chain): Chain {
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

/** @returns whether more waiting payments could be signed without a pause. */
async function work(pass: Pass): Promise<boolean> {
  for await (const stored of pass.payments.list({ state: 'signed' }))
    await trackSigned(pass, stored);
  for await (const stored of pass.payments.list({ state: 'mined' })) await trackMined(pass, stored);
  const displaced: StoredPayment[] = [];
  for await (const stored of pass.payments.list({ state: 'paid' })) {
    if (await trackPaid(pass, stored)) displaced.push(stored);
  }
  const next = await catchUpNonces(pass);
  const unmined = await listUnmined(pass);
  await replaceStuck(pass, sortByNonce([...unmined, ...displaced]));
  // Listed again, since replacements changed their records.
  await broadcastUnmined(pass, await listUnmined(pass));
  return next === undefined ? false : assignWaiting(pass, { next, unmined });
}

/** In the order of their nonces, as nodes require. */
async function listUnmined(pass: Pass): Promise<StoredPayment[]> {
  const unmined: StoredPayment[] = [];
  for await (const stored of pass.payments.list({ state: 'signed' })) {
    if ((stored.value.nonce ?? 0) >= pass.sent) unmined.push(stored);
  }
  return sortByNonce(unmined);
}

function sortByNonce(payments: readonly StoredPayment[]): StoredPayment[] {
  return payments.toSorted((one, other) => (one.value.nonce ?? 0) - (other.value.nonce ?? 0));
}
