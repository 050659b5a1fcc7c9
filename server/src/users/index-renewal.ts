import { computeOf, type IndexedTable, renewPortions } from '../db/indexed-tables.ts';
import { listIndexedUsers, removeNames, replaceIndexes, storeNames } from './index-renewal.sql.ts';
import { indexUser } from './user-indexes.ts';
import { openIndexed } from './users.ts';

/**
 * Of erased users nothing is left to compute: their indexes are random bytes since the erasure, and names
 * they have none. All names are removed first, so that none is left that follows from no present one.
 */
export const indexedUsers: IndexedTable = {
  table: 'users',
  columns: ['users.internal_id_index', 'users.email_index', 'user_names.term_hash'],
  renew: async ({ session, fresh }) => {
    await removeNames(session);
    return await renewPortions(session, listIndexedUsers, async (rows) => {
      const users = rows.map(({ account_id: accountId, id, data_key: dataKey, sealed }) => {
        const owner = { accountId, userId: id };
        return computeOf([accountId, id], () => {
          const data = openIndexed(fresh.unwrap(dataKey, owner), { ...owner, sealed });
          return { ...owner, ...indexUser({ keys: fresh, accountId }, data) };
        });
      });
      await storeNames(session, users);
      return { renewed: await replaceIndexes(session, users), ended: 0 };
    });
  },
};
