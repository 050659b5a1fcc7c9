import { plainArray, textArray } from '../db/arrays.ts';
import { firstId, indexPortion } from '../db/indexed-tables.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, nullable, type RowOf } from '../db/rows.ts';
import { writeHashes } from './batch-rows.sql.ts';

/** The SQL of computing the hashes of the metadata of rows again. */

const columns = {
  account_id: column.uuid,
  batch_id: column.uuid,
  number: column.integer,
  user_id: nullable(column.uuid),
  payout_id: nullable(column.uuid),
  metadata: nullable(column.text),
  data_key: nullable(column.bytes),
  /** Whether it may still become a payout. */
  is_open: column.boolean,
};
type IndexedRow = RowOf<typeof columns>;

const list = defineQuery({
  name: 'list_indexed_batch_rows',
  text: `
    select r.account_id, r.batch_id, r.number, r.user_id, r.payout_id, r.metadata, u.data_key,
      coalesce(r.status = 'VALID' and b.status not in ('COMMITTED', 'CANCELLED')
        and r.number >= b.next_row, false) as is_open
    from (
      select * from batch_rows
      where (account_id, batch_id, number) > ($1::uuid, $2::uuid, $3::integer)
        and metadata_hashes is not null
      order by account_id, batch_id, number limit $4
    ) r
    left join batches b on b.account_id = r.account_id and b.id = r.batch_id
    left join users u on u.account_id = r.account_id and u.id = r.user_id
    order by r.account_id, r.batch_id, r.number`,
  columns,
});

export function listIndexedRows(
  session: Session,
  after: IndexedRow | undefined,
): Promise<IndexedRow[]> {
  const { account_id: accountId = firstId, batch_id: batchId = firstId, number = 0 } = after ?? {};
  return many(session, list, [accountId, batchId, number, indexPortion]);
}

const replace: Statement = {
  name: 'replace_hashes_of_batch_rows',
  text: `
    update batch_rows r set metadata_hashes = n.hashes::bytea[]
    from unnest($1::uuid[], $2::uuid[], $3::integer[], $4::text[]) n (account_id, batch_id, number, hashes)
    where r.account_id = n.account_id and r.batch_id = n.batch_id and r.number = n.number`,
};

export async function replaceHashes(
  session: Session,
  rows: readonly IndexedRow[],
  hashes: readonly (readonly Buffer[])[],
): Promise<void> {
  await exec(session, replace, [
    plainArray(rows.map((row) => row.account_id)),
    plainArray(rows.map((row) => row.batch_id)),
    plainArray(rows.map(({ number }) => number)),
    textArray(hashes.map((own) => writeHashes(own))),
  ]);
}
