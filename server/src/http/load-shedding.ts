import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { EnvironmentName } from '../core/access.ts';
import { AppError } from '../core/errors.ts';
import { createGate, type Gate } from './admission.ts';
import { watchRest } from './body-pace.ts';
import { describeProblem } from './problem.ts';
import { newRequestId } from './request-id.ts';
import { securityHeaders } from './security-headers.ts';

/**
 * Refuses requests that could not be answered in time, before any work is done for them. Each
 * environment has a gate for commits, one for other writes and one for reads, so that too many
 * requests of one kind do not keep the others out.
 */

export type LoadSheddingOptions = {
  environmentNames: readonly EnvironmentName[];
  /**
   * The longest wait of a commit (see `GateOptions`); other writes and reads have a share of it.
   */
  waitMs: number;
  inFlightMax: number;
  steadyMs: () => number;
  log: Logger;
};

export type RequestKind = 'commit' | 'write' | 'read';

/**
 * The cheapest loss is shed first: a commit completes what a client has begun, while a read can be
 * repeated.
 */
const waitShares: Readonly<Record<RequestKind, number>> = { commit: 1, write: 0.75, read: 0.5 };
const kinds = Object.keys(waitShares) as RequestKind[];

export type LoadShedding = {
  readonly gates: readonly { environment: EnvironmentName; kind: RequestKind; gate: Gate }[];
  find(environment: EnvironmentName, method: string): Gate | undefined;
  /** Counts a refused request, and logs the state of the gates from time to time. */
  shed(gate: Gate): void;
};

declare module 'fastify' {
  interface FastifyRequest {
    gate: Gate | undefined;
    /** Whether the gate counts this request at the moment. */
    isInFlight: boolean;
  }
}

/** A log line for each of thousands of refused requests would add to the overload. */
const logEveryMs = 10_000;

export function createLoadShedding(options: LoadSheddingOptions): LoadShedding {
  const { inFlightMax, steadyMs, log } = options;
  const gates = options.environmentNames.flatMap((environment) =>
    kinds.map((kind) => {
      const waitMs = options.waitMs * waitShares[kind];
      return { environment, kind, gate: createGate({ waitMs, inFlightMax, steadyMs }) };
    }),
  );
  const byEnvironment: Partial<Record<EnvironmentName, Partial<Record<RequestKind, Gate>>>> = {};
  for (const { environment, kind, gate } of gates) {
    byEnvironment[environment] = { ...byEnvironment[environment], [kind]: gate };
  }
  let loggedMs = Number.NEGATIVE_INFINITY;
  return {
    gates,
    find: (environment, method) => byEnvironment[environment]?.[classify(method)],
    shed: (gate) => {
      gate.countShed();
      const nowMs = steadyMs();
      if (nowMs - loggedMs < logEveryMs) return;
      loggedMs = nowMs;
      const state = gates.map((one) => ({ ...one, ...one.gate.read(), gate: undefined }));
      log.warn({ gates: state }, 'overloaded: requests are refused with 503');
    },
  };
}

/** By the method alone, so that it costs nothing: PUT commits a payout, or changes a user. */
function classify(method: string): RequestKind {
  if (method === 'PUT') return 'commit';
  return method === 'GET' || method === 'HEAD' ? 'read' : 'write';
}

/** Health checks and metrics are answered under overload too. */
export function isExempt(url: string): boolean {
  return url.startsWith('/health/') || url.startsWith('/metrics');
}

/** Answered by a route even if it is refused, so that a person sees a page. */
const isPage = (url: string): boolean =>
  url.startsWith('/recipient/') || url.startsWith('/verify/');

export const overloadError = new AppError(
  'unavailable',
  'The service is overloaded. Retry after the time given in Retry-After.',
  { retryAfterSeconds: 1 },
);

/**
 * Counts the requests in flight. A request is in flight from its header to its answer, except while
 * its body is arriving, so that slow clients do not use up the limit. After a disconnect it counts
 * until its work has ended.
 */
export function addLoadShedding(app: FastifyInstance, loadShedding: LoadShedding): void {
  app.decorateRequest('gate', undefined);
  app.decorateRequest('isInFlight', false);
  app.addHook('onRequest', (request, _reply, done) => {
    if (isExempt(request.url)) {
      done();
      return;
    }
    const gate = loadShedding.find(request.environmentName, request.method);
    if (gate?.isFull() === true) {
      loadShedding.shed(gate);
      done(overloadError);
      return;
    }
    request.gate = gate;
    enter(request);
    done();
  });
  // Fastify tells by the number of parameters that this hook takes a callback.
  // oxlint-disable-next-line eslint/max-params
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    leave(request, false);
    done();
  });
  app.addHook('preValidation', (request, _reply, done) => {
    enter(request);
    done();
  });
  // As above.
  // oxlint-disable-next-line eslint/max-params
  app.addHook('onSend', (request, reply, _payload, done) => {
    leave(request, reply.statusCode < 400);
    done();
  });
}

function enter(request: FastifyRequest): void {
  if (request.isInFlight || request.gate === undefined) return;
  request.isInFlight = true;
  request.gate.enter();
}

function leave(request: FastifyRequest, isDone: boolean): void {
  if (!request.isInFlight) return;
  request.isInFlight = false;
  request.gate?.leave(isDone);
}

/** As Node's `RequestListener`, which has the types of its own server. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Refuses a request before Fastify has seen it, at a fraction of the cost: under overload most
 * requests are refused.
 */
export function shedBeforeParsing(
  handle: RequestHandler,
  loadShedding: LoadShedding,
  options: {
    findEnvironment: (host: string | undefined) => EnvironmentName;
    isDraining: () => boolean;
  },
): RequestHandler {
  const refuse = prepareRefusal();
  const [only, ...others] = new Set(loadShedding.gates.map(({ environment }) => environment));
  return (request, response) => {
    // With one environment the Host is not needed; reading it would parse all headers.
    const environment =
      only !== undefined && others.length === 0
        ? only
        : options.findEnvironment(request.headers.host);
    const gate = loadShedding.find(environment, request.method ?? 'GET');
    const url = request.url ?? '';
    if (gate?.isFull() !== true || options.isDraining() || isExempt(url) || isPage(url)) {
      handle(request, response);
      return;
    }
    loadShedding.shed(gate);
    refuse(response);
    watchRest(request);
  };
}

/** The answer as text, prepared but for the request id. */
function prepareRefusal(): (response: ServerResponse) => void {
  const placeholder = '{id}';
  const { status, contentType, headers, body } = describeProblem(overloadError, placeholder);
  const [before = '', after = ''] = body.split(placeholder);
  const fixed = Object.entries({
    ...securityHeaders,
    ...headers,
    'content-type': contentType,
  }).flat();
  return (response) => {
    const id = newRequestId();
    const length = before.length + id.length + after.length;
    response.writeHead(status, [...fixed, 'x-request-id', id, 'content-length', String(length)]);
    response.end(`${before}${id}${after}`);
  };
}

export function measureLoadShedding(registry: Registry, { gates }: LoadShedding): void {
  const labelNames = ['environment', 'kind'];
  const registers = [registry];
  const gauge = (name: string, help: string, read: (gate: Gate) => number): void => {
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        for (const { environment, kind, gate } of gates) {
          this.set({ environment, kind }, read(gate));
        }
      },
    });
  };
  gauge('outlay_requests_in_flight', 'Requests in flight', (gate) => gate.read().inFlight);
  gauge(
    'outlay_requests_limit',
    'Requests in flight beyond which new ones are refused',
    (gate) => gate.read().limit,
  );
  new Counter({
    name: 'outlay_requests_shed_total',
    help: 'Requests refused because of overload',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { environment, kind, gate } of gates) {
        this.inc({ environment, kind }, gate.read().shed);
      }
    },
  });
}
