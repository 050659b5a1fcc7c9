import { z } from 'zod';
import { formatSeconds } from '../core/clock.ts';
import { type ExactJson, JsonNumber, parseExactJson } from '../core/exact-json.ts';
import { type BaseServices, defineRoute, type Route } from '../http/route.ts';
import { amountAnswer, objectAnswer } from '../http/schema.ts';
import { readEvents } from './events.ts';

/** Types may be added; a reader skips those it does not know. */
const eventTypesText = [
  'One of user.created, user.updated; attributes.stored; payout.pending, payout.processing,',
  'payout.ready_for_pickup, payout.completed, payout.cancelled, payout.hold (it waits for the',
  'operator), payout.error (every payer refused; the operator retries or refunds it);',
  'verification.started and the other statuses of a session; balance.funded;',
  'batch.committing, batch.committed. Skip types that you do not know',
].join(' ');

const eventAnswer = z
  .object({
    sequence: amountAnswer.describe('Without gaps in the account, beginning with 1'),
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
      summary: "Read the account's events in their order",
      description:
        'Ask again with `after` of the last one: nothing is skipped and nothing is repeated.',
      access: 'payouts:read',
      query: z.object({
        after: z
          .string()
          .regex(sequencePattern, { error: 'must be the sequence of an event' })
          .optional()
          .meta({ jsonSchema: { type: 'integer', minimum: 0 } })
          .describe('The last one that you have; without it from the oldest that is kept'),
      }),
      response: z.array(eventAnswer),
      refusals: [410],
      handle: async ({ env, accountId }, { query }) => {
        const session = env.db.tenant(accountId);
        const after = query.after === undefined ? undefined : BigInt(query.after);
        const rows = await readEvents(session, { accountId, after, count: eventsMax });
        return rows.map((row) => ({
          sequence: new JsonNumber(row.sequence.toString()),
          type: row.type,
          created_on: formatSeconds(row.created_at),
          data: parseExactJson(row.payload) as { [key: string]: ExactJson },
        }));
      },
    }),
  ];
}
