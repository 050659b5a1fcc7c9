import { setTimeout as sleep } from 'node:timers/promises';
import { findStopped } from '../controls/freezes.ts';
import type { Database } from '../db/postgres/pool.ts';
import type { PayoutName } from '../payouts/payout-name.ts';
import { claimDispatches, countDue } from './dispatch.sql.ts';
import { type CheckHit, type DispatchServices, type Parts } from './dispatch-parts.ts';
import { findDispatchPlaces, traceChecks, traceDispatch } from './dispatch-traces.ts';
import { checkAll, createRecorder, work } from './dispatch-work.ts';
import type { Health } from './gate.ts';
import { findRoom, openRailRuntimes, type RailRuntime } from './rail-runtimes.ts';
import { readObjections } from './recipient-objections.ts';
import type { RouterServices } from './routing.ts';

export {
  countDue,
  type DispatchRow,
  findNextDue,
  listTriedPayers,
  type TermsRow,
  termColumns,
} from './dispatch.sql.ts';
export {
  type CheckedRow,
  type CheckHit,
  type DispatchServices,
  type DispatchTimes,
  dispatchTimes,
  type RuleHit,
  type Rules,
  type Waiting,
} from './dispatch-parts.ts';
export { applyObservation, type ObservationLog } from './observations.ts';

/**
 * Sends committed payouts. The dispatcher claims due payouts under a lease and stores the attempt; it
 * calls the rail outside of any transaction, and records the answer in another one. Any answer that is
 * not definite is `unknown`: the payout is queried again and never sent again.
 */

export type Dispatcher = {
  /** Claims due payouts while rails have room, starts work on them, and returns how many. */
  startDue(): Promise<number>;
  /** The same, and waits for their work. */
  runDue(): Promise<number>;
  /** Sends or queries one payout now, unless another process has claimed it. */
  runOne(accountId: string, payoutId: string): Promise<void>;
  /**
   * Cancels one payout: not sent, it never is; otherwise its rail cancels it if it can. With `holdFor`
   * it is held for a decision instead of being refunded. False if it is claimed or not in progress.
   */
  cancelOne(accountId: string, payoutId: string, holdFor?: CheckHit): Promise<boolean>;
  /** Works until no process has a due payout; does not wait for rails that are down. */
  drain(): Promise<void>;
  /** Waits for all work that this process started. */
  settle(): Promise<void>;
  healthOf(rail: string): Health;
  readonly railNames: readonly string[];
  /** Finds other payers for decisions of persons. */
  readonly router: RouterServices;
};

/** Payouts worked on at once. */
const inProgressMax = 1000;
const claimedMax = 500;

const noneStopped: ReadonlySet<string> = new Set();

export function createDispatcher(services: DispatchServices): Dispatcher {
  const { db, clock, rules } = services;
  const { leaseMs } = services.times;
  const runtimes = openRailRuntimes(services.rails, clock.steadyMs);
  const fullRouter = completeRouter(services, runtimes);
  const parts: Omit<Parts, 'endMs'> = {
    ...services,
    runtimes,
    fullRouter,
    record: createRecorder(services),
    isCancelling: false,
    stopped: noneStopped,
  };
  const inProgress = new Set<Promise<void>>();
  const follow = (running: Promise<void>): Promise<void> => {
    const done = running.finally(() => inProgress.delete(done));
    inProgress.add(done);
    return done;
  };
  const claim = async (
    counts: ReadonlyMap<string, number>,
    only?: PayoutName,
  ): Promise<Promise<void>[]> => (await startClaims(parts, counts, only)).map(follow);
  const claimDue = async (): Promise<Promise<void>[]> => {
    if (inProgress.size >= inProgressMax) await Promise.race(inProgress);
    const counts = findRoom(runtimes, Math.min(claimedMax, inProgressMax - inProgress.size));
    return counts.size === 0 ? [] : claim(counts);
  };
  const runDue = async (): Promise<number> => {
    const claimed = await claimDue();
    await Promise.all(claimed);
    return claimed.length;
  };
  const railNames = [...runtimes.keys()];
  return {
    startDue: async () => (await claimDue()).length,
    runDue,
    runOne: async (accountId, payoutId) => {
      // A payout that passes the rules is due at once.
      for (const _ of rules === undefined ? ['send'] : ['check', 'send']) {
        await Promise.all(await claim(new Map(), { accountId, payoutId }));
      }
    },
    cancelOne: async (accountId, payoutId, holdFor) => {
      const endMs = clock.steadyMs() + leaseMs;
      const [row] = await claimDispatches(db.system, {
        counts: new Map(),
        leaseMs,
        hasRules: false,
        isCanceling: true,
        only: { accountId, payoutId },
      });
      if (row === undefined) return false;
      const stopped = await findStopped(db.system, [row]);
      await follow(work({ ...parts, endMs, isCancelling: true, holdFor, stopped }, row));
      return true;
    },
    drain: () => drain(runDue, () => isLeft(db, runtimes, inProgress)),
    settle: async () => {
      await Promise.all(inProgress);
    },
    healthOf: fullRouter.healthOf,
    railNames,
    router: fullRouter,
  };
}

/** Claims due payouts and starts work on them. */
async function startClaims(
  parts: Omit<Parts, 'endMs'>,
  counts: ReadonlyMap<string, number>,
  only: PayoutName | undefined,
): Promise<Promise<void>[]> {
  const { db, clock, runtimes, rules, times, marker } = parts;
  await marker?.retryAdvance();
  // The database starts the lease after this.
  const endMs = clock.steadyMs() + times.leaseMs;
  const recovering = [...runtimes]
    .filter(([, { gate }]) => gate.isRecovering())
    .map(([name]) => name);
  const rows = await claimDispatches(db.system, {
    counts,
    inRandomOrder: new Set(recovering),
    leaseMs: times.leaseMs,
    hasRules: rules !== undefined && rules.onlyOfAccounts !== true,
    ...(only && { only }),
  });
  if (rows.length > 0) await marker?.advance();
  const { check = [], ready = [] } = Object.groupBy(rows, ({ mode }) =>
    mode === 'check' ? mode : 'ready',
  );
  const queried = ready.filter(({ mode }) => mode === 'query');
  const claimed = { ...parts, endMs, stopped: await findStopped(db.system, queried) };
  const places = await findDispatchPlaces(db, rows);
  const started = ready.map((row) =>
    traceDispatch(db, { row, place: places.get(row) }, () => work(claimed, row)),
  );
  if (check.length === 0) return started;
  const checked = check.flatMap((row) => places.get(row) ?? []);
  return [...started, traceChecks(db, checked, () => checkAll(claimed, check))];
}

/** Counting what is left is much cheaper for the database than another claim. */
async function drain(
  runDue: () => Promise<number>,
  hasMore: () => Promise<boolean>,
): Promise<void> {
  for (;;) {
    const claimed = await runDue();
    if (!(await hasMore())) return;
    // Another process has claimed them.
    if (claimed === 0) await sleep(10);
  }
}

/** Waits for the work of this process; returns whether more is due at rails that are not down. */
async function isLeft(
  db: Database,
  runtimes: ReadonlyMap<string, RailRuntime>,
  inProgress: ReadonlySet<Promise<void>>,
): Promise<boolean> {
  await Promise.all(inProgress);
  const open = [...runtimes].filter(([, { gate }]) => gate.closedForMs() === 0);
  const names = open.map(([name]) => name);
  return (await countDue(db.system, names)) > 0;
}

function completeRouter(
  { router, keys, clock: { nowMs } }: Pick<DispatchServices, 'router' | 'keys' | 'clock'>,
  runtimes: ReadonlyMap<string, RailRuntime>,
): RouterServices {
  const railOf = (name: string) => runtimes.get(name)?.rail;
  return {
    ...router,
    nowMs,
    readObjections: (payout, takeover) => readObjections({ keys, railOf, nowMs }, payout, takeover),
    healthOf: (name) => runtimes.get(name)?.gate.health() ?? 'down',
    hasIndependentPayers: (name) => runtimes.get(name)?.rail.hasIndependentPayers === true,
  };
}
