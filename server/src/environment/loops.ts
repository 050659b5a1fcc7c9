import { type Loop, startLoop } from '../work/loop.ts';

/** The background loops of an environment, by name. */
export type Loops = {
  /** `run` answers true when there may be more to do at once. */
  start(
    name: string,
    loop: { idleMs: number; run: () => Promise<unknown>; errorWaitMaxMs?: number },
  ): void;
  /** Cuts the wait of a loop short. Does nothing where the loop runs in another process only. */
  wake(name: string): void;
  /** When the last run of each loop succeeded, by the steady clock; the start counts as one. */
  succeededAtMs(): ReadonlyMap<string, number>;
  /** Aborted by `stop`: a pass over a long list must not keep the process from stopping. */
  readonly signal: AbortSignal;
  /** Resolves when all loops have ended. */
  stop(): Promise<void>;
};

export function createLoops(
  onError: (error: unknown, name: string) => void,
  steadyMs: () => number,
): Loops {
  const loops = new Map<string, Loop>();
  const succeeded = new Map<string, number>();
  const stopping = new AbortController();
  return {
    start: (name, { run, ...options }) => {
      const runOnce = async (): Promise<boolean> => {
        const hasMore = (await run()) === true;
        succeeded.set(name, steadyMs());
        return hasMore;
      };
      succeeded.set(name, steadyMs());
      const loop = startLoop({
        ...options,
        run: runOnce,
        onError: (error) => onError(error, name),
      });
      loops.set(name, loop);
    },
    wake: (name) => loops.get(name)?.wake(),
    succeededAtMs: () => succeeded,
    signal: stopping.signal,
    stop: async () => {
      stopping.abort();
      await Promise.all([...loops.values()].map((loop) => loop.stop()));
    },
  };
}
