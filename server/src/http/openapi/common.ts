import { z } from 'zod';
import { type Scope, scopes, versions } from '../../core/access.ts';
import { errorCatalogue } from '../../core/errors.ts';
import { type BaseServices, type Route } from '../route.ts';
import { type ExampleRecord, listExamples } from './examples.ts';
import type { JsonObject, SchemaBook } from './schemas.ts';

/** What the operations of the description share: words, security, headers, refusals. */

export const infoText = `Outlay sends payouts to people in many countries, in national currency or in cryptocurrency.

**A payout in six calls.** Get an access token; create the recipient (a *user*) once; look up destinations
for the user's country; read what the chosen destination requires and store the values; create a payout,
which is a quote with a locked rate; commit it. A committed payout cannot be cancelled.

**Versions.** The first path segment is one of ${versions.join(', ')}; all behave alike.

**Environments.** The first label of the host chooses: \`staging-api\` is a sandbox with a simulated network
and a clock that you can move, \`api\` is live. Any other host means the environment that the service
was set up with. Credentials of one are unknown to the other.

**Authentication.** Exchange client credentials for an access token at \`/oauth2/token\`, or send an API key;
both go into \`Authorization: Bearer\`.

**Amounts** are JSON numbers and exact: read and written as decimals, never rounded to binary. Read them with
a decimal parser where your language has one. More fraction digits than the currency has are refused.

**Retries.** Send an \`Idempotency-Key\` with every POST, PUT and PATCH: the same key with the same request
gives the first answer again and does nothing twice.

**Lists** are newest first. \`Link\` with \`rel="next"\` leads to the next page; without it there is none.

**Times** are UTC. \`created_on\`, \`expiration\` and \`time_of_txn\` carry no offset; \`estimated_availability\` ends in Z.

**Errors** are problem answers (RFC 9457). Decide by \`code\`, which never changes its meaning; \`errors\` lists
every fault that was found. Each \`type\` can be opened. A method that an address does not have is 405 with \`Allow\`.`;

const tagTexts = {
  Authentication: 'Access tokens by OAuth 2.0 client credentials.',
  Account: 'Balances of your account, and what moved them.',
  Users: 'The people who are paid.',
  Destinations: 'Where and how a payout can arrive, and what it costs.',
  Attributes: 'What a destination must know about a user before it pays.',
  Payouts: 'Quotes, commits, statuses and receipts.',
  Batches: 'Many payouts from one file, quoted and committed as a whole.',
  Verification: 'Identity checks of users.',
  'Verification page': 'What the hosted page behind a verification link talks to.',
  Events: 'Everything that happened in the account, in order.',
  Sandbox: 'Drives the simulated world of the staging environment.',
  Operations: 'For those who run the service.',
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
  'payouts:commit': 'Commit payouts',
  'kyc:write': 'Upload images for identity checks',
  'kyc:decide': 'Decide about identity checks; only where it is asked for by name',
};

const problemAnswer = z
  .object({
    type: z
      .string()
      .describe('A page about this kind of problem')
      .meta({ format: 'uri-reference' }),
    title: z.string().describe('The kind of problem in words'),
    status: z.int().describe('The HTTP status'),
    detail: z.string().describe('What is wrong with this request'),
    code: z.string().describe('Stable, for programs to decide by'),
    request_id: z.string().describe('Quote it when you ask about this answer'),
    payout_token: z
      .string()
      .optional()
      .describe('With `duplicate_transfer`: the payout that was committed first'),
    errors: z
      .array(
        z
          .object({
            pointer: z.string().optional().describe('JSON Pointer (RFC 6901) into the body'),
            parameter: z.string().optional().describe('The parameter or header instead'),
            token: z.string().optional().describe('The attribute that it is about'),
            code: z.string(),
            detail: z.string(),
          })
          .meta({ id: 'Fault' }),
      )
      .describe('Every fault that was found; empty where the detail says it all'),
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
  403: { name: 'Forbidden', text: 'The credential is valid, but not for this.' },
  404: { name: 'NotFound', text: 'It does not exist, or belongs to another account.' },
  406: { name: 'NotAcceptable', text: '`Accept` leaves no form of the answer.' },
  408: {
    name: 'RequestTimeout',
    text: 'The body arrived too slowly; the connection is closed.',
  },
  409: { name: 'Conflict', text: 'It conflicts with what is there.', headers: retryAfter },
  410: { name: 'Gone', text: 'It was there, and is no longer kept.' },
  413: { name: 'BodyTooLarge', text: 'The body, or an image in it, is too large.' },
  415: { name: 'UnsupportedMediaType', text: 'The body is not `application/json` in UTF-8.' },
  422: { name: 'IdempotencyKeyReused', text: 'The Idempotency-Key belongs to another request.' },
  429: {
    name: 'TooManyRequests',
    text: 'Wait as long as `Retry-After` says.',
    headers: { ...retryAfter, 'RateLimit-Limit': { $ref: '#/components/headers/RateLimitLimit' } },
  },
  500: {
    name: 'InternalError',
    text: 'A defect of the service. Nothing is known about the effect.',
  },
  503: {
    name: 'Unavailable',
    text: 'The service is starting, stopping or busy, or has no fresh rates.',
    headers: retryAfter,
  },
};

/** The responses other than 200 that a route has, by status. */
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
  // The hosted page speaks to a person, also about a link that leads nowhere.
  if (route.produces?.includes('text/html') === true) {
    result[404] = {
      description: 'The link leads nowhere (any more).',
      content: { 'text/html': { schema: { type: 'string' } } },
    };
  }
  return result;
}

/** Whether the route honours Idempotency-Key. */
export function isKeyed(route: Route<never>): boolean {
  return route.method !== 'GET' && route.access !== 'public';
}

/** A reference to the shared response of a status. */
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
        description: 'An access token, good for an hour.',
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
        description: 'The client id and secret, form-encoded first (RFC 6749 2.3.1).',
      },
      metricsToken: {
        type: 'http',
        scheme: 'bearer',
        description: 'The token that the operator has set for metrics.',
      },
      apiKey: {
        type: 'http',
        scheme: 'bearer',
        description:
          'A long-lived API key: it begins with `test_` in staging, with `live_` in live.',
      },
    },
    parameters: sharedParameters,
    headers: sharedHeaders,
    responses: describeResponses(examples),
  };
}

const sharedParameters: JsonObject = {
  Version: {
    name: 'version',
    in: 'path',
    required: true,
    description: 'The version of the interface.',
    schema: { type: 'string', enum: versions },
    example: versions.at(-1),
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Of your own making, one per intention. For 30 days the same key gives the first answer again.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
  },
};

function textHeader(description: string, schema: JsonObject = { type: 'string' }): JsonObject {
  return { description, schema };
}

const sharedHeaders: JsonObject = {
  RequestId: textHeader('The id of this request, as in the logs and in problem answers.'),
  Link: textHeader('`<address>; rel="next"`: the next page (RFC 8288); absent on the last one.'),
  IdempotentReplayed: textHeader('Present when this is the stored answer of an earlier request.', {
    type: 'string',
    enum: ['true'],
  }),
  RetryAfter: textHeader('After how many seconds to try again.', { type: 'integer' }),
  RateLimitLimit: textHeader('How many requests a second are allowed.', { type: 'integer' }),
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
  return Object.entries(errorCatalogue)
    .filter(([, entry]) => entry.status === status)
    .map(([code]) => `\`${code}\``)
    .join(', ');
}

/** Adds the schemas that the shared parts refer to. */
export function describeProblemSchemas(book: SchemaBook): void {
  book.describe(problemAnswer, 'output');
}
