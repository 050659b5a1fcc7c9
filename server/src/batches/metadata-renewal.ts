import { parseExactObject } from '../core/exact-json.ts';
import { hashMetadata, keyHashes } from '../core/metadata-hashes.ts';
import { computeOf, type IndexedTable, renewPortions } from '../db/indexed-tables.ts';
import { openMetadata } from '../payouts/payout-metadata.ts';
import { listIndexedRows, replaceHashes } from './metadata-renewal.sql.ts';

/** A row needs its hashes until it is a payout, which has its own. Those of all others are removed. */
export const indexedRows: IndexedTable = {
  table: 'batch_rows',
  columns: ['batch_rows.metadata_hashes'],
  renew: ({ session, fresh }) =>
    renewPortions(session, listIndexedRows, async (rows) => {
      const hashes = rows.map((row) => {
        const { account_id: accountId, user_id: userId, payout_id: payoutId, metadata } = row;
        if (!row.is_open || userId === null || payoutId === null || metadata === null) return [];
        const owner = { accountId, userId, payoutId, dataKey: row.data_key ?? Buffer.alloc(0) };
        const entries = computeOf([accountId, row.batch_id, row.number], () =>
          hashMetadata(parseExactObject(openMetadata(fresh, owner, metadata))),
        );
        return keyHashes(fresh, accountId, entries);
      });
      await replaceHashes(session, rows, hashes);
      const ended = hashes.filter(({ length }) => length === 0).length;
      return { renewed: rows.length - ended, ended };
    }),
};
