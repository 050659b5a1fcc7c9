import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A background loop: repeats a run while there is work, waits otherwise, and stops between runs. Work
 * is claimed in the database, so any number of processes may run the same loop.
 */
export type Loop = {
  /** Ends the present wait. */
  wake(): void;
  /** Resolves when the present run has ended; no other begins. */
  stop(): Promise<void>;
};

export type LoopOptions = {
  idleMs: number;
  /** Returns whether there may be more to do. */
  run: () => Promise<boolean>;
  onError: (error: unknown) => void;
  /** The longest wait between failed runs, milliseconds; by default 5 seconds. */
  errorWaitMaxMs?: number;
};

const errorWaitFirstMs = 100;
/** Background work resumes within this time after a database outage. */
const errorWaitMaxMsDefault = 5_000;

export function startLoop(options: LoopOptions): Loop {
  const { errorWaitMaxMs = errorWaitMaxMsDefault } = options;
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
