/** A limit of concurrent work; what waits begins in the order in which it came. */
export type Semaphore = {
  run<Result>(work: () => Promise<Result>): Promise<Result>;
  /** How much waits. */
  waiting(): number;
};

export function createSemaphore(most: number): Semaphore {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    run: async (work) => {
      if (running < most) running += 1;
      // The slot is handed over and stays taken.
      else await new Promise<void>((resolve) => void waiting.push(resolve));
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next === undefined) running -= 1;
        else next();
      }
    },
    waiting: () => waiting.length,
  };
}
