import { formatSeconds } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { type ExactJson, JsonNumber, parseExactJson } from '../core/exact-json.ts';
import type { Session } from '../db/postgres/pool.ts';
import { type EventRow, findNewestSequence, selectEvents } from './events.sql.ts';

export type { EventRow } from './events.sql.ts';

/** The feed of an account's events, which reports events that a reader has missed. */

/** An event as clients see it, in the feed and in webhooks. */
export function writeEvent(row: EventRow) {
  return {
    sequence: new JsonNumber(row.sequence.toString()),
    type: row.type,
    created_on: formatSeconds(row.created_at),
    data: parseExactJson(row.payload) as { [key: string]: ExactJson },
  };
}

/**
 * The events after the given one; undefined begins with the oldest stored one.
 *
 * @throws AppError events_dropped if events in between were deleted.
 */
export async function readEvents(
  session: Session,
  range: { accountId: string; after: bigint | undefined; count: number },
): Promise<EventRow[]> {
  const { accountId, after, count } = range;
  if (after === undefined) return selectEvents(session, { accountId, after: 0n, count });
  const rows = await selectEvents(session, { accountId, after, count });
  const [first] = rows;
  if (first !== undefined) {
    checkContinuous(after, first.sequence);
    return rows;
  }
  const newest = await findNewestSequence(session, accountId);
  if (newest <= after) return rows;
  // Either the events were deleted, or they were written after the first query.
  const later = await selectEvents(session, { accountId, after, count });
  checkContinuous(after, later[0]?.sequence ?? newest + 1n);
  return later;
}

/** @throws AppError events_dropped if events between the two were deleted. */
function checkContinuous(after: bigint, next: bigint): void {
  if (next <= after + 1n) return;
  const detail = `after must be at least ${next - 1n}: older events are no longer kept`;
  throw new AppError('events_dropped', detail, {
    faults: [{ parameter: 'after', code: 'events_dropped', detail }],
  });
}
