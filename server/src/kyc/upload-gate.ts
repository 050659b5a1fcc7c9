import { AppError } from '../core/errors.ts';

/**
 * A semaphore for uploads. Decoding takes tens of megabytes per image, so only a few uploads run at
 * once, a few more wait, and the rest are rejected with Retry-After.
 */
export type UploadGate = {
  /** Runs the work when a slot is free; throws `unavailable` (503, Retry-After) when too many wait. */
  run<Result>(work: () => Promise<Result>): Promise<Result>;
};

const retryAfterSeconds = 2;

export function createUploadGate(limits: { runningMax: number; waitingMax: number }): UploadGate {
  let running = 0;
  const waiting: (() => void)[] = [];

  async function enter(): Promise<void> {
    if (running < limits.runningMax) {
      running += 1;
      return;
    }
    if (waiting.length >= limits.waitingMax) {
      throw new AppError('unavailable', 'Too many image uploads at once', {
        retryAfterSeconds,
      });
    }
    await new Promise<void>((resolve) => waiting.push(resolve));
  }

  /** A freed slot goes to the upload that has waited longest. */
  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }

  return {
    async run(work) {
      await enter();
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
