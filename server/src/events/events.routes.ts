import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Principal, Scope } from '../core/access.ts';
import { AppError } from '../core/errors.ts';
import type { Catalog } from '../destinations/catalog.ts';
import { isPreferredToJson } from '../http/accept.ts';
import { type Answer, jsonType } from '../http/problem.ts';
import { type BaseServices, defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { createWriter } from '../http/schema.ts';
import type { Rail } from '../rails/contract/contract.ts';
import { type EventFeed, type Position, pageCount } from './event-feed.ts';
import { openEventStream } from './event-stream.ts';
import { eventAnswer } from './event-types-view.ts';
import { readObjectToken, renderEvents } from './event-view.ts';
import {
  type EventFilter,
  type EventRow,
  findEvents,
  findNewestSequence,
  findStart,
  matchesFilter,
  readEvents,
} from './events.ts';
import { listTypes, typeFilters } from './type-filters.ts';

export type EventServices = BaseServices & {
  readonly catalog: Catalog;
  readonly rails: readonly Rail[];
  readonly eventFeed: EventFeed;
};

type Context = RouteContext<EventServices>;

const eventsMax = 1000;
const waitSecondsMax = 60;
const sequencePattern = /^\d{1,18}$/;
const streamType = 'text/event-stream';

const eventsQuery = z.object({
  after: z
    .string()
    .regex(sequencePattern, { error: 'must be the sequence of an event, up to 18 digits' })
    .optional()
    .meta({ jsonSchema: { type: 'integer', minimum: 0 } })
    .describe(
      'The sequence of the last event that you have. Default: begin with the oldest stored event',
    ),
  wait: z
    .string()
    .regex(/^(?:[0-9]|[1-5][0-9]|60)$/, {
      error: `must be a whole number of seconds from 0 to ${waitSecondsMax}`,
    })
    .optional()
    .meta({ jsonSchema: { type: 'integer', minimum: 0, maximum: waitSecondsMax, default: 0 } })
    .describe('Seconds to wait for an event where there is none yet. Not for a stream'),
});

const filtersMax = 50;

const filterQuery = z.object({
  type: z
    .preprocess(
      splitList,
      z
        .array(z.string())
        .max(filtersMax)
        .refine((types) => types.every((type) => typeFilters.includes(type)), {
          error: 'must be types of events, or families of them like payout.*',
        }),
    )
    .optional()
    .meta({
      jsonSchema: {
        type: 'array',
        items: { type: 'string', enum: typeFilters },
        maxItems: filtersMax,
      },
    })
    .describe(
      'Only events of these types; `payout.*` for all types that begin with `payout.`. Repeat the ' +
        'parameter, or separate types by commas',
    ),
  object: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('Only events of this object, by its token'),
});

/** `a,b` and a repeated parameter are both a list. */
function splitList(given: unknown): unknown {
  if (given === undefined) return undefined;
  return [given].flat().flatMap((text) => (typeof text === 'string' ? text.split(',') : [text]));
}

const eventsAnswer = z.array(eventAnswer);
const writeAll = createWriter(eventsAnswer);
const writeOne = createWriter(eventAnswer);

export function eventRoutes(): Route<EventServices>[] {
  return [listRoute(), streamRoute()];
}

function listRoute(): Route<EventServices> {
  return defineRoute({
    method: 'GET',
    path: '/events',
    isVersioned: true,
    operationId: 'listEvents',
    tag: 'Events',
    summary: 'Read the events of the account in order',
    description:
      'To continue, send the `sequence` of the last event as `after`: no event is skipped or repeated. ' +
      'With `type` or `object` the others are left out: their sequences are gaps. ' +
      'With `wait` the answer is held until there is an event. With `Accept: text/event-stream` it is ' +
      'the stream of `/events/stream`.',
    access: 'payouts:read',
    query: eventsQuery.extend(filterQuery.shape),
    response: eventsAnswer,
    produces: [streamType],
    refusals: [410],
    handle: async (context: Context, { query }): Promise<Answer> => {
      const { accountId, request } = context;
      const filter = readFilter(query);
      if (isPreferredToJson(request.accept, streamType)) {
        return openStream(context, query.after, filter);
      }
      const session = context.env.db.tenant(accountId);
      const after = query.after === undefined ? undefined : BigInt(query.after);
      // Read first: what is written meanwhile is found by the list, or waited for.
      const newest = filter && (await findNewestSequence(session, accountId));
      const range = { accountId, after, count: eventsMax };
      const rows = filter
        ? await findEvents(session, range, filter)
        : await readEvents(session, range);
      const waitMs = Number(query.wait ?? 0) * 1000;
      if (request.method === 'HEAD' || rows.length > 0 || waitMs === 0) {
        return answer(await writeList(context, rows));
      }
      const position = after ?? newest ?? (await findStart(session, accountId));
      // Nothing that exists matches.
      const start = newest !== undefined && newest > position ? newest : position;
      return wait(context, { accountId, after: start }, { waitMs, filter });
    },
  });
}

/** Undefined for all events. */
function readFilter({ type, object }: z.infer<typeof filterQuery>): EventFilter | undefined {
  if (type === undefined && object === undefined) return undefined;
  return {
    types: type && listTypes(type),
    objectId: object === undefined ? undefined : readObjectToken(object),
  };
}

function streamRoute(): Route<EventServices> {
  return defineRoute({
    method: 'GET',
    path: '/events/stream',
    isVersioned: true,
    operationId: 'streamEvents',
    tag: 'Events',
    summary: 'Stream the events of the account as they happen',
    description:
      'Server-sent events: `event` is the type, `data` the event, and `id` its sequence. A stream resumes ' +
      'after the event that `Last-Event-ID` names, which goes before `after`. With `type` or `object` ' +
      'the others are left out.',
    access: 'payouts:read',
    query: z.object({ after: eventsQuery.shape.after, ...filterQuery.shape }),
    response: null,
    produces: [streamType],
    refusals: [410],
    handle: (context: Context, { query }) => openStream(context, query.after, readFilter(query)),
  });
}

/** @throws AppError events_dropped if events after the position were deleted. */
async function openStream(
  context: Context,
  known: string | undefined,
  filter: EventFilter | undefined,
): Promise<Answer> {
  const { accountId, request } = context;
  const session = context.env.db.tenant(accountId);
  const last = readLastEventId(request) ?? known;
  const after = last === undefined ? undefined : BigInt(last);
  const rows = await readEvents(session, { accountId, after, count: 1 });
  if (request.method === 'HEAD') return answer(await writeList(context, rows));
  const from = { accountId, after: after ?? (await findStart(session, accountId)) };
  return stream(context, from, { filter, isBehind: rows.length > 0 });
}

/** EventSource sends it when it connects again, with the address of the first time. */
function readLastEventId(request: Context['request']): string | undefined {
  const id = request.header('last-event-id');
  if (id === '' || sequencePattern.test(id)) return id || undefined;
  const detail = 'Last-Event-ID must be the id of an event, up to 18 digits';
  throw new AppError('invalid_request', detail, {
    faults: [{ parameter: 'Last-Event-ID', code: 'invalid_value', detail }],
  });
}

function answer(body: string | Readable): Answer {
  return { status: 200, contentType: jsonType, body };
}

async function writeList(context: Context, rows: readonly EventRow[]): Promise<string> {
  return writeAll(await render(context, rows));
}

function render({ env, accountId, principal }: Context, rows: readonly EventRow[]) {
  const session = env.db.tenant(accountId);
  const canRead = (scope: Scope): boolean => principal.scopes.has(scope);
  return renderEvents(
    { session, keys: env.keys, accountId, catalog: env.catalog, rails: env.rails, canRead },
    rows,
  );
}

/** How soon a wait notices that its reader has gone. */
const goneMsMax = 1_000;

/**
 * A body that arrives later: a request that only waits does not count as in flight. A destroyed body closes at
 * the end of what it waits for, so a reader that has gone is looked for.
 */
function wait(
  context: Context,
  from: Position,
  { waitMs, filter }: { waitMs: number; filter: EventFilter | undefined },
): Answer {
  const { eventFeed } = context.env;
  const leave = eventFeed.enter(from.accountId);
  const untilMs = performance.now() + waitMs;
  const write = async function* (): AsyncGenerator<string> {
    let { after } = from;
    for (;;) {
      const leftMs = Math.max(0, untilMs - performance.now());
      const rows = await eventFeed.next({ ...from, after }, Math.min(leftMs, goneMsMax));
      if (body.destroyed) return;
      const matching = rows.filter((row) => filter === undefined || matchesFilter(row, filter));
      const isOver = rows.length === 0 && (leftMs <= goneMsMax || eventFeed.isStopping());
      if (matching.length > 0 || isOver) {
        yield await writeList(context, matching);
        return;
      }
      after = rows.at(-1)?.sequence ?? after;
    }
  };
  const body: Readable = Readable.from(write()).once('close', leave);
  return answer(body);
}

function stream(
  context: Context,
  from: Position,
  { filter, isBehind }: { filter: EventFilter | undefined; isBehind: boolean },
): Answer {
  const { eventFeed: feed } = context.env;
  const leave = feed.enter(from.accountId);
  const body = openEventStream({
    feed,
    from,
    isBehind,
    matches: (row) => filter === undefined || matchesFilter(row, filter),
    render: (rows) => renderShared(context, rows),
    read: (after) =>
      readEvents(context.env.db.tenant(from.accountId), { ...from, after, count: pageCount }),
    pageKey: `${describeScopes(context.principal)} ${JSON.stringify(filter ?? '')}`,
    isAllowed: context.isAllowed,
  });
  return {
    status: 200,
    contentType: streamType,
    body: body.once('close', leave),
    // A proxy must not hold events back, and the connection ends with the stream.
    headers: { 'x-accel-buffering': 'no', connection: 'close' },
  };
}

/** By what a credential may read; the readers of a position share its rows. */
const rendered = new WeakMap<readonly EventRow[], Map<string, Promise<readonly string[]>>>();

function renderShared(context: Context, rows: readonly EventRow[]): Promise<readonly string[]> {
  const known = rendered.get(rows) ?? new Map<string, Promise<readonly string[]>>();
  rendered.set(rows, known);
  const key = describeScopes(context.principal);
  const texts =
    known.get(key) ?? render(context, rows).then((events) => events.map((one) => writeOne(one)));
  known.set(key, texts);
  return texts;
}

function describeScopes({ scopes }: Principal): string {
  return [...scopes].toSorted().join(' ');
}
