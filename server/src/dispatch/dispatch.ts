import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/postgres/pool.ts';
import type { PayoutName } from '../payouts/payout-name.ts';
import { claimDispatches, countDue } from './dispatch.sql.ts';
import {
  checkAll,
  createRecorder,
  type DispatchServices,
  type Parts,
  type RuleHit,
  work,
} from './dispatch-work.ts';
import type { Health } from './gate.ts';
import { findRoom, openRailRuntimes, type RailRuntime } from './rail-runtimes.ts';
import type { RouterServices } from './routing.ts';

export {
  countDue,
  type DispatchRow,
  findNextDue,
  listTriedPayers,
  type TermsRow,
} from './dispatch.sql.ts';
export {
  type DispatchServices,
  type DispatchTimes,
  dispatchTimes,
  type RuleHit,
  type Rules,
} from './dispatch-work.ts';
export { applyObservation } from './observations.sql.ts';

/**
 * Committed payouts on their way: what is due is claimed with a lease, the attempt is written before
 * the rail is called, the rail is called outside any transaction, and one transaction records what it
 * said. Whatever is no definite answer is unknown, and unknown is asked again, never sent again.
 */

export type Dispatcher = {
  /** Takes what is due now, as far as there is room, and answers how many; they go on by themselves. */
  startDue(): Promise<number>;
  /** The same, and waits for what it took. */
  runDue(): Promise<number>;
  /** Asks about one payout at once, unless somebody else is at it. */
  runOne(accountId: string, payoutId: string): Promise<void>;
  /**
   * Stops one payout: what was not sent never is, and a rail that can is asked to. With `holdFor`, it
   * waits for a person instead of being refunded. False where another claim has it or none is due.
   */
  cancelOne(accountId: string, payoutId: string, holdFor?: RuleHit): Promise<boolean>;
  /** Returns when nothing is due any more, whoever does it; rails that are down are not waited for. */
  drain(): Promise<void>;
  /** Returns when nothing that was taken here is under way any more. */
  settle(): Promise<void>;
  healthOf(rail: string): Health;
  /** The rails that this process pays through. */
  readonly railNames: readonly string[];
  /** For what is decided outside of the loop: who may take over a payout. */
  readonly router: RouterServices;
};

/** Payouts that may be with their rails at once. */
const underWayMax = 1000;
const takenMax = 500;

export function createDispatcher(services: DispatchServices): Dispatcher {
  const { db, clock, rules } = services;
  const { leaseMs } = services.times;
  const lines = openRailRuntimes(services.rails, clock.steadyMs);
  const fullRouter = completeRouter(services.router, lines);
  const parts: Omit<Parts, 'endMs'> = {
    ...services,
    lines,
    fullRouter,
    record: createRecorder(db),
    isCancelling: false,
  };
  const underWay = new Set<Promise<void>>();
  const follow = (running: Promise<void>): Promise<void> => {
    const done = running.finally(() => underWay.delete(done));
    underWay.add(done);
    return done;
  };
  const take = async (
    counts: ReadonlyMap<string, number>,
    only?: PayoutName,
  ): Promise<Promise<void>[]> => (await startClaims(parts, counts, only)).map(follow);
  const takeDue = async (): Promise<Promise<void>[]> => {
    if (underWay.size >= underWayMax) await Promise.race(underWay);
    const counts = findRoom(lines, Math.min(takenMax, underWayMax - underWay.size));
    return counts.size === 0 ? [] : take(counts);
  };
  const runDue = async (): Promise<number> => {
    const taken = await takeDue();
    await Promise.all(taken);
    return taken.length;
  };
  const railNames = [...lines.keys()];
  return {
    startDue: async () => (await takeDue()).length,
    runDue,
    runOne: async (accountId, payoutId) => {
      // What the rules let pass is due at once.
      for (const _ of rules === undefined ? ['send'] : ['check', 'send']) {
        await Promise.all(await take(new Map(), { accountId, payoutId }));
      }
    },
    cancelOne: async (accountId, payoutId, holdFor) => {
      const endMs = clock.steadyMs() + leaseMs;
      const claim = { counts: new Map(), leaseMs, hasRules: false, only: { accountId, payoutId } };
      const [row] = await claimDispatches(db.system, claim);
      if (row === undefined) return false;
      await follow(work({ ...parts, endMs, isCancelling: true, holdFor }, row));
      return true;
    },
    drain: async () => {
      while ((await runDue()) > 0 || (await isLeft(db, lines, underWay))) continue;
    },
    settle: async () => {
      await Promise.all(underWay);
    },
    healthOf: fullRouter.healthOf,
    railNames,
    router: fullRouter,
  };
}

/** Claims what is due and begins to work on it; each promise is one piece of work. */
async function startClaims(
  parts: Omit<Parts, 'endMs'>,
  counts: ReadonlyMap<string, number>,
  only: PayoutName | undefined,
): Promise<Promise<void>[]> {
  const { db, clock, lines, rules, times, marker } = parts;
  // The lease begins later than this, by the database's clock.
  const endMs = clock.steadyMs() + times.leaseMs;
  const recovering = [...lines].filter(([, { gate }]) => gate.isRecovering()).map(([name]) => name);
  const rows = await claimDispatches(db.system, {
    counts,
    inRandomOrder: new Set(recovering),
    leaseMs: times.leaseMs,
    hasRules: rules !== undefined,
    ...(only && { only }),
  });
  if (rows.length > 0) await marker?.advance();
  const { check = [], ready = [] } = Object.groupBy(rows, ({ mode }) =>
    mode === 'check' ? mode : 'ready',
  );
  const claimed = { ...parts, endMs };
  const started = ready.map((row) => work(claimed, row));
  return check.length === 0 ? started : [...started, checkAll(claimed, check)];
}

/** Waits for what is under way here, and says whether rails that are not down have more that is due. */
async function isLeft(
  db: Database,
  lines: ReadonlyMap<string, RailRuntime>,
  underWay: ReadonlySet<Promise<void>>,
): Promise<boolean> {
  await Promise.all(underWay);
  const open = [...lines].filter(([, { gate }]) => gate.closedForMs() === 0);
  const names = open.map(([name]) => name);
  if ((await countDue(db.system, names)) === 0) return false;
  // Another process holds the lease of what is left.
  await sleep(10);
  return true;
}

function completeRouter(
  router: DispatchServices['router'],
  lines: ReadonlyMap<string, RailRuntime>,
): RouterServices {
  return {
    ...router,
    healthOf: (name) => lines.get(name)?.gate.health() ?? 'down',
    arePayersApart: (name) => lines.get(name)?.rail.hasIndependentPayers === true,
  };
}
