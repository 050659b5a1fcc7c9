import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type EnvironmentName, scopes } from '../core/access.ts';
import { findAddress, getBaseUrl, type PublicAddress, readHeaders } from '../http/addresses.ts';
import type { RateLimiters } from '../http/limits.ts';
import type { BaseServices } from '../http/route.ts';
import { accessTokenSeconds, issueAccessToken, revokeToken } from './accounts.ts';

/**
 * OAuth 2.0: the client credentials grant (RFC 6749 4.4), the revocation of tokens and API keys
 * (RFC 7009), and the server's metadata (RFC 8414).
 * Errors of the token endpoint have the form of RFC 6749 5.2 instead of problem answers.
 */

export type OauthOptions = {
  environments: Readonly<Partial<Record<EnvironmentName, BaseServices>>>;
  limiters: RateLimiters;
  address: PublicAddress;
};

type TokenError = {
  status: number;
  error: 'invalid_request' | 'invalid_client' | 'invalid_scope' | 'unsupported_grant_type';
  detail: string;
};

export function addOauthRoutes(app: FastifyInstance, options: OauthOptions): void {
  app.get('/.well-known/oauth-authorization-server', async (request, reply) => {
    const issuer = getBaseUrl(request, options.address);
    return reply.type('application/json').send(
      JSON.stringify({
        issuer,
        token_endpoint: `${issuer}/oauth2/token`,
        token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
        revocation_endpoint: `${issuer}/oauth2/revoke`,
        revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
        grant_types_supported: ['client_credentials'],
        response_types_supported: [],
        scopes_supported: scopes,
        service_documentation: `${issuer}/docs`,
      }),
    );
  });

  app.post('/oauth2/token', async (request, reply) => {
    options.limiters.expensive.check(request.ip);
    const result = await answerToken(request, options.environments[request.environmentName]);
    void reply
      .header('cache-control', 'no-store')
      .header('pragma', 'no-cache')
      .type('application/json');
    if (!('error' in result)) {
      return reply.send(
        JSON.stringify({
          access_token: result.accessToken,
          token_type: 'Bearer',
          expires_in: accessTokenSeconds,
          scope: result.scopes.join(' '),
        }),
      );
    }
    return sendError(reply, result);
  });

  app.post('/oauth2/revoke', async (request, reply) => {
    options.limiters.expensive.check(request.ip);
    const result = await revoke(request, options.environments[request.environmentName]);
    return result === undefined ? reply.send() : sendError(reply.type('application/json'), result);
  });
}

function sendError(reply: FastifyReply, { status, error, detail }: TokenError): FastifyReply {
  if (status === 401) void reply.header('www-authenticate', 'Basic realm="outlay"');
  return reply.code(status).send(JSON.stringify({ error, error_description: detail }));
}

async function answerToken(
  request: FastifyRequest,
  environment: BaseServices | undefined,
): Promise<{ accessToken: string; scopes: readonly string[] } | TokenError> {
  const read = readRequest(request, environment, checkGrant);
  if ('error' in read) return read;
  const { env, form, client } = read;
  const result = await issueAccessToken(env, { ...client, scope: form.get('scope') });
  if (result.ok) return result;
  return result.error === 'invalid_client'
    ? refuseClient()
    : fail('invalid_scope', 'scope must be a subset of the scopes of the client');
}

function checkGrant(form: Form): TokenError | undefined {
  const grantType = form.get('grant_type');
  if (grantType === undefined) return fail('invalid_request', 'grant_type is required');
  if (grantType === 'client_credentials') return undefined;
  return fail('unsupported_grant_type', 'grant_type must be client_credentials');
}

/** Token revocation (RFC 7009); undefined: done, or there was nothing to revoke. */
async function revoke(
  request: FastifyRequest,
  environment: BaseServices | undefined,
): Promise<TokenError | undefined> {
  const read = readRequest(request, environment, (form) =>
    form.has('token') ? undefined : fail('invalid_request', 'token is required'),
  );
  if ('error' in read) return read;
  const token = read.form.get('token') ?? '';
  const requestId = request.id;
  const revoked = await revokeToken(read.env, { ...read.client, token, requestId });
  return revoked ? undefined : refuseClient();
}

type Form = ReadonlyMap<string, string>;

/** The form, which `check` may refuse, and the client that sends it. */
function readRequest(
  request: FastifyRequest,
  env: BaseServices | undefined,
  check: (form: Form) => TokenError | undefined,
): { form: Form; env: BaseServices; client: Client & { address: string } } | TokenError {
  const form = readForm(request);
  if (form === undefined) {
    return fail(
      'invalid_request',
      'The body must be application/x-www-form-urlencoded, with each field at most once',
    );
  }
  const fault = check(form);
  if (fault !== undefined) return fault;
  const client = readClient(request, form);
  if (client === 'ambiguous')
    return fail(
      'invalid_request',
      'Client credentials must be sent either by HTTP Basic or in the form',
    );
  const address = findAddress(request);
  if (client === undefined || env === undefined || address === undefined) return refuseClient();
  return { form, env, client: { ...client, address } };
}

function fail(error: TokenError['error'], detail: string): TokenError {
  return { status: 400, error, detail };
}

function refuseClient(): TokenError {
  return {
    status: 401,
    error: 'invalid_client',
    detail: 'The client is unknown or its secret is wrong',
  };
}

/** The form's fields; undefined if it is not a form or repeats a field (RFC 6749 3.2). */
function readForm(request: FastifyRequest): Map<string, string> | undefined {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) return undefined;
  const text = Buffer.isBuffer(request.body) ? request.body.toString('utf8') : '';
  const form = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (form.has(name)) return undefined;
    // A field without a value counts as absent.
    if (value !== '') form.set(name, value);
  }
  return form;
}

type Client = { clientId: string; clientSecret: string };

function readClient(
  request: FastifyRequest,
  form: ReadonlyMap<string, string>,
): Client | 'ambiguous' | undefined {
  const headers = readHeaders(request.raw, 'authorization');
  const secretInForm = form.get('client_secret');
  if (headers.length > 1) return 'ambiguous';
  if (headers.length === 0) {
    const clientId = form.get('client_id');
    if (clientId === undefined || secretInForm === undefined) return undefined;
    return { clientId, clientSecret: secretInForm };
  }
  if (secretInForm !== undefined) return 'ambiguous';
  const match = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(headers[0] ?? '');
  const pair = Buffer.from(match?.[1] ?? '', 'base64').toString('utf8');
  // The secret begins after the first colon and may contain others (RFC 7617 2).
  const colonAt = pair.indexOf(':');
  if (colonAt === -1) return undefined;
  const inForm = form.get('client_id');
  const decoded = {
    clientId: decodeForm(pair.slice(0, colonAt)),
    clientSecret: decodeForm(pair.slice(colonAt + 1)),
  };
  return inForm === undefined || inForm === decoded.clientId ? decoded : undefined;
}

/** Both parts of Basic are form-encoded before they are joined (RFC 6749 2.3.1). */
function decodeForm(text: string): string {
  return new URLSearchParams(`v=${text.replaceAll('&', '%26')}`).get('v') ?? '';
}
