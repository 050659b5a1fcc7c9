import { newId } from '../../core/ids.ts';
import type { Database } from '../../db/postgres/pool.ts';
import type { Rail } from '../contract/contract.ts';
import { endPass, keepPass, takePass } from './rail-memory.sql.ts';

/** How long a process that fell silent keeps a rail's pass from the others. */
const leaseMs = 30_000;
const keepEveryMs = 10_000;

/**
 * One pass over a rail's work, unless another process is inside. Answers how long to wait until the
 * next one at most, in milliseconds; undefined where it does not matter. `signal` ends it early, when
 * the process stops.
 */
export async function runPass(
  db: Database,
  rail: Rail,
  { nowMs, signal }: { nowMs: () => number; signal?: AbortSignal },
): Promise<number | undefined> {
  if (rail.work === undefined) return undefined;
  const claim = { rail: rail.name, holder: newId(), leaseMs };
  if (!(await takePass(db.system, claim))) return undefined;
  const abort = new AbortController();
  const keeping = setInterval(() => {
    keepPass(db.system, claim).then(
      (isKept) => {
        if (!isKept) abort.abort();
      },
      // Without the database nothing can be written either; the lease ends by itself.
      () => abort.abort(),
    );
  }, keepEveryMs);
  try {
    const signals = signal === undefined ? [abort.signal] : [abort.signal, signal];
    const againAtMs = await rail.work({ signal: AbortSignal.any(signals) });
    return againAtMs === undefined ? undefined : Math.max(0, againAtMs - nowMs());
  } finally {
    clearInterval(keeping);
    await endPass(db.system, claim);
  }
}
