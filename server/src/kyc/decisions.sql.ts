import type { Session, Statement } from '../db/postgres/pool.ts';
import type { ImageType } from './intake.ts';
import type { SessionId, SessionStatus, UserId } from './kyc.sql.ts';

/** The SQL of decisions about identities. Decisions are added and never changed. */

export const identityDecisions = ['approved', 'declined', 'resubmission_requested'] as const;
export type IdentityDecision = (typeof identityDecisions)[number];

const needsTwoText: Statement = {
  name: 'kyc_needs_two_persons',
  text: 'select identity_two_persons from accounts where id = $1',
};

/** Of each person only the last word counts; a decision that took effect begins anew. */
const countPersonsText: Statement = {
  name: 'kyc_count_persons',
  text: `
    select count(*)::integer as count from (
      select distinct on (person) decision
      from verification_decisions d
      where account_id = $1 and session_id = $2 and submission = $3 and person <> $5
        and not exists (
          select from verification_decisions e
          where e.account_id = d.account_id and e.session_id = d.session_id
            and e.submission = d.submission and e.is_effective and e.id > d.id)
        and not is_effective
      order by person, id desc
    ) said
    where decision = $4`,
};

const insertText: Statement = {
  name: 'kyc_insert_decision',
  text: `
    insert into verification_decisions (account_id, id, session_id, user_id, submission, decision,
      decided_by, person, reason, credential_id, is_effective, decided_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
};

const historyText: Statement = {
  name: 'kyc_list_decisions',
  text: `
    select id, session_id, submission, decision, decided_by, reason, credential_id, is_effective,
      decided_at
    from verification_decisions
    where account_id = $1 and user_id = $2
    order by id desc limit 1000`,
};

const pendingText: Statement = {
  name: 'kyc_list_pending',
  text: `
    select s.account_id, s.id, s.user_id, s.provider, s.status, s.submission, s.created_at,
      s.updated_at, coalesce(said.decisions, '[]') as decisions
    from verification_sessions s
    left join lateral (
      select jsonb_agg(jsonb_build_object('decision', d.decision, 'decided_by', d.decided_by,
        'decided_at', d.decided_at) order by d.id) as decisions
      from verification_decisions d
      where d.account_id = s.account_id and d.session_id = s.id and d.submission = s.submission
        and not d.is_effective
    ) said on true
    where ($1::uuid is null or s.account_id = $1) and ($2::uuid is null or s.id < $2)
      and s.status in ('Submitted', 'Resubmitted', 'Review')
    order by s.id desc limit $3`,
};

const imagesText: Statement = {
  name: 'kyc_select_images',
  text: `
    select i.type, i.sealed, u.data_key
    from verification_images i
    join users u on u.account_id = i.account_id and u.id = $4
    where i.account_id = $1 and i.session_id = $2 and i.submission = $3
    order by i.type`,
};

const dataKeyText: Statement = {
  name: 'kyc_select_data_key',
  text: 'select data_key from users where account_id = $1 and id = $2',
};

export async function needsTwoPersons(session: Session, accountId: string): Promise<boolean> {
  const [row] = await session.rows<{ identity_two_persons: boolean }>(needsTwoText, [accountId]);
  return row?.identity_two_persons === true;
}

export type Said = SessionId & { submission: number; decision: IdentityDecision; person: string };

/** How many others said the same of the same images. */
export async function countOthers(session: Session, said: Said): Promise<number> {
  const { accountId, sessionId, submission, decision, person } = said;
  const values = [accountId, sessionId, submission, decision, person];
  const [row] = await session.rows<{ count: number }>(countPersonsText, values);
  return row?.count ?? 0;
}

export async function insertDecision(
  session: Session,
  given: Said &
    UserId & {
      id: string;
      decidedBy: string;
      reason: Buffer;
      credentialId: string | undefined;
      isEffective: boolean;
      now: Date;
    },
): Promise<void> {
  await session.rows(insertText, [
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
  ]);
}

export type DecisionRow = {
  id: string;
  session_id: string;
  submission: number;
  decision: IdentityDecision;
  decided_by: string;
  reason: Buffer;
  credential_id: string | null;
  is_effective: boolean;
  decided_at: Date;
};

/** The newest first. */
export function listDecisionRows(
  session: Session,
  { accountId, userId }: UserId,
): Promise<DecisionRow[]> {
  return session.rows(historyText, [accountId, userId]);
}

export type PendingRow = {
  account_id: string;
  id: string;
  user_id: string;
  provider: string;
  status: SessionStatus;
  submission: number;
  created_at: Date;
  updated_at: Date;
  /** Of first persons, where a second one is needed. */
  decisions: { decision: IdentityDecision; decided_by: string; decided_at: string }[];
};

/** Newest first; of all accounts where none is named. */
export function listPendingRows(
  session: Session,
  page: { accountId: string | undefined; before: string | undefined; rowsMax: number },
): Promise<PendingRow[]> {
  return session.rows(pendingText, [page.accountId ?? null, page.before ?? null, page.rowsMax]);
}

export function selectImages(
  session: Session,
  images: SessionId & { submission: number; userId: string },
): Promise<{ type: ImageType; sealed: Buffer; data_key: Buffer }[]> {
  const { accountId, sessionId, submission, userId } = images;
  return session.rows(imagesText, [accountId, sessionId, submission, userId]);
}

export async function findDataKey(
  session: Session,
  { accountId, userId }: UserId,
): Promise<Buffer | undefined> {
  const [row] = await session.rows<{ data_key: Buffer }>(dataKeyText, [accountId, userId]);
  return row?.data_key;
}
