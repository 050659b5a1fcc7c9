import { z } from 'zod';
import { type Scope, scopes, versions } from '../../server/src/core/access.ts';
import { codes, errorCatalog } from '../../server/src/core/errors.ts';
import { type BaseServices, type Route } from '../../server/src/http/route.ts';
import { type ExampleRecord, listExamples } from './examples.ts';
import type { JsonObject, SchemaBook } from './schemas.ts';
import { webhookParameters } from './webhooks.ts';

/** What the operations share: introduction, tags, security, headers, error responses. */

export const infoText = `Outlay sends payouts to people in many countries, in national currency or in cryptocurrency.

**A payout in six calls.** Get an access token; create the recipient (a *user*) once; look up destinations
for the user's country; read the attributes that the chosen destination needs and store their values; create
a payout, which is a quote with a locked rate; commit it. A committed payout cannot be canceled.

**Versions.** The first path segment is one of ${versions.join(', ')}; all behave alike. Here it is a
variable of the server; operations outside of a version name their own server.

**Environments.** The first label of the host selects the environment: \`staging-api\` is a sandbox with a
simulated network and a clock that you can move, \`api\` is live. Any other host leads to the service's
default environment. Credentials are valid in one environment only.

**Authentication.** Exchange client credentials for an access token at \`/oauth2/token\`, or use an API key.
Send either as \`Authorization: Bearer\`.

**Amounts** are exact JSON numbers. Read them with a decimal parser if your language has one. Amounts with
more fraction digits than the currency has are refused.

**Retries.** Send an \`Idempotency-Key\` with every POST, PUT and PATCH: repeating the same request with the same
key returns the first answer and has no further effect.

**Lists** are newest first. \`Link\` with \`rel="next"\` leads to the next page; the last page has none.

**Times** are UTC. \`created_on\`, \`expiration\` and \`time_of_txn\` have no offset; \`estimated_availability\` ends in Z.

**Errors** are problem answers (RFC 9457). Decide by \`code\`, which never changes its meaning; \`errors\` lists
all faults. \`type\` is the address of a page that explains the problem.`;

const tagTexts = {
  Authentication: 'Access tokens by OAuth 2.0 client credentials.',
  Account: 'Balances of your account and their statements.',
  Users: 'The recipients of payouts.',
  Destinations: 'Where and how a payout can be delivered, and what it costs.',
  Attributes: 'The recipient data that a destination needs.',
  Payouts: 'Quotes, commits, statuses and receipts.',
  Batches: 'Many payouts from one file, quoted and committed as a whole.',
  Verification: 'Identity checks of users.',
  Proposals: 'Payouts that software proposes and a person confirms.',
  'Confirmation page': 'The page behind the link of a proposal.',
  'Recipient links': 'Links with which a recipient does one thing on a hosted page.',
  'Recipient page': 'The hosted pages behind recipient and verification links.',
  'Verification page': 'The API of the hosted verification page.',
  Events: 'The events of the account, in order.',
  Webhooks:
    'Events sent to your own HTTPS endpoints, signed by Standard Webhooks. docs/guides/webhooks.md has the details.',
  Sandbox: 'Controls the simulated network of the staging environment.',
  Operators:
    'For operators of the service, with their key or the session of the console. docs/guides/operators.md has the details.',
  Console: 'Sessions of operators, and the pages of the console.',
  Operations: 'Health, metrics and this description.',
};

export function describeTags(): JsonObject[] {
  return Object.entries(tagTexts).map(([name, description]) => ({ name, description }));
}

const scopeTexts: Record<Scope, string> = {
  'balance:read': 'Read balances and their statements',
  'users:read': 'Read users, their attributes and verifications',
  'users:write': 'Create and change users, store attribute values',
  'destinations:read': 'Look up countries and destinations',
  'payouts:read': 'Read payouts, receipts, histories and events',
  'payouts:create': 'Create payouts',
  'payouts:commit': 'Commit payouts, and confirm proposals',
  'payouts:propose': 'Propose payouts, which a person confirms or declines',
  'payouts:confirm': 'Get the links of proposals, confirm and decline them; commits nothing else',
  'webhooks:write': 'Manage webhooks, which send all data of events',
  'brand:write': 'Change how receipts and pages show the sender',
  'kyc:write': 'Upload images for identity checks',
  'sandbox:write': 'Create accounts of the sandbox, fund them, move its clock and choose outcomes',
  'kyc:decide': 'Decide about identity checks; granted by name only',
};

const problemAnswer = z
  .object({
    type: z
      .string()
      .describe('The address of a page that explains the problem')
      .meta({ format: 'uri-reference' }),
    title: z.string().describe('The kind of problem'),
    status: z.int().describe('The HTTP status'),
    detail: z.string().describe('What is wrong with this request'),
    code: z.enum(codes).describe('A stable code for programs; that of a single fault'),
    request_id: z.string().describe('Quote it when you report the problem'),
    payout_token: z
      .string()
      .optional()
      .describe('With `duplicate_transfer`: the payout that was committed first'),
    errors: z
      .array(
        z
          .object({
            pointer: z.string().optional().describe('JSON Pointer (RFC 6901) into the body'),
            parameter: z
              .string()
              .optional()
              .describe('The parameter or header, instead of `pointer`'),
            token: z.string().optional().describe('The token of the attribute'),
            code: z.enum(codes),
            detail: z.string(),
          })
          .meta({ id: 'Fault' }),
      )
      .describe('All faults; empty if `detail` is enough'),
  })
  .meta({ id: 'Problem' });

type Refusal = { name: string; text: string; headers?: JsonObject };

const retryAfter = { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } };

const refusals: Readonly<Record<number, Refusal>> = {
  400: { name: 'BadRequest', text: 'The request is malformed or not valid.' },
  401: {
    name: 'Unauthorized',
    text: 'The bearer credential is missing, malformed, unknown or expired.',
    headers: { 'WWW-Authenticate': { $ref: '#/components/headers/WwwAuthenticate' } },
  },
  403: { name: 'Forbidden', text: 'The credential lacks the required scope.' },
  404: { name: 'NotFound', text: 'The resource does not exist, or belongs to another account.' },
  406: { name: 'NotAcceptable', text: '`Accept` excludes every media type of the response.' },
  408: {
    name: 'RequestTimeout',
    text: 'The body arrived too slowly; the connection is closed.',
  },
  409: {
    name: 'Conflict',
    text: 'The request conflicts with the present state.',
    headers: retryAfter,
  },
  410: { name: 'Gone', text: 'The data is no longer kept.' },
  413: { name: 'BodyTooLarge', text: 'The body, or an image in it, is too large.' },
  415: {
    name: 'UnsupportedMediaType',
    text: 'The `Content-Type` is not supported, or the body is compressed.',
  },
  422: { name: 'IdempotencyKeyReused', text: 'The Idempotency-Key was used for another request.' },
  429: {
    name: 'TooManyRequests',
    text: 'Too many requests. Retry after the time in `Retry-After`.',
    headers: { ...retryAfter, 'RateLimit-Limit': { $ref: '#/components/headers/RateLimitLimit' } },
  },
  500: {
    name: 'InternalError',
    text: 'An error in the service. The effect is unknown.',
  },
  503: {
    name: 'Unavailable',
    text: 'The service is starting, stopping or overloaded, or has no recent exchange rate.',
    headers: retryAfter,
  },
};

/** The error responses of a route, by status. */
export function describeRefusals(route: Route<BaseServices>): Record<string, JsonObject> {
  const isPublic = route.access === 'public';
  const statuses = new Set([400, 406, 429, 500, 503, ...(route.refusals ?? [])]);
  if (!isPublic) statuses.add(401).add(403);
  if (isPublic || route.isSandbox === true) statuses.add(404);
  if (route.body !== undefined || route.streams !== undefined) {
    statuses.add(408).add(413).add(415);
  }
  if (isKeyed(route)) statuses.add(409).add(422);
  if (route.path === '/user' || route.path.includes('{user_token}')) statuses.add(410);
  const result: Record<string, JsonObject> = {};
  for (const status of statuses) result[status] = refuse(status);
  // The hosted page answers a person in HTML, errors included.
  if (route.produces?.includes('text/html') === true) {
    result[404] = {
      description: 'The link is unknown or has expired.',
      content: { 'text/html': { schema: { type: 'string' } } },
    };
  }
  return result;
}

/** Whether the route supports Idempotency-Key. */
export function isKeyed(route: Route<never>): boolean {
  return route.method !== 'GET' && route.access !== 'public' && route.access !== 'operator';
}

/** Refers to the shared response of a status. */
export function refuse(status: number): JsonObject {
  const refusal = refusals[status];
  if (refusal === undefined) throw new Error(`status ${status} is not described`);
  return { $ref: `#/components/responses/${refusal.name}` };
}

export function describeComponents(
  serverUrl: string,
  examples: readonly ExampleRecord[],
): JsonObject {
  return {
    securitySchemes: {
      oauth2: {
        type: 'oauth2',
        description: 'An access token, valid for an hour.',
        flows: {
          clientCredentials: {
            tokenUrl: `${serverUrl}/oauth2/token`,
            scopes: Object.fromEntries(scopes.map((scope) => [scope, scopeTexts[scope]])),
          },
        },
      },
      clientBasic: {
        type: 'http',
        scheme: 'basic',
        description: 'The client id and secret, each form-encoded (RFC 6749 2.3.1).',
      },
      metricsToken: {
        type: 'http',
        scheme: 'bearer',
        description: 'The token for metrics that the operator has set.',
      },
      apiKey: {
        type: 'http',
        scheme: 'bearer',
        description: 'A long-lived API key, beginning with `test_` in staging and `live_` in live.',
      },
      operatorKey: {
        type: 'http',
        scheme: 'bearer',
        description:
          'The key of an operator, beginning with `op_`. With the header `Outlay-Account` it is admitted to the operations of clients, too.',
      },
      operatorSession: {
        type: 'apiKey',
        in: 'cookie',
        name: '__Host-outlay-session',
        description:
          'A session of the console. What changes something also needs the header `Outlay-CSRF`.',
      },
    },
    parameters: sharedParameters,
    headers: sharedHeaders,
    responses: describeResponses(examples),
  };
}

const sharedParameters: JsonObject = {
  ...webhookParameters,
  Prefer: {
    name: 'Prefer',
    in: 'header',
    description:
      'With `dry-run` (RFC 7240) the answer says what would happen, and nothing is written; an Idempotency-Key stays free.',
    schema: { type: 'string', enum: ['dry-run'] },
  },
  Csrf: {
    name: 'Outlay-CSRF',
    in: 'header',
    required: true,
    description: 'The `csrf` of `GET /console/session`.',
    schema: { type: 'string' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Chosen by you, one per operation. For 30 days a request with the same key returns the first answer.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
  },
};

function textHeader(description: string, schema: JsonObject = { type: 'string' }): JsonObject {
  return { description, schema };
}

const sharedHeaders: JsonObject = {
  RequestId: textHeader('The id of this request, as in problem answers.'),
  Link: textHeader('`<address>; rel="next"`: the next page (RFC 8288); absent on the last one.'),
  IdempotentReplayed: textHeader('Present if this is the stored answer of an earlier request.', {
    type: 'string',
    enum: ['true'],
  }),
  PreferenceApplied: textHeader('Present if this was a dry run.', {
    type: 'string',
    enum: ['dry-run'],
  }),
  RetryAfter: textHeader('Seconds until the next attempt.', { type: 'integer' }),
  RateLimitLimit: textHeader('Allowed requests per second.', { type: 'integer' }),
  WwwAuthenticate: textHeader('How to authenticate (RFC 6750).'),
};

function describeResponses(examples: readonly ExampleRecord[]): JsonObject {
  const responses: JsonObject = {};
  for (const [status, { name, text, headers }] of Object.entries(refusals)) {
    const shown = examples.filter((example) => example.answer.status === Number(status));
    responses[name] = {
      description: `${text} Codes: ${listCodes(Number(status))}.`,
      headers: { 'X-Request-Id': { $ref: '#/components/headers/RequestId' }, ...headers },
      content: {
        'application/problem+json': {
          schema: { $ref: '#/components/schemas/Problem' },
          ...listExamples(
            shown.filter((example) => example.answer.contentType === 'application/problem+json'),
            (example) => example.answer.body,
          ),
        },
      },
    };
  }
  return responses;
}

function listCodes(status: number): string {
  return Object.entries(errorCatalog)
    .filter(([, entry]) => entry.status === status)
    .map(([code]) => `\`${code}\``)
    .join(', ');
}

/** Adds the schemas of the shared responses. */
export function describeProblemSchemas(book: SchemaBook): void {
  book.describe(problemAnswer, 'output');
}
