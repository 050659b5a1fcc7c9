import { parseExactObject } from '../core/exact-json.ts';
import { hashMetadata, keyHashes } from '../core/metadata-hashes.ts';
import { findUserKey, type KeyRing, openBytes, rowContext, sealBytes } from '../core/sealing.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many } from '../db/rows.ts';

/**
 * The metadata of payouts, which clients choose and may fill with personal data: sealed under the key of
 * the recipient, and searched by keyed hashes. `{}` is stored as it is.
 */

type Owner = { accountId: string; userId: string; payoutId: string; dataKey: Buffer };

const none = '{}';

const contextOf = ({ accountId, payoutId }: Owner): string =>
  rowContext('payout_quotes.metadata', accountId, payoutId);

export function sealMetadata(keys: KeyRing, owner: Owner, json: string): string {
  if (json === none) return json;
  const userKey = keys.unwrap(owner.dataKey, owner);
  return sealBytes(userKey, Buffer.from(json), contextOf(owner)).toString('base64');
}

/** JSON text; `{}` after the erasure of the recipient. */
export function openMetadata(keys: KeyRing, owner: Owner, stored: string): string {
  if (stored === none) return stored;
  const userKey = findUserKey(keys, owner.dataKey, owner);
  if (userKey === undefined) return none;
  return openBytes(userKey, Buffer.from(stored, 'base64'), contextOf(owner)).toString();
}

const listQuery = defineQuery({
  name: 'list_metadata_of_user',
  text: `
    select q.id, q.metadata, u.data_key
    from payout_quotes q join users u on u.account_id = q.account_id and u.id = q.user_id
    where q.account_id = $1 and q.user_id = $2 and q.metadata <> '{}' and q.id > $3
    order by q.id limit $4`,
  columns: { id: column.uuid, metadata: column.text, data_key: column.bytes },
});

const removeStatement: Statement = {
  name: 'remove_metadata_hashes',
  text: `
    delete from payout_metadata m using unnest($2::uuid[], $3::bytea[]) r (payout_id, hash)
    where m.account_id = $1 and m.payout_id = r.payout_id and m.entry_hash = r.hash`,
};

const portion = 500;

/** Removes what finds the payouts of a user by metadata, before the key is destroyed that opens it. */
export async function forgetMetadata(
  { session, keys }: { session: Session; keys: KeyRing },
  { accountId, userId }: { accountId: string; userId: string },
): Promise<void> {
  for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
    const rows = await many(session, listQuery, [accountId, userId, after, portion]);
    const hashes = rows.flatMap(({ id, metadata, data_key: dataKey }) => {
      const json = openMetadata(keys, { accountId, userId, payoutId: id, dataKey }, metadata);
      const entries = hashMetadata(parseExactObject(json));
      return keyHashes(keys, accountId, entries).map((hash) => ({ id, hash }));
    });
    await exec(session, removeStatement, [
      accountId,
      hashes.map(({ id }) => id),
      hashes.map(({ hash }) => hash),
    ]);
    const last = rows.at(-1);
    if (last === undefined || rows.length < portion) return;
    after = last.id;
  }
}
