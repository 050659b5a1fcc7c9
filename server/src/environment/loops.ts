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
  /** Aborted by `stop`: a pass over a long list must not keep the process from stopping. */
  readonly signal: AbortSignal;
  /** Resolves when no loop runs any more. */
  stop(): Promise<void>;
};

export function createLoops(onError: (error: unknown) => void): Loops {
  const loops = new Map<string, Loop>();
  const stopping = new AbortController();
  return {
    start: (name, { run, ...options }) => {
      const loop = startLoop({ ...options, run: async () => (await run()) === true, onError });
      loops.set(name, loop);
    },
    wake: (name) => loops.get(name)?.wake(),
    signal: stopping.signal,
    stop: async () => {
      stopping.abort();
      await Promise.all([...loops.values()].map((loop) => loop.stop()));
    },
  };
}
