/** A limit of concurrent requests; those that wait are begun in the order in which they came. */
export type RequestSlots = {
  run<Value>(request: () => Promise<Value>): Promise<Value>;
};

export function createRequestSlots(most: number): RequestSlots {
  const waiting: (() => void)[] = [];
  let taken = 0;
  return {
    run: async (request) => {
      if (taken < most) taken += 1;
      // The slot is handed over and stays taken.
      else await new Promise<void>((resolve) => void waiting.push(resolve));
      try {
        return await request();
      } finally {
        const next = waiting.shift();
        if (next === undefined) taken -= 1;
        else next();
      }
    },
  };
}
