import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many } from '../db/rows.ts';

const keyColumns = { account_id: column.uuid, id: column.uuid, data_key: column.bytes };

const listQuery = defineQuery({
  name: 'list_keys_of_other_master_keys',
  text: `
    select account_id, id, data_key from users
    where (account_id, id) > ($1::uuid, $2::uuid) and length(data_key) > 0
      and substr(data_key, 1, 8) <> $3
    order by account_id, id limit $4`,
  columns: keyColumns,
});

/** Only where the key is still the one that was read: an erasure in between holds. */
const replaceStatement = {
  name: 'replace_user_keys',
  text: `
    update users u set data_key = n.fresh
    from unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::bytea[]) n (account_id, id, old, fresh)
    where u.account_id = n.account_id and u.id = n.id and u.data_key = n.old`,
};

const countQuery = defineQuery({
  name: 'count_keys_by_master_key',
  text: `
    select encode(substr(data_key, 1, 8), 'hex') as master_key, count(*)::integer as users
    from users where length(data_key) > 0
    group by 1 order by 1`,
  columns: { master_key: column.text, users: column.integer },
});

export type UserKeyRow = { account_id: string; id: string; data_key: Buffer };

export async function listKeysToWrap(
  session: Session,
  after: { accountId: string; userId: string },
  options: { masterKeyId: string; count: number },
): Promise<UserKeyRow[]> {
  const id = Buffer.from(options.masterKeyId, 'hex');
  return many(session, listQuery, [after.accountId, after.userId, id, options.count]);
}

export async function replaceKeys(
  session: Session,
  rows: readonly (UserKeyRow & { fresh: Buffer })[],
): Promise<number> {
  return exec(session, replaceStatement, [
    rows.map((row) => row.account_id),
    rows.map((row) => row.id),
    rows.map((row) => row.data_key),
    rows.map((row) => row.fresh),
  ]);
}

/** How many users' keys each master key wraps. */
export async function countWrappedKeys(
  session: Session,
): Promise<{ master_key: string; users: number }[]> {
  return many(session, countQuery, []);
}
