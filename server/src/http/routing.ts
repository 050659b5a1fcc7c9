import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Principal, versions } from '../core/access.ts';
import { AppError } from '../core/errors.ts';
import type { ExactJson } from '../core/exact-json.ts';
import type { Session } from '../db/postgres/pool.ts';
import { findAddress, getBaseUrl, type PublicAddress } from './addresses.ts';
import { openUpload } from './body.ts';
import {
  anonymous,
  type Caller,
  createAdmission,
  mayStillCall,
  type RoutingOptions,
} from './callers.ts';
import { dryRunPreference, prefersDryRun, runDry } from './dry-run.ts';
import {
  answerOf,
  createAnswerBuilder,
  createRequestKey,
  openKeyRecord,
  type RunningKeys,
  readKey,
  runKeyed,
} from './idempotency.ts';
import { type Answer, jsonType } from './problem.ts';
import {
  type BaseServices,
  Page,
  type ProblemPage,
  type RequestKey,
  type RequestView,
  type Route,
  type RouteContext,
} from './route.ts';
import { createWriter } from './schema.ts';
import { sendAnswer } from './server.ts';
import { createUploadSlots } from './upload-slots.ts';
import { addAccountFaults, type CheckedInput, checkInput } from './validation.ts';

export type { RoutingOptions } from './callers.ts';

/** Adds the modules' routes to the server: credentials, scopes, limits, input, answers. */

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The path of the route, for logs and metrics. */
    path?: string;
    /** False: a body is read to its end and discarded. */
    takesBody?: boolean;
    /** True: the handler reads the body as a stream. */
    streamsBody?: boolean;
    problemPage?: ProblemPage | undefined;
  }
  interface FastifyRequest {
    caller: Caller<BaseServices> | undefined;
    /** Whose request it is, for the log; also where the request is refused. */
    principal: Principal | undefined;
  }
}

export function addRoutes<S extends BaseServices>(
  app: FastifyInstance,
  options: RoutingOptions<S>,
): void {
  const running: RunningKeys = new Set();
  const slots = createUploadSlots();
  app.decorateRequest('caller', undefined);
  app.decorateRequest('principal', undefined);
  for (const route of options.routes) {
    const handler = createHandler(route, options, running);
    const path = route.path.replaceAll(/\{([a-z_]+)\}/g, ':$1');
    const admit = createAdmission(route, options);
    const takesBody = route.body !== undefined || route.streams !== undefined;
    const url = route.isVersioned
      ? `/:version(^(?:${versions.join('|').replaceAll('.', '\\.')})$)${path}`
      : path;
    app.route({
      method: route.method,
      url,
      ...(route.bodyBytesMax === undefined ? {} : { bodyLimit: route.bodyBytesMax }),
      config: {
        path: route.path,
        takesBody,
        streamsBody: route.streams !== undefined,
        problemPage: route.problemPage,
      },
      onRequest: (request, reply, done) => {
        request.routeName = route.path;
        // Fastify would refuse a malformed type of a body that is ignored.
        if (!takesBody) delete request.raw.headers['content-type'];
        const enter = (caller: Caller<S>): void => {
          request.caller = caller;
          if (route.uploads === undefined) return;
          // After a disconnect during authentication, `close` would not free the slot.
          if (request.raw.socket.destroyed)
            throw new AppError('unavailable', 'The client disconnected');
          const { env, principal, owner = principal } = caller;
          const upload = { environment: env.name, kind: route.uploads, owner };
          reply.raw.once('close', slots.take(upload));
        };
        const caller = admit(request);
        // Fastify accepts a promise or a callback.
        if (caller instanceof Promise) return caller.then(enter);
        enter(caller);
        done();
        return undefined;
      },
      handler,
    });
  }
}

function createHandler<S extends BaseServices>(
  route: Route<S>,
  options: RoutingOptions<S>,
  running: RunningKeys,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined> {
  const write = route.response === null ? () => null : createWriter(route.response);
  const isKeyed =
    route.method !== 'GET' && route.access !== 'public' && route.access !== 'operator';
  return async (request, reply) => {
    const { env, principal } = request.caller as Caller<S>;
    const isDryRun = route.method !== 'GET' && readDryRun(route, request);
    const view = new LazyRequestView(request, options.address);
    const checked = readInput(route, request, { env, accountId: principal.accountId });
    const input = checked instanceof Promise ? await checked : checked;
    // Frees the memory of a large body.
    request.body = undefined;
    const requestKey = isKeyed ? readRequestKey(route, request, [view, input.json]) : undefined;
    const context: RouteContext<S> = {
      env,
      principal,
      accountId: principal.accountId,
      request: view,
      isDryRun,
      isAllowed: () => mayStillCall(options, request, route),
      upload:
        route.streams === undefined
          ? undefined
          : openUpload(request, {
              types: route.streams,
              record: requestKey && openKeyRecord(env.keys, { ...principal, ...requestKey }),
            }),
      write: async (work, writeOptions = {}) => {
        if (isDryRun)
          return answerDry(env, principal, async (session) => write(await work(session)));
        return runKeyed(
          env,
          { accountId: principal.accountId, requestKey },
          {
            ...writeOptions,
            running,
            tryGrouped: async () => {
              const builder = createAnswerBuilder(env.keys, {
                accountId: principal.accountId,
                requestKey,
                write,
              });
              const content = await writeOptions.tryGrouped?.(builder);
              if (content === undefined) return undefined;
              return 'text' in content ? content.text : write(content.value);
            },
            work: async (session) => write(await work(session)),
          },
        );
      },
    };
    const handle = async () => toAnswer(await route.handle(context, input), view, write);
    const isRecorded = isKeyed && !isDryRun && principal.operator !== undefined;
    const answer = isRecorded ? await record(route, { options, env, request }, handle) : handle();
    sendAnswer(reply, await answer);
    // Fastify would await the reply, which only one that is not sent yet needs.
    return reply.sent ? undefined : reply;
  };
}

/** A promise of an error where that needs the database. */
function readInput<S extends BaseServices>(
  route: Route<S>,
  request: FastifyRequest,
  owner: { env: S; accountId: string },
): CheckedInput | Promise<never> {
  const raw = {
    params: request.params,
    query: request.query,
    body: request.body as Buffer | undefined,
    contentType: request.headers['content-type'],
    contentEncoding: request.headers['content-encoding'],
  };
  try {
    return checkInput(route, raw, owner.env);
  } catch (error) {
    if (route.findAccountFaults === undefined) throw error;
    return addAccountFaults(error, { route, raw }, owner).then((complete) => {
      throw complete;
    });
  }
}

/** An operator's request for an account, with its entries in the audit log before and after it. */
async function record<S extends BaseServices>(
  { method, path }: Route<S>,
  { options, env, request }: { options: RoutingOptions<S>; env: S; request: FastifyRequest },
  handle: () => Promise<Answer>,
): Promise<Answer> {
  const note = await options.operators?.recordWrite(env, {
    principal: request.principal ?? anonymous,
    method,
    path,
    params: request.params,
    address: findAddress(request) ?? '',
    requestId: request.id,
  });
  try {
    const answer = await handle();
    await note?.('done');
    return answer;
  } catch (error) {
    await note?.('failed', error);
    throw error;
  }
}

/** @throws AppError dry_run_unsupported: ignoring the preference would have the effect. */
function readDryRun<S extends BaseServices>(route: Route<S>, request: FastifyRequest): boolean {
  if (!prefersDryRun(request.headers['prefer'])) return false;
  if (route.hasDryRun === true) return true;
  const detail = `${route.method} ${route.path} has no dry run`;
  throw new AppError('dry_run_unsupported', detail, {
    faults: [{ parameter: 'Prefer', code: 'dry_run_unsupported', detail }],
  });
}

/**
 * Neither looks for the answer of an Idempotency-Key nor stores one: the key stays free for the
 * request itself. As the owner, like the shared transactions that commit payouts, because the checks
 * before sending are the operator's.
 */
async function answerDry<S extends BaseServices>(
  { db }: S,
  { accountId }: Principal,
  work: (session: Session) => Promise<string | null>,
): Promise<Answer> {
  const text = await runDry((run) => db.systemTransaction(run, { accountId }), work);
  return { ...answerOf(text, false), headers: { 'preference-applied': dryRunPreference } };
}

/** @throws AppError invalid_request if the key is malformed. */
function readRequestKey<S extends BaseServices>(
  route: Route<S>,
  request: FastifyRequest,
  [{ method, path }, body]: readonly [RequestView, ExactJson | undefined],
): RequestKey | undefined {
  const key = readKey(request.headers['idempotency-key']);
  if (key === undefined) return undefined;
  const { env, principal } = request.caller as Caller<BaseServices>;
  const target = `${path}${nameQuery(route, request)}`;
  return createRequestKey(env.keys, { ...principal, key }, { method, path: target, body });
}

/** The parameters that the operation has, whatever their order; what it ignores is no part of it. */
function nameQuery<S extends BaseServices>({ query }: Route<S>, request: FastifyRequest): string {
  if (!(query instanceof z.ZodObject)) return '';
  const given = request.query as Readonly<Record<string, string>>;
  const known = Object.entries(given).filter(([name]) => Object.hasOwn(query.shape, name));
  const text = new URLSearchParams(known.toSorted(([a], [b]) => (a < b ? -1 : 1))).toString();
  return text === '' ? '' : `?${text}`;
}

/** The answer of a handler's result: an answer, a page of a list, or a value. */
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
  // The cursor continues after a numbered page too.
  url.searchParams.delete('page');
  url.searchParams.set('cursor', cursor);
  return `<${url.href}>; rel="next"`;
}

/** Computed on access, since most handlers use none of it. */
class LazyRequestView implements RequestView {
  readonly #request: FastifyRequest;
  readonly #address: PublicAddress;
  constructor(request: FastifyRequest, address: PublicAddress) {
    this.#request = request;
    this.#address = address;
  }
  get id(): string {
    return this.#request.id;
  }
  get method(): string {
    return this.#request.method;
  }
  get path(): string {
    return this.url.split('?', 1)[0] ?? '';
  }
  get url(): string {
    return this.#request.url;
  }
  get query(): RequestView['query'] {
    return this.#request.query as RequestView['query'];
  }
  get accept(): string {
    return this.#request.headers.accept ?? '';
  }
  get authorization(): string {
    return this.#request.headers.authorization ?? '';
  }
  header(name: string): string {
    const value = this.#request.headers[name];
    return typeof value === 'string' ? value : '';
  }
  get remoteAddress(): string {
    return this.#request.ip;
  }
  get baseUrl(): string {
    return getBaseUrl(this.#request, this.#address);
  }
}
