import { plainArray } from '../db/arrays.ts';
import { firstId, hexArray, indexPortion } from '../db/indexed-tables.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, type RowOf } from '../db/rows.ts';

/** The SQL of writing the index of metadata again. */

const columns = {
  account_id: column.uuid,
  id: column.uuid,
  user_id: column.uuid,
  metadata: column.text,
  data_key: column.bytes,
};
type DescribedRow = RowOf<typeof columns>;

const list = defineQuery({
  name: 'list_described_payouts',
  text: `
    select q.account_id, q.id, q.user_id, q.metadata, u.data_key
    from (
      select account_id, id, user_id, metadata from payout_quotes
      where (account_id, id) > ($1::uuid, $2::uuid) and metadata <> '{}'
      order by account_id, id limit $3
    ) q
    join users u on u.account_id = q.account_id and u.id = q.user_id
    order by q.account_id, q.id`,
  columns,
});

/** Payouts with metadata. */
export function listDescribed(
  session: Session,
  after: DescribedRow | undefined,
): Promise<DescribedRow[]> {
  return many(session, list, [after?.account_id ?? firstId, after?.id ?? firstId, indexPortion]);
}

const remove: Statement = {
  name: 'remove_metadata_entries',
  text: 'delete from payout_metadata',
  answerMsMax: 3_600_000,
};

export async function removeEntries(session: Session): Promise<void> {
  await exec(session, remove);
}

const insert: Statement = {
  name: 'store_metadata_entries',
  text: `
    insert into payout_metadata (account_id, entry_hash, payout_id)
    select account_id, decode(hash, 'hex'), payout_id
    from unnest($1::uuid[], $2::text[], $3::uuid[]) n (account_id, hash, payout_id)
    order by 1, 2, 3
    on conflict do nothing`,
};

type Entry = { readonly accountId: string; readonly payoutId: string; readonly hash: Buffer };

export function storeEntries(session: Session, entries: readonly Entry[]): Promise<number> {
  return exec(session, insert, [
    plainArray(entries.map(({ accountId }) => accountId)),
    hexArray(entries.map(({ hash }) => hash)),
    plainArray(entries.map(({ payoutId }) => payoutId)),
  ]);
}
