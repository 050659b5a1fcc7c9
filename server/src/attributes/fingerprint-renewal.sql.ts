import { plainArray } from '../db/arrays.ts';
import { firstId, hexArray, indexPortion } from '../db/indexed-tables.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, type RowOf } from '../db/rows.ts';

/** The SQL of computing the fingerprints of all stored values again. */

const columns = {
  account_id: column.uuid,
  set_id: column.uuid,
  version: column.integer,
  user_id: column.uuid,
  /** As `with_version` answers it. */
  sealed: column.bytes,
  data_key: column.bytes,
};
type VersionRow = RowOf<typeof columns>;

const list = defineQuery({
  name: 'list_attribute_versions',
  text: `
    select v.account_id, v.set_id, v.version, s.user_id, with_version(v.version, v.sealed) as sealed,
      u.data_key
    from (
      select * from attribute_set_versions
      where (account_id, set_id, version) > ($1::uuid, $2::uuid, $3::integer)
      order by account_id, set_id, version limit $4
    ) v
    join attribute_sets s on s.account_id = v.account_id and s.id = v.set_id
    join users u on u.account_id = s.account_id and u.id = s.user_id
    order by v.account_id, v.set_id, v.version`,
  columns,
});

export function listVersions(
  session: Session,
  after: VersionRow | undefined,
): Promise<VersionRow[]> {
  const { account_id: accountId = firstId, set_id: setId = firstId, version = 0 } = after ?? {};
  return many(session, list, [accountId, setId, version, indexPortion]);
}

const replace: Statement = {
  name: 'replace_attribute_fingerprints',
  text: 'select renew_attribute_fingerprints($1, $2, $3, $4)',
};

export async function replaceFingerprints(
  session: Session,
  rows: readonly VersionRow[],
  hashes: readonly Buffer[],
): Promise<void> {
  await exec(session, replace, [
    plainArray(rows.map((row) => row.account_id)),
    plainArray(rows.map((row) => row.set_id)),
    plainArray(rows.map(({ version }) => version)),
    hexArray(hashes),
  ]);
}
