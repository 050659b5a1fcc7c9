import { AppError } from '../core/errors.ts';

/**
 * Decoding holds tens of megabytes per image, so only a few uploads are worked on at once, a few
 * more wait, and the rest are told to come back: memory stays bounded whatever arrives.
 */
export type UploadGate = {
  /** Runs the work when its turn comes; throws `unavailable` (503, Retry-After) when too many wait. */
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
      throw new AppError('unavailable', 'Too many image uploads at this moment.', {
        retryAfterSeconds,
      });
    }
    await new Promise<void>((resolve) => waiting.push(resolve));
  }

  /** A freed place goes straight to the one who has waited longest, so that no one overtakes. */
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
