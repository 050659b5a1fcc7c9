import type { CallContext } from '../contract/contract.ts';
import { logRpcFailure } from '../kit/json-rpc.ts';
import { connectCluster } from './cluster.ts';
import type { SolanaParts } from './parts.ts';
import { compareRecords } from './scan.ts';
import { signWaiting } from './sign.ts';
import { trackSigned } from './track.ts';

/**
 * One pass: compare the records with the chain, track signed transactions, sign waiting payments. Each
 * step may fail or repeat at any point, since a signed transaction is recorded before it is sent.
 *
 * @returns the time of the next pass, in the environment's milliseconds; undefined: no open payment.
 */
export async function runPass(
  parts: SolanaParts,
  { signal }: CallContext,
): Promise<number | undefined> {
  const { host, config } = parts;
  if (!(await hasOpenPayments(parts))) return undefined;
  const againMs = host.nowMs() + config.pollSeconds * 1000;
  try {
    const cluster = await connectCluster(parts, signal);
    await compareRecords(parts, cluster);
    await trackSigned(parts, cluster, signal);
    await signWaiting(parts, cluster);
  } catch (error) {
    // The next pass continues.
    logRpcFailure(host, error);
    return againMs;
  }
  return (await hasOpenPayments(parts)) ? againMs : undefined;
}

function hasOpenPayments({ payments }: SolanaParts): Promise<boolean> {
  return payments.hasAny(['waiting', 'signed']);
}
