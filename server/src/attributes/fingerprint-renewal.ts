import { randomBytes } from 'node:crypto';
import { findUserKey } from '../core/sealing.ts';
import { computeOf, type IndexedTable, renewPortions } from '../db/indexed-tables.ts';
import { fingerprintValues, openValues } from './attribute-values.ts';
import { listVersions, replaceFingerprints } from './fingerprint-renewal.sql.ts';

/** Values of an erased user equal no others any more: their fingerprint becomes random bytes. */
export const indexedAttributes: IndexedTable = {
  table: 'attribute_set_versions',
  columns: ['attribute_set_versions.fingerprint'],
  renew: ({ session, fresh }) =>
    renewPortions(session, listVersions, async (rows) => {
      let ended = 0;
      const hashes = rows.map((row) => {
        const owner = { accountId: row.account_id, userId: row.user_id, setId: row.set_id };
        return computeOf([owner.accountId, owner.setId, row.version], () => {
          const userKey = findUserKey(fresh, row.data_key, owner);
          if (userKey !== undefined) {
            return fingerprintValues(fresh, owner, openValues(userKey, row.sealed, owner));
          }
          ended += 1;
          return randomBytes(32);
        });
      });
      await replaceFingerprints(session, rows, hashes);
      return { renewed: rows.length - ended, ended };
    }),
};
