/** Lets a caller wait for what another part of this process will finish. */
export function createAwaited() {
  const waiting = new Map<string, (() => void)[]>();
  return {
    /** Resolves when `finish` is called with this identifier. */
    wait: (id: string): Promise<void> =>
      new Promise((resolve) => {
        waiting.set(id, [...(waiting.get(id) ?? []), resolve]);
      }),
    finish: (id: string): void => {
      for (const resolve of waiting.get(id) ?? []) resolve();
      waiting.delete(id);
    },
  };
}
