import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A background loop: runs again at once while there is work, waits otherwise, and stops between two
 * runs. What it works on is claimed in the database, so any number of processes may run the same.
 */
export type Loop = {
  /** Cuts the present wait short. */
  wake(): void;
  /** Resolves when the run that is under way has ended; none begins after it. */
  stop(): Promise<void>;
};

export type LoopOptions = {
  idleMs: number;
  /** Answers whether there may be more to do at once. */
  run: () => Promise<boolean>;
  onError: (error: unknown) => void;
  /** The longest wait between failed runs, milliseconds; 30 seconds when absent. */
  errorWaitMaxMs?: number;
};

const errorWaitFirstMs = 100;
/** A database that is back finds its background work going again within this. */
const errorWaitMaxMsUsual = 5_000;

export function startLoop(options: LoopOptions): Loop {
  const { errorWaitMaxMs = errorWaitMaxMsUsual } = options;
  let isStopped = false;
  let isWoken = false;
  let waiting = new AbortController();
  const wait = async (waitMs: number): Promise<void> => {
    if (isStopped || isWoken) return;
    waiting = new AbortController();
    await sleep(waitMs, undefined, { signal: waiting.signal }).catch(() => undefined);
  };
  const ended = (async () => {
    let errorsInARow = 0;
    while (!isStopped) {
      isWoken = false;
      try {
        const hasMore = await options.run();
        errorsInARow = 0;
        if (!hasMore) await wait(options.idleMs);
      } catch (error) {
        options.onError(error);
        await wait(Math.min(errorWaitMaxMs, errorWaitFirstMs * 2 ** errorsInARow));
        errorsInARow += 1;
      }
    }
  })();
  return {
    wake: () => {
      isWoken = true;
      waiting.abort();
    },
    stop: async () => {
      isStopped = true;
      waiting.abort();
      await ended;
    },
  };
}
