import { z } from 'zod';
import { refuse } from './common.ts';
import { describeConsole } from './console-paths.ts';
import { type ExampleRecord, listExamples } from './examples.ts';
import type { JsonObject, SchemaBook } from './schemas.ts';

/**
 * The paths that are not declared as `Route`: the token endpoint, whose form and errors are
 * OAuth's, and those for operators and readers. A test compares them with the registered paths.
 */

const tokenAnswer = z
  .object({
    access_token: z.string().describe('Opaque; to be sent as bearer token'),
    token_type: z.enum(['Bearer']),
    expires_in: z.int().describe('Lifetime in seconds'),
    scope: z.string().describe('The granted scopes, separated by spaces'),
  })
  .meta({ id: 'AccessToken' });

const tokenError = z
  .object({
    error: z.enum(['invalid_request', 'invalid_client', 'invalid_scope', 'unsupported_grant_type']),
    error_description: z.string(),
  })
  .meta({ id: 'TokenError' });

const tokenForm = z
  .object({
    grant_type: z.enum(['client_credentials']),
    client_id: z.string().optional().describe('Either here or as the user name of HTTP Basic'),
    client_secret: z.string().optional().describe('Either here or as the password of HTTP Basic'),
    scope: z
      .string()
      .optional()
      .describe('A subset of the scopes of the client, separated by spaces; all by default'),
  })
  .meta({ id: 'TokenRequest' });

const serverMetadata = z
  .object({
    issuer: z.string(),
    token_endpoint: z.string(),
    token_endpoint_auth_methods_supported: z.array(z.string()),
    revocation_endpoint: z.string().describe('Where tokens and API keys are revoked'),
    revocation_endpoint_auth_methods_supported: z
      .array(z.string())
      .describe('How a client authenticates there'),
    grant_types_supported: z.array(z.string()),
    response_types_supported: z.array(z.string()),
    scopes_supported: z.array(z.string()),
    service_documentation: z.string(),
  })
  .meta({ id: 'AuthorizationServer' });

const healthAnswer = z
  .object({
    status: z.enum(['ok']),
    degraded: z
      .array(z.string())
      .optional()
      .describe('What does not work although requests are served; readiness only'),
  })
  .meta({ id: 'Health' });

export function describeFixedPaths(
  book: SchemaBook,
  examples: readonly ExampleRecord[],
): Record<string, JsonObject> {
  const json = (schema: z.ZodType, operationId: string): JsonObject => ({
    description: 'Success.',
    content: {
      'application/json': {
        schema: book.describe(schema, 'output'),
        ...listExamples(
          examples.filter((example) => example.operationId === operationId),
          (example) => (example.answer.status === 200 ? example.answer.body : undefined),
        ),
      },
    },
  });
  const discovery = 'readAuthorizationServer';
  return {
    '/oauth2/token': {
      post: describeTokenEndpoint(book, json(tokenAnswer, 'issueToken'), examples),
    },
    '/oauth2/revoke': {
      post: describeRevocation(
        describeTokenEndpoint(book, json(tokenAnswer, 'issueToken'), examples),
        book,
      ),
    },
    '/.well-known/oauth-authorization-server': {
      get: {
        operationId: discovery,
        tags: ['Authentication'],
        summary: 'Read the metadata of the authorization server (RFC 8414)',
        description: 'For OAuth libraries, which find the token endpoint and the scopes here.',
        responses: { 200: json(serverMetadata, discovery), 400: refuse(400), 503: refuse(503) },
        security: [],
      },
    },
    '/health/live': describeHealth('Check whether the process answers', 'live', json),
    '/health/ready': describeHealth('Check whether requests can be served', 'ready', json),
    '/metrics': { get: describeMetrics() },
    ...describePages(json),
    ...describeConsole(book, examples),
  };
}

const htmlContent = { 'text/html': { schema: { type: 'string' } } };

const serviceAnswer = z
  .object({
    name: z.string().describe('The name of the software'),
    description: z.string().describe('What it is for'),
    environment: z.enum(['live', 'staging']).describe('Where this address leads'),
    versions: z.array(z.string()).describe('The versions of the API'),
    health: z.string().describe('Whether requests can be served'),
    reference: z.string().describe('This description as a page'),
    openapi: z.string().describe('This description'),
    token_endpoint: z.string().describe('Where access tokens are issued'),
    guides: z
      .array(
        z.object({
          title: z.string().describe('What the guide is about'),
          url: z.string().describe('Its address'),
        }),
      )
      .describe('Documents for integrators'),
    first_call: z.string().describe('A command to begin with'),
  })
  .meta({ id: 'Service' });

function describeFrontPage(
  json: (schema: z.ZodType, operationId: string) => JsonObject,
): JsonObject {
  const operationId = 'readService';
  const success = json(serviceAnswer, operationId);
  return {
    operationId,
    tags: ['Operations'],
    summary: 'See what this is and where to begin',
    description: 'Links and a first call, as JSON or, for a browser, as a page.',
    responses: {
      200: { ...success, content: { ...(success['content'] as JsonObject), ...htmlContent } },
      406: refuse(406),
      503: refuse(503),
    },
    security: [],
  };
}

/** For people and generators of clients. */
function describePages(
  json: (schema: z.ZodType, operationId: string) => JsonObject,
): Record<string, JsonObject> {
  return {
    '/': { get: describeFrontPage(json) },
    '/guides/{name}': {
      parameters: [pathText('name', 'The name of a guide, from the front page.')],
      get: describePage('readGuide', 'Read a guide', 'A document for integrators, in Markdown.', {
        'text/plain': { schema: { type: 'string' } },
      }),
    },
    '/openapi.json': {
      get: describePage(
        'readDescription',
        'Read this description',
        'OpenAPI 3.1 with the address of this service, for generators of clients.',
        { 'application/json': { schema: { type: 'object' } } },
      ),
    },
    '/docs': {
      get: describePage(
        'showReference',
        'Show this description as a page',
        'For people: every operation with its examples, and a form to try it.',
        htmlContent,
      ),
    },
    '/docs/{file}': {
      parameters: [pathText('file', 'The name of a file that the page loads.')],
      get: describePage(
        'getReferenceFile',
        'Read a script or style of the page',
        'The page loads nothing from other hosts.',
        {
          'text/javascript': { schema: { type: 'string' } },
          'text/css': { schema: { type: 'string' } },
        },
      ),
    },
    '/problems': {
      get: describePage(
        'listProblems',
        'List every code',
        'For people: the codes of problems, faults, obstacles, reasons and routing, each with its page.',
        htmlContent,
      ),
    },
    '/problems/{code}': {
      parameters: [pathText('code', 'The code of a problem or a fault.')],
      get: describePage(
        'showProblem',
        'Explain a code and how to solve the problem',
        'Cause, remedy and an example of a code; the `type` of a problem answer leads here.',
        htmlContent,
      ),
    },
  };
}

function pathText(name: string, description: string): JsonObject {
  return { name, in: 'path', required: true, description, schema: { type: 'string' } };
}

function describePage(
  operationId: string,
  ...[summary, description, content]: [string, string, JsonObject]
): JsonObject {
  return {
    operationId,
    tags: ['Operations'],
    summary,
    description,
    responses: { 200: { description: 'Success.', content }, 404: refuse(404), 503: refuse(503) },
    security: [],
  };
}

function describeHealth(
  summary: string,
  kind: 'live' | 'ready',
  json: (schema: z.ZodType, operationId: string) => JsonObject,
): JsonObject {
  const operationId = kind === 'live' ? 'checkLiveness' : 'checkReadiness';
  return {
    get: {
      operationId,
      tags: ['Operations'],
      summary,
      description:
        kind === 'live'
          ? 'Says that the process runs, whatever its database does.'
          : '503 while a request could not be served; `degraded` lists what does not work otherwise.',
      responses: { 200: json(healthAnswer, operationId), 400: refuse(400), 503: refuse(503) },
      security: [],
    },
  };
}

function describeMetrics(): JsonObject {
  return {
    operationId: 'readMetrics',
    tags: ['Operations'],
    summary: 'Read metrics in the Prometheus text format',
    description: 'Public, unless the operator has set a token for metrics.',
    responses: {
      200: { description: 'Success.', content: { 'text/plain': { schema: { type: 'string' } } } },
      401: refuse(401),
      503: refuse(503),
    },
    security: [{}, { metricsToken: [] }],
  };
}

const revocationForm = z
  .object({
    token: z.string().describe('An access token of the client, or an API key of its account'),
    token_type_hint: z.string().optional().describe('Not needed: the token says what it is'),
    client_id: z.string().optional().describe('Unless it is sent by HTTP Basic'),
    client_secret: z.string().optional().describe('Unless it is sent by HTTP Basic'),
  })
  .meta({ id: 'RevocationRequest' });

/** Like the token endpoint, whose errors it shares. */
function describeRevocation(tokenEndpoint: JsonObject, book: SchemaBook): JsonObject {
  return {
    ...tokenEndpoint,
    operationId: 'revokeToken',
    summary: 'Revoke an access token or API key (RFC 7009)',
    description:
      'The client authenticates as at the token endpoint. A token that is unknown, ended or not of its account is answered 200, too. Every process notices within a second.',
    requestBody: {
      required: true,
      content: {
        'application/x-www-form-urlencoded': { schema: book.describe(revocationForm, 'input') },
      },
    },
    responses: {
      ...(tokenEndpoint['responses'] as JsonObject),
      200: { description: 'Revoked, or there was nothing to revoke.' },
    },
  };
}

function describeTokenEndpoint(
  book: SchemaBook,
  success: JsonObject,
  examples: readonly ExampleRecord[],
): JsonObject {
  const own = examples.filter((example) => example.operationId === 'issueToken');
  const fail = (status: number, description: string): JsonObject => ({
    description,
    content: {
      'application/json': {
        schema: book.describe(tokenError, 'output'),
        ...listExamples(own, ({ answer }) => (answer.status === status ? answer.body : undefined)),
      },
    },
  });
  return {
    operationId: 'issueToken',
    tags: ['Authentication'],
    summary: 'Exchange client credentials for an access token',
    description:
      'The client credentials grant of OAuth 2.0 (RFC 6749 4.4). Send the credentials by HTTP Basic or in the form, not both.',
    requestBody: {
      required: true,
      content: {
        'application/x-www-form-urlencoded': {
          schema: book.describe(tokenForm, 'input'),
          ...listExamples(own, ({ answer, request }) =>
            answer.status === 200 ? request.form : undefined,
          ),
        },
      },
    },
    responses: {
      200: {
        ...success,
        headers: { 'Cache-Control': { description: 'no-store', schema: { type: 'string' } } },
      },
      400: fail(400, 'The request is not valid (RFC 6749 5.2).'),
      401: {
        ...fail(401, 'The client is unknown or its secret is wrong.'),
        headers: { 'WWW-Authenticate': { $ref: '#/components/headers/WwwAuthenticate' } },
      },
      413: refuse(413),
      429: refuse(429),
      500: refuse(500),
      503: refuse(503),
    },
    security: [{}, { clientBasic: [] }],
  };
}
