import { z } from 'zod';
import { type BaseServices, defineRoute, type Route } from '../http/route.ts';
import { amountAnswer, objectAnswer } from '../http/schema.ts';
import { readEvents, writeEvent } from './events.ts';

const eventTypesText = [
  'One of user.created, user.updated; attributes.stored; payout.pending, payout.processing,',
  'payout.ready_for_pickup, payout.completed, payout.cancelled, payout.hold (waits for the',
  'operator), payout.error (every payer rejected it; the operator retries or refunds it);',
  'verification.started and the other statuses of a session; balance.funded;',
  'batch.committing, batch.committed; webhook.paused, webhook.disabled (events are no longer sent to',
  'the endpoint). Types may be added: ignore unknown ones',
].join(' ');

const eventAnswer = z
  .object({
    sequence: amountAnswer.describe('Begins with 1 and has no gaps within the account'),
    type: z.string().describe(eventTypesText),
    created_on: z.string().describe('UTC, without offset'),
    data: objectAnswer,
  })
  .meta({ id: 'Event' });

const eventsMax = 1000;
const sequencePattern = /^\d{1,18}$/;

export function eventRoutes(): Route<BaseServices>[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/events',
      isVersioned: true,
      operationId: 'listEvents',
      tag: 'Events',
      summary: 'Read the events of the account in order',
      description:
        'To continue, send the `sequence` of the last event as `after`: no event is skipped or repeated.',
      access: 'payouts:read',
      query: z.object({
        after: z
          .string()
          .regex(sequencePattern, { error: 'must be the sequence of an event, up to 18 digits' })
          .optional()
          .meta({ jsonSchema: { type: 'integer', minimum: 0 } })
          .describe(
            'The sequence of the last event that you have. Default: begin with the oldest stored event',
          ),
      }),
      response: z.array(eventAnswer),
      refusals: [410],
      handle: async ({ env, accountId }, { query }) => {
        const session = env.db.tenant(accountId);
        const after = query.after === undefined ? undefined : BigInt(query.after);
        const rows = await readEvents(session, { accountId, after, count: eventsMax });
        return rows.map(writeEvent);
      },
    }),
  ];
}
