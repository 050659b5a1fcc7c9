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
  /** The keys that came near their limits since the last call. */
  takeUse(): Use[];
};

/** How many requests of a key were let through; `add` counts what other processes have. */
export type Use = { name: string; count: number; add(count: number): void };

/** The counters are this process's own; `rate-exchange.ts` tells them of the other processes. */
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
  const limiters = {
    credential: createLimiter(limits.credentialPerSecond, steadyMs),
    address: createLimiter(limits.addressPerSecond, steadyMs),
    expensive: createLimiter(limits.expensivePerSecond, steadyMs),
  };
  return {
    ...limiters,
    takeUse: () =>
      Object.entries(limiters).flatMap(([kind, limiter]) =>
        limiter.takeUse().map((use) => ({ ...use, name: `${kind} ${use.name}` })),
      ),
  };
}

/** What is told to the other processes: keys that used this part of their limit since the last time. */
const toldShare = 1 / 32;
const toldMax = 1_000;
/** However much other processes have let through, a client waits no longer than this for its turn. */
const aheadMsMax = 5_000;

/** Beyond so many keys the oldest are forgotten, which at worst allows them a second burst. */
const keysMax = 50_000;

/** A busy key is moved to the end of the line so often, and not with each of its requests. */
const placeMs = 1000;

/** `count`: how many were let through in the present turn, which ends with each `takeUse`. */
type Bucket = { emptyAtMs: number; placedAtMs: number; turn: number; count: number };

/**
 * The generic cell rate algorithm: one number per key, the time at which its bucket would be empty
 * again. A burst of a second's worth passes at once. (The framework's own limiter reads its counter
 * only after a whole burst has been counted, and then refuses all of it.)
 */
function createLimiter(
  perSecond: number,
  steadyMs: () => number,
): RateLimiter & { takeUse(): Use[] } {
  const stepMs = 1000 / perSecond;
  const buckets = new Map<string, Bucket>();
  const toldMin = Math.max(1, Math.floor(perSecond * toldShare));
  let turn = 0;
  let told: [string, Bucket][] = [];
  const count = (key: string, bucket: Bucket): void => {
    if (bucket.turn !== turn) {
      bucket.turn = turn;
      bucket.count = 0;
    }
    bucket.count += 1;
    if (bucket.count === toldMin && told.length < toldMax) told.push([key, bucket]);
  };
  const add = (bucket: Bucket, others: number): void => {
    const nowMs = steadyMs();
    const emptyAtMs = Math.max(nowMs, bucket.emptyAtMs) + others * stepMs;
    bucket.emptyAtMs = Math.min(emptyAtMs, nowMs + 1000 + aheadMsMax);
  };
  return {
    takeUse: () => {
      const uses = told.map(([name, bucket]) => ({
        name,
        count: bucket.count,
        add: (others: number) => add(bucket, others),
      }));
      told = [];
      turn += 1;
      return uses;
    },
    check: (key) => {
      const nowMs = steadyMs();
      const bucket = buckets.get(key);
      const emptyAtMs = Math.max(nowMs, bucket?.emptyAtMs ?? 0) + stepMs;
      // A step of tolerance, because the sum of the steps is not exactly a second.
      if (emptyAtMs - nowMs > 1000 + stepMs / 2) {
        const waitMs = emptyAtMs - nowMs - 1000;
        throw new RateLimited(perSecond, Math.max(1, Math.ceil(waitMs / 1000)));
      }
      const kept = bucket ?? { emptyAtMs, placedAtMs: nowMs, turn, count: 0 };
      kept.emptyAtMs = emptyAtMs;
      count(key, kept);
      if (bucket !== undefined && nowMs - bucket.placedAtMs < placeMs) return;
      kept.placedAtMs = nowMs;
      buckets.delete(key);
      if (buckets.size >= keysMax) buckets.delete(buckets.keys().next().value ?? '');
      buckets.set(key, kept);
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
