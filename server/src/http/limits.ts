import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../core/errors.ts';

/** Requests allowed per second: by credential, by address, and for what is expensive to serve. */
export type RateLimits = {
  credentialPerSecond: number;
  addressPerSecond: number;
  expensivePerSecond: number;
};

export type RateLimiter = {
  /** @throws AppError rate_limited, with what the client needs to wait. */
  check(request: FastifyRequest, key: string): Promise<void>;
};

export type RateLimiters = {
  credential: RateLimiter;
  address: RateLimiter;
  expensive: RateLimiter;
};

/** The counters are this process's own: with several processes each allows the whole limit. */
export async function createRateLimiters(
  app: FastifyInstance,
  limits: RateLimits,
): Promise<RateLimiters> {
  await app.register(rateLimit, { global: false });
  const create = (max: number): RateLimiter => {
    const keys = new WeakMap<FastifyRequest, string>();
    const limit = app.createRateLimit({
      max,
      timeWindow: 1000,
      keyGenerator: (request) => keys.get(request) ?? request.ip,
    });
    return {
      check: async (request, key) => {
        keys.set(request, key);
        const result = await limit(request);
        if (result.isAllowed || !result.isExceeded) return;
        throw new RateLimited(max, Math.max(1, Math.ceil(result.ttl / 1000)));
      },
    };
  };
  app.addHook('onError', async (_request, reply, error) => {
    if (!(error instanceof RateLimited)) return;
    void reply.headers({
      'ratelimit-limit': String(error.max),
      'ratelimit-remaining': '0',
      'ratelimit-reset': String(error.waitSeconds),
    });
  });
  return {
    credential: create(limits.credentialPerSecond),
    address: create(limits.addressPerSecond),
    expensive: create(limits.expensivePerSecond),
  };
}

class RateLimited extends AppError {
  readonly max: number;
  readonly waitSeconds: number;
  constructor(max: number, waitSeconds: number) {
    super('rate_limited', `more than ${max} requests in a second`, {
      retryAfterSeconds: waitSeconds,
    });
    this.max = max;
    this.waitSeconds = waitSeconds;
  }
}
