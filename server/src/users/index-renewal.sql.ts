import { plainArray } from '../db/arrays.ts';
import { firstId, hexArray, indexPortion } from '../db/indexed-tables.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, type RowOf } from '../db/rows.ts';

/** The SQL of computing the indexes of all users again. */

const columns = {
  account_id: column.uuid,
  id: column.uuid,
  data_key: column.bytes,
  /** As `with_version` answers it. */
  sealed: column.bytes,
};
type IndexedUserRow = RowOf<typeof columns>;

const list = defineQuery({
  name: 'list_indexed_users',
  text: `
    select account_id, id, data_key, with_version(version, sealed) as sealed from users
    where (account_id, id) > ($1::uuid, $2::uuid) and erased_at is null
    order by account_id, id limit $3`,
  columns,
});

/** Erased ones have none. */
export function listIndexedUsers(
  session: Session,
  after: IndexedUserRow | undefined,
): Promise<IndexedUserRow[]> {
  return many(session, list, [after?.account_id ?? firstId, after?.id ?? firstId, indexPortion]);
}

const replace: Statement = {
  name: 'replace_indexes_of_users',
  text: `
    update users u
    set internal_id_index = decode(n.internal_id, 'hex'), email_index = decode(n.email, 'hex')
    from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) n (account_id, id, internal_id, email)
    where u.account_id = n.account_id and u.id = n.id`,
};

type IndexedUser = {
  readonly accountId: string;
  readonly userId: string;
  readonly internalIdIndex: Buffer;
  readonly emailIndex: Buffer;
  readonly nameHashes: readonly Buffer[];
};

export function replaceIndexes(session: Session, users: readonly IndexedUser[]): Promise<number> {
  return exec(session, replace, [
    plainArray(users.map(({ accountId }) => accountId)),
    plainArray(users.map(({ userId }) => userId)),
    hexArray(users.map(({ internalIdIndex }) => internalIdIndex)),
    hexArray(users.map(({ emailIndex }) => emailIndex)),
  ]);
}

const remove: Statement = {
  name: 'remove_names_of_users',
  text: 'delete from user_names',
  answerMsMax: 3_600_000,
};

export async function removeNames(session: Session): Promise<void> {
  await exec(session, remove);
}

const insert: Statement = {
  name: 'store_names_of_users',
  text: `
    insert into user_names (account_id, term_hash, user_id)
    select account_id, decode(hash, 'hex'), user_id
    from unnest($1::uuid[], $2::text[], $3::uuid[]) n (account_id, hash, user_id)
    order by 1, 2, 3`,
};

export async function storeNames(session: Session, users: readonly IndexedUser[]): Promise<void> {
  const names = users.flatMap(({ accountId, userId, nameHashes }) =>
    nameHashes.map((hash) => ({ accountId, userId, hash })),
  );
  await exec(session, insert, [
    plainArray(names.map(({ accountId }) => accountId)),
    hexArray(names.map(({ hash }) => hash)),
    plainArray(names.map(({ userId }) => userId)),
  ]);
}
