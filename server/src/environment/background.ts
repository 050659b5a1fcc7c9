import { deleteExpiredTokens } from '../accounts/accounts.ts';
import { removeAbandoned, runCommits } from '../batches/committer.ts';
import type { EnvironmentName } from '../core/access.ts';
import { keepPartitions } from '../db/partitions.ts';
import type { Database } from '../db/postgres/pool.ts';
import type { Dispatcher } from '../dispatch/dispatch.ts';
import { applyNotifications } from '../dispatch/notifications.ts';
import { type RecoveryServices, type RecoveryState, runRecovery } from '../dispatch/recovery.ts';
import type { Measurements } from '../dispatch/standings.ts';
import { reportMissingRails } from '../exceptions/decisions.ts';
import { reviewPayouts } from '../exceptions/review.ts';
import type { createRates } from '../fx/refresher.ts';
import type { Rail } from '../rails/contract/contract.ts';
import { runPass } from '../rails/host/passes.ts';
import { type Loop, startLoop } from '../work/loop.ts';

/**
 * The loops of an environment. Any number of processes may run the same. They are of two kinds:
 * every process refreshes what it decides with; only those that work do the work.
 */

export type Background = {
  /** Keeps what this process decides with up to date. Every role runs it, `serve` included. */
  startRefresh(): void;
  /** Dispatch, batches, rails' passes, imports, cleaning: what a process of the role `work` does. */
  startWork(): void;
  /** Returns when nothing is under way any more. */
  stop(): Promise<void>;
  /** Says that something has become due, so that it need not wait for the next look. */
  wakeDispatch(): void;
  wakeBatches(): void;
  /** Says that a rail wants a pass over its work. */
  wakeRail(name: string): void;
  /** Says that something was heard. */
  wakeHeard(): void;
};

export type BackgroundOptions = {
  db: Database;
  name: EnvironmentName;
  dispatcher: Dispatcher;
  rates: Awaited<ReturnType<typeof createRates>>;
  rails: readonly Rail[];
  measurements: Measurements;
  recovery: RecoveryServices;
  recoveryState: RecoveryState;
  /** Reads the operator's file of velocity limits again. */
  refreshLimits: () => void;
  nowMs: () => number;
  /** Told of what rails say unasked. */
  onHeard: (rail: string, outcome: string) => void;
  /** Whether there is anything to import rates from. */
  hasSources: boolean;
  /** Reads the sanctions lists; undefined where none is configured. */
  importLists: (() => Promise<unknown>) | undefined;
  /** Screens payouts on their way again after a list changed; true while there is more to do. */
  rescreen: (() => Promise<boolean>) | undefined;
  eventMonths: number;
  steadyMs: () => number;
  /** Goes on with a move of the sandbox's clock that a process left unfinished. */
  resume: () => Promise<void>;
  onError: (error: unknown) => void;
};

/** How long a payout committed through another process waits at most until this one sees it. */
const dispatchIdleMs = 250;
/** The same for a batch. */
const batchIdleMs = 500;
/** The same for what rails say, and how often a rail without a wish of its own has its pass. */
const heardIdleMs = 500;
const passIdleMs = 1_000;
const measuringIdleMs = 10_000;
/**
 * How long this process goes on with rates, or limits, that another process or a person has replaced;
 * docs/rates.md promises ten seconds, which leaves room for a retry.
 */
const refreshIdleMs = 5_000;
const resumeIdleMs = 5_000;
const importIdleMs = 5 * 60_000;
/** Lists change every few days; what is in force already costs one look. */
const listsIdleMs = 3_600_000;
/** Whether a list has changed costs one look; another process may have imported it. */
const rescreenIdleMs = 10_000;
const cleaningIdleMs = 60_000;
const partitionsIdleMs = 10 * 60_000;
/** How late at most a payout past its limits is put before a person. */
const reviewIdleMs = 60_000;
const recoveryStateIdleMs = 1_000;
const recoveryIdleMs = 5_000;

export function createBackground(options: BackgroundOptions): Background {
  const { db, dispatcher, onError } = options;
  const loops: Loop[] = [];
  let dispatchLoop: Loop | undefined;
  let batchLoop: Loop | undefined;
  let heardLoop: Loop | undefined;
  const passes = new Map<string, Loop>();
  /** A pass over a list that does not end must not keep the process from stopping. */
  const stopping = new AbortController();
  const wakeDispatch = (): void => dispatchLoop?.wake();
  /** Work that could pay, or apply reports to payouts that are not matched yet, waits for a recovery. */
  const unlessRecovering =
    (run: () => Promise<unknown>): (() => Promise<unknown>) =>
    async () =>
      options.recoveryState.isRecovering() ? false : run();
  /** `run` answers true when there may be more to do at once. */
  const repeat = (idleMs: number, run: () => Promise<unknown>, errorWaitMaxMs?: number): Loop => {
    const loop = startLoop({
      idleMs,
      run: async () => (await run()) === true,
      onError,
      ...(errorWaitMaxMs !== undefined && { errorWaitMaxMs }),
    });
    loops.push(loop);
    return loop;
  };
  return {
    wakeDispatch,
    wakeBatches: () => batchLoop?.wake(),
    wakeRail: (name) => passes.get(name)?.wake(),
    wakeHeard: () => heardLoop?.wake(),
    startRefresh: () => {
      repeat(refreshIdleMs, () => options.rates.refresh(), refreshIdleMs);
      repeat(refreshIdleMs, async () => options.refreshLimits());
      repeat(recoveryStateIdleMs, () => options.recoveryState.refresh(), recoveryStateIdleMs);
      repeat(measuringIdleMs, () => options.measurements.exchange());
    },
    startWork: () => {
      const { steadyMs } = options;
      dispatchLoop = repeat(dispatchIdleMs, async () => (await dispatcher.startDue()) > 0);
      batchLoop = repeat(
        batchIdleMs,
        unlessRecovering(() => runCommits({ db, steadyMs, wakeDispatch })),
      );
      heardLoop = repeat(
        heardIdleMs,
        unlessRecovering(() => applyAllHeard(options, wakeDispatch)),
      );
      for (const { name, idleMs, run } of listPasses(options, stopping.signal)) {
        const loop = repeat(
          idleMs,
          unlessRecovering(() => run(() => loop.wake())),
        );
        passes.set(name, loop);
      }
      for (const { idleMs, run, mayPay = false } of listChores(options)) {
        repeat(idleMs, mayPay ? unlessRecovering(run) : run);
      }
    },
    stop: async () => {
      stopping.abort();
      await Promise.all(loops.map((loop) => loop.stop()));
      await dispatcher.settle();
    },
  };
}

type Chore = {
  readonly idleMs: number;
  readonly run: () => Promise<unknown>;
  /** Whether it acts on payouts, so that it waits for a recovery. */
  readonly mayPay?: boolean;
};

function listChores(options: BackgroundOptions): readonly Chore[] {
  const { db, dispatcher, rates, eventMonths, importLists, rescreen, onError } = options;
  const chores: Chore[] = [
    { idleMs: cleaningIdleMs, run: () => reportMissingRails(db, dispatcher.railNames) },
    { idleMs: reviewIdleMs, run: () => reviewPayouts({ db, onError }), mayPay: true },
    { idleMs: recoveryIdleMs, run: () => runRecovery(options.recovery) },
    { idleMs: cleaningIdleMs, run: () => deleteExpiredTokens(db.system) },
    { idleMs: cleaningIdleMs, run: () => removeAbandoned({ db }) },
    { idleMs: partitionsIdleMs, run: () => keepPartitions(db.system, { eventMonths }) },
  ];
  if (options.hasSources) chores.push({ idleMs: importIdleMs, run: () => rates.importAll() });
  if (importLists !== undefined) chores.push({ idleMs: listsIdleMs, run: importLists });
  if (rescreen !== undefined) chores.push({ idleMs: rescreenIdleMs, run: rescreen, mayPay: true });
  if (options.name === 'staging') chores.push({ idleMs: resumeIdleMs, run: options.resume });
  return chores;
}

/** The passes of rails that have work of their own; `again` asks for another one. */
function listPasses({ db, rails, nowMs }: BackgroundOptions, signal: AbortSignal) {
  return rails
    .filter((rail) => rail.work !== undefined)
    .map((rail) => {
      const { name, workIdleMs: idleMs = passIdleMs } = rail;
      const run = async (again: () => void): Promise<boolean> => {
        const waitMs = await runPass(db, rail, { nowMs, signal });
        if (waitMs === undefined || waitMs >= idleMs) return false;
        if (waitMs > 0) setTimeout(again, waitMs).unref();
        return waitMs === 0;
      };
      return { name, idleMs, run };
    });
}

/** Answers true when there may be more at once. */
async function applyAllHeard(
  options: BackgroundOptions,
  wakeDispatch: () => void,
): Promise<boolean> {
  const { db, dispatcher, measurements, nowMs, onHeard, onError } = options;
  const services = {
    db,
    router: dispatcher.router,
    measurements,
    nowMs,
    onNotification: onHeard,
    onError,
  };
  const hasMore = await applyNotifications(services);
  // What was refused may go on to another payer at once.
  wakeDispatch();
  return hasMore;
}
