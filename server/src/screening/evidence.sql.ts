import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, type RowOf } from '../db/rows.ts';

/** The SQL of evidence and of the keys that seal it. */

type UserKey = { readonly accountId: string; readonly userId: string };

const keyColumns = { account_id: column.uuid, id: column.uuid, data_key: column.bytes };

/** Users whose data was erased have no key. */
const selectKeys = defineQuery({
  name: 'screening_select_user_keys',
  text: `
    select u.account_id, u.id, u.data_key
    from unnest($1::uuid[], $2::uuid[]) given (account_id, user_id)
    join users u on u.account_id = given.account_id and u.id = given.user_id
    where length(u.data_key) > 0`,
  columns: keyColumns,
});

const evidenceColumns = {
  user_id: column.uuid,
  sequence: column.integer,
  screened_at: column.instant,
  evidence: column.bytes,
};
type EvidenceRow = RowOf<typeof evidenceColumns>;

const selectOfUser = defineQuery({
  name: 'screening_select_user_evidence',
  text: `
    select user_id, sequence, screened_at, evidence from screenings
    where account_id = $1 and user_id = $2 and evidence is not null
    order by sequence desc limit $3`,
  columns: evidenceColumns,
});

const selectOfPayout = defineQuery({
  name: 'screening_select_payout_evidence',
  text: `
    select user_id, sequence, screened_at, evidence from payout_screenings
    where account_id = $1 and payout_id = $2 and evidence is not null
    order by sequence desc limit $3`,
  columns: evidenceColumns,
});

const rowsMax = 50;

export function findUserKeys(
  session: Session,
  users: readonly UserKey[],
): Promise<RowOf<typeof keyColumns>[]> {
  return many(session, selectKeys, [
    users.map(({ accountId }) => accountId),
    users.map(({ userId }) => userId),
  ]);
}

/** Newest first. */
export function readUserEvidence(session: Session, user: UserKey): Promise<EvidenceRow[]> {
  return many(session, selectOfUser, [user.accountId, user.userId, rowsMax]);
}

/** Newest first. */
export function readPayoutEvidence(
  session: Session,
  payout: { readonly accountId: string; readonly payoutId: string },
): Promise<EvidenceRow[]> {
  return many(session, selectOfPayout, [payout.accountId, payout.payoutId, rowsMax]);
}
