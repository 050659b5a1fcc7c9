import type { Database } from '../db/postgres/pool.ts';
import { beginWideReading } from '../db/postgres/snapshot.ts';
import { selectWrongEvents, type WrongEvent } from './event-proof.sql.ts';

/**
 * The chain shows that no event was changed or removed, not that the service wrote it: the trigger links
 * what the owner of the database inserts. So what events say is compared with what they tell of.
 */

export type { WrongEvent } from './event-proof.sql.ts';

const wrongMax = 100;

export function verifyEvents(db: Database): Promise<WrongEvent[]> {
  return db.systemTransaction(async (session) => {
    await beginWideReading(session);
    return (await selectWrongEvents(session)).slice(0, wrongMax);
  });
}
