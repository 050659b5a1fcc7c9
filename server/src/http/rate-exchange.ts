import { newId } from '../core/ids.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Database } from '../db/postgres/pool.ts';
import { type Loop, startLoop } from '../work/loop.ts';
import type { RateLimiters } from './limits.ts';
import { exchangeReports, reportMsMax } from './rate-exchange.sql.ts';

/**
 * Rate limits across processes. Each process counts on its own and once a second exchanges with the
 * others how many requests it admitted, which count as its own. Averaged over a few seconds, a
 * limit thus holds once for all processes.
 */

export type RateExchangeOptions = {
  db: Database;
  keys: KeyRing;
  limiters: RateLimiters;
  steadyMs: () => number;
};

const exchangeEveryMs = 1_000;

export function startRateExchange(options: RateExchangeOptions): Loop {
  const exchange = createRateExchange(options);
  return startLoop({
    idleMs: exchangeEveryMs,
    run: async () => {
      await exchange();
      return false;
    },
    // Without the database each process continues with its own count.
    onError: () => undefined,
  });
}

/** Returns a function that exchanges once. */
export function createRateExchange(options: RateExchangeOptions): () => Promise<void> {
  const { db, keys, limiters, steadyMs } = options;
  const processId = newId();
  /** Reports already counted, and counts of keys that were not in use here at the time. */
  const seenAtMs = new Map<string, number>();
  const pending = new Map<string, { count: number; atMs: number }>();
  const hash = (name: string): Buffer => keys.blindIndex('rate limit', name).subarray(0, 16);

  return async () => {
    const used = limiters.takeUse();
    if (used.length === 0) return;
    const named = used.map((use) => ({ ...use, hash: hash(use.name) }));
    const reports = await exchangeReports(db.system, processId, {
      id: newId(),
      keys: named.map((use) => use.hash),
      counts: named.map((use) => use.count),
    });
    const nowMs = steadyMs();
    for (const { id, keys: hashes, counts } of reports) {
      if (seenAtMs.has(id)) continue;
      seenAtMs.set(id, nowMs);
      for (const [index, key] of hashes.entries()) {
        const name = key.toString('hex');
        const count = (pending.get(name)?.count ?? 0) + (counts[index] ?? 0);
        pending.set(name, { count, atMs: nowMs });
      }
    }
    for (const use of named) {
      const name = use.hash.toString('hex');
      use.add(pending.get(name)?.count ?? 0);
      pending.delete(name);
    }
    const endedMs = nowMs - 2 * reportMsMax;
    for (const [id, atMs] of seenAtMs) if (atMs < endedMs) seenAtMs.delete(id);
    for (const [name, { atMs }] of pending) if (atMs < endedMs) pending.delete(name);
  };
}
