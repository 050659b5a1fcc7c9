import type { KeyRing } from '../core/sealing.ts';
import type { Database } from '../db/postgres/pool.ts';
import { listKeysToWrap, replaceKeys } from './user-keys.sql.ts';

export { countWrappedKeys } from './user-keys.sql.ts';

/** Small, so that no user waits long for a row that a rotation holds. */
const portion = 200;
const none = '00000000-0000-0000-0000-000000000000';

/**
 * Wraps the users' keys with the newest master key that older ones wrap; returns how many. One that is
 * interrupted is repeated, and passes over what is done. Sealed data is not touched.
 */
export async function rewrapUserKeys({
  db,
  keys,
}: {
  db: Database;
  keys: KeyRing;
}): Promise<number> {
  const options = { masterKeyId: keys.masterKeyId, count: portion };
  let after = { accountId: none, userId: none };
  let count = 0;
  for (;;) {
    const rows = await listKeysToWrap(db.system, after, options);
    const last = rows.at(-1);
    if (last === undefined) return count;
    const fresh = rows.map((row) => {
      const owner = { accountId: row.account_id, userId: row.id };
      return { ...row, fresh: keys.wrap(keys.unwrap(row.data_key, owner), owner) };
    });
    count += await replaceKeys(db.system, fresh);
    after = { accountId: last.account_id, userId: last.id };
  }
}
