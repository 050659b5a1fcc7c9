import type { EnvironmentName } from '../core/access.ts';
import { AppError } from '../core/errors.ts';
import { createSemaphore, type Semaphore } from '../core/semaphore.ts';

/**
 * Decoding takes tens of megabytes per image, so only a few uploads run at once, a few more wait, and
 * the rest are rejected with Retry-After.
 */
export type UploadGate = {
  /** Runs the work when a slot is free; throws `unavailable` (503, Retry-After) when too many wait. */
  run: Semaphore['run'];
};

const retryAfterSeconds = 2;

export function createUploadGate(limits: { runningMax: number; waitingMax: number }): UploadGate {
  const slots = createSemaphore(limits.runningMax);
  return {
    run: async (work) => {
      if (slots.waiting() >= limits.waitingMax) {
        throw new AppError('unavailable', 'Too many image uploads at once', { retryAfterSeconds });
      }
      return slots.run(work);
    },
  };
}

/**
 * One gate per environment, so that staging cannot block live. It admits as many uploads as the server
 * receives at once (`uploadLimits`). Logos and images of identities share it, because the same decoder reads both.
 */
const limits = { runningMax: 2, waitingMax: 4 };
export const uploadGates: Readonly<Record<EnvironmentName, UploadGate>> = {
  staging: createUploadGate(limits),
  live: createUploadGate(limits),
};
