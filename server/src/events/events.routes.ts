import { z } from 'zod';
import type { Catalogue } from '../destinations/catalogue.ts';
import { type BaseServices, defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { eventAnswer, renderEvents } from './event-view.ts';
import { readEvents } from './events.ts';

export type EventServices = BaseServices & { readonly catalogue: Catalogue };

type Context = RouteContext<EventServices>;

const eventsMax = 1000;
const sequencePattern = /^\d{1,18}$/;

export function eventRoutes(): Route<EventServices>[] {
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
      handle: async ({ env, accountId, principal }: Context, { query }) => {
        const session = env.db.tenant(accountId);
        const after = query.after === undefined ? undefined : BigInt(query.after);
        const rows = await readEvents(session, { accountId, after, count: eventsMax });
        const context = { session, keys: env.keys, accountId, catalogue: env.catalogue };
        return renderEvents({ ...context, canRead: (scope) => principal.scopes.has(scope) }, rows);
      },
    }),
  ];
}
