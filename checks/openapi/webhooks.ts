import { z } from 'zod';
import { eventAnswer } from '../../server/src/events/event-types-view.ts';
import { type ExampleRecord, listExamples } from './examples.ts';
import type { JsonObject, SchemaBook } from './schemas.ts';

/** What Outlay sends to the endpoints of clients: Standard Webhooks 1.0. */

const timestamp = z
  .string()
  .meta({ format: 'date-time' })
  .describe('When the change happened, UTC, to the second');

/** An event as the feed has it, with the name that Standard Webhooks gives its time. */
const [firstKind, ...otherKinds] = eventAnswer.options.map((kind) =>
  kind
    .omit({ created_on: true })
    .extend({ timestamp })
    .meta({ id: `${kind.meta()?.['id']}Message` }),
);
if (firstKind === undefined) throw new Error('impossible: no kind of event');

const eventMessage = z
  .discriminatedUnion('type', [firstKind, ...otherKinds])
  .describe('An event of the account, with the object as it was after the change')
  .meta({ id: 'EventMessage' });

const testMessage = z
  .object({
    type: z.literal('webhook.test').describe('No event of the account'),
    timestamp,
    data: z.object({ webhook_token: z.string() }).describe('The webhook that is tested'),
  })
  .meta({ id: 'TestMessage' });

/** The member `webhooks` of the document. */
export function describeWebhooks(
  book: SchemaBook,
  examples: readonly ExampleRecord[],
): Record<string, JsonObject> {
  return {
    event: {
      post: describeMessage({
        operationId: 'receiveEvent',
        summary: 'An event of the account',
        description:
          'Sent at least once: `webhook-id` tells a repetition. The events of one object arrive in order. Other answers than 2xx are retried for 14 days.',
        schema: book.describe(eventMessage, 'output'),
        shown: listExamples(findExamples(examples, 'listEvents'), ({ answer }) =>
          readFirstEvent(answer.body),
        ),
      }),
    },
    test: {
      post: describeMessage({
        operationId: 'receiveTest',
        summary: 'A test that was requested',
        description: 'Sent once, whatever the answer is.',
        schema: book.describe(testMessage, 'output'),
        shown: listExamples(findExamples(examples, 'getWebhookDelivery'), ({ answer }) =>
          JSON.parse((answer.body as { request: { body: string } }).request.body),
        ),
      }),
    },
  };
}

function findExamples(examples: readonly ExampleRecord[], operationId: string): ExampleRecord[] {
  return examples.filter(
    (example) => example.operationId === operationId && example.answer.status === 200,
  );
}

/** The oldest event of a list, as a message. */
function readFirstEvent(events: unknown): unknown {
  const [first] = events as Record<string, unknown>[];
  if (first === undefined) return undefined;
  const { created_on: createdOn, ...event } = first;
  return { ...event, timestamp: `${String(createdOn)}Z` };
}

function describeMessage(message: {
  operationId: string;
  summary: string;
  description: string;
  schema: JsonObject;
  shown: JsonObject;
}): JsonObject {
  const { operationId, summary, description, schema, shown } = message;
  return {
    operationId,
    tags: ['Webhooks'],
    summary,
    description,
    parameters: Object.keys(webhookParameters).map((name) => ({
      $ref: `#/components/parameters/${name}`,
    })),
    requestBody: { required: true, content: { 'application/json': { schema, ...shown } } },
    responses: {
      200: { description: 'Accepted, as with every status of 2xx. The body is not used.' },
      410: { description: 'The webhook is disabled.' },
      429: {
        description: 'Nothing is sent for a while, as after 502, 503 and 504.',
        headers: { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } },
      },
    },
    security: [],
  };
}

function describeHeader(name: string, description: string, schema: JsonObject): JsonObject {
  return { name, in: 'header', required: true, description, schema };
}

/** The headers of a message, for the components of the document. */
export const webhookParameters: Record<string, JsonObject> = {
  WebhookId: describeHeader(
    'webhook-id',
    'The same for every try of an event, in a replay and at other endpoints, too.',
    { type: 'string' },
  ),
  WebhookTimestamp: describeHeader(
    'webhook-timestamp',
    'When the request was signed, in seconds since 1970. Refuse it if it is minutes old.',
    { type: 'integer' },
  ),
  WebhookSignature: describeHeader(
    'webhook-signature',
    'Over `webhook-id.webhook-timestamp.body`: `v1,` with HMAC-SHA256 or `v1a,` with Ed25519, in Base64. Two with a space between them after a rotation.',
    { type: 'string' },
  ),
};
