import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { EnvironmentName } from '../../core/access.ts';
import { AppError } from '../../core/errors.ts';
import type { RateLimiters } from '../../http/limits.ts';
import type { CallbackMessage, Rail, RailHost } from '../contract/contract.ts';

/**
 * Callbacks of rails: `/rails/<name>` and every path under it. A callback that the rail can prove to
 * come from its counterparty is stored before it is answered; any other is refused with 401.
 */

export type CallbackServices = {
  readonly callbackTargets: ReadonlyMap<string, CallbackTarget>;
};

/** A rail with the host that stores its callbacks, and the count of those that are refused. */
export type CallbackTarget = { rail: Rail; host: RailHost; countRefused: () => Promise<void> };

export type CallbackOptions = {
  environments: Readonly<Partial<Record<EnvironmentName, CallbackServices>>>;
  limiters: RateLimiters;
};

const bodyBytesMax = 1024 * 1024;

export function addRailCallbacks(app: FastifyInstance, options: CallbackOptions): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const { rail: name = '', '*': rest } = request.params as { rail?: string; '*'?: string };
    const target = options.environments[request.environmentName]?.callbackTargets.get(name);
    if (target?.rail.readCallback === undefined) {
      throw new AppError('not_found', 'No such resource');
    }
    const reading = await target.rail.readCallback(describeMessage(request, rest));
    if (reading.kind === 'refused') {
      options.limiters.expensive.check(request.ip);
      // After the rate limit, so that a flood does not become a flood of writes.
      await target.countRefused();
      target.host.log('warn', 'a callback was refused', { detail: reading.detail });
      throw new AppError('unauthorized', 'the callback must be signed by the partner');
    }
    if (reading.kind === 'malformed') {
      if (reading.message !== undefined) await target.host.receive(reading.message);
      throw new AppError('invalid_request', reading.detail);
    }
    await target.host.receive(reading.message);
    const answer = reading.answer ?? { status: 200, headers: {}, body: '' };
    return reply.code(answer.status).headers(answer.headers).send(answer.body);
  };
  for (const url of ['/rails/:rail', '/rails/:rail/*']) {
    app.route({
      method: ['POST', 'PUT', 'PATCH'],
      url,
      bodyLimit: bodyBytesMax,
      config: { path: '/rails/{name}', takesBody: true },
      handler,
    });
  }
}

function describeMessage(request: FastifyRequest, rest: string | undefined): CallbackMessage {
  const query: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.query as Record<string, unknown>)) {
    if (typeof value === 'string') query[name] = value;
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return {
    method: request.method,
    path: rest === undefined ? '' : `/${rest}`,
    query,
    headers,
    body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
  };
}
