import { z } from 'zod';
import type { Session, Statement } from '../db/postgres/pool.ts';
import {
  column,
  defineQuery,
  exec,
  many,
  maybeOne,
  nullable,
  one,
  type RowOf,
} from '../db/rows.ts';
import { imageTypes } from './intake.ts';
import { type SessionId, sessionStatuses, type UserId } from './kyc.sql.ts';

/** The SQL of decisions about identities. Decisions are added and never changed. */

export const identityDecisions = ['approved', 'declined', 'resubmission_requested'] as const;
export type IdentityDecision = (typeof identityDecisions)[number];

/** The reasons that a reviewer can give the recipient; the page has a text for each. */
export const recipientReasons = [
  'dark',
  'blurred',
  'cut',
  'glare',
  'expired',
  'unsupported',
  'face_hidden',
  'face_mismatch',
  'data_mismatch',
] as const;
export type RecipientReason = (typeof recipientReasons)[number];

const needsTwoQuery = defineQuery({
  name: 'kyc_needs_two_persons',
  text: 'select identity_two_persons from accounts where id = $1',
  columns: { identity_two_persons: column.boolean },
});

/**
 * Counts each person's last decision since the last one that took effect, unless the person has left.
 * `last_id`: of the newest decision about the session.
 */
const countPersonsQuery = defineQuery({
  name: 'kyc_count_persons',
  text: `
    select count(*)::integer as count, (
      select id from verification_decisions
      where account_id = $1 and session_id = $2 order by id desc limit 1
    ) as last_id
    from (
      select distinct on (person) decision
      from verification_decisions d
      where account_id = $1 and session_id = $2 and submission = $3 and person <> $5
        and not exists (
          select from verification_decisions e
          where e.account_id = d.account_id and e.session_id = d.session_id
            and e.submission = d.submission and e.is_effective and e.id > d.id)
        and not is_effective and not is_vote_lapsed(account_id, decided_by, credential_id)
      order by person, id desc
    ) latest
    where decision = $4`,
  columns: { count: column.integer, last_id: nullable(column.uuid) },
});

const insertStatement: Statement = {
  name: 'kyc_insert_decision',
  text: `
    insert into verification_decisions (account_id, id, session_id, user_id, submission, decision,
      decided_by, person, reason, credential_id, is_effective, decided_at, recipient_reason)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
};

const historyColumns = {
  id: column.uuid,
  session_id: column.uuid,
  submission: column.integer,
  decision: column.oneOf(...identityDecisions),
  decided_by: column.text,
  reason: column.bytes,
  credential_id: nullable(column.uuid),
  is_effective: column.boolean,
  decided_at: column.instant,
};
export type DecisionRow = RowOf<typeof historyColumns>;

const historyQuery = defineQuery({
  name: 'kyc_list_decisions',
  text: `
    select id, session_id, submission, decision, decided_by, reason, credential_id, is_effective,
      decided_at
    from verification_decisions
    where account_id = $1 and user_id = $2
    order by id desc limit 1000`,
  columns: historyColumns,
});

const pendingColumns = {
  account_id: column.uuid,
  id: column.uuid,
  user_id: column.uuid,
  provider: column.text,
  status: column.oneOf(...sessionStatuses),
  submission: column.integer,
  created_at: column.instant,
  updated_at: column.instant,
  /** The decisions of first persons, where a second one is needed. */
  decisions: column.json(
    z.array(
      z.object({
        decision: z.enum(identityDecisions),
        decided_by: z.string(),
        decided_at: z.coerce.date<string>(),
      }),
    ),
  ),
};
export type PendingRow = RowOf<typeof pendingColumns>;

const pendingQuery = defineQuery({
  name: 'kyc_list_pending',
  text: `
    with page as materialized (
      select * from verification_sessions s
      where s.status in ('Submitted', 'Resubmitted', 'Review')
        and case when ($1::uuid is null or s.account_id = $1) and ($2::uuid is null or s.id < $2)
          then true else false end
      order by s.id desc limit $3
    )
    select s.account_id, s.id, s.user_id, s.provider, s.status, s.submission, s.created_at,
      s.updated_at, coalesce(first.decisions, '[]') as decisions
    from page s
    left join lateral (
      select jsonb_agg(jsonb_build_object('decision', d.decision, 'decided_by', d.decided_by,
        'decided_at', d.decided_at) order by d.id) as decisions
      from verification_decisions d
      where d.account_id = s.account_id and d.session_id = s.id and d.submission = s.submission
        and not d.is_effective
    ) first on true
    order by s.id desc`,
  columns: pendingColumns,
});

const imageColumns = {
  type: column.oneOf(...imageTypes),
  sealed: column.bytes,
  data_key: column.bytes,
};

const imagesQuery = defineQuery({
  name: 'kyc_select_images',
  text: `
    select i.type, i.sealed, u.data_key
    from verification_images i
    join users u on u.account_id = i.account_id and u.id = $4
    where i.account_id = $1 and i.session_id = $2 and i.submission = $3
    order by i.type`,
  columns: imageColumns,
});

const dataKeyQuery = defineQuery({
  name: 'kyc_select_data_key',
  text: 'select data_key from users where account_id = $1 and id = $2',
  columns: { data_key: column.bytes },
});

export async function needsTwoPersons(session: Session, accountId: string): Promise<boolean> {
  return (await one(session, needsTwoQuery, [accountId])).identity_two_persons;
}

export type DecisionOutcome = SessionId & {
  submission: number;
  decision: IdentityDecision;
  person: string;
};

/**
 * The number of other persons with the same decision about the same images, and the newest decision about
 * the session.
 */
export async function readVotes(
  session: Session,
  outcome: DecisionOutcome,
): Promise<{ count: number; lastId: string | undefined }> {
  const { accountId, sessionId, submission, decision, person } = outcome;
  const values = [accountId, sessionId, submission, decision, person];
  const { count, last_id: lastId } = await one(session, countPersonsQuery, values);
  return { count, lastId: lastId ?? undefined };
}

export async function insertDecision(
  session: Session,
  given: DecisionOutcome &
    UserId & {
      id: string;
      decidedBy: string;
      reason: Buffer;
      recipientReason: RecipientReason | '';
      credentialId: string | undefined;
      isEffective: boolean;
      now: Date;
    },
): Promise<void> {
  await exec(session, insertStatement, [
    given.accountId,
    given.id,
    given.sessionId,
    given.userId,
    given.submission,
    given.decision,
    given.decidedBy,
    given.person,
    given.reason,
    given.credentialId ?? null,
    given.isEffective,
    given.now,
    given.recipientReason,
  ]);
}

/** Newest first. */
export function listDecisionRows(
  session: Session,
  { accountId, userId }: UserId,
): Promise<DecisionRow[]> {
  return many(session, historyQuery, [accountId, userId]);
}

/** Newest first; of all accounts unless one is given. */
export function listPendingRows(
  session: Session,
  page: { accountId: string | undefined; before: string | undefined; rowsMax: number },
): Promise<PendingRow[]> {
  return many(session, pendingQuery, [page.accountId ?? null, page.before ?? null, page.rowsMax]);
}

export function selectImages(
  session: Session,
  images: SessionId & { submission: number; userId: string },
): Promise<RowOf<typeof imageColumns>[]> {
  const { accountId, sessionId, submission, userId } = images;
  return many(session, imagesQuery, [accountId, sessionId, submission, userId]);
}

export async function findDataKey(
  session: Session,
  { accountId, userId }: UserId,
): Promise<Buffer | undefined> {
  return (await maybeOne(session, dataKeyQuery, [accountId, userId]))?.data_key;
}

const recipientReasonQuery = defineQuery({
  name: 'kyc_find_recipient_reason',
  text: `
    select recipient_reason from verification_decisions
    where account_id = $1 and session_id = $2 and submission = $3 and is_effective
      and decision <> 'approved'
    order by id desc limit 1`,
  columns: { recipient_reason: column.oneOf('', ...recipientReasons) },
});

/** What the last decision about these images tells the recipient; "" for nothing. */
export async function findRecipientReason(
  session: Session,
  { accountId, sessionId, submission }: SessionId & { submission: number },
): Promise<RecipientReason | ''> {
  const row = await maybeOne(session, recipientReasonQuery, [accountId, sessionId, submission]);
  return row?.recipient_reason ?? '';
}

const reviewTimeQuery = defineQuery({
  name: 'kyc_measure_reviews',
  text: `
    select count(*)::integer as count,
      coalesce(percentile_disc(0.8) within group (order by seconds), 0)::integer as seconds
    from (
      select greatest(1, least(2592000, extract(epoch from d.decided_at - i.created_at))) as seconds
      from verification_decisions d
      join verification_images i on i.account_id = d.account_id and i.session_id = d.session_id
        and i.submission = d.submission and i.type = 'face'
      where d.account_id = $1 and d.is_effective
      order by d.id desc limit 100
    ) last`,
  columns: { count: column.integer, seconds: column.integer },
});

/** Fewer decisions say nothing about the next one. */
const reviewsMin = 5;

/** The time within which four of five of the last reviews ended; undefined after too few. */
export async function measureReviews(
  session: Session,
  accountId: string,
): Promise<number | undefined> {
  const row = await maybeOne(session, reviewTimeQuery, [accountId]);
  return row === undefined || row.count < reviewsMin ? undefined : row.seconds;
}
