import type { FastifyInstance } from 'fastify';
import { AppError } from '../core/errors.ts';
import { nameNetwork } from './connections.ts';

/** Requests allowed per second: by credential, by address, and for expensive operations. */
export type RateLimits = {
  credentialPerSecond: number;
  addressPerSecond: number;
  expensivePerSecond: number;
};

export type RateLimiter = {
  /** @throws AppError rate_limited, with the time to wait. */
  check(key: string): void;
};

export type RateLimiters = {
  credential: RateLimiter;
  address: RateLimiter;
  expensive: RateLimiter;
  /** The keys that used a notable part of their limits since the last call. */
  takeUse(): RateLimitUse[];
};

/** How many requests of a key were admitted; `add` counts those that other processes admitted. */
export type RateLimitUse = { name: string; count: number; add(count: number): void };

/** The counters are per process; `rate-exchange.ts` adds those of the other processes. */
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
    address: limitNetworks(createLimiter(limits.addressPerSecond, steadyMs)),
    expensive: limitNetworks(createLimiter(limits.expensivePerSecond, steadyMs)),
  };
  return {
    ...limiters,
    takeUse: () =>
      Object.entries(limiters).flatMap(([kind, limiter]) =>
        limiter.takeUse().map((use) => ({ ...use, name: `${kind} ${use.name}` })),
      ),
  };
}

type CountedLimiter = RateLimiter & { takeUse(): RateLimitUse[] };

/** One subscriber has a whole IPv6 network of 64 bits. A credential's id, another key, has no colon. */
function limitNetworks({ check, takeUse }: CountedLimiter): CountedLimiter {
  return { takeUse, check: (key) => check(key.includes(':') ? nameNetwork(key) : key) };
}

/** Keys are reported to the other processes once they have used this part of their limit. */
const reportedShare = 1 / 32;
const reportedMax = 1_000;
/** The longest wait that requests admitted by other processes can cause. */
const aheadMsMax = 5_000;

/**
 * Beyond this number the keys used longest ago are dropped, which at worst allows a second burst.
 */
const keysMax = 50_000;

/** A busy key is moved to the end of the map this often instead of with each request. */
const placeMs = 1000;

/** `count`: requests admitted in the present period, which ends with each `takeUse`. */
type Bucket = { emptyAtMs: number; placedAtMs: number; period: number; count: number };

/**
 * The generic cell rate algorithm (ITU-T I.371): one number per key, the time at which its bucket
 * would be empty again. A burst of one second's requests passes at once. (@fastify/rate-limit reads
 * its counter only after a whole burst has been counted, and then refuses all of it.)
 */
function createLimiter(perSecond: number, steadyMs: () => number): CountedLimiter {
  const stepMs = 1000 / perSecond;
  const buckets = new Map<string, Bucket>();
  const reportedMin = Math.max(1, Math.floor(perSecond * reportedShare));
  let period = 0;
  let reported: [string, Bucket][] = [];
  const count = (key: string, bucket: Bucket): void => {
    if (bucket.period !== period) {
      bucket.period = period;
      bucket.count = 0;
    }
    bucket.count += 1;
    if (bucket.count === reportedMin && reported.length < reportedMax) reported.push([key, bucket]);
  };
  const add = (bucket: Bucket, others: number): void => {
    const nowMs = steadyMs();
    const emptyAtMs = Math.max(nowMs, bucket.emptyAtMs) + others * stepMs;
    bucket.emptyAtMs = Math.min(emptyAtMs, nowMs + 1000 + aheadMsMax);
  };
  return {
    takeUse: () => {
      const uses = reported.map(([name, bucket]) => ({
        name,
        count: bucket.count,
        add: (others: number) => add(bucket, others),
      }));
      reported = [];
      period += 1;
      return uses;
    },
    check: (key) => {
      const nowMs = steadyMs();
      const bucket = buckets.get(key);
      const emptyAtMs = Math.max(nowMs, bucket?.emptyAtMs ?? 0) + stepMs;
      // Half a step of tolerance, because the steps do not sum up to exactly a second.
      if (emptyAtMs - nowMs > 1000 + stepMs / 2) {
        const waitMs = emptyAtMs - nowMs - 1000;
        throw new RateLimited(perSecond, Math.max(1, Math.ceil(waitMs / 1000)));
      }
      const kept = bucket ?? { emptyAtMs, placedAtMs: nowMs, period, count: 0 };
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
    super('rate_limited', `At most ${perSecond} requests per second are allowed`, {
      retryAfterSeconds: waitSeconds,
    });
    this.perSecond = perSecond;
    this.waitSeconds = waitSeconds;
  }
}
