import { parseExactObject } from '../core/exact-json.ts';
import { hashMetadata, keyHashes } from '../core/metadata-hashes.ts';
import { computeOf, type IndexedTable, renewPortions } from '../db/indexed-tables.ts';
import { listDescribed, removeEntries, storeEntries } from './metadata-renewal.sql.ts';
import { openMetadata } from './payout-metadata.ts';

/** The entries of all payouts are removed and written again; those of erased recipients were removed before. */
export const indexedMetadata: IndexedTable = {
  table: 'payout_metadata',
  columns: ['payout_metadata.entry_hash'],
  renew: async ({ session, fresh }) => {
    await removeEntries(session);
    return await renewPortions(session, listDescribed, async (rows) => {
      const entries = rows.flatMap((row) => {
        const { account_id: accountId, user_id: userId, id: payoutId, data_key: dataKey } = row;
        const owner = { accountId, userId, payoutId, dataKey };
        const hashes = computeOf([accountId, payoutId], () =>
          hashMetadata(parseExactObject(openMetadata(fresh, owner, row.metadata))),
        );
        return keyHashes(fresh, accountId, hashes).map((hash) => ({ accountId, payoutId, hash }));
      });
      return { renewed: await storeEntries(session, entries), ended: 0 };
    });
  },
};
