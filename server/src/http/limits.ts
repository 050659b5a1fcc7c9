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

/** A busy key is moved to the end of the line so often, and not with each of its requests. */
const placeMs = 1000;

/**
 * The generic cell rate algorithm: one number per key, the time at which its bucket would be empty
 * again. A burst of a second's worth passes at once. (The framework's own limiter reads its counter
 * only after a whole burst has been counted, and then refuses all of it.)
 */
function createLimiter(perSecond: number, steadyMs: () => number): RateLimiter {
  const stepMs = 1000 / perSecond;
  const buckets = new Map<string, { emptyAtMs: number; placedAtMs: number }>();
  return {
    check: (key) => {
      const nowMs = steadyMs();
      const bucket = buckets.get(key);
      const emptyAtMs = Math.max(nowMs, bucket?.emptyAtMs ?? 0) + stepMs;
      // A step of tolerance, because the sum of the steps is not exactly a second.
      if (emptyAtMs - nowMs > 1000 + stepMs / 2) {
        const waitMs = emptyAtMs - nowMs - 1000;
        throw new RateLimited(perSecond, Math.max(1, Math.ceil(waitMs / 1000)));
      }
      if (bucket !== undefined && nowMs - bucket.placedAtMs < placeMs) {
        bucket.emptyAtMs = emptyAtMs;
        return;
      }
      buckets.delete(key);
      if (buckets.size >= keysMax) buckets.delete(buckets.keys().next().value ?? '');
      buckets.set(key, { emptyAtMs, placedAtMs: nowMs });
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
