import { AppError } from '../core/errors.ts';
import type { Session } from '../db/postgres/pool.ts';
import { type EventRow, findNewestSequence, readEvents } from '../events/events.ts';
import { matchesType } from '../events/type-filters.ts';
import { findTracePlaces } from '../tracing/trace-contexts.ts';
import type { Tracing } from '../tracing/tracing.ts';
import type { QueuedDelivery } from './delivery-queue.ts';
import { type Message, type RenderEvents, writeMessages } from './messages.ts';

/**
 * A cursor on the account's events: reads ahead in order, and knows up to which event everything is
 * done. Events may be done in any order.
 */

export type SourceOptions = {
  readonly accountId: string;
  readonly isReplay: boolean;
  readonly tracing: Tracing | undefined;
  readonly renderEvents: RenderEvents;
  /** The last event that is done. */
  readonly cursor: bigint;
  /** The last event to read; undefined: all. */
  readonly end: bigint | undefined;
  /** The filters, each of which must allow an event. */
  readonly filters: readonly (readonly string[])[];
};

export type EventSource = ReturnType<typeof createEventSource>;

export function createEventSource(options: SourceOptions) {
  const { accountId, end, isReplay, renderEvents, tracing } = options;
  let readUpTo = options.cursor;
  /** In the order of their sequences. */
  const open = new Map<bigint, QueuedDelivery>();
  let lastDone = 0n;
  return {
    isReplay,
    isAtEnd: () => end !== undefined && readUpTo >= end,
    /** Whether everything up to the end is done. */
    isDone: () => end !== undefined && readUpTo >= end && open.size === 0,
    /** Reads the next events: how many there were, and those that the filters allow. */
    async read(
      session: Session,
      count: number,
      nowMs: number,
    ): Promise<{ count: number; items: QueuedDelivery[] }> {
      const { rows: all, dropped } = await readOn(session, { accountId, after: readUpTo, count });
      const rows = end === undefined ? all : all.filter(({ sequence }) => sequence <= end);
      const allowed = rows.filter(({ type }) =>
        options.filters.every((types) => matchesType(type, types)),
      );
      const messages = await writeMessages(renderEvents, accountId, allowed);
      const subjects = allowed.map((row) => ({ accountId, subjectId: row.subject_id }));
      const places = await findTracePlaces(session, tracing, subjects);
      const items = allowed.map((row, index) =>
        describeItem(row, { isReplay, message: messages[index], place: places[index], nowMs }),
      );
      // Both at once: the cursor must not pass an event that is not open yet.
      for (const item of items) open.set(item.sequence, item);
      const last = rows.at(-1);
      // Fewer rows than asked for show that everything up to the end was read.
      if (end !== undefined && rows.length < count) readUpTo = end;
      else readUpTo = last?.sequence ?? dropped ?? readUpTo;
      return { count: all.length, items };
    },
    /** It was delivered, abandoned or stored. */
    finish(sequence: bigint): void {
      if (open.delete(sequence) && sequence > lastDone) lastDone = sequence;
    },
    /** Everything up to here is done. */
    cursor(): bigint {
      for (const sequence of open.keys()) return sequence - 1n;
      return readUpTo;
    },
    /** Those that lie before something that is done: the cursor can pass them only if they are stored. */
    listPassed: (): QueuedDelivery[] =>
      [...open.values()].filter(({ sequence }) => sequence < lastDone),
  };
}

/**
 * Continues with the oldest event that is kept if those after the cursor are not. `dropped`: the last one
 * of the account, where none is kept.
 */
async function readOn(
  session: Session,
  range: { accountId: string; after: bigint; count: number },
): Promise<{ rows: EventRow[]; dropped?: bigint }> {
  try {
    return { rows: await readEvents(session, range) };
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'events_dropped')) throw error;
    // Read first: what is written meanwhile comes after it.
    const newest = await findNewestSequence(session, range.accountId);
    const rows = await readEvents(session, { ...range, after: undefined });
    return rows.length > 0 ? { rows } : { rows, dropped: newest };
  }
}

/** The message of the event with this sequence, if it is still kept. */
export async function findMessage(
  session: Session,
  renderEvents: RenderEvents,
  { accountId, sequence }: { accountId: string; sequence: bigint },
): Promise<Message | undefined> {
  const { rows } = await readOn(session, { accountId, after: sequence - 1n, count: 1 });
  const [row] = rows;
  if (row?.sequence !== sequence) return undefined;
  const [message] = await writeMessages(renderEvents, accountId, [row]);
  return message;
}

function describeItem(
  row: EventRow,
  more: Pick<QueuedDelivery, 'isReplay' | 'message' | 'place'> & { nowMs: number },
): QueuedDelivery {
  return {
    isReplay: more.isReplay,
    sequence: row.sequence,
    subjectId: row.subject_id,
    message: more.message,
    place: more.place,
    tries: 0,
    firstAtMs: more.nowMs,
    dueAtMs: 0,
    isStored: false,
  };
}
