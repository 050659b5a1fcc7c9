import { AppError } from '../core/errors.ts';
import { formatToken, newId } from '../core/ids.ts';
import { type KeyRing, rowContext, sealBytes } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import type { PreparedImage } from './intake.ts';
import {
  findAndLockUser,
  findNewestSession,
  findSession,
  findUserKycStatus,
  insertImages,
  insertSession,
  type KycStatus,
  type LockedUser,
  listSessions,
  moveSession,
  type SessionPage,
  type SessionStatus,
  setKycStatus,
  type UserId,
  type VerificationSession,
  writeVerificationEvent,
} from './kyc.sql.ts';
import { findLinkSession, formatLinkToken } from './verification-link.ts';

/**
 * Identity verification: links, uploads and decisions. A user has at most one session that still
 * moves; `users.kyc_status` is what destinations that need a verification look at.
 */

const linkLifeMs = 30 * 24 * 60 * 60 * 1000;

export type Decision = 'approved' | 'declined';

/** Sessions that take images as long as their link lives. */
const openStatuses = new Set<SessionStatus>(['Started', 'Declined', 'Resubmission requested']);
const finalStatuses = new Set<SessionStatus>(['Approved', 'Abandoned', 'Expired']);

/** The status as of a moment: nobody has to write down that an open session has run out. */
export function statusAt(session: VerificationSession, now: Date): SessionStatus {
  return openStatuses.has(session.status) && session.status !== 'Declined' && isPast(session, now)
    ? 'Expired'
    : session.status;
}

function takesImagesAt(session: VerificationSession, now: Date): boolean {
  return openStatuses.has(session.status) && !isPast(session, now);
}

function isPast(session: VerificationSession, now: Date): boolean {
  return now.getTime() >= session.expiresAt.getTime();
}

/** What one transaction works on: the locked user and the newest session, run out or not. */
export type Work = UserId & {
  sql: Session;
  user: LockedUser;
  newest: VerificationSession | undefined;
};

export async function beginWork(sql: Session, id: UserId): Promise<Work> {
  const user = await findAndLockUser(sql, id);
  if (user === undefined) throw noSuchUser();
  const newest = await findNewestSession(sql, id);
  return { ...id, sql, user, newest };
}

export function noSuchUser(): AppError {
  return new AppError('not_found', 'there is no such user');
}

export type Upload = UserId & { images: PreparedImage[]; linkSessionId?: string };

/**
 * Stores the three images of one upload: the open session becomes Submitted, or Resubmitted after
 * a refusal; without an open session there is a new one. Runs in the caller's transaction of the
 * account. With `linkSessionId` only that session may take them. Throws `not_found` for an unknown
 * user, and `illegal_move` when the session of the link takes no images (any more).
 */
export async function submitImages(
  { sql, keys }: { sql: Session; keys: KeyRing },
  { accountId, userId, images, linkSessionId }: Upload,
): Promise<VerificationSession> {
  const work = await beginWork(sql, { accountId, userId });
  const { user, newest } = work;
  if (linkSessionId !== undefined) checkLink(work, linkSessionId);
  const isOpen = newest !== undefined && !finalStatuses.has(statusAt(newest, user.now));
  if (newest !== undefined && !isOpen) await expire(work, newest);
  const session = isOpen
    ? await move(work, newest, { status: nextOnUpload(newest.status), isSubmission: true })
    : await start(work, { status: 'Submitted', submission: 1 });
  const userKey = keys.unwrap(user.dataKey, { accountId, userId });
  const sealed = images.map((image) => ({
    type: image.type,
    sealed: sealBytes(userKey, image.bytes, imageContext(accountId, session, image.type)),
  }));
  const { id: sessionId, submission } = session;
  await insertImages(sql, { accountId, sessionId, submission, images: sealed, now: user.now });
  await announce(work, session, 'pending');
  return session;
}

function checkLink({ user, newest }: Work, linkSessionId: string): void {
  if (newest?.id === linkSessionId && takesImagesAt(newest, user.now)) return;
  throw new AppError('illegal_move', 'this verification link takes no images any more');
}

/** What a sealed image is bound to, so that it cannot be put in another one's place. */
export function imageContext(
  accountId: string,
  session: Pick<VerificationSession, 'id' | 'submission'>,
  type: string,
): string {
  return rowContext('verification_images', accountId, session.id, session.submission, type);
}

function nextOnUpload(status: SessionStatus): SessionStatus {
  if (status === 'Started') return 'Submitted';
  return status === 'Declined' || status === 'Resubmission requested' ? 'Resubmitted' : status;
}

/**
 * Decides on the newest open session. Approving a user who has handed in nothing makes an
 * Approved session (and declining a Declined one), because the sandbox is there to drive states.
 * Deciding the same again changes nothing. Throws `not_found` for an unknown user, and
 * `illegal_move` where an approved verification would be taken back.
 */
export async function decideVerification(
  { sql }: { sql: Session },
  { accountId, userId, decision }: UserId & { decision: Decision },
): Promise<VerificationSession> {
  const work = await beginWork(sql, { accountId, userId });
  const { user, newest } = work;
  const status = decision === 'approved' ? 'Approved' : 'Declined';
  if (newest?.status === status) return newest;
  const isOpen = newest !== undefined && !finalStatuses.has(statusAt(newest, user.now));
  if (user.kycStatus === 'approved' && decision === 'declined' && !isOpen) {
    throw new AppError('illegal_move', 'the user is approved, and an approval is final');
  }
  if (newest !== undefined && !isOpen) await expire(work, newest);
  const session = isOpen
    ? await move(work, newest, { status, isSubmission: false })
    : await start(work, { status, submission: 0 });
  await announce(work, session, decision);
  return session;
}

export type LinkRequest = UserId & { baseUrl: string };

/**
 * The link to the user's verification session, `{baseUrl}/verify/{token}`: the same at every
 * reading while the session takes images, is under review or is approved. A new session is started
 * where there is none. Throws `not_found` for an unknown user.
 */
export async function getOrCreateVerificationLink(
  { db, keys, nowMs }: { db: Database; keys: KeyRing; nowMs: number },
  { accountId, userId, baseUrl }: LinkRequest,
): Promise<string> {
  const format = (session: VerificationSession): string =>
    `${baseUrl}/verify/${formatLinkToken(keys, { accountId, sessionId: session.id })}`;
  // Reading needs no lock: nearly every call finds the session that is there.
  const known = await findNewestSession(db.tenant(accountId), { accountId, userId });
  if (known !== undefined && isLinkable(known, new Date(nowMs))) return format(known);
  return db.tenantTransaction(accountId, async (sql) => {
    const work = await beginWork(sql, { accountId, userId });
    const { user, newest } = work;
    if (newest !== undefined && isLinkable(newest, user.now)) return format(newest);
    if (newest !== undefined) await expire(work, newest);
    const session = await start(work, { status: 'Started', submission: 0 });
    await announce(work, session, undefined);
    return format(session);
  });
}

function isLinkable(session: VerificationSession, now: Date): boolean {
  if (session.status === 'Abandoned' || session.status === 'Expired') return false;
  return !openStatuses.has(session.status) || takesImagesAt(session, now);
}

/** The sessions of a user, newest first. Throws `not_found` for an unknown user. */
export async function getSessions(
  { db }: { db: Database },
  page: SessionPage,
): Promise<VerificationSession[]> {
  const sql = db.tenant(page.accountId);
  if ((await findUserKycStatus(sql, page)) === undefined) throw noSuchUser();
  return listSessions(sql, page);
}

/** What the bearer of a link may know: nothing of the person. */
export type LinkedSession = {
  accountId: string;
  userId: string;
  sessionId: string;
  status: SessionStatus;
  takesImages: boolean;
};

/** The session behind a link. Throws `not_found` for a token that we never gave out. */
export async function getLinkedSession(
  { db, keys, nowMs }: { db: Database; keys: KeyRing; nowMs: number },
  token: string,
): Promise<LinkedSession> {
  const id = findLinkSession(keys, token);
  const session = id === undefined ? undefined : await findSession(db.tenant(id.accountId), id);
  if (id === undefined || session === undefined) {
    throw new AppError('not_found', 'this verification link is not valid');
  }
  const takesImages = takesImagesAt(session, new Date(nowMs));
  // A declined session whose link has run out cannot be handed in again through this link.
  const status = openStatuses.has(session.status) && !takesImages ? 'Expired' : session.status;
  return { ...id, userId: session.userId, status, takesImages };
}

async function start(
  { sql, accountId, userId, user }: Work,
  { status, submission }: { status: SessionStatus; submission: number },
): Promise<VerificationSession> {
  const expiresAt = new Date(user.now.getTime() + linkLifeMs);
  const id = newId();
  return insertSession(sql, {
    accountId,
    userId,
    id,
    status,
    submission,
    expiresAt,
    now: user.now,
  });
}

export async function move(
  { sql, accountId, user }: Work,
  session: VerificationSession,
  { status, isSubmission }: { status: SessionStatus; isSubmission: boolean },
): Promise<VerificationSession> {
  const submission = session.submission + (isSubmission ? 1 : 0);
  return moveSession(sql, { accountId, sessionId: session.id, status, submission, now: user.now });
}

/** Writes down that a session has run out, when something else is about to follow it. */
async function expire(work: Work, session: VerificationSession): Promise<void> {
  if (finalStatuses.has(session.status) || session.status === 'Declined') return;
  const expired = await move(work, session, { status: 'Expired', isSubmission: false });
  await announce(work, expired, undefined);
}

/** Keeps the user's status in step, and tells it as an event of the same transaction. */
export async function announce(
  { sql, accountId, userId, user }: Work,
  session: VerificationSession,
  kycStatus: KycStatus | undefined,
): Promise<void> {
  const { now } = user;
  if (kycStatus !== undefined && user.kycStatus !== 'approved') {
    await setKycStatus(sql, { accountId, userId, status: kycStatus, now });
  }
  const payload = JSON.stringify({
    user_token: formatToken('user', userId),
    session_id: session.id,
    status: session.status,
  });
  const type = `verification.${session.status.toLowerCase().replaceAll(' ', '_')}`;
  await writeVerificationEvent(sql, { accountId, sessionId: session.id, type, payload, now });
}
