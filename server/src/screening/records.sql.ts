import { z } from 'zod';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, maybeOne, nullable, type RowOf } from '../db/rows.ts';
import { type Hit, hit, type ListVersion, listVersion } from './hit.ts';

/** The SQL of screening results. Rows are added and never changed. */

const states = ['clear', 'hit', 'cleared_by_person', 'confirmed_by_person'] as const;
export type ScreeningState = (typeof states)[number];
export type UserKey = { readonly accountId: string; readonly userId: string };

const columns = {
  account_id: column.uuid,
  user_id: column.uuid,
  sequence: column.integer,
  state: column.oneOf(...states),
  subject_index: column.bytes,
  list_fingerprint: column.bytes,
  list_versions: column.json(z.array(listVersion)),
  threshold_permille: column.integer,
  top_score_permille: column.integer,
  hits: column.json(z.array(hit)),
  screened_at: column.instant,
  decided_by: nullable(column.text),
  decided_at: nullable(column.instant),
  decision_reason: nullable(column.bytes),
  cleared_until: nullable(column.instant),
};
export type ScreeningRow = RowOf<typeof columns>;

/** `is_expired`: a clearance on which it rests has ended. */
export type LastRow = ScreeningRow & { ordinal: number; is_expired: boolean };

const names = Object.keys(columns)
  .map((name) => `s.${name}`)
  .join(', ');

const selectLast = defineQuery({
  name: 'screening_select_last',
  text: `
    select given.ordinal::integer, ${names},
      coalesce(s.cleared_until <= (select environment_now()), false) as is_expired
    from unnest($1::uuid[], $2::uuid[]) with ordinality as given (account_id, user_id, ordinal)
    cross join lateral (
      select * from screenings
      where account_id = given.account_id and user_id = given.user_id
      order by sequence desc
      limit 1
    ) s`,
  columns: { ...columns, ordinal: column.integer, is_expired: column.boolean },
});

const selectNewest = defineQuery({
  name: 'screening_select_newest',
  text: `
    select ${names} from screenings s
    where s.account_id = $1 and s.user_id = $2
    order by s.sequence desc
    limit 1`,
  columns,
});

/** A decision that still holds is copied from the previous row, or from the clearance that covers it. */
const insertRows = defineQuery({
  name: 'screening_insert_rows',
  text: `
    insert into screenings as s (account_id, user_id, sequence, state, subject_index,
      list_fingerprint, list_versions, threshold_permille, top_score_permille, hits, screened_at,
      decided_by, decided_at, decision_reason, cleared_until, evidence)
    select $1, given.user_id, given.sequence, given.state, decode(given.subject_index, 'hex'),
      $2, $3::jsonb, $4, given.top_score_permille, given.hits, now.at,
      coalesce(covering.cleared_by, last.decided_by),
      coalesce(covering.cleared_at, last.decided_at),
      coalesce(covering.reason, last.decision_reason), (given.clearance->>'until')::timestamptz,
      decode(given.evidence, 'hex')
    from (select environment_now() as at) now
    cross join jsonb_to_recordset($5::jsonb) as given (user_id uuid, sequence integer, state text,
      subject_index text, top_score_permille smallint, hits jsonb, clearance jsonb, evidence text)
    left join screening_clearances covering
      on covering.account_id = $1 and covering.id = (given.clearance->>'id')::uuid
    left join screenings last on covering.id is null and last.account_id = $1 and last.user_id = given.user_id
      and last.sequence = given.sequence - 1 and last.state = given.state
    order by given.user_id
    on conflict (account_id, user_id, sequence) do nothing
    returning ${names}`,
  columns,
});

const insertDecision = defineQuery({
  name: 'screening_insert_decision',
  text: `
    insert into screenings as s (account_id, user_id, sequence, state, subject_index,
      list_fingerprint, list_versions, threshold_permille, top_score_permille, hits, screened_at,
      decided_by, decided_at, decision_reason, evidence)
    select account_id, user_id, sequence + 1, $4, subject_index, list_fingerprint, list_versions,
      threshold_permille, top_score_permille, hits, screened_at, $5, environment_now(), $6, evidence
    from screenings
    where account_id = $1 and user_id = $2 and sequence = $3 and state <> 'clear'
    on conflict (account_id, user_id, sequence) do nothing
    returning ${names}`,
  columns,
});

const selectDataKey = defineQuery({
  name: 'screening_select_data_key',
  text: 'select data_key from users where account_id = $1 and id = $2',
  columns: { data_key: column.bytes },
});

export function readLastRows(session: Session, users: readonly UserKey[]): Promise<LastRow[]> {
  return many(session, selectLast, [
    users.map(({ accountId }) => accountId),
    users.map(({ userId }) => userId),
  ]);
}

/** With the highest sequence, which counts the rows of the user. */
export function findNewest(
  session: Session,
  { accountId, userId }: UserKey,
): Promise<ScreeningRow | undefined> {
  return maybeOne(session, selectNewest, [accountId, userId]);
}

export type NewRow = {
  user_id: string;
  sequence: number;
  state: ScreeningState;
  subject_index: string;
  top_score_permille: number;
  hits: readonly Hit[];
  /** The clearance whose decision is copied, and the earliest end of all that cover the hits. */
  clearance: { id: string; until: Date } | null;
  /** Sealed, in hexadecimal digits. */
  evidence: string | null;
};

export type NewRows = {
  readonly accountId: string;
  readonly fingerprint: Buffer;
  readonly versions: readonly ListVersion[];
  readonly thresholdPermille: number;
  readonly rows: readonly NewRow[];
};

/** The rows that were written; a missing one was written by another process meanwhile. */
export function writeRows(session: Session, given: NewRows): Promise<ScreeningRow[]> {
  return many(session, insertRows, [
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
  return maybeOne(session, insertDecision, values);
}

export async function findDataKey(
  session: Session,
  { accountId, userId }: UserKey,
): Promise<Buffer | undefined> {
  return (await maybeOne(session, selectDataKey, [accountId, userId]))?.data_key;
}

/** A new row with the hits of the last one, after a change of the clearances. */
const insertReview = defineQuery({
  name: 'screening_insert_review',
  text: `
    insert into screenings as s (account_id, user_id, sequence, state, subject_index,
      list_fingerprint, list_versions, threshold_permille, top_score_permille, hits, screened_at,
      decided_by, decided_at, decision_reason, cleared_until, evidence)
    select last.account_id, last.user_id, last.sequence + 1,
      case when c.id is null then 'hit' else 'cleared_by_person' end, last.subject_index,
      last.list_fingerprint, last.list_versions, last.threshold_permille,
      last.top_score_permille, last.hits, last.screened_at, c.cleared_by, c.cleared_at, c.reason,
      case when c.id is not null then $5::timestamptz end, last.evidence
    from screenings last
    left join screening_clearances c on c.account_id = last.account_id and c.id = $4
    where last.account_id = $1 and last.user_id = $2 and last.sequence = $3
    on conflict (account_id, user_id, sequence) do nothing
    returning ${names}`,
  columns,
});

/** `clearance`: whose decision is copied; undefined: none covers the hits. */
export function writeReview(
  session: Session,
  user: UserKey,
  given: { sequence: number; clearance: { id: string; until: Date } | undefined },
): Promise<ScreeningRow | undefined> {
  const { sequence, clearance } = given;
  const values = [user.accountId, user.userId, sequence, clearance?.id ?? null];
  return maybeOne(session, insertReview, [...values, clearance?.until ?? null]);
}
