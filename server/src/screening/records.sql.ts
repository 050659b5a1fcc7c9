import type { Session, Statement } from '../db/postgres/pool.ts';
import type { Hit, ListVersion } from './hit.ts';

/** The SQL of what came of screening recipients. Rows are added and never changed. */

export type ScreeningState = 'clear' | 'hit' | 'cleared_by_person' | 'confirmed_by_person';
export type UserKey = { readonly accountId: string; readonly userId: string };

const columns = `s.account_id, s.user_id, s.sequence, s.state, s.subject_index, s.list_fingerprint,
  s.list_versions, s.threshold_permille, s.top_score_permille, s.hits, s.screened_at, s.decided_by,
  s.decided_at, s.decision_reason`;

const selectLast: Statement = {
  name: 'screening_select_last',
  text: `
    select given.ordinal::integer, ${columns}
    from unnest($1::uuid[], $2::uuid[]) with ordinality as given (account_id, user_id, ordinal)
    cross join lateral (
      select * from screenings
      where account_id = given.account_id and user_id = given.user_id
      order by sequence desc
      limit 1
    ) s`,
};

const selectHistory: Statement = {
  name: 'screening_select_history',
  text: `
    select ${columns} from screenings s
    where s.account_id = $1 and s.user_id = $2
    order by s.sequence desc
    limit $3`,
};

/** A decision that still holds is taken over from the row before. */
const insertRows: Statement = {
  name: 'screening_insert_rows',
  text: `
    insert into screenings as s (account_id, user_id, sequence, state, subject_index,
      list_fingerprint, list_versions, threshold_permille, top_score_permille, hits, screened_at,
      decided_by, decided_at, decision_reason)
    select $1, given.user_id, given.sequence, given.state, decode(given.subject_index, 'hex'),
      $2, $3::jsonb, $4, given.top_score_permille, given.hits, now.at,
      last.decided_by, last.decided_at, last.decision_reason
    from (select environment_now() as at) now
    cross join jsonb_to_recordset($5::jsonb) as given (user_id uuid, sequence integer, state text,
      subject_index text, top_score_permille smallint, hits jsonb)
    left join screenings last on last.account_id = $1 and last.user_id = given.user_id
      and last.sequence = given.sequence - 1 and last.state = given.state
    order by given.user_id
    on conflict (account_id, user_id, sequence) do nothing
    returning ${columns}`,
};

const insertDecision: Statement = {
  name: 'screening_insert_decision',
  text: `
    insert into screenings as s (account_id, user_id, sequence, state, subject_index,
      list_fingerprint, list_versions, threshold_permille, top_score_permille, hits, screened_at,
      decided_by, decided_at, decision_reason)
    select account_id, user_id, sequence + 1, $4, subject_index, list_fingerprint, list_versions,
      threshold_permille, top_score_permille, hits, screened_at, $5, environment_now(), $6
    from screenings
    where account_id = $1 and user_id = $2 and sequence = $3 and state <> 'clear'
    on conflict (account_id, user_id, sequence) do nothing
    returning ${columns}`,
};

const selectDataKey: Statement = {
  name: 'screening_select_data_key',
  text: 'select id, data_key from users where account_id = $1 and id = $2',
};

export type ScreeningRow = {
  account_id: string;
  user_id: string;
  sequence: number;
  state: ScreeningState;
  subject_index: Buffer;
  list_fingerprint: Buffer;
  list_versions: ListVersion[];
  threshold_permille: number;
  top_score_permille: number;
  hits: Hit[];
  screened_at: Date;
  decided_by: string | null;
  decided_at: Date | null;
  decision_reason: Buffer | null;
};

export function readLastRows(
  session: Session,
  users: readonly UserKey[],
): Promise<(ScreeningRow & { ordinal: number })[]> {
  return session.rows(selectLast, [
    users.map(({ accountId }) => accountId),
    users.map(({ userId }) => userId),
  ]);
}

/** The newest first. */
export function readHistory(
  session: Session,
  { accountId, userId }: UserKey,
  countMax: number,
): Promise<ScreeningRow[]> {
  return session.rows(selectHistory, [accountId, userId, countMax]);
}

export type NewRows = {
  readonly accountId: string;
  readonly fingerprint: Buffer;
  readonly versions: readonly ListVersion[];
  readonly thresholdPermille: number;
  readonly rows: readonly {
    user_id: string;
    sequence: number;
    state: ScreeningState;
    subject_index: string;
    top_score_permille: number;
    hits: readonly Hit[];
  }[];
};

/** Those that were written; where one is missing, somebody else has written it meanwhile. */
export function writeRows(session: Session, given: NewRows): Promise<ScreeningRow[]> {
  return session.rows(insertRows, [
    given.accountId,
    given.fingerprint,
    JSON.stringify(given.versions),
    given.thresholdPermille,
    JSON.stringify(given.rows),
  ]);
}

export async function writeDecision(
  session: Session,
  user: UserKey,
  given: { sequence: number; state: ScreeningState; decidedBy: string; reason: Buffer },
): Promise<ScreeningRow | undefined> {
  const { sequence, state, decidedBy, reason } = given;
  const values = [user.accountId, user.userId, sequence, state, decidedBy, reason];
  const [row] = await session.rows<ScreeningRow>(insertDecision, values);
  return row;
}

export async function findDataKey(
  session: Session,
  { accountId, userId }: UserKey,
): Promise<{ id: string; data_key: Buffer } | undefined> {
  const [row] = await session.rows<{ id: string; data_key: Buffer }>(selectDataKey, [
    accountId,
    userId,
  ]);
  return row;
}
