import { AppError } from '../core/errors.ts';
import type { Session } from '../db/postgres/pool.ts';
import { type EventRow, findNewestSequence, selectEvents } from './events.sql.ts';

/** The feed of an account's events, which tells a reader when it has missed some. */

/**
 * The events after the one that the reader has; undefined begins with the oldest that is kept.
 *
 * @throws AppError events_dropped where events lie between that are no longer kept.
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
    checkUnbroken(after, first.sequence);
    return rows;
  }
  const newest = await findNewestSequence(session, accountId);
  if (newest <= after) return rows;
  // Either nothing of it is kept, or it came since the first look, and then this one sees it.
  const later = await selectEvents(session, { accountId, after, count });
  checkUnbroken(after, later[0]?.sequence ?? newest + 1n);
  return later;
}

/** @throws AppError events_dropped where events lie between the two that are no longer kept. */
function checkUnbroken(after: bigint, next: bigint): void {
  if (next <= after + 1n) return;
  throw new AppError('events_dropped', `the events up to ${next - 1n} are no longer kept`, {
    faults: [
      { parameter: 'after', code: 'events_dropped', detail: `begin with after=${next - 1n}` },
    ],
  });
}
