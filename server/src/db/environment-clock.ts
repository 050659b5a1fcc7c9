import type { EnvironmentName } from '../core/access.ts';
import { type Clock, measureLead } from '../core/clock.ts';
import type { Session, Statement } from './postgres/pool.ts';
import { column, defineQuery, exec, one } from './rows.ts';

/**
 * The environment's clock in a process: the database's time (in staging plus the offset of the
 * sandbox), carried forward by this machine's steady clock and corrected by every row that contains the
 * database's time, and by a loop that asks for it. Decisions about money use the database's time directly.
 */
export type EnvironmentClock = Clock & {
  /** Milliseconds of a clock that never jumps. */
  steadyMs(): number;
  /**
   * By how much the database's clock, without the offset of the sandbox, is at least ahead of this
   * machine's time of day, in milliseconds; below 0: behind.
   */
  databaseAheadMs(): number;
  /** How often the database's clock was found to be set back. */
  stepsBack(): number;
  /** How long values read from the database, this clock among them, may be cached. */
  readonly cacheMs: number;
  observe(databaseNow: Date): void;
  refresh(session: Session): Promise<void>;
};

const selectNow = defineQuery({
  name: 'select_environment_now',
  text: `select environment_now() as now, clock_timestamp() as real_now`,
  columns: { now: column.instant, real_now: column.instant },
});

/**
 * In staging any process may move the clock and must complete everything due before it answers: it
 * waits for `cacheMs`, after which no process uses the old time.
 */
const cacheMsOf = { staging: 100, live: 1000 } as const;

const jitterMsMax = 1000;

export async function createEnvironmentClock(
  session: Session,
  options: { environmentName: EnvironmentName; steadyMs: () => number; realNowMs: () => number },
): Promise<EnvironmentClock> {
  let offsetMs = Number.NEGATIVE_INFINITY;
  /** How often the clock was moved ahead. */
  let moves = 0;
  let databaseAheadMs = 0;
  let stepsBack = 0;
  const clock: EnvironmentClock = {
    steadyMs: options.steadyMs,
    databaseAheadMs: () => databaseAheadMs,
    stepsBack: () => stepsBack,
    cacheMs: cacheMsOf[options.environmentName],
    nowMs: () => Math.floor(options.steadyMs() + offsetMs),
    observe: (databaseNow) => {
      const observedMs = databaseNow.getTime() - options.steadyMs();
      // An earlier time may have been read before the clock was moved. Drift and delays are small.
      if (observedMs <= offsetMs - jitterMsMax) return;
      if (observedMs > offsetMs + jitterMsMax) moves += 1;
      offsetMs = observedMs;
    },
    refresh: async (from) => {
      const beganMs = options.steadyMs();
      const movesBefore = moves;
      const beganRealMs = options.realNowMs();
      const { now, real_now: realNow } = await one(from, selectNow);
      const asked = { beganMs: beganRealMs, endedMs: options.realNowMs() };
      databaseAheadMs = measureLead(realNow.getTime(), asked);
      // As if it had been read at the beginning: were the clock of the database not set back, as by a
      // failover to a server that is behind, no time since would be earlier.
      const isSetBack = now.getTime() - beganMs <= offsetMs - jitterMsMax;
      if (isSetBack && moves === movesBefore) {
        offsetMs = now.getTime() - options.steadyMs();
        stepsBack += 1;
      } else clock.observe(now);
    },
  };
  await clock.refresh(session);
  return clock;
}

const followStatement: Statement = {
  name: 'follow_clock_back',
  text: 'select follow_clock_back()',
};

/**
 * What a process does after each step back of the database's clock, and once at its start, because it may
 * not have seen one: it shortens leases that would last too long, and makes payouts due that nothing was
 * sent for.
 */
export function createStepFollower(db: { system: Session }, clock: EnvironmentClock) {
  let followed: number | undefined;
  return async (): Promise<void> => {
    const stepsBack = clock.stepsBack();
    if (stepsBack === followed) return;
    await exec(db.system, followStatement);
    followed = stepsBack;
  };
}
