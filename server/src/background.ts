import { deleteExpiredTokens } from './accounts/accounts.ts';
import { removeAbandoned, runCommits } from './batches/committer.ts';
import type { EnvironmentName } from './core/access.ts';
import { keepPartitions } from './db/partitions.ts';
import type { Database } from './db/pool.ts';
import type { createRates } from './fx/refresher.ts';
import type { Dispatcher } from './payouts/dispatch.ts';
import { type Loop, startLoop } from './work/loop.ts';

/** The background work of an environment. Any number of processes may do the same. */

export type Background = {
  start(): void;
  /** Returns when nothing is under way any more. */
  stop(): Promise<void>;
  /** Says that something has become due, so that it need not wait for the next look. */
  wakeDispatch(): void;
  wakeBatches(): void;
};

export type BackgroundOptions = {
  db: Database;
  name: EnvironmentName;
  dispatcher: Dispatcher;
  rates: Awaited<ReturnType<typeof createRates>>;
  /** Whether there is anything to import rates from. */
  hasSources: boolean;
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
const ratesIdleMs = 5_000;
const resumeIdleMs = 5_000;
const importIdleMs = 5 * 60_000;
const cleaningIdleMs = 60_000;
const partitionsIdleMs = 10 * 60_000;

export function createBackground(options: BackgroundOptions): Background {
  const { db, dispatcher, onError } = options;
  const loops: Loop[] = [];
  let dispatchLoop: Loop | undefined;
  let batchLoop: Loop | undefined;
  const wakeDispatch = (): void => dispatchLoop?.wake();
  /** `run` answers true when there may be more to do at once. */
  const repeat = (idleMs: number, run: () => Promise<unknown>): Loop => {
    const loop = startLoop({ idleMs, run: async () => (await run()) === true, onError });
    loops.push(loop);
    return loop;
  };
  return {
    wakeDispatch,
    wakeBatches: () => batchLoop?.wake(),
    start: () => {
      const { rates, hasSources, eventMonths, steadyMs } = options;
      dispatchLoop = repeat(dispatchIdleMs, async () => (await dispatcher.startDue()) > 0);
      batchLoop = repeat(batchIdleMs, () => runCommits({ db, steadyMs, wakeDispatch }));
      repeat(ratesIdleMs, () => rates.refresh());
      if (hasSources) repeat(importIdleMs, () => rates.importAll());
      repeat(cleaningIdleMs, () => deleteExpiredTokens(db.system));
      repeat(cleaningIdleMs, () => removeAbandoned({ db }));
      repeat(partitionsIdleMs, () => keepPartitions(db.system, { eventMonths }));
      if (options.name === 'staging') repeat(resumeIdleMs, options.resume);
    },
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
      await dispatcher.settle();
    },
  };
}
