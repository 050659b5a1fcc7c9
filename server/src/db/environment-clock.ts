import type { EnvironmentName } from '../core/access.ts';
import type { Clock } from '../core/clock.ts';
import type { Session, Statement } from './postgres/pool.ts';

/**
 * The environment's clock as a process sees it: the database's time (in staging plus the offset
 * that the sandbox moves), carried forward by this machine's steady clock. Every answer of the
 * database that tells its time corrects it. What decides about money asks the database itself.
 */
export type EnvironmentClock = Clock & {
  /** Milliseconds of a clock that never jumps. */
  steadyMs(): number;
  /** How long anything read from the database under this clock may be believed. */
  readonly cacheMs: number;
  observe(databaseNow: Date): void;
  refresh(session: Session): Promise<void>;
};

const selectNow: Statement = {
  name: 'select_environment_now',
  text: `select environment_now() as now`,
};

/**
 * In staging any process may move the clock, and everything due must have happened before the
 * answer: whoever moves it waits for `cacheMs`, after which no process believes the old time.
 */
export const cacheMsOf = { staging: 100, live: 1000 } as const;

const jitterMsMax = 1000;

export async function createEnvironmentClock(
  session: Session,
  options: { environmentName: EnvironmentName; steadyMs: () => number },
): Promise<EnvironmentClock> {
  let offsetMs = Number.NEGATIVE_INFINITY;
  const clock: EnvironmentClock = {
    steadyMs: options.steadyMs,
    cacheMs: cacheMsOf[options.environmentName],
    nowMs: () => Math.floor(options.steadyMs() + offsetMs),
    observe: (databaseNow) => {
      const observedMs = databaseNow.getTime() - options.steadyMs();
      // The environment's clock never goes backwards: an answer that says so was on its way while
      // the clock was moved. Drift and delays are small.
      if (observedMs > offsetMs - jitterMsMax) offsetMs = observedMs;
    },
    refresh: async (from) => {
      const [row] = await from.rows<{ now: Date }>(selectNow);
      if (row !== undefined) clock.observe(row.now);
    },
  };
  await clock.refresh(session);
  return clock;
}
