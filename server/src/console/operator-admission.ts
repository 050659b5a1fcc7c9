import type { FastifyRequest } from 'fastify';
import { findAccount } from '../accounts/accounts.ts';
import { type Principal, type Scope, scopes } from '../core/access.ts';
import { AppError } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import type { Session } from '../db/postgres/pool.ts';
import { readHeaders } from '../http/addresses.ts';
import type { BaseServices } from '../http/route.ts';
import { authenticateOperator, type Operator } from '../operators/operators.ts';
import { isPermitted } from '../operators/roles.ts';
import { authenticateSession, isCsrfToken } from '../operators/sessions.ts';

/**
 * Operators as callers of the API: with their key, or with the cookie of a session. For the operations
 * of clients they name the account for which they act in `Outlay-Account`.
 */

export const sessionCookie = '__Host-outlay-session';

/** The value of the cookie; undefined where there is none, or several. */
export function readSessionToken(request: FastifyRequest): string | undefined {
  const pairs = readHeaders(request.raw, 'cookie').flatMap((header) => header.split(';'));
  const values = pairs
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${sessionCookie}=`))
    .map((pair) => pair.slice(sessionCookie.length + 1));
  const [token] = values;
  return values.length === 1 && token !== undefined && /^[A-Za-z0-9_-]{43}$/.test(token)
    ? token
    : undefined;
}

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * A request that changes something must come from a page of this host. Browsers say it in
 * `Sec-Fetch-Site` and `Origin`.
 *
 * @throws AppError cross_site_request.
 */
export function refuseCrossSite(request: FastifyRequest): void {
  const site = readHeaders(request.raw, 'sec-fetch-site');
  const isSafe = safeMethods.has(request.method);
  const isSame = site.every((value) => value === 'same-origin' || (isSafe && value === 'none'));
  const origins = readHeaders(request.raw, 'origin');
  const isOwn = origins.every((origin) => isOriginOf(origin, request));
  if (isSame && (isSafe || isOwn)) return;
  throw new AppError('cross_site_request', 'The request must come from a page of this host');
}

/** The scheme is not compared, because a proxy may end TLS. */
function isOriginOf(origin: string, request: FastifyRequest): boolean {
  return URL.canParse(origin) && new URL(origin).host === request.host;
}

/** @throws AppError cross_site_request. */
export function requireCsrfToken(request: FastifyRequest, token: string): void {
  const given = readHeaders(request.raw, 'outlay-csrf');
  if (given.length === 1 && isCsrfToken(token, given[0] ?? '')) return;
  throw new AppError(
    'cross_site_request',
    'The header Outlay-CSRF must be the csrf of GET /console/session',
  );
}

const readScopes: readonly Scope[] = [
  'balance:read',
  'users:read',
  'destinations:read',
  'payouts:read',
];

/**
 * What a role may do for an account. Deciding about identities is an operation of operators, where the
 * name of the person is that of the session; proposing is for software.
 */
const writeScopes: readonly Scope[] = scopes.filter(
  (scope) => scope !== 'kyc:decide' && scope !== 'payouts:propose',
);

type Credential = { readonly id: string; readonly operator: Operator };

/**
 * The operator who calls; undefined where the request has no credential of an operator, and a promise
 * only where it has one.
 *
 * @throws AppError unauthorized, cross_site_request, second_factor_required, invalid_request where the
 * account is missing.
 */
export function identifyOperator(
  env: BaseServices,
  request: FastifyRequest,
  { needsAccount }: { needsAccount: boolean },
): Promise<Principal> | undefined {
  // Of a client's request, at the cost of a look.
  const { authorization, cookie } = request.headers;
  if (authorization === undefined ? cookie === undefined : !/ op_/.test(authorization)) {
    return undefined;
  }
  const authorizations = readHeaders(request.raw, 'authorization');
  const [, key] = /^Bearer +(op_[A-Za-z0-9_-]+)$/i.exec(authorizations[0] ?? '') ?? [];
  const token = authorizations.length === 0 ? readSessionToken(request) : undefined;
  if (authorizations.length > 1 || (key === undefined && token === undefined)) return undefined;
  const credential = key === undefined ? openSession(env, request, token ?? '') : openKey(env, key);
  return credential.then(({ id, operator }) => act(env, request, { id, operator, needsAccount }));
}

async function openKey(env: BaseServices, key: string): Promise<Credential> {
  const operator = await authenticateOperator({ session: env.db.system, keys: env.keys }, key);
  if (operator !== undefined) return { id: operator.id, operator };
  throw new AppError('unauthorized', 'The key of the operator is unknown or was replaced');
}

async function openSession(
  { db, keys }: BaseServices,
  request: FastifyRequest,
  token: string,
): Promise<Credential> {
  refuseCrossSite(request);
  const open = await authenticateSession({ session: db.system, keys }, token);
  if (open === undefined) throw new AppError('unauthorized', 'The session has ended: log in again');
  if (!safeMethods.has(request.method)) requireCsrfToken(request, token);
  if (!open.isRestricted) return open;
  throw new AppError(
    'second_factor_required',
    'Set up a password and a second factor first, and log in with them',
  );
}

async function act(
  env: BaseServices,
  request: FastifyRequest,
  { id, operator, needsAccount }: Credential & { needsAccount: boolean },
): Promise<Principal> {
  const mayWrite = isPermitted(operator.role, 'operate');
  const named = { credentialId: id, operator: { ...operator, mayWrite } };
  if (!needsAccount) return { ...named, accountId: '', scopes: new Set() };
  const account = await getAccount(env.db.system, readHeaders(request.raw, 'outlay-account'));
  return { ...named, ...account, scopes: new Set(mayWrite ? writeScopes : readScopes) };
}

/** @throws AppError invalid_request. */
async function getAccount(
  session: Session,
  values: readonly string[],
): Promise<Pick<Principal, 'accountId' | 'hasApprovalRules'>> {
  const [id = ''] = values;
  const known = values.length === 1 && isUuid(id) ? await findAccount(session, id) : undefined;
  if (known !== undefined) return { accountId: id, hasApprovalRules: known.has_approval_rules };
  const detail =
    values.length === 0
      ? 'The header Outlay-Account is required: the id of the account for which you act'
      : 'The header Outlay-Account must be the id of one account';
  const code = values.length === 0 ? 'required' : 'invalid_value';
  throw new AppError('invalid_request', detail, {
    faults: [{ parameter: 'Outlay-Account', code, detail }],
  });
}
