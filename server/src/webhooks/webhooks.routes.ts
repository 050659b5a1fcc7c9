import { z } from 'zod';
import { AppError, type Fault } from '../core/errors.ts';
import { findTokenId, newId } from '../core/ids.ts';
import type { Session } from '../db/postgres/pool.ts';
import { typeFilters } from '../events/type-filters.ts';
import { type BaseServices, defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { integerField, textField } from '../http/schema.ts';
import { type AddressRules, findUrlFault } from './addresses.ts';
import { auditChange } from './endpoint-audit.ts';
import type { RenderEvents } from './messages.ts';
import { algorithms } from './signatures.ts';
import { type EndpointRow, listEndpoints } from './webhooks.sql.ts';
import {
  changeEndpoint,
  createEndpoint,
  type EndpointContext,
  type EndpointWithSecret,
  getEndpoint,
  pause,
  remove,
  resume,
  rotateSecret,
} from './webhooks.ts';
import { endpointAnswer, endpointWithSecretAnswer, writeEndpoint } from './webhooks-view.ts';

/** The endpoints of an account. Their log, tests and replays: deliveries.routes.ts. */

export type WebhookServices = BaseServices & {
  readonly webhookRules: AddressRules;
  readonly renderEvents: RenderEvents;
};
export type WebhookContext = RouteContext<WebhookServices>;

export const tag = 'Webhooks';
export const webhookParams = z.object({ webhook_token: z.string() });

export function webhookRoutes(): Route<WebhookServices>[] {
  return [
    listRoute(),
    createRoute(),
    readRoute(),
    changeRoute(),
    rotateRoute(),
    stepRoute({
      name: 'pause',
      summary: 'Pause a webhook',
      description: 'Nothing is sent until it is resumed; the events wait in the event log.',
      step: pause,
    }),
    stepRoute({
      name: 'resume',
      summary: 'Resume a webhook',
      description:
        'Enables it and sends everything that waits, whatever had stopped or delayed it: in order, beginning where it stopped.',
      step: resume,
    }),
    stepRoute({
      name: 'remove',
      summary: 'Remove a webhook',
      description: 'For good, with its secrets. Answers the webhook as it was.',
      step: remove,
    }),
  ];
}

/** The place of a token in a path. @throws AppError not_found, also for a malformed token. */
export function placeOf(
  { env, accountId }: WebhookContext,
  token: string,
  session: Session = env.db.tenant(accountId),
): EndpointContext {
  const endpointId = findTokenId('webhook', token);
  if (endpointId === undefined) throw new AppError('not_found', 'Webhook not found');
  return { session, accountId, endpointId };
}

export const eventTypesField = z
  .array(
    z.enum(typeFilters, { error: 'must be a type of event, or a family of them like payout.*' }),
  )
  .max(50);

const urlField = textField(2000).describe(
  'HTTPS, at an address that is reachable from the internet',
);
const descriptionField = textField(200).describe('Your own words about the endpoint');
const typesField = eventTypesField.describe(
  'Types of events, or prefixes like `payout.*`; all types if empty',
);

function findFaults(env: WebhookServices, json: unknown): Fault[] {
  const url = typeof json === 'object' && json !== null && 'url' in json ? json.url : undefined;
  const fault = typeof url === 'string' ? findUrlFault(url, env.webhookRules) : undefined;
  return fault === undefined
    ? []
    : [{ pointer: '/url', code: 'invalid_value', detail: `url ${fault}` }];
}

function writeWithSecret({ endpoint, secret }: EndpointWithSecret) {
  return { ...writeEndpoint(endpoint), secret };
}

function listRoute(): Route<WebhookServices> {
  return defineRoute({
    method: 'GET',
    path: '/webhooks',
    isVersioned: true,
    operationId: 'listWebhooks',
    tag,
    summary: 'List webhooks',
    description: 'All of them, newest first.',
    access: 'payouts:read',
    query: z.object({ status: endpointAnswer.shape.status.optional() }),
    response: z.array(endpointAnswer),
    handle: async ({ env, accountId }: WebhookContext, { query: { status } }) =>
      (await listEndpoints(env.db.tenant(accountId), accountId))
        .filter((endpoint) => status === undefined || endpoint.status === status)
        .map(writeEndpoint),
  });
}

function createRoute(): Route<WebhookServices> {
  return defineRoute({
    method: 'POST',
    path: '/webhooks',
    isVersioned: true,
    operationId: 'createWebhook',
    tag,
    summary: 'Create a webhook',
    description:
      'Sends every event from now on to the URL, signed by Standard Webhooks. Keep the secret: it is shown in this answer only. An account has up to 20 webhooks.',
    access: 'webhooks:write',
    body: z
      .object({
        url: urlField,
        description: descriptionField.default(''),
        event_types: typesField.default([]),
        signature: z.enum(algorithms).default('hmac-sha256').describe('How deliveries are signed'),
      })
      .meta({ id: 'NewWebhook' }),
    findFaults,
    response: endpointWithSecretAnswer,
    refusals: [409],
    handle: (context: WebhookContext, { body }) =>
      context.write(async (session) => {
        const { env, accountId } = context;
        const { url, description, event_types: eventTypes, signature: algorithm } = body;
        const terms = { url, description, eventTypes, algorithm, keys: env.keys };
        const place = { session, accountId, endpointId: newId() };
        const run = () => createEndpoint(place, terms);
        return writeWithSecret(await auditChange(context, place, { change: 'create', run }));
      }),
  });
}

function readRoute(): Route<WebhookServices> {
  return defineRoute({
    method: 'GET',
    path: '/webhooks/{webhook_token}',
    isVersioned: true,
    operationId: 'getWebhook',
    tag,
    summary: 'Read a webhook',
    description: 'With its state, and since when it fails.',
    access: 'payouts:read',
    params: webhookParams,
    query: z.object({}),
    response: endpointAnswer,
    refusals: [404],
    handle: async (context: WebhookContext, { params }) =>
      writeEndpoint(await getEndpoint(placeOf(context, params.webhook_token))),
  });
}

function changeRoute(): Route<WebhookServices> {
  return defineRoute({
    method: 'PUT',
    path: '/webhooks/{webhook_token}',
    isVersioned: true,
    operationId: 'changeWebhook',
    tag,
    summary: 'Change a webhook',
    description:
      'URL, description and types of events. What is absent stays as it is. What waits goes to the new URL.',
    access: 'webhooks:write',
    params: webhookParams,
    body: z
      .object({
        url: urlField.optional(),
        description: descriptionField.optional(),
        event_types: typesField.optional(),
      })
      .meta({ id: 'WebhookChange' }),
    findFaults,
    response: endpointAnswer,
    refusals: [404],
    handle: (context: WebhookContext, { params, body }) =>
      context.write(async (session) => {
        const { url, description, event_types: eventTypes } = body;
        const place = placeOf(context, params.webhook_token, session);
        const run = () => changeEndpoint(place, { url, description, eventTypes });
        return writeEndpoint(await auditChange(context, place, { change: 'change', run }));
      }),
  });
}

/** A week. */
const overlapHoursMax = 168;
const overlapHoursDefault = 24;

function rotateRoute(): Route<WebhookServices> {
  return defineRoute({
    method: 'POST',
    path: '/webhooks/{webhook_token}/rotate',
    isVersioned: true,
    operationId: 'rotateWebhookSecret',
    tag,
    summary: 'Rotate the secret of a webhook',
    description:
      'Makes a new secret, of the same kind or another. For `overlap_hours` each request has two signatures, by the new secret and by the one before it; an earlier one signs no longer.',
    access: 'webhooks:write',
    params: webhookParams,
    body: z
      .object({
        signature: z.enum(algorithms).optional().describe('Default: as before'),
        overlap_hours: integerField({ min: 0, max: overlapHoursMax })
          .optional()
          .describe(`Default ${overlapHoursDefault}; 0: the old secret is compromised`),
      })
      .meta({ id: 'WebhookRotation' }),
    response: endpointWithSecretAnswer,
    refusals: [404],
    handle: (context: WebhookContext, { params, body }) =>
      context.write(async (session) => {
        const rotation = {
          algorithm: body.signature,
          overlapHours: body.overlap_hours ?? overlapHoursDefault,
          keys: context.env.keys,
        };
        const place = placeOf(context, params.webhook_token, session);
        const run = () => rotateSecret(place, rotation);
        return writeWithSecret(await auditChange(context, place, { change: 'rotate', run }));
      }),
  });
}

/** A change without a body. */
function stepRoute(options: {
  name: 'pause' | 'resume' | 'remove';
  summary: string;
  description: string;
  step: (place: EndpointContext) => Promise<EndpointRow>;
}): Route<WebhookServices> {
  const { name, summary, description, step } = options;
  return defineRoute({
    method: 'POST',
    path: `/webhooks/{webhook_token}/${name}`,
    isVersioned: true,
    operationId: `${name}Webhook`,
    tag,
    summary,
    description,
    access: 'webhooks:write',
    params: webhookParams,
    response: endpointAnswer,
    refusals: [404],
    handle: (context: WebhookContext, { params }) =>
      context.write(async (session) => {
        const place = placeOf(context, params.webhook_token, session);
        const run = () => step(place);
        return writeEndpoint(await auditChange(context, place, { change: name, run }));
      }),
  });
}
