import { sessionStatus } from '../attributes/attributes.ts';
import { plainArray, textArray } from '../db/arrays.ts';
import { placeByOrdinal } from '../db/ordinals.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, type RowOf } from '../db/rows.ts';

/** Reads the records that the rows of a portion refer to. */

const userColumns = {
  id: column.uuid,
  internal_id_index: column.bytes,
  status: column.text,
  kyc_status: column.text,
  session_status: nullable(column.text),
  data_key: column.bytes,
  country: column.text,
};
export type BatchUserRow = RowOf<typeof userColumns>;

const userText = `
  select u.id, u.internal_id_index, u.status, u.kyc_status, ${sessionStatus} as session_status,
    u.data_key, u.country
  from users u where u.account_id = $1`;

const findUsersQuery = defineQuery({
  name: 'find_batch_users',
  text: `${userText} and u.id = any ($2::uuid[])`,
  columns: userColumns,
});

const findUsersByNameQuery = defineQuery({
  name: 'find_batch_users_by_name',
  text: `${userText} and u.internal_id_index = any ($2::bytea[])`,
  columns: userColumns,
});

const transferColumns = {
  id: column.uuid,
  client_transfer_id: column.text,
  user_id: column.uuid,
  source_currency: column.text,
  source_amount: column.bigint,
  destination_token: column.uuid,
  destination_currency: column.text,
  destination_amount: column.bigint,
};
export type CommittedTransferRow = RowOf<typeof transferColumns>;

const findCommittedQuery = defineQuery({
  name: 'find_batch_committed_transfers',
  text: `
    select q.id, s.client_transfer_id, q.user_id, q.source_currency, q.source_amount,
      q.destination_token, q.destination_currency, q.destination_amount
    from payout_states s
    join payout_quotes q on q.account_id = s.account_id and q.id = s.payout_id
    where s.account_id = $1 and s.client_transfer_id = any ($2::text[])`,
  columns: transferColumns,
});

const setColumns = {
  id: column.uuid,
  version: column.integer,
  is_complete: column.boolean,
  /** Only of an incomplete set. */
  sealed: nullable(column.bytes),
};
export type BatchSetRow = RowOf<typeof setColumns>;

/** The set that the row names, or else the one that create_payouts would choose. */
const findSetsQuery = defineQuery({
  name: 'find_batch_attribute_sets',
  text: `
    select r.ord::integer as ordinal, s.id, s.latest_version as version, s.is_complete, s.sealed
    from unnest($2::uuid[], $3::uuid[], $4::text[], $5::uuid[]) with ordinality
      as r (user_id, destination_token, currency, set_id, ord)
    join lateral (
      select a.id, a.latest_version, coalesce(v.is_complete, false) as is_complete,
        case when not v.is_complete then with_version(v.version, v.sealed) end as sealed
      from attribute_sets a
      left join attribute_set_versions v
        on v.account_id = a.account_id and v.set_id = a.id and v.version = a.latest_version
      where a.account_id = $1 and a.user_id = r.user_id
        and a.destination_token = r.destination_token and a.currency = r.currency
        and (r.set_id is null or a.id = r.set_id)
      order by coalesce(v.is_complete, false) desc, a.touched_at desc, a.id desc limit 1
    ) s on true`,
  columns: { ...setColumns, ordinal: column.integer },
});

const walletColumns = { currency: column.text, token: column.uuid, balance: column.bigint };

const findWalletsQuery = defineQuery({
  name: 'find_batch_wallets',
  text: `
    select currency, token, balance from ledger_accounts
    where account_id = $1 and name = 'wallet'`,
  columns: walletColumns,
});

export async function findBatchUsers(
  session: Session,
  wanted: { accountId: string; ids: readonly string[]; internalIds: readonly Buffer[] },
): Promise<BatchUserRow[]> {
  const { accountId, ids, internalIds } = wanted;
  const found = await Promise.all([
    ids.length === 0 ? [] : many(session, findUsersQuery, [accountId, plainArray(ids)]),
    internalIds.length === 0 ? [] : many(session, findUsersByNameQuery, [accountId, internalIds]),
  ]);
  return found.flat();
}

export async function findCommittedTransfers(
  session: Session,
  wanted: { accountId: string; transferIds: readonly string[] },
): Promise<CommittedTransferRow[]> {
  const { accountId, transferIds } = wanted;
  return many(session, findCommittedQuery, [accountId, textArray(transferIds)]);
}

export type BatchSetQuery = {
  userId: string;
  destinationToken: string;
  currency: string;
  setId: string | undefined;
};

/** In the order of the queries; undefined where there is no such set. */
export async function findBatchSets(
  session: Session,
  accountId: string,
  queries: readonly BatchSetQuery[],
): Promise<(BatchSetRow | undefined)[]> {
  const rows = await many(session, findSetsQuery, [
    accountId,
    plainArray(queries.map(({ userId }) => userId)),
    plainArray(queries.map(({ destinationToken }) => destinationToken)),
    plainArray(queries.map(({ currency }) => currency)),
    plainArray(queries.map(({ setId }) => setId)),
  ]);
  return placeByOrdinal(queries, rows, (row) => row);
}

export type WalletRow = RowOf<typeof walletColumns>;

export async function listWallets(session: Session, accountId: string): Promise<WalletRow[]> {
  return many(session, findWalletsQuery, [accountId]);
}
