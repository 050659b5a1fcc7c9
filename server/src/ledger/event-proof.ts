import type { Database } from '../db/postgres/pool.ts';
import { beginWideReading } from '../db/postgres/snapshot.ts';
import { selectWrongEvents, type WrongEventRow } from './event-proof.sql.ts';

/**
 * The chain shows that no event was changed or removed, not that the service wrote it: the trigger links
 * what the owner of the database inserts. So what events say is compared with what they tell of.
 */

export type WrongEvent = Omit<WrongEventRow, 'code'> & {
  /**
   * - `no_account`, `no_object`: the account or the object does not exist
   * - `no_beginning`, `no_move`: the first event of a payout, or its move from the event before, is none
   *   that payouts make
   * - `other_state`: the object is not as its event says
   * - `no_journal`, `no_event`: of a balance or a return, without what it tells of; or the journal without
   *   its event, whose `sequence` is then ""
   * - `other_number`: not the number after the event of the same object before it
   * - `other_month`: stored with the events of a month that is not that of its time
   */
  code:
    | 'no_account'
    | 'no_object'
    | 'no_beginning'
    | 'no_move'
    | 'other_state'
    | 'no_journal'
    | 'no_event'
    | 'other_number'
    | 'other_month';
};

const wrongMax = 100;

export function verifyEvents(db: Database): Promise<WrongEvent[]> {
  return db.systemTransaction(async (session) => {
    await beginWideReading(session);
    return ((await selectWrongEvents(session)) as WrongEvent[]).slice(0, wrongMax);
  });
}
