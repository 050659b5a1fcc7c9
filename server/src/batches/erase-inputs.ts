import type { KeyRing } from '../core/sealing.ts';
import type { Database } from '../db/postgres/pool.ts';
import { listPortionsOfUser, replaceInputs } from './row-inputs.sql.ts';

export { protectedInputs } from './row-inputs.sql.ts';

/**
 * Empties the rows of batch files that pay a user. A portion holds rows of many persons, so it is
 * sealed under the environment's keys, and the rows of one person are taken out of it.
 */
export async function eraseInputs(
  { db, keys }: { db: Database; keys: KeyRing },
  user: { accountId: string; userId: string },
): Promise<void> {
  for (const portion of await listPortionsOfUser(db.system, user)) {
    await db.systemTransaction((session) => replaceInputs({ session, keys }, portion));
  }
}
