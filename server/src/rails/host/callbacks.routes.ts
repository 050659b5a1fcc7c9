import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { EnvironmentName } from '../../core/access.ts';
import { AppError } from '../../core/errors.ts';
import type { RateLimiters } from '../../http/limits.ts';
import type { CallbackMessage, Rail, RailHost } from '../contract/contract.ts';

/**
 * Where the counterparts of rails say what became of payments: `/rails/<name>` and everything under
 * it. What a rail can prove to come from its counterpart is kept before it is answered; everything
 * else is refused without a trace but a count.
 */

export type CallbackServices = {
  readonly railDoors: ReadonlyMap<string, RailDoor>;
};

/** A rail that is open for callbacks, and where they go. */
export type RailDoor = { rail: Rail; host: RailHost };

export type CallbackOptions = {
  environments: Readonly<Partial<Record<EnvironmentName, CallbackServices>>>;
  limiters: RateLimiters;
};

const bodyBytesMax = 1024 * 1024;

export function addRailCallbacks(app: FastifyInstance, options: CallbackOptions): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const { rail: name = '', '*': rest } = request.params as { rail?: string; '*'?: string };
    const door = options.environments[request.environmentName]?.railDoors.get(name);
    if (door?.rail.readCallback === undefined) {
      throw new AppError('not_found', 'nothing is at this address');
    }
    const reading = await door.rail.readCallback(describeMessage(request, rest));
    if (reading.kind === 'refused') {
      options.limiters.expensive.check(request.ip);
      door.host.log('warn', 'a callback was refused', { detail: reading.detail });
      throw new AppError('unauthorized', 'this is not proven to come from the partner');
    }
    if (reading.kind === 'malformed') {
      if (reading.message !== undefined) await door.host.receive(reading.message);
      throw new AppError('invalid_request', reading.detail);
    }
    await door.host.receive(reading.message);
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
