import { z } from 'zod';
import { formatSeconds } from '../core/clock.ts';
import { JsonNumber, parseExactJson } from '../core/exact-json.ts';
import { type BaseServices, defineRoute, type Route } from '../http/route.ts';
import { type EventAnswer, eventAnswer } from './event-types-view.ts';
import { readEvents } from './events.ts';

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
        return rows.map(
          (row) =>
            ({
              sequence: new JsonNumber(row.sequence.toString()),
              type: row.type,
              created_on: formatSeconds(row.created_at),
              data: parseExactJson(row.payload),
            }) as unknown as EventAnswer,
        );
      },
    }),
  ];
}
