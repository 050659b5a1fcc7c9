import { newId } from '../../core/ids.ts';
import type { Database } from '../../db/postgres/pool.ts';
import type { Rail } from '../contract/contract.ts';
import { claimPass, releasePass, renewPass } from './rail-memory.sql.ts';

/** How long a process that stopped without releasing a pass blocks the others. */
const leaseMs = 30_000;
/** Also how long a pass continues after a stop, besides the call that is under way. */
const renewEveryMs = 1_000;

const leaseEnded = new Error('the rail was stopped, or another process has its pass');

/**
 * Runs one pass of a rail's work, unless another process holds the lease on it or an operator has
 * stopped the rail; a stop ends a pass that is under way. Returns the milliseconds until the next pass at
 * most; undefined where the rail does not say. `signal` aborts the pass when the process stops.
 */
export async function runPass(
  db: Database,
  rail: Rail,
  { nowMs, signal }: { nowMs: () => number; signal?: AbortSignal },
): Promise<number | undefined> {
  if (rail.work === undefined) return undefined;
  const claim = { rail: rail.name, holder: newId(), leaseMs };
  if (!(await claimPass(db.system, claim))) return undefined;
  const abort = new AbortController();
  const renewing = setInterval(() => {
    renewPass(db.system, claim).then(
      (isRenewed) => {
        if (!isRenewed) abort.abort(leaseEnded);
      },
      // The pass cannot write without the database, and the lease expires.
      () => abort.abort(),
    );
  }, renewEveryMs);
  try {
    const signals = signal === undefined ? [abort.signal] : [abort.signal, signal];
    const againAtMs = await rail.work({ signal: AbortSignal.any(signals) });
    return againAtMs === undefined ? undefined : Math.max(0, againAtMs - nowMs());
  } catch (error) {
    // Its calls were cut.
    if (abort.signal.reason === leaseEnded) return undefined;
    throw error;
  } finally {
    clearInterval(renewing);
    await releasePass(db.system, claim);
  }
}
