import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { EnvironmentName } from '../core/access.ts';
import { AppError, assert } from '../core/errors.ts';
import { createGate, type Gate } from './admission.ts';
import { watchRest } from './body-pace.ts';
import { describeProblem } from './problem.ts';

/**
 * Turns requests away that could not be answered in time, before anything is done for them. Each
 * environment has a gate for commits, one for other writes and one for reads, so that a crowd of
 * one kind does not shut the others out.
 */

export type SheddingOptions = {
  environmentNames: readonly EnvironmentName[];
  /** See `Gate`; of commits. Other writes and reads may wait for less. */
  waitMs: number;
  inFlightMax: number;
  steadyMs: () => number;
  log: Logger;
};

export type Kind = 'commit' | 'write' | 'read';

/**
 * What is worth least is turned away first, when all of them slow each other down: a commit ends
 * what a client has begun, while a read can be asked for again.
 */
const waitShares: Readonly<Record<Kind, number>> = { commit: 1, write: 0.75, read: 0.5 };
const kinds = Object.keys(waitShares) as Kind[];

export type Shedding = {
  readonly gates: readonly { environment: EnvironmentName; kind: Kind; gate: Gate }[];
  find(environment: EnvironmentName, method: string): Gate | undefined;
  /** Notes one that was turned away, and logs that now and then. */
  turnAway(gate: Gate): void;
};

declare module 'fastify' {
  interface FastifyRequest {
    gate: Gate | undefined;
    /** Whether the gate counts this request at the moment. */
    isAtWork: boolean;
  }
}

/** A line in the log for each of thousands that are turned away would be a load by itself. */
const logEveryMs = 10_000;

export function createShedding(options: SheddingOptions): Shedding {
  const { inFlightMax, steadyMs, log } = options;
  const gates = options.environmentNames.flatMap((environment) =>
    kinds.map((kind) => {
      const waitMs = options.waitMs * waitShares[kind];
      return { environment, kind, gate: createGate({ waitMs, inFlightMax, steadyMs }) };
    }),
  );
  const byEnvironment: Partial<Record<EnvironmentName, Partial<Record<Kind, Gate>>>> = {};
  for (const { environment, kind, gate } of gates) {
    byEnvironment[environment] = { ...byEnvironment[environment], [kind]: gate };
  }
  let loggedMs = Number.NEGATIVE_INFINITY;
  return {
    gates,
    find: (environment, method) => byEnvironment[environment]?.[classify(method)],
    turnAway: (gate) => {
      gate.turnAway();
      const nowMs = steadyMs();
      if (nowMs - loggedMs < logEveryMs) return;
      loggedMs = nowMs;
      const state = gates.map((one) => ({ ...one, ...one.gate.read(), gate: undefined }));
      log.warn({ gates: state }, 'requests are turned away');
    },
  };
}

/** By the method alone, so that it costs nothing: PUT commits a payout, or changes a user. */
function classify(method: string): Kind {
  if (method === 'PUT') return 'commit';
  return method === 'GET' || method === 'HEAD' ? 'read' : 'write';
}

/** Operators look at these while everybody else is turned away. */
export function isExempt(url: string): boolean {
  return url.startsWith('/health/') || url.startsWith('/metrics');
}

export const refusal = new AppError('unavailable', 'more is asked for than can be done now', {
  retryAfterSeconds: 1,
});

/**
 * Counts who is at work. A request is, from its header to its answer, except while its body is
 * still on the way: clients that send slowly hold nobody up, and for those that went away the work
 * is counted for as long as it goes on.
 */
export function addShedding(app: FastifyInstance, shedding: Shedding): void {
  app.decorateRequest('gate', undefined);
  app.decorateRequest('isAtWork', false);
  app.addHook('onRequest', (request, _reply, done) => {
    if (isExempt(request.url)) {
      done();
      return;
    }
    const gate = shedding.find(request.environmentName, request.method);
    if (gate?.isFull() === true) {
      shedding.turnAway(gate);
      done(refusal);
      return;
    }
    request.gate = gate;
    resume(request);
    done();
  });
  // The framework knows by the number of parameters that a hook calls back.
  // oxlint-disable-next-line eslint/max-params
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    pause(request, false);
    done();
  });
  app.addHook('preValidation', (request, _reply, done) => {
    resume(request);
    done();
  });
  // The same here.
  // oxlint-disable-next-line eslint/max-params
  app.addHook('onSend', (request, reply, _payload, done) => {
    pause(request, reply.statusCode < 400);
    done();
  });
}

function resume(request: FastifyRequest): void {
  if (request.isAtWork || request.gate === undefined) return;
  request.isAtWork = true;
  request.gate.enter();
}

function pause(request: FastifyRequest, isDone: boolean): void {
  if (!request.isAtWork) return;
  request.isAtWork = false;
  request.gate?.leave(isDone);
}

/**
 * Answers what must be turned away before the framework has seen it, which costs a fraction: under
 * overload that is most of what comes.
 */
export function shedEarly(
  app: FastifyInstance,
  shedding: Shedding,
  options: {
    findEnvironment: (host: string | undefined) => EnvironmentName;
    isDraining: () => boolean;
  },
): void {
  const [serve] = app.server.listeners('request') as ((
    request: IncomingMessage,
    response: ServerResponse,
  ) => void)[];
  assert(serve !== undefined, 'the framework listens to requests');
  const answer = prepareRefusal();
  const [only, ...others] = new Set(shedding.gates.map(({ environment }) => environment));
  app.server.removeAllListeners('request');
  app.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    // Where there is one environment its name need not be read, which would take all headers apart.
    const environment =
      only !== undefined && others.length === 0
        ? only
        : options.findEnvironment(request.headers.host);
    const gate = shedding.find(environment, request.method ?? 'GET');
    if (gate?.isFull() !== true || options.isDraining() || isExempt(request.url ?? '')) {
      serve(request, response);
      return;
    }
    shedding.turnAway(gate);
    answer(response);
    watchRest(request);
  });
}

/** The refusal as text, of which only the id of the request is still to be filled in. */
function prepareRefusal(): (response: ServerResponse) => void {
  const place = '{id}';
  const { status, contentType, headers, body } = describeProblem(refusal, place);
  const [before = '', after = ''] = body.split(place);
  const startedAt = process.hrtime.bigint().toString(36);
  let count = 0;
  const fixed = Object.entries({
    ...headers,
    'content-type': contentType,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  }).flat();
  return (response) => {
    const id = `req_shed${startedAt}${(count++).toString(36)}`;
    const length = before.length + id.length + after.length;
    response.writeHead(status, [...fixed, 'x-request-id', id, 'content-length', String(length)]);
    response.end(`${before}${id}${after}`);
  };
}

/** Shows the gates to the operators. */
export function measureShedding(registry: Registry, shedding: Shedding): void {
  const gauge = (name: string, help: string, read: (gate: Gate) => number): void => {
    new Gauge({
      name,
      help,
      labelNames: ['environment', 'kind'],
      registers: [registry],
      collect() {
        for (const { environment, kind, gate } of shedding.gates) {
          this.set({ environment, kind }, read(gate));
        }
      },
    });
  };
  gauge('outlay_requests_in_flight', 'Requests at work', (gate) => gate.read().inFlight);
  gauge('outlay_requests_limit', 'Beyond so many, requests are shed', (gate) => gate.read().limit);
  new Counter({
    name: 'outlay_requests_shed_total',
    help: 'Requests that were turned away because of overload',
    labelNames: ['environment', 'kind'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { environment, kind, gate } of shedding.gates) {
        this.inc({ environment, kind }, gate.read().shed);
      }
    },
  });
}
