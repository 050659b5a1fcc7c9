import { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { findTokenId, formatToken } from '../core/ids.ts';
import { cursorOf, pageQuery, readCursor, toPage } from '../http/paging.ts';
import { defineRoute, type Page, type Route } from '../http/route.ts';
import {
  integerField,
  momentQuery,
  readMoment,
  readMomentEnd,
  requireField,
} from '../http/schema.ts';
import { deliveryResults } from './deliveries.sql.ts';
import { findMessage } from './event-source.ts';
import { type Message, type RenderEvents, writeTestMessage } from './messages.ts';
import { answerContext } from './sending.ts';
import {
  eventTypesField,
  placeOf,
  tag,
  type WebhookContext,
  type WebhookServices,
  webhookParams,
} from './webhooks.routes.ts';
import { type DeliveryRow, findDelivery, listDeliveries } from './webhooks.sql.ts';
import { type EndpointContext, getEndpoint, replay, requestTest } from './webhooks.ts';
import {
  deliveryAnswer,
  deliveryDetailAnswer,
  replayAnswer,
  testAnswer,
  writeDelivery,
  writeReplay,
} from './webhooks-view.ts';

/** The log of a webhook, test deliveries and replays. */

export function deliveryRoutes(): Route<WebhookServices>[] {
  return [testRoute(), replayRoute(), listRoute(), readRoute()];
}

function testRoute(): Route<WebhookServices> {
  return defineRoute({
    method: 'POST',
    path: '/webhooks/{webhook_token}/test',
    isVersioned: true,
    operationId: 'testWebhook',
    tag,
    summary: 'Send a test delivery',
    description:
      'Sends one request of type `webhook.test`, also to a paused webhook, and does not repeat it. Read its delivery for the result; until it is sent, that is 404.',
    access: 'webhooks:write',
    params: webhookParams,
    response: testAnswer,
    refusals: [404],
    handle: (context: WebhookContext, { params }) =>
      context.write(async (session) => {
        const id = await requestTest(placeOf(context, params.webhook_token, session));
        return { delivery_token: formatToken('delivery', id) };
      }),
  });
}

const sequenceMax = Number.MAX_SAFE_INTEGER;
const latest = new Date('9999-12-31T23:59:59Z');

const replayRequest = z
  .object({
    from: integerField({ min: 1, max: sequenceMax }).optional().describe('The first sequence'),
    to: integerField({ min: 1, max: sequenceMax })
      .optional()
      .describe('The last sequence; default: the newest event'),
    since: momentQuery.describe('Instead of sequences, or as well: the first day or second, UTC'),
    until: momentQuery.describe('The last day or second, UTC'),
    event_types: eventTypesField.default([]).describe('Of the types of the webhook; default: all'),
    dry_run: z.boolean().default(false).describe('Counts the events, and sends nothing'),
  })
  .refine(({ from, since }) => from !== undefined || since !== undefined, {
    error: 'must have from or since',
  })
  .meta({
    id: 'WebhookReplayRequest',
    anyOf: [requireField('from', 'integer'), requireField('since', 'string')],
  });

function replayRoute(): Route<WebhookServices> {
  return defineRoute({
    method: 'POST',
    path: '/webhooks/{webhook_token}/replay',
    isVersioned: true,
    operationId: 'replayWebhook',
    tag,
    summary: 'Send events again',
    description:
      'Sends the kept events of a range again, in order and before new ones; their `webhook-id` is the same as before. With `dry_run` it only counts them. One replay at a time: 409 while another is under way.',
    access: 'webhooks:write',
    params: webhookParams,
    body: replayRequest,
    response: replayAnswer,
    refusals: [404, 409],
    handle: (context: WebhookContext, { params, body }) =>
      context.write(async (session) => {
        const range = {
          from: BigInt(body.from ?? 1),
          to: BigInt(body.to ?? sequenceMax),
          since: new Date(body.since === undefined ? 0 : readMoment(body.since)),
          until: body.until === undefined ? latest : new Date(readMomentEnd(body.until)),
          eventTypes: body.event_types,
        };
        const isDryRun = body.dry_run;
        const place = placeOf(context, params.webhook_token, session);
        return writeReplay(await replay(place, range, { isDryRun }), isDryRun);
      }),
  });
}

const listQuery = z.object({
  ...pageQuery,
  result: z.enum(deliveryResults).optional().describe('The result of the request'),
  type: z.string().max(100).optional().describe('The type of the event'),
  sequence: z
    .string()
    .regex(/^\d{1,18}$/, { error: 'must be the sequence of an event, up to 18 digits' })
    .optional()
    .meta({ jsonSchema: { type: 'integer', minimum: 1 } })
    .describe('The sequence of the event'),
});

function listRoute(): Route<WebhookServices> {
  return defineRoute({
    method: 'GET',
    path: '/webhooks/{webhook_token}/deliveries',
    isVersioned: true,
    operationId: 'listWebhookDeliveries',
    tag,
    summary: 'List deliveries of a webhook',
    description:
      'One row for each request, newest first, for as many months as the operator keeps.',
    access: 'payouts:read',
    params: webhookParams,
    query: listQuery,
    response: z.array(deliveryAnswer),
    refusals: [404],
    handle: async (context: WebhookContext, { params, query }): Promise<Page<unknown>> => {
      const { session, ...id } = placeOf(context, params.webhook_token);
      await getEndpoint({ session, ...id });
      const count = query.number_of_records;
      const [beforeId] = readCursor(query.cursor, ['uuid']) ?? [];
      const rows = await listDeliveries(session, id, {
        beforeId,
        count: count + 1,
        result: query.result,
        type: query.type,
        sequence: query.sequence === undefined ? undefined : BigInt(query.sequence),
      });
      return toPage(rows, count, {
        cursor: (row) => cursorOf([row.id]),
        write: writeDelivery,
      });
    },
  });
}

function readRoute(): Route<WebhookServices> {
  return defineRoute({
    method: 'GET',
    path: '/webhooks/{webhook_token}/deliveries/{delivery_token}',
    isVersioned: true,
    operationId: 'getWebhookDelivery',
    tag,
    summary: 'Read a delivery',
    description: 'With the body of the request and the beginning of the answer.',
    access: 'payouts:read',
    params: z.object({ webhook_token: z.string(), delivery_token: z.string() }),
    query: z.object({}),
    response: deliveryDetailAnswer,
    refusals: [404],
    handle: async (context: WebhookContext, { params }) => {
      const place = placeOf(context, params.webhook_token);
      const deliveryId = findTokenId('delivery', params.delivery_token);
      const row =
        deliveryId === undefined ? undefined : await findDelivery(place.session, place, deliveryId);
      if (row === undefined) throw new AppError('not_found', 'Delivery not found');
      const { keys, renderEvents } = context.env;
      const message = await rewriteMessage(place, renderEvents, row);
      const answer =
        row.answer === null ? '' : keys.open(row.answer, answerContext(place, row.id)).toString();
      return {
        ...writeDelivery(row),
        request: { url: row.url, body: message?.body ?? '' },
        answer: { content_type: row.answer_type, body: answer },
      };
    },
  });
}

/** What was sent, written again from the event log. */
async function rewriteMessage(
  { session, accountId, endpointId }: EndpointContext,
  renderEvents: RenderEvents,
  row: DeliveryRow,
): Promise<Message | undefined> {
  if (row.sequence === null) {
    return writeTestMessage({ id: row.id, endpointId, nowMs: row.started_at.getTime() });
  }
  return findMessage(session, renderEvents, { accountId, sequence: row.sequence });
}
