import type { FastifyInstance } from 'fastify';
import { AppError } from '../core/errors.ts';

/** Requests allowed per second: by credential, by address, and for what is expensive to serve. */
export type RateLimits = {
  credentialPerSecond: number;
  addressPerSecond: number;
  expensivePerSecond: number;
};

export type RateLimiter = {
  /** @throws AppError rate_limited, with what the client needs to wait. */
  check(key: string): void;
};

export type RateLimiters = {
  credential: RateLimiter;
  address: RateLimiter;
  expensive: RateLimiter;
};

/** The counters are this process's own: with several processes each allows the whole limit. */
export function createRateLimiters(
  app: FastifyInstance,
  limits: RateLimits,
  steadyMs: () => number,
): RateLimiters {
  app.addHook('onError', async (_request, reply, error) => {
    if (!(error instanceof RateLimited)) return;
    void reply.headers({
      'ratelimit-limit': String(error.perSecond),
      'ratelimit-remaining': '0',
      'ratelimit-reset': String(error.waitSeconds),
    });
  });
  return {
    credential: createLimiter(limits.credentialPerSecond, steadyMs),
    address: createLimiter(limits.addressPerSecond, steadyMs),
    expensive: createLimiter(limits.expensivePerSecond, steadyMs),
  };
}

/** Beyond so many keys the oldest are forgotten, which at worst allows them a second burst. */
const keysMax = 50_000;

/**
 * The generic cell rate algorithm: one number per key, the time at which its bucket would be empty
 * again. A burst of a second's worth passes at once. (The framework's own limiter reads its counter
 * only after a whole burst has been counted, and then refuses all of it.)
 */
function createLimiter(perSecond: number, steadyMs: () => number): RateLimiter {
  const stepMs = 1000 / perSecond;
  const emptyAtMs = new Map<string, number>();
  return {
    check: (key) => {
      const nowMs = steadyMs();
      const fullMs = Math.max(nowMs, emptyAtMs.get(key) ?? 0) + stepMs;
      // A step of tolerance, because the sum of the steps is not exactly a second.
      if (fullMs - nowMs > 1000 + stepMs / 2) {
        throw new RateLimited(perSecond, Math.max(1, Math.ceil((fullMs - nowMs - 1000) / 1000)));
      }
      emptyAtMs.delete(key);
      if (emptyAtMs.size >= keysMax) emptyAtMs.delete(emptyAtMs.keys().next().value ?? '');
      emptyAtMs.set(key, fullMs);
    },
  };
}

class RateLimited extends AppError {
  readonly perSecond: number;
  readonly waitSeconds: number;
  constructor(perSecond: number, waitSeconds: number) {
    super('rate_limited', `more than ${perSecond} requests in a second`, {
      retryAfterSeconds: waitSeconds,
    });
    this.perSecond = perSecond;
    this.waitSeconds = waitSeconds;
  }
}
