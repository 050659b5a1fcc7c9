import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, maybeOne, one, type RowOf } from '../db/rows.ts';
import type { ImageType } from './intake.ts';

/** The statuses of a verification session in the API. */
export const sessionStatuses = [
  'Started',
  'Submitted',
  'Abandoned',
  'Expired',
  'Resubmitted',
  'Declined',
  'Approved',
  'Resubmission requested',
  'Review',
] as const;
export type SessionStatus = (typeof sessionStatuses)[number];

const kycStatuses = ['none', 'pending', 'approved', 'declined'] as const;
export type KycStatus = (typeof kycStatuses)[number];

export type UserId = { accountId: string; userId: string };
export type SessionId = { accountId: string; sessionId: string };

/** `dataKey` is wrapped. `now` is the environment's time in the database, after the lock. */
export type LockedUser = { dataKey: Buffer; kycStatus: KycStatus; now: Date };

const sessionColumns = {
  id: column.uuid,
  userId: column.uuid,
  provider: column.text,
  status: column.oneOf(...sessionStatuses),
  submission: column.integer,
  expiresAt: column.instant,
  createdAt: column.instant,
  updatedAt: column.instant,
};
export type VerificationSession = RowOf<typeof sessionColumns>;

const sessionNames = `id, user_id as "userId", provider, status, submission,
  expires_at as "expiresAt", created_at as "createdAt", updated_at as "updatedAt"`;

const lockUserQuery = defineQuery({
  name: 'kyc_lock_user',
  // The account's row first, as every writer does, so that two cannot deadlock.
  text: `
    with own as materialized (select id from accounts where id = $1 for update)
    select data_key as "dataKey", kyc_status as "kycStatus"
    from users, own where account_id = own.id and users.id = $2 for no key update of users`,
  columns: { dataKey: column.bytes, kycStatus: column.oneOf(...kycStatuses) },
});
const readNowQuery = defineQuery({
  name: 'kyc_read_now',
  text: 'select environment_now() as now',
  columns: { now: column.instant },
});

/** Locks the user; every change of a verification does so first. */
export async function findAndLockUser(
  session: Session,
  { accountId, userId }: UserId,
): Promise<LockedUser | undefined> {
  const user = await maybeOne(session, lockUserQuery, [accountId, userId]);
  if (user === undefined) return undefined;
  // A statement of its own, so that the time is read after the lock was granted.
  return { ...user, ...(await one(session, readNowQuery)) };
}

const findUserQuery = defineQuery({
  name: 'kyc_find_user',
  text: `select kyc_status as "kycStatus" from users where account_id = $1 and id = $2`,
  columns: { kycStatus: column.oneOf(...kycStatuses) },
});

export async function findUserKycStatus(
  session: Session,
  { accountId, userId }: UserId,
): Promise<KycStatus | undefined> {
  return (await maybeOne(session, findUserQuery, [accountId, userId]))?.kycStatus;
}

const newestSessionQuery = defineQuery({
  name: 'kyc_newest_session',
  text: `select ${sessionNames} from verification_sessions
    where account_id = $1 and user_id = $2 order by id desc limit 1`,
  columns: sessionColumns,
});

export async function findNewestSession(
  session: Session,
  { accountId, userId }: UserId,
): Promise<VerificationSession | undefined> {
  return maybeOne(session, newestSessionQuery, [accountId, userId]);
}

const findSessionQuery = defineQuery({
  name: 'kyc_find_session',
  text: `select ${sessionNames} from verification_sessions where account_id = $1 and id = $2`,
  columns: sessionColumns,
});

export async function findSession(
  session: Session,
  { accountId, sessionId }: SessionId,
): Promise<VerificationSession | undefined> {
  return maybeOne(session, findSessionQuery, [accountId, sessionId]);
}

const listSessionsQuery = defineQuery({
  name: 'kyc_list_sessions',
  text: `select ${sessionNames} from verification_sessions
    where account_id = $1 and user_id = $2 and ($3::uuid is null or id < $3)
    order by id desc limit $4`,
  columns: sessionColumns,
});

export type SessionPage = UserId & { before: string | undefined; rowsMax: number };

export async function listSessions(
  session: Session,
  { accountId, userId, before, rowsMax }: SessionPage,
): Promise<VerificationSession[]> {
  return many(session, listSessionsQuery, [accountId, userId, before ?? null, rowsMax]);
}

const insertSessionQuery = defineQuery({
  name: 'kyc_insert_session',
  text: `insert into verification_sessions (account_id, id, user_id, status, submission,
      expires_at, created_at, updated_at)
    values ($1, $2, $3, $4, $5, $6, $7, $7)
    returning ${sessionNames}`,
  columns: sessionColumns,
});

export type NewSession = UserId & {
  id: string;
  status: SessionStatus;
  submission: number;
  expiresAt: Date;
  now: Date;
};

export async function insertSession(
  session: Session,
  values: NewSession,
): Promise<VerificationSession> {
  return one(session, insertSessionQuery, [
    values.accountId,
    values.id,
    values.userId,
    values.status,
    values.submission,
    values.expiresAt,
    values.now,
  ]);
}

const moveSessionQuery = defineQuery({
  name: 'kyc_move_session',
  text: `update verification_sessions set status = $3, submission = $4, updated_at = $5
    where account_id = $1 and id = $2
    returning ${sessionNames}`,
  columns: sessionColumns,
});

export type SessionMove = SessionId & { status: SessionStatus; submission: number; now: Date };

/** Changes a session's status; the table rejects an illegal transition. */
export async function moveSession(
  session: Session,
  move: SessionMove,
): Promise<VerificationSession> {
  const { accountId, sessionId, status, submission, now } = move;
  return one(session, moveSessionQuery, [accountId, sessionId, status, submission, now]);
}

const insertImagesStatement: Statement = {
  name: 'kyc_insert_images',
  text: `insert into verification_images (account_id, session_id, submission, type, sealed,
      created_at)
    select $1, $2, $3, image.type, image.sealed, $6
    from unnest($4::text[], $5::bytea[]) as image (type, sealed)`,
};

export type SealedImage = { type: ImageType; sealed: Buffer };

export async function insertImages(
  session: Session,
  values: SessionId & { submission: number; images: SealedImage[]; now: Date },
): Promise<void> {
  await exec(session, insertImagesStatement, [
    values.accountId,
    values.sessionId,
    values.submission,
    values.images.map((image) => image.type),
    values.images.map((image) => image.sealed),
    values.now,
  ]);
}

const setKycStatusStatement: Statement = {
  name: 'kyc_set_status',
  text: `update users set kyc_status = $3, updated_at = $4
    where account_id = $1 and id = $2 and kyc_status <> $3`,
};

export async function setKycStatus(
  session: Session,
  { accountId, userId, status, now }: UserId & { status: KycStatus; now: Date },
): Promise<void> {
  await exec(session, setKycStatusStatement, [accountId, userId, status, now]);
}

const writeEventStatement: Statement = {
  name: 'kyc_write_event',
  text: `select write_event($1, $2, $3, $4, $5)`,
};

export type VerificationEvent = SessionId & { type: string; payload: string; now: Date };

/** The caller holds the account's row. */
export async function writeVerificationEvent(
  session: Session,
  event: VerificationEvent,
): Promise<void> {
  const { accountId, type, sessionId, payload, now } = event;
  await exec(session, writeEventStatement, [accountId, type, sessionId, payload, now]);
}
