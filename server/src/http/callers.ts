import type { FastifyRequest } from 'fastify';
import type { EnvironmentName, Principal } from '../core/access.ts';
import { AppError } from '../core/errors.ts';
import { isAcceptable } from './accept.ts';
import { findAddress, type PublicAddress, readHeaders } from './addresses.ts';
import type { RateLimiters } from './limits.ts';
import type { BaseServices, Route } from './route.ts';
import type { UploadOwner } from './upload-slots.ts';

/** Who calls a route, and whether it may. */

export type RoutingOptions<S extends BaseServices> = {
  environments: Readonly<Partial<Record<EnvironmentName, S>>>;
  routes: readonly Route<S>[];
  /** Synchronous unless it needs the database. */
  authenticate: (
    env: S,
    token: string,
    remoteAddress: string,
  ) => Principal | undefined | Promise<Principal | undefined>;
  /** Without it, operators are no callers. */
  operators?: OperatorAccess<S>;
  limiters: RateLimiters;
  address: PublicAddress;
};

export type OperatorAccess<S extends BaseServices> = {
  /** The operator who calls; undefined, and no promise, where the credential is not an operator's. */
  identify(
    env: S,
    request: FastifyRequest,
    options: { needsAccount: boolean },
  ): Promise<Principal> | undefined;
  /** Records a request by which an operator changes something; answers what records its outcome. */
  recordWrite(env: S, write: OperatorWrite): Promise<RecordOutcome>;
};

export type RecordOutcome = (outcome: 'done' | 'failed', error?: unknown) => Promise<void>;

export type OperatorWrite = {
  principal: Principal;
  method: string;
  /** The path as it is declared, and its parameters. */
  path: string;
  params: unknown;
  address: string;
  requestId: string;
};

export type Caller<S extends BaseServices> = {
  readonly env: S;
  readonly principal: Principal;
  /** Set if it is not the principal's account. */
  readonly owner?: UploadOwner;
};

export const anonymous: Principal = { accountId: '', credentialId: '', scopes: new Set() };

/**
 * Identifies the caller and checks that it may call the route: synchronously where possible,
 * because a promise per request costs more than all the checks.
 */
export function createAdmission<S extends BaseServices>(
  route: Route<S>,
  options: RoutingOptions<S>,
): (request: FastifyRequest) => Caller<S> | Promise<Caller<S>> {
  const { limiters } = options;
  const served = ['application/json', ...(route.produces ?? [])];
  const enter = (
    env: S | undefined,
    principal: Principal | undefined,
    request: FastifyRequest,
  ): Caller<S> => {
    request.principal = principal;
    if (env === undefined || principal === undefined) {
      throw new AppError(
        'unauthorized',
        'Authorization must be Bearer with a valid access token or API key',
      );
    }
    limiters.credential.check(principal.credentialId);
    if (route.bodyBytesMax !== undefined) limiters.expensive.check(principal.credentialId);
    checkAccess(route, principal);
    return { env, principal };
  };
  return (request) => {
    const env = options.environments[request.environmentName];
    if (route.isSandbox === true && request.environmentName === 'live') {
      throw new AppError('not_found', 'No such resource');
    }
    limiters.address.check(request.ip);
    if (!isAcceptable(request.headers.accept ?? '', served)) {
      throw new AppError('not_acceptable', `Accept must allow ${served.join(' or ')}`);
    }
    if (route.access === 'public') return admitToPublic(route, { env, limiters }, request);
    const principal = identify(options, request, route);
    return principal instanceof Promise
      ? principal.then((known) => enter(env, known, request))
      : enter(env, principal, request);
  };
}

/** @throws AppError insufficient_scope, role_not_permitted. */
function checkAccess<S extends BaseServices>(
  { access, method }: Route<S>,
  { scopes, operator }: Principal,
): void {
  if (access === 'operator') {
    if (operator !== undefined) return;
    const detail = 'This operation needs the key or the session of an operator';
    throw new AppError('insufficient_scope', detail);
  }
  const isGranted = access === 'bearer' || scopes.has(access);
  if (isGranted && (method === 'GET' || operator?.mayWrite !== false)) return;
  if (operator === undefined) {
    throw new AppError('insufficient_scope', `The credential must have the scope ${access}`);
  }
  throw new AppError(
    'role_not_permitted',
    `The role ${operator.role} may not do this for an account`,
  );
}

function identify<S extends BaseServices>(
  { environments, authenticate, operators }: RoutingOptions<S>,
  request: FastifyRequest,
  { access }: Pick<Route<S>, 'access'>,
): Principal | undefined | Promise<Principal | undefined> {
  const env = environments[request.environmentName];
  const needsAccount = access !== 'operator';
  const operator = env && operators?.identify(env, request, { needsAccount });
  if (operator !== undefined) return operator;
  const token = readBearer(readHeaders(request.raw, 'authorization'));
  const address = findAddress(request);
  return env === undefined || token === undefined || address === undefined
    ? undefined
    : authenticate(env, token, address);
}

function admitToPublic<S extends BaseServices>(
  route: Route<S>,
  { env, limiters }: { env: S | undefined; limiters: RateLimiters },
  request: FastifyRequest,
): Caller<S> | Promise<Caller<S>> {
  if (route.bodyBytesMax !== undefined) limiters.expensive.check(request.ip);
  if (env === undefined) throw new AppError('not_found', 'This environment is not available here');
  const caller = { env, principal: anonymous };
  if (route.admit === undefined) return caller;
  return route.admit(env, request.params).then((owner) => ({ ...caller, owner }));
}

/** The token of exactly one well-formed Authorization header (RFC 6750 2.1). */
function readBearer(values: readonly string[]): string | undefined {
  if (values.length !== 1) return undefined;
  return /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(values[0] ?? '')?.[1];
}

/** Whether the caller's credential still allows the request. */
export async function mayStillCall<S extends BaseServices>(
  options: RoutingOptions<S>,
  request: FastifyRequest,
  route: Route<S>,
): Promise<boolean> {
  const { access } = route;
  const known = await identify(options, request, route);
  if (known === undefined || access === 'public' || access === 'bearer') return known !== undefined;
  return access === 'operator' ? known.operator !== undefined : known.scopes.has(access);
}
