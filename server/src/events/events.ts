import { AppError } from '../core/errors.ts';
import { findPreviousSequence } from '../core/restored-account.ts';
import type { Session } from '../db/postgres/pool.ts';
import {
  type EventFilter,
  type EventRow,
  findNewestSequence,
  selectEvents,
  selectFilteredEvents,
} from './events.sql.ts';

export { type EventFilter, type EventRow, findNewestSequence } from './events.sql.ts';

/** The feed of an account's events, which reports events that a reader has missed. */

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
    checkContinuous(after, first);
    return rows;
  }
  const newest = await findNewestSequence(session, accountId);
  if (newest <= after) return rows;
  // Either the events were deleted, or they were written after the first query.
  const later = await selectEvents(session, { accountId, after, count });
  checkContinuous(after, later[0] ?? newest + 1n);
  return later;
}

/**
 * The events after the given one that match the filter.
 *
 * @throws AppError events_dropped if events in between were deleted, whether they match or not.
 */
export async function findEvents(
  session: Session,
  range: { accountId: string; after: bigint | undefined; count: number },
  filter: EventFilter,
): Promise<EventRow[]> {
  const { after = 0n } = range;
  if (range.after !== undefined) await readEvents(session, { ...range, count: 1 });
  return selectFilteredEvents(session, { ...range, after }, filter);
}

/** Of events that are read without a filter. */
export function matchesFilter(row: EventRow, { objectId, types }: EventFilter): boolean {
  if (objectId !== undefined && row.subject_id !== objectId) return false;
  return types === undefined || types.includes(row.type);
}

/** The position before the oldest stored event, or after all that were ever written. */
export async function findStart(session: Session, accountId: string): Promise<bigint> {
  // Read first: what is written meanwhile is found by the second query.
  const newest = await findNewestSequence(session, accountId);
  const [oldest] = await selectEvents(session, { accountId, after: 0n, count: 1 });
  return oldest === undefined ? newest : oldest.sequence - 1n;
}

/** @throws AppError events_dropped if events between the two were deleted, or lost in a restore. */
function checkContinuous(after: bigint, next: EventRow | bigint): void {
  const first = typeof next === 'bigint' ? next : next.sequence;
  const kept = typeof next === 'bigint' ? next - 1n : findPreviousSequence(next);
  if (after === kept || after === first - 1n) return;
  const detail =
    after < kept
      ? `after must be at least ${kept}: older events are no longer kept`
      : `after must be at most ${kept}, or at least ${first - 1n}: the events between were lost when ` +
        'the database was restored to an earlier moment';
  throw new AppError('events_dropped', detail, {
    faults: [{ parameter: 'after', code: 'events_dropped', detail }],
  });
}
