import { z } from 'zod';

/**
 * The event with which an account continues after a restore (`skip_lost_events` in
 * `db/schema/events.sql`): it skips the numbers of events that the database may have lost.
 */
export const restoredType = 'account.restored';

const restoredPayload = z.object({ last_sequence: z.int() });

/** The event before a given one. */
export function findPreviousSequence(event: {
  sequence: bigint;
  type: string;
  payload: string | null;
}): bigint {
  if (event.type !== restoredType) return event.sequence - 1n;
  return BigInt(restoredPayload.parse(JSON.parse(event.payload ?? '{}')).last_sequence);
}
