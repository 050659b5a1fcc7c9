import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type EnvironmentName, type Principal, versions } from '../core/access.ts';
import { AppError } from '../core/errors.ts';
import { isAcceptable } from './accept.ts';
import { fingerprintRequest, type RunningKeys, readKey, runKeyed } from './idempotency.ts';
import type { RateLimiters } from './limits.ts';
import { type Answer, jsonType } from './problem.ts';
import {
  type BaseServices,
  Page,
  type RequestView,
  type Route,
  type RouteContext,
} from './route.ts';
import { compileWriter } from './schema.ts';
import { findAddress, getBaseUrl, type PublicAddress, readHeaders, sendAnswer } from './server.ts';
import { checkInput } from './validation.ts';

/** Puts the modules' routes onto the server: credential, scope, limits, input, answer. */

export type RoutingOptions<S extends BaseServices> = {
  environments: Readonly<Partial<Record<EnvironmentName, S>>>;
  routes: readonly Route<S>[];
  authenticate: (env: S, token: string, remoteAddress: string) => Promise<Principal | undefined>;
  limiters: RateLimiters;
  address: PublicAddress;
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route as it is described, for logs and metrics. */
    path?: string;
    /** False: what a client sends all the same is read to its end and dropped. */
    takesBody?: boolean;
  }
  interface FastifyRequest {
    caller: { env: BaseServices; principal: Principal } | undefined;
  }
}

const nobody: Principal = { accountId: '', credentialId: '', scopes: new Set() };

export function addRoutes<S extends BaseServices>(
  app: FastifyInstance,
  options: RoutingOptions<S>,
): void {
  const running: RunningKeys = new Set();
  const uploads = createUploadDoor();
  app.decorateRequest('caller', undefined);
  for (const route of options.routes) {
    const handler = createHandler(route, options, running);
    const path = route.path.replaceAll(/\{([a-z_]+)\}/g, ':$1');
    const url = route.isVersioned
      ? `/:version(^(?:${versions.join('|').replaceAll('.', '\\.')})$)${path}`
      : path;
    app.route({
      method: route.method,
      url,
      ...(route.bodyBytesMax === undefined ? {} : { bodyLimit: route.bodyBytesMax }),
      config: { path: route.path, takesBody: route.body !== undefined },
      onRequest: async (request, reply) => {
        request.caller = await admit(route, options, request);
        if (route.bodyBytesMax !== undefined) uploads.enter(reply);
      },
      handler,
    });
  }
}

async function admit<S extends BaseServices>(
  route: Route<S>,
  options: RoutingOptions<S>,
  request: FastifyRequest,
): Promise<{ env: S; principal: Principal }> {
  const { limiters } = options;
  const env = options.environments[request.environmentName];
  if (route.isSandbox === true && request.environmentName === 'live') {
    throw new AppError('not_found', 'nothing is at this address');
  }
  limiters.address.check(request.ip);
  checkAccept(route, request.headers.accept);
  if (route.access === 'public') {
    if (route.bodyBytesMax !== undefined) limiters.expensive.check(request.ip);
    if (env === undefined) throw new AppError('not_found', 'this environment is not served here');
    if (route.isAdmitted?.(env, request.params) === false) {
      throw new AppError('not_found', 'this link is not valid');
    }
    return { env, principal: nobody };
  }
  const token = readBearer(readHeaders(request.raw, 'authorization'));
  const address = findAddress(request);
  const principal =
    env === undefined || token === undefined || address === undefined
      ? undefined
      : await options.authenticate(env, token, address);
  if (env === undefined || principal === undefined) {
    throw new AppError('unauthorized', 'send Authorization: Bearer with a valid credential');
  }
  limiters.credential.check(principal.credentialId);
  if (route.bodyBytesMax !== undefined) limiters.expensive.check(principal.credentialId);
  if (route.access !== 'bearer' && !principal.scopes.has(route.access)) {
    throw new AppError('insufficient_scope', `this needs the scope ${route.access}`);
  }
  return { env, principal };
}

/** Large bodies are held in memory while they arrive: so many at once, and no more. */
const uploadsMax = 4;

function createUploadDoor(): { enter(reply: FastifyReply): void } {
  let inside = 0;
  return {
    enter: (reply) => {
      if (inside >= uploadsMax) {
        throw new AppError('unavailable', 'too many uploads at once', { retryAfterSeconds: 2 });
      }
      inside += 1;
      reply.raw.once('close', () => {
        inside -= 1;
      });
    },
  };
}

/** The token of exactly one well-formed Authorization header (RFC 6750 2.1). */
function readBearer(values: readonly string[]): string | undefined {
  if (values.length !== 1) return undefined;
  return /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(values[0] ?? '')?.[1];
}

function checkAccept(route: Route<never>, accept = ''): void {
  const served = ['application/json', ...(route.produces ?? [])];
  if (isAcceptable(accept, served)) return;
  throw new AppError('not_acceptable', `this answers ${served.join(' or ')}`);
}

function createHandler<S extends BaseServices>(
  route: Route<S>,
  options: RoutingOptions<S>,
  running: RunningKeys,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const write = route.response === null ? () => null : compileWriter(route.response);
  const isKeyed = route.method !== 'GET' && route.access !== 'public';
  return async (request, reply) => {
    const { env, principal } = request.caller as { env: S; principal: Principal };
    const view = viewRequest(request, options.address);
    const { json, ...input } = checkInput(
      route,
      {
        params: request.params,
        query: request.query,
        body: request.body as Buffer | undefined,
        contentType: request.headers['content-type'],
        contentEncoding: request.headers['content-encoding'],
      },
      env,
    );
    // The text of a large upload must not outlive its reading.
    request.body = undefined;
    const key = isKeyed ? readKey(request.headers['idempotency-key']) : undefined;
    const requestKey =
      key === undefined
        ? undefined
        : {
            key,
            fingerprint: fingerprintRequest({ method: view.method, path: view.path, body: json }),
          };
    const context: RouteContext<S> = {
      env,
      principal,
      accountId: principal.accountId,
      request: view,
      write: (work, writeOptions = {}) =>
        runKeyed(
          env,
          { accountId: principal.accountId, requestKey },
          {
            ...writeOptions,
            running,
            tryTogether: async (given) => {
              const together = await writeOptions.tryTogether?.(given);
              if (together === undefined) return undefined;
              return 'text' in together ? together.text : write(together.value);
            },
            work: async (session) => write(await work(session)),
          },
        ),
    };
    return sendAnswer(reply, toAnswer(await route.handle(context, input), view, write));
  };
}

/** A handler's result as an answer: it may be one already, a page of a list, or a plain value. */
function toAnswer(
  result: unknown,
  request: RequestView,
  write: (value: unknown) => string | null,
): Answer {
  if (isAnswer(result)) return result;
  if (result instanceof Page) {
    const { items, next } = result as Page<unknown>;
    return {
      status: 200,
      contentType: jsonType,
      body: write(items),
      ...(next === undefined ? {} : { headers: { link: linkNext(request, next) } }),
    };
  }
  return { status: 200, contentType: jsonType, body: write(result) };
}

function isAnswer(result: unknown): result is Answer {
  return typeof result === 'object' && result !== null && 'contentType' in result;
}

function linkNext(request: RequestView, cursor: string): string {
  const url = new URL(request.url, request.baseUrl);
  url.searchParams.set('cursor', cursor);
  return `<${url.href}>; rel="next"`;
}

function viewRequest(request: FastifyRequest, address: PublicAddress): RequestView {
  const [path = ''] = request.url.split('?', 1);
  return {
    method: request.method,
    path,
    url: request.url,
    query: request.query as RequestView['query'],
    accept: request.headers.accept ?? '',
    authorization: request.headers.authorization ?? '',
    remoteAddress: request.ip,
    baseUrl: getBaseUrl(request, address),
  };
}
