import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { listAccounts } from '../accounts/accounts.ts';
import { appendAudit } from '../audit/audit.ts';
import { type EnvironmentName, newestVersion } from '../core/access.ts';
import { AppError } from '../core/errors.ts';
import { findAddress } from '../http/addresses.ts';
import type { RateLimiters } from '../http/limits.ts';
import type { BaseServices } from '../http/route.ts';
import { checkBody } from '../http/validation.ts';
import {
  confirmTotp,
  describeLogin,
  type Login,
  type LoginRequest,
  logIn,
  proposeTotp,
  setPassword,
} from '../operators/logins.ts';
import { findGenuineOperator, type GenuineOperator } from '../operators/operators.ts';
import { isPermitted, permissions } from '../operators/roles.ts';
import {
  authenticateSession,
  deriveCsrfToken,
  endOtherSessions,
  endSession,
  type OperatorSession,
  openSession,
} from '../operators/sessions.ts';
import {
  readSessionToken,
  refuseCrossSite,
  requireCsrfToken,
  sessionCookie,
} from './operator-admission.ts';
import { loginBody, passwordBody, type sessionAnswer, totpBody } from './session-schemas.ts';

/** Sessions of the console: log in, look, log out, and what one logs in with. */

export type ConsoleOptions = {
  environments: Readonly<Partial<Record<EnvironmentName, BaseServices>>>;
  limiters: RateLimiters;
};

export function addConsoleSession(app: FastifyInstance, options: ConsoleOptions): void {
  const { limiters } = options;
  const getEnvironment = (request: FastifyRequest): BaseServices => {
    limiters.address.check(request.ip);
    const env = options.environments[request.environmentName];
    if (env !== undefined) return env;
    throw new AppError('not_found', 'This environment is not available here');
  };
  app.post('/console/session', async (request, reply) => {
    const env = getEnvironment(request);
    limiters.expensive.check(request.ip);
    refuseCrossSite(request);
    const token = await startSession(env, request, checkBody(loginBody, request));
    setCookie(reply, token);
    const open = await getSession(env, token);
    return sendJson(reply.code(201), await describeSession(env, open, token));
  });
  app.get('/console/session', async (request, reply) => {
    const env = getEnvironment(request);
    const { open, token } = await requireSession(env, request);
    return sendJson(reply, await describeSession(env, open, token));
  });
  app.delete('/console/session', async (request, reply) => {
    const env = getEnvironment(request);
    const { open, token } = await requireSession(env, request);
    await endSession(env.db.system, token);
    await audit(env, request, { open, action: 'session end' });
    return reply.header('set-cookie', formatCookie('', 0)).code(204).send();
  });
  app.put('/console/password', async (request, reply) => {
    const env = getEnvironment(request);
    limiters.expensive.check(request.ip);
    const { open } = await requireSession(env, request);
    const body = checkBody(passwordBody, request);
    await setPassword(services(env), open.operator, {
      password: body.password,
      current: body.current_password,
      needsCurrent: open.method === 'password',
    });
    await endOtherSessions(env.db.system, open.operator.id, open.id);
    await audit(env, request, { open, action: 'session set-password' });
    return reply.code(204).send();
  });
  app.post('/console/totp', async (request, reply) => {
    const env = getEnvironment(request);
    const { open } = await requireSession(env, request);
    return sendJson(reply, proposeTotp(services(env), open.operator, `Outlay ${env.name}`));
  });
  app.put('/console/totp', async (request, reply) => {
    const env = getEnvironment(request);
    limiters.expensive.check(request.ip);
    const { open } = await requireSession(env, request);
    const body = checkBody(totpBody, request);
    const operator = await getOperator(env, open);
    await confirmTotp(services(env), operator, {
      proposal: body.proposal,
      code: body.code,
      currentCode: body.current_code,
      isByLink: open.method === 'link',
    });
    await endOtherSessions(env.db.system, open.operator.id, open.id);
    await audit(env, request, { open, action: 'session set-totp' });
    return reply.code(204).send();
  });
}

const services = ({ db, keys }: BaseServices) => ({ session: db.system, keys });

/** Ends the session that the browser may have: a session planted before the login (fixation) is worthless. */
async function startSession(
  env: BaseServices,
  request: FastifyRequest,
  body: z.output<typeof loginBody>,
): Promise<string> {
  const address = findAddress(request) ?? '';
  const login = await tryLogin(env, request, { ...body, address });
  const before = readSessionToken(request);
  if (before !== undefined) await endSession(env.db.system, before);
  const { operator, method, hasSecondFactor } = login;
  // Live admits no operator without a second factor.
  const isRestricted = env.name === 'live' && !hasSecondFactor;
  const token = await openSession(services(env), operator, { method, isRestricted, address });
  const open = await getSession(env, token);
  await audit(env, request, { open, action: 'session begin' });
  return token;
}

async function tryLogin(
  env: BaseServices,
  request: FastifyRequest,
  given: LoginRequest,
): Promise<Login> {
  try {
    return await logIn(services(env), given);
  } catch (error) {
    if (error instanceof AppError && error.code === 'login_failed') {
      const operator =
        'operator' in given ? await findGenuineOperator(services(env), given.operator) : undefined;
      // An unknown name may be a password that was typed into the wrong field.
      await appendAudit(services(env), {
        actor: { kind: 'system' },
        action: 'session begin',
        object: { operator: operator?.name ?? '', address: given.address },
        requestId: request.id,
        outcome: 'refused',
      });
    }
    throw error;
  }
}

/** @throws AppError unauthorized, cross_site_request. */
async function requireSession(env: BaseServices, request: FastifyRequest) {
  refuseCrossSite(request);
  const token = readSessionToken(request);
  const open = token && (await authenticateSession(services(env), token));
  if (token === undefined || open === undefined || open === '') {
    throw new AppError('unauthorized', 'There is no session: log in');
  }
  if (request.method !== 'GET') requireCsrfToken(request, token);
  return { open, token };
}

async function getSession(env: BaseServices, token: string): Promise<OperatorSession> {
  const open = await authenticateSession(services(env), token);
  if (open === undefined) throw new AppError('unauthorized', 'The session has ended: log in again');
  return open;
}

async function getOperator(
  env: BaseServices,
  { operator }: OperatorSession,
): Promise<GenuineOperator> {
  const found = await findGenuineOperator(services(env), { id: operator.id });
  if (found === undefined) throw new AppError('unauthorized', 'The operator was revoked');
  return found;
}

/** Others are found by their names. */
const accountsMax = 1000;

async function describeSession(
  env: BaseServices,
  open: OperatorSession,
  token: string,
): Promise<z.output<typeof sessionAnswer>> {
  const { operator, isRestricted, idleEndsAt, endsAt } = open;
  const setup = await describeLogin(services(env), operator.id);
  const listed = isRestricted
    ? { rows: [], next: undefined }
    : await listAccounts(env.db.system, {}, { count: accountsMax });
  return {
    operator: {
      name: operator.name,
      role: operator.role,
      permissions: permissions.filter((one) => isPermitted(operator.role, one)),
    },
    csrf: deriveCsrfToken(token),
    environment: env.name,
    version: newestVersion,
    accounts: listed.rows.map(({ id, name }) => ({ account: id, name })),
    has_more_accounts: listed.next !== undefined,
    is_restricted: isRestricted,
    has_password: setup.hasPassword,
    has_totp: setup.hasTotp,
    idle_ends_at: idleEndsAt.toISOString(),
    ends_at: endsAt.toISOString(),
  };
}

async function audit(
  env: BaseServices,
  request: FastifyRequest,
  { open, action }: { open: OperatorSession; action: string },
): Promise<void> {
  await appendAudit(services(env), {
    actor: { kind: 'operator', ...open.operator, address: findAddress(request) ?? '' },
    action,
    object: { session: open.id, method: open.method },
    requestId: request.id,
    outcome: 'done',
  });
}

/** Of the session of the browser: it goes with the browser, and the server ends it before. */
function setCookie(reply: FastifyReply, token: string): void {
  void reply.header('set-cookie', formatCookie(token));
}

function formatCookie(value: string, ageSeconds?: number): string {
  const age = ageSeconds === undefined ? '' : `; Max-Age=${ageSeconds}`;
  return `${sessionCookie}=${value}; Path=/; Secure; HttpOnly; SameSite=Strict${age}`;
}

function sendJson(reply: FastifyReply, body: unknown): FastifyReply {
  return reply.type('application/json').send(JSON.stringify(body));
}
