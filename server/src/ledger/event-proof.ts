import type { Database } from '../db/postgres/pool.ts';
import { beginWideReading } from '../db/postgres/snapshot.ts';
import { selectWrongEvents, type WrongEvent } from './event-proof.sql.ts';

/**
 * The chain shows that no event was changed or removed, not that the service wrote it: the trigger links
 * what the owner of the database inserts. So what events say is compared with what they tell of.
 */

export type { WrongEvent } from './event-proof.sql.ts';

const wrongMax = 100;

/** At most a hundred, by account and in the order of its events; what has no event comes last. */
export function verifyEvents(db: Database): Promise<WrongEvent[]> {
  return db.systemTransaction(async (session) => {
    await beginWideReading(session);
    return (await selectWrongEvents(session)).toSorted(compareEvents).slice(0, wrongMax);
  });
}

function compareEvents(one: WrongEvent, other: WrongEvent): number {
  if (one.account_id !== other.account_id) return one.account_id < other.account_id ? -1 : 1;
  const [first, second] = [one, other].map(({ sequence }) =>
    sequence === '' ? Number.POSITIVE_INFINITY : Number(sequence),
  ) as [number, number];
  return first === second ? 0 : first - second;
}
