import type { Session, Statement } from '../db/postgres/pool.ts';
import type { ImageType } from './intake.ts';

/** The statuses of a verification session, as clients read them (wire decisions 9). */
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

export type KycStatus = 'none' | 'pending' | 'approved' | 'declined';

export type UserId = { accountId: string; userId: string };
export type SessionId = { accountId: string; sessionId: string };

/** `dataKey` is wrapped. `now` is the environment's time in the database, after the lock. */
export type LockedUser = { dataKey: Buffer; kycStatus: KycStatus; now: Date };

export type VerificationSession = {
  id: string;
  userId: string;
  provider: string;
  status: SessionStatus;
  submission: number;
  expiresAt: Date;
  createdAt: Date;
  updatedAt: Date;
};

const sessionColumns = `id, user_id as "userId", provider, status, submission,
  expires_at as "expiresAt", created_at as "createdAt", updated_at as "updatedAt"`;

const lockUserStatement: Statement = {
  name: 'kyc_lock_user',
  // The account's row first, as every writer does: two of them cannot wait for each other.
  text: `
    with own as materialized (select id from accounts where id = $1 for update)
    select data_key as "dataKey", kyc_status as "kycStatus"
    from users, own where account_id = own.id and users.id = $2 for no key update of users`,
};
const readNowStatement: Statement = {
  name: 'kyc_read_now',
  text: 'select environment_now() as now',
};

/** Everything that changes a user's verification waits here for its turn. */
export async function findAndLockUser(
  session: Session,
  { accountId, userId }: UserId,
): Promise<LockedUser | undefined> {
  const [user] = await session.rows<Omit<LockedUser, 'now'>>(lockUserStatement, [
    accountId,
    userId,
  ]);
  if (user === undefined) return undefined;
  // A statement of its own: the time is read after the lock was granted.
  const [clock] = await session.rows<{ now: Date }>(readNowStatement);
  return clock === undefined ? undefined : { ...user, now: clock.now };
}

const findUserStatement: Statement = {
  name: 'kyc_find_user',
  text: `select kyc_status as "kycStatus" from users where account_id = $1 and id = $2`,
};

export async function findUserKycStatus(
  session: Session,
  { accountId, userId }: UserId,
): Promise<KycStatus | undefined> {
  const [row] = await session.rows<{ kycStatus: KycStatus }>(findUserStatement, [
    accountId,
    userId,
  ]);
  return row?.kycStatus;
}

const newestSessionStatement: Statement = {
  name: 'kyc_newest_session',
  text: `select ${sessionColumns} from verification_sessions
    where account_id = $1 and user_id = $2 order by id desc limit 1`,
};

export async function findNewestSession(
  session: Session,
  { accountId, userId }: UserId,
): Promise<VerificationSession | undefined> {
  const [row] = await session.rows<VerificationSession>(newestSessionStatement, [
    accountId,
    userId,
  ]);
  return row;
}

const findSessionStatement: Statement = {
  name: 'kyc_find_session',
  text: `select ${sessionColumns} from verification_sessions where account_id = $1 and id = $2`,
};

export async function findSession(
  session: Session,
  { accountId, sessionId }: SessionId,
): Promise<VerificationSession | undefined> {
  const [row] = await session.rows<VerificationSession>(findSessionStatement, [
    accountId,
    sessionId,
  ]);
  return row;
}

const listSessionsStatement: Statement = {
  name: 'kyc_list_sessions',
  text: `select ${sessionColumns} from verification_sessions
    where account_id = $1 and user_id = $2 and ($3::uuid is null or id < $3)
    order by id desc limit $4`,
};

export type SessionPage = UserId & { before: string | undefined; rowsMax: number };

export async function listSessions(
  session: Session,
  { accountId, userId, before, rowsMax }: SessionPage,
): Promise<VerificationSession[]> {
  return session.rows(listSessionsStatement, [accountId, userId, before ?? null, rowsMax]);
}

const insertSessionStatement: Statement = {
  name: 'kyc_insert_session',
  text: `insert into verification_sessions (account_id, id, user_id, status, submission,
      expires_at, created_at, updated_at)
    values ($1, $2, $3, $4, $5, $6, $7, $7)
    returning ${sessionColumns}`,
};

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
  const [row] = await session.rows<VerificationSession>(insertSessionStatement, [
    values.accountId,
    values.id,
    values.userId,
    values.status,
    values.submission,
    values.expiresAt,
    values.now,
  ]);
  if (row === undefined) throw new Error('impossible: an insert without its row');
  return row;
}

const moveSessionStatement: Statement = {
  name: 'kyc_move_session',
  text: `update verification_sessions set status = $3, submission = $4, updated_at = $5
    where account_id = $1 and id = $2
    returning ${sessionColumns}`,
};

export type SessionMove = SessionId & { status: SessionStatus; submission: number; now: Date };

/** Moves one session; the table refuses a move that is not legal. */
export async function moveSession(
  session: Session,
  move: SessionMove,
): Promise<VerificationSession> {
  const { accountId, sessionId, status, submission, now } = move;
  const values = [accountId, sessionId, status, submission, now];
  const [row] = await session.rows<VerificationSession>(moveSessionStatement, values);
  if (row === undefined) throw new Error('impossible: a locked session has gone');
  return row;
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
  await session.rows(insertImagesStatement, [
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
  await session.rows(setKycStatusStatement, [accountId, userId, status, now]);
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
  await session.rows(writeEventStatement, [accountId, type, sessionId, payload, now]);
}
