import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import type { Logger } from 'pino';
import { type EnvironmentName, versions } from '../core/access.ts';
import { AppError } from '../core/errors.ts';
import { createRepeatedLines, type RepeatedLines } from '../core/repeated-lines.ts';
import { createOutdatedError } from '../db/schema-version.ts';
import type { Span } from '../tracing/tracing.ts';
import { getPreference } from './accept.ts';
import { nameEnvironment, nameRoute, readAbsoluteTarget, readEnvironment } from './addresses.ts';
import { addBodyReader } from './body.ts';
import { watchRest } from './body-pace.ts';
import {
  type ConnectionLimits,
  type Connections,
  createAddressCheck,
  limitConnections,
} from './connections.ts';
import { describeError, nameError } from './error-log.ts';
import {
  addLoadShedding,
  type LoadShedding,
  overloadError,
  type RequestHandler,
  shedBeforeParsing,
} from './load-shedding.ts';
import { type Answer, badUrl, describeProblem, findHttpFault, problemType } from './problem.ts';
import { newRequestId, readRequestId } from './request-id.ts';
import type { BaseServices, RequestView, Route } from './route.ts';
import { securityHeaders, strictTransport } from './security-headers.ts';

// An import would read all that `node:http` exports, and so load its WebSocket client (5 % of a start).
const { createServer: createNodeServer } = process.getBuiltinModule('node:http');

/**
 * The HTTP server: what holds for every request. The environment that it addresses, problem answers
 * for every error (those of the HTTP parser included), request ids, drain.
 */

export type ServerOptions<S extends BaseServices> = {
  /** The environments that this process serves. */
  environments: Readonly<Partial<Record<EnvironmentName, S>>>;
  /** Where a Host without the label of an environment leads. */
  defaultEnvironment: EnvironmentName;
  log: Logger;
  /** One in this many successful reads is logged; writes and every other outcome always are. */
  logEvery: number;
  /** Addresses and ranges of reverse proxies whose X-Forwarded-* headers are trusted. */
  trustedProxies: readonly string[];
  /** Whether clients reach the service by https, at a proxy. */
  isHttps?: boolean;
  connections?: ConnectionLimits;
  /** Without it no request is refused because of overload. */
  loadShedding?: LoadShedding;
  /** Whether a newer release has migrated the environment's database; called after a failure. */
  isOutdated?: (environment: EnvironmentName) => Promise<boolean>;
};

export type HttpServer = {
  readonly app: FastifyInstance;
  /** Undefined without limits on connections. */
  readonly connections: Connections | undefined;
  /** From now on every new request is answered 503, and connections end. */
  startDrain(): void;
};

declare module 'fastify' {
  interface FastifyRequest {
    environmentName: EnvironmentName;
    /** Where the request is traced. */
    span?: Span | undefined;
    /** Set by a route that does not stand in the router under its own path; see `nameRoute`. */
    routeName: string | undefined;
  }
}

export const bodyBytesMax = 256 * 1024;

export function createServer<S extends BaseServices>(options: ServerOptions<S>): HttpServer {
  let isDraining = false;
  let requestCount = 0;
  const always =
    options.isHttps === true ? { ...securityHeaders, ...strictTransport } : securityHeaders;
  const isTrusted = createAddressCheck(options.trustedProxies);
  const app = fastify({
    bodyLimit: bodyBytesMax,
    serverFactory: (handle) => createHttpServer(handle, options, () => isDraining),
    // Fastify's own lines are for its developers; `logRequests` decides what is logged of a
    // request.
    loggerInstance: options.log.child({}, { level: 'warn' }) as never,
    logController: new LogController({ disableRequestLogging: true }),
    // A child logger for every request costs more than the line that it might write.
    childLoggerFactory: (logger) => logger,
    genReqId: (request) => {
      requestCount += 1;
      return readRequestId(request, isTrusted) ?? newRequestId();
    },
    requestIdHeader: false,
    trustProxy: options.trustedProxies.length > 0 && [...options.trustedProxies],
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // Longer than any path can be, so that a token of any length is not found.
    routerOptions: { maxParamLength: 16 * 1024, ignoreTrailingSlash: false },
    clientErrorHandler: (error, socket) => answerParserError(error, socket as Duplex),
    frameworkErrors: (error, request, reply) => {
      void reply.headers(always).header('x-request-id', request.id);
      void sendAnswer(reply, describeProblem(error, request.id));
    },
  }) as unknown as FastifyInstance;
  rememberPlainRoutes(app);
  addBodyReader(app);
  app.decorateRequest('environmentName', options.defaultEnvironment);
  app.decorateRequest('routeName', undefined);

  // Hooks that run for every request call back: a promise for each would cost more than they do.
  app.addHook('onRequest', (request, reply, done) => {
    void reply.headers(always).header('x-request-id', request.id);
    request.environmentName = readEnvironment(request.raw, options.defaultEnvironment);
    checkQuery(request.url);
    if (isDraining) {
      void reply.header('connection', 'close');
      throw new AppError('unavailable', 'The service is stopping', { retryAfterSeconds: 2 });
    }
    done();
  });
  if (options.loadShedding !== undefined) addLoadShedding(app, options.loadShedding);
  const repeated = createRepeatedLines();
  const isOutdated = options.isOutdated ?? (() => Promise.resolve(false));
  app.addHook('onClose', async () => repeated.close());
  answerErrors(app, { log: options.log, repeated, isDraining: () => isDraining, isOutdated });
  logRequests(app, {
    log: options.log,
    repeated,
    isSampled: () => requestCount % options.logEvery === 0,
  });
  return {
    app,
    connections: options.connections && limitConnections(app.server, options.connections),
    startDrain: () => {
      isDraining = true;
    },
  };
}

function createHttpServer(
  handle: RequestHandler,
  {
    loadShedding,
    defaultEnvironment,
  }: Pick<ServerOptions<never>, 'loadShedding' | 'defaultEnvironment'>,
  isDraining: () => boolean,
): Server {
  const findEnvironment = (host: string | undefined): EnvironmentName =>
    nameEnvironment(host, defaultEnvironment);
  const accept =
    loadShedding === undefined
      ? handle
      : shedBeforeParsing(handle, loadShedding, { findEnvironment, isDraining });
  const server = createNodeServer(
    {
      // A streamed upload waits for the database too. A header, and a body that is read whole, have
      // a minute (`body.ts`); a body below the least byte rate ends earlier.
      requestTimeout: 15 * 60_000,
      keepAliveTimeout: 72_000,
      headersTimeout: 60_000,
      maxHeaderSize: 16 * 1024,
      // `readEnvironment` checks it, with a problem answer.
      requireHostHeader: false,
      // Without the events of a body a request without one costs a tenth less.
      optimizeEmptyRequests: true,
    },
    (request, response) => {
      if (request.url?.startsWith('/') !== true) readAbsoluteTarget(request);
      accept(request, response);
    },
  );
  answerExpectations(server);
  return server;
}

/**
 * The parser of queries reads malformed percent-encoding as it stands, and another filter would answer
 * that a payout does not exist.
 *
 * @throws AppError malformed_http.
 */
function checkQuery(url: string): void {
  const begin = url.indexOf('?');
  if (begin === -1 || !url.includes('%', begin)) return;
  try {
    decodeURIComponent(url.slice(begin));
  } catch (cause) {
    throw new AppError('malformed_http', badUrl, { cause });
  }
}

/** Logs writes, failed requests and a sample of the reads; equal failures of the service share a line. */
function logRequests(
  app: FastifyInstance,
  options: { log: Logger; repeated: RepeatedLines; isSampled: () => boolean },
): void {
  const { log, repeated, isSampled } = options;
  app.addHook('onResponse', (request, reply, done) => {
    done();
    watchRest(request.raw);
    const { statusCode: status } = reply;
    if (status < 400 && isRead(request.method) && !isSampled()) return;
    const fields = {
      request_id: request.id,
      ...(request.span && { trace_id: request.span.traceId }),
      environment: request.environmentName,
      method: request.method,
      route: nameRoute(request),
      status,
      ...(request.principal !== undefined && {
        account_id: request.principal.accountId,
        credential_id: request.principal.credentialId,
      }),
      duration_ms: Math.round(reply.elapsedTime * 10) / 10,
    };
    if (status < 500) {
      log.info(fields, 'request');
      return;
    }
    const key = `${status} ${fields.environment} ${fields.method} ${fields.route}`;
    repeated.occurred(key, (count) => log.info({ ...fields, ...formatCount(count) }, 'request'));
  });
}

const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD';

/** How many occurrences a line stands for, if more than one. */
function formatCount(count: number): { count?: number } {
  return count === 1 ? {} : { count };
}

function answerErrors(
  app: FastifyInstance,
  options: { log: Logger; repeated: RepeatedLines; isDraining: () => boolean } & Required<
    Pick<ServerOptions<never>, 'isOutdated'>
  >,
): void {
  const { log, repeated, isDraining, isOutdated } = options;
  app.setErrorHandler(async (error, request, reply) => {
    let answer = describeProblem(error, request.id);
    // Against the database of a newer release, old code fails for reasons other than the request.
    if (answer.status === 500 && (await isOutdated(request.environmentName))) {
      answer = describeProblem(createOutdatedError(), request.id);
    }
    // Fastify closes the connection when the body was not read, and a client that is still sending
    // would lose the answer; `watchRest` closes it if the rest does not arrive.
    if (answer.status === 408) void reply.header('connection', 'close');
    else if (!isDraining()) void reply.removeHeader('connection');
    if (answer.status >= 500 && error !== overloadError) {
      const traced = request.span && { trace_id: request.span.traceId };
      const about = { request_id: request.id, ...traced, error: describeError(error) };
      const isDefect = answer.status === 500;
      // Many requests fail together, and the place in the code says nothing about the cause.
      const logged = isDefect ? about : { ...about, error: { ...about.error, at: [] } };
      repeated.occurred(`${answer.status} ${nameError(logged.error)}`, (count) => {
        const fields = { ...logged, ...formatCount(count) };
        if (isDefect) log.error(fields, 'request failed');
        else log.warn(fields, 'request not answered');
      });
    }
    await sendAnswer(reply, { ...answer, ...findProblemPage(request, answer) });
  });
}

/** The page in place of the problem, for a browser at an address that people open. */
function findProblemPage(request: FastifyRequest, problem: Answer): Answer | undefined {
  const { problemPage } = request.routeOptions.config;
  if (problemPage === undefined) return undefined;
  const header = (name: string): string => [request.headers[name] ?? ''].flat().join(', ');
  if (!getPreference(header('accept'), 'text/html').isNamed) return undefined;
  const page = problemPage(problem.status, {
    query: request.query as RequestView['query'],
    header,
  });
  return page && { ...page, headers: { ...problem.headers, ...page.headers } };
}

type PlainRoute = { method: string; pattern: RegExp; isSandbox?: boolean };

const plainRoutes = new WeakMap<FastifyInstance, PlainRoute[]>();

/** Routes that are not operations of the API: health, tokens, the reference. */
function listPlainRoutes(app: FastifyInstance): readonly PlainRoute[] {
  return plainRoutes.get(app) ?? [];
}

function rememberPlainRoutes(app: FastifyInstance): void {
  const found: PlainRoute[] = [];
  plainRoutes.set(app, found);
  app.addHook('onRoute', ({ method, url, config }) => {
    if (config?.path !== undefined) return;
    const pattern = new RegExp(
      `^${url.replaceAll('.', '\\.').replaceAll(/:[a-z_]+|\*/g, '[^/]+')}$`,
    );
    for (const one of [method].flat()) found.push({ method: one, pattern });
  });
}

/** Answers unknown paths with 404, and known ones with another method with 405 and `Allow`. */
export function setNotFound<S extends BaseServices>(
  app: FastifyInstance,
  routes: readonly Route<S>[],
): void {
  const patterns = [
    ...routes.map((route) => ({ ...route, pattern: toPattern(route) })),
    ...listPlainRoutes(app),
  ];
  const describe = (request: FastifyRequest): AppError => {
    const path = request.url.split('?', 1)[0] ?? '';
    const allowed = new Set<string>();
    for (const { method, pattern, isSandbox } of patterns) {
      if (isSandbox === true && request.environmentName === 'live') continue;
      if (pattern.test(path)) allowed.add(method).add(method === 'GET' ? 'HEAD' : method);
    }
    if (allowed.size > 0) return new MethodNotAllowed([...allowed]);
    const [label = ''] = path.slice(1).split('/', 1);
    if (/^v\d/.test(label) && !(versions as readonly string[]).includes(label)) {
      return new AppError('unknown_version', `The version must be one of ${versions.join(', ')}`);
    }
    return new AppError('not_found', 'No such resource');
  };
  // Not a handler: before one runs, Fastify refuses a malformed Content-Type, and QUERY without any.
  app.addHook('onRequest', (request, _reply, done) => {
    done(request.is404 ? describe(request) : undefined);
  });
  app.addHook('onError', async (_request, reply, error) => {
    if (error instanceof MethodNotAllowed) void reply.header('allow', error.allowed.join(', '));
  });
}

class MethodNotAllowed extends AppError {
  readonly allowed: readonly string[];
  constructor(allowed: readonly string[]) {
    super('method_not_allowed', `This resource allows ${allowed.join(', ')}`);
    this.allowed = allowed;
  }
}

function toPattern(route: { path: string; isVersioned: boolean }): RegExp {
  const path = route.path.replaceAll('.', '\\.').replaceAll(/\{[a-z_]+\}/g, '[^/]+');
  const version = route.isVersioned ? `/(?:${versions.join('|').replaceAll('.', '\\.')})` : '';
  return new RegExp(`^${version}${path}$`);
}

export function sendAnswer(reply: FastifyReply, answer: Answer): FastifyReply {
  void reply.code(answer.status);
  if (answer.headers !== undefined) void reply.headers(answer.headers);
  if (answer.body === null) return reply.send();
  void reply.header('content-type', answer.contentType);
  return reply.send(answer.body);
}

/** Answers on the socket, since bytes that Node's parser refuses make no request. */
function answerParserError(error: Error, socket: Duplex): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const fault =
    findHttpFault(error) ??
    ({ code: 'malformed_http', detail: 'The request is not HTTP' } as const);
  const requestId = newRequestId();
  const answer = describeProblem(new AppError(fault.code, fault.detail), requestId);
  const { body } = answer;
  const always = Object.entries(securityHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${answer.status} Refused\r\ncontent-type: ${problemType}\r\n${always.join('')}` +
      `x-request-id: ${requestId}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

/** Problem answers for an unknown Expect and for CONNECT, which Node answers without a body. */
function answerExpectations(server: Server): void {
  server.on('checkExpectation', (_request, response) => {
    const requestId = newRequestId();
    const refusal = new AppError('expectation_failed', 'Expect must be 100-continue');
    const answer = describeProblem(refusal, requestId);
    response.writeHead(answer.status, {
      ...securityHeaders,
      'x-request-id': requestId,
      'content-type': answer.contentType,
      connection: 'close',
    });
    response.end(answer.body);
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    answerParserError(new Error('CONNECT is not served'), socket);
  });
}
