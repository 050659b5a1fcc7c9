import { plainArray } from '../../db/arrays.ts';
import { firstId, hexArray, indexPortion } from '../../db/indexed-tables.ts';
import type { Session, Statement } from '../../db/postgres/pool.ts';
import { column, defineQuery, exec, many, nullable, type RowOf } from '../../db/rows.ts';

/** The SQL of what a screening service was asked. */

const states = ['asked', 'clear', 'hit', 'unanswered'] as const;
export type OpinionState = (typeof states)[number];
type PayoutKey = { readonly accountId: string; readonly payoutId: string };

const lastColumns = {
  payout_id: column.uuid,
  sequence: column.integer,
  state: column.oneOf(...states),
  subject_index: column.bytes,
  service: column.text,
};
export type LastOpinionRow = RowOf<typeof lastColumns>;

/** An unanswered question ends even where no process asks the service. */
const selectLast = defineQuery({
  name: 'opinions_select_last',
  text: `
    select o.payout_id, o.sequence, o.subject_index, o.service,
      case when o.state = 'asked' and o.asked_at < clock_timestamp() - interval '10 minutes'
        then 'unanswered' else o.state end as state
    from unnest($1::uuid[], $2::uuid[]) given (account_id, payout_id)
    cross join lateral (
      select * from screening_opinions s
      where s.account_id = given.account_id and s.payout_id = given.payout_id
      order by s.sequence desc limit 1
    ) o`,
  columns: lastColumns,
});

export function readLastOpinions(
  session: Session,
  payouts: readonly PayoutKey[],
): Promise<LastOpinionRow[]> {
  return many(session, selectLast, [
    plainArray(payouts.map(({ accountId }) => accountId)),
    plainArray(payouts.map(({ payoutId }) => payoutId)),
  ]);
}

const insertQuestion: Statement = {
  name: 'opinions_insert',
  text: `
    insert into screening_opinions (account_id, payout_id, sequence, user_id, id, service,
      subject_index, state, request, due_at, asked_at)
    values ($1, $2, $3, $4, $5, $6, $7, 'asked', $8, clock_timestamp(), clock_timestamp())
    on conflict (account_id, payout_id, sequence) do nothing`,
};

export type NewQuestion = PayoutKey & {
  readonly userId: string;
  readonly sequence: number;
  readonly id: string;
  readonly service: string;
  readonly subjectIndex: Buffer;
  readonly sealed: Buffer;
};

export async function storeQuestion(session: Session, asked: NewQuestion): Promise<void> {
  await exec(session, insertQuestion, [
    asked.accountId,
    asked.payoutId,
    asked.sequence,
    asked.userId,
    asked.id,
    asked.service,
    asked.subjectIndex,
    asked.sealed,
  ]);
}

const claimedColumns = {
  account_id: column.uuid,
  payout_id: column.uuid,
  user_id: column.uuid,
  id: column.uuid,
  tries: column.integer,
  request: column.bytes,
  data_key: column.bytes,
};
export type ClaimedOpinionRow = RowOf<typeof claimedColumns>;

/** Another process may ask again after the lease, with the same key. */
const claimDue = defineQuery({
  name: 'opinions_claim',
  text: `
    with due as (
      select id from screening_opinions
      where state = 'asked' and due_at <= clock_timestamp()
      order by due_at limit $1
      for update skip locked
    )
    update screening_opinions o
    set tries = o.tries + 1, due_at = clock_timestamp() + $2 * interval '1 millisecond'
    from due, users u
    where o.id = due.id and u.account_id = o.account_id and u.id = o.user_id
    returning o.account_id, o.payout_id, o.user_id, o.id, o.tries, o.request, u.data_key`,
  columns: claimedColumns,
});

export function claimOpinions(
  session: Session,
  countMax: number,
  leaseMs: number,
): Promise<ClaimedOpinionRow[]> {
  return many(session, claimDue, [countMax, leaseMs]);
}

/** The first answer counts. The payout that waits for it is due at once. */
const recordAnswer: Statement = {
  name: 'opinions_record',
  text: `
    with recorded as (
      update screening_opinions set state = $2, answer = $3, answered_at = clock_timestamp()
      where id = $1 and state = 'asked' and ($2 <> 'unanswered' or tries = $4)
      returning account_id, payout_id
    )
    update payout_dispatches d set due_at = least(d.due_at, environment_now())
    from recorded r
    where d.account_id = r.account_id and d.payout_id = r.payout_id
      and not d.is_checked and d.due_at < 'infinity'`,
};

export async function storeOpinion(
  session: Session,
  row: Pick<ClaimedOpinionRow, 'id' | 'tries'>,
  { state, sealed }: { state: Exclude<OpinionState, 'asked'>; sealed: Buffer | null },
): Promise<void> {
  await exec(session, recordAnswer, [row.id, state, sealed, row.tries]);
}

const putOff: Statement = {
  name: 'opinions_put_off',
  text: `
    update screening_opinions set due_at = clock_timestamp() + $3 * interval '1 millisecond'
    where id = $1 and tries = $2 and state = 'asked'`,
};

export async function putOffOpinion(
  session: Session,
  { id, tries }: Pick<ClaimedOpinionRow, 'id' | 'tries'>,
  waitMs: number,
): Promise<void> {
  await exec(session, putOff, [id, tries, waitMs]);
}

const shownColumns = {
  user_id: column.uuid,
  id: column.uuid,
  service: column.text,
  state: column.oneOf(...states),
  tries: column.integer,
  answer: nullable(column.bytes),
  asked_at: column.instant,
  answered_at: nullable(column.instant),
  data_key: column.bytes,
};

const selectShown = defineQuery({
  name: 'opinions_select_shown',
  text: `
    select o.user_id, o.id, o.service, o.state, o.tries, o.answer, o.asked_at, o.answered_at, u.data_key
    from screening_opinions o
    join users u on u.account_id = o.account_id and u.id = o.user_id
    where o.account_id = $1 and o.payout_id = $2
    order by o.sequence desc
    limit 20`,
  columns: shownColumns,
});

/** Newest first. */
export function readOpinions(
  session: Session,
  { accountId, payoutId }: PayoutKey,
): Promise<RowOf<typeof shownColumns>[]> {
  return many(session, selectShown, [accountId, payoutId]);
}

const questionColumns = {
  account_id: column.uuid,
  payout_id: column.uuid,
  sequence: column.integer,
  user_id: column.uuid,
  id: column.uuid,
  service: column.text,
  request: column.bytes,
  data_key: column.bytes,
};
type QuestionRow = RowOf<typeof questionColumns>;

const selectQuestions = defineQuery({
  name: 'opinions_list_questions',
  text: `
    select o.account_id, o.payout_id, o.sequence, o.user_id, o.id, o.service, o.request, u.data_key
    from screening_opinions o
    join users u on u.account_id = o.account_id and u.id = o.user_id
    where (o.account_id, o.payout_id, o.sequence) > ($1::uuid, $2::uuid, $3::integer)
    order by o.account_id, o.payout_id, o.sequence limit $4`,
  columns: questionColumns,
});

/** A portion of all that were ever asked. */
export function listQuestions(
  session: Session,
  after: QuestionRow | undefined,
): Promise<QuestionRow[]> {
  const { account_id: accountId = firstId, payout_id: payoutId = firstId } = after ?? {};
  return many(session, selectQuestions, [accountId, payoutId, after?.sequence ?? 0, indexPortion]);
}

const updateSubjects: Statement = {
  name: 'opinions_replace_subjects',
  text: `
    update screening_opinions o set subject_index = decode(n.subject, 'hex')
    from unnest($1::uuid[], $2::text[]) n (id, subject)
    where o.id = n.id`,
};

export async function replaceSubjects(
  session: Session,
  rows: readonly QuestionRow[],
  indexes: readonly Buffer[],
): Promise<void> {
  await exec(session, updateSubjects, [plainArray(rows.map(({ id }) => id)), hexArray(indexes)]);
}
