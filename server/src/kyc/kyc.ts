import { formatSeconds } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { formatToken, newIdAfter } from '../core/ids.ts';
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
import { findLinkSession, formatVerificationToken } from './verification-link.ts';

/**
 * Identity verification: links, uploads and decisions. A user has at most one open session;
 * destinations that require a verification check `users.kyc_status`.
 */

const linkLifeMs = 30 * 24 * 60 * 60 * 1000;

export type Decision = 'approved' | 'declined';

/** Sessions in these statuses accept images until their link expires. */
const openStatuses = new Set<SessionStatus>(['Started', 'Declined', 'Resubmission requested']);
const finalStatuses = new Set<SessionStatus>(['Approved', 'Abandoned', 'Expired']);

/** The status at a time: an open session expires without a change of its row. */
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

/** The subject of a transaction: the locked user and the newest session, expired or not. */
export type Work = UserId & {
  sql: Session;
  user: LockedUser;
  newest: VerificationSession | undefined;
};

export async function beginWork(sql: Session, id: UserId): Promise<Work> {
  const user = await findAndLockUser(sql, id);
  if (user === undefined) throw userNotFound();
  const newest = await findNewestSession(sql, id);
  return { ...id, sql, user, newest };
}

export function userNotFound(): AppError {
  return new AppError('not_found', 'User not found');
}

export type Upload = UserId & {
  images: PreparedImage[];
  /** Through a link of the recipient: the session that it showed, or none yet. */
  link?: { readonly sessionId: string | undefined };
};

/**
 * Stores the three images of one upload: the open session becomes Submitted, or Resubmitted after a
 * decline; without an open session a new one starts. Runs in the caller's transaction of the account.
 * Through a link only the session that the link showed accepts them, and none of a user who is approved.
 * Throws `not_found` for an unknown user, and `illegal_move` when the link does not, or no longer, accept
 * images.
 */
export async function submitImages(
  { sql, keys }: { sql: Session; keys: KeyRing },
  { accountId, userId, images, link }: Upload,
): Promise<VerificationSession> {
  const work = await beginWork(sql, { accountId, userId });
  const { user, newest } = work;
  if (link !== undefined) checkLink(work, link.sessionId);
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

/** The user is locked here: what the page had read before the images arrived may have changed. */
function checkLink({ user, newest }: Work, sessionId: string | undefined): void {
  if (user.kycStatus === 'approved') {
    throw new AppError('illegal_move', 'the identity is approved: no images are needed');
  }
  const isAsShown =
    newest === undefined || sessionId === undefined
      ? sessionId === undefined && (newest === undefined || !isLinkable(newest, user.now))
      : newest.id === sessionId && takesImagesAt(newest, user.now);
  if (isAsShown) return;
  throw new AppError('illegal_move', 'this verification link no longer accepts images');
}

/** The context of a sealed image, so that it cannot replace another one. */
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
 * Decides about the newest open session, for the sandbox. Without one it creates an Approved or
 * Declined session, so that a client can test each state. The same decision again changes nothing.
 * Throws `not_found` for an unknown user, and `illegal_move` where it would revoke an approval.
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
    throw new AppError('illegal_move', 'the user is already approved, and an approval is final');
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
 * The link to the user's verification session, `{baseUrl}/verify/{token}`. It stays the same while the
 * session accepts images, is under review or is approved; otherwise a new session starts, unless the user
 * is approved. Throws `not_found` for an unknown user.
 */
export async function getOrCreateVerificationLink(
  { db, keys, nowMs }: { db: Database; keys: KeyRing; nowMs: number },
  { accountId, userId, baseUrl }: LinkRequest,
): Promise<string> {
  const format = (session: VerificationSession): string =>
    `${baseUrl}/verify/${formatVerificationToken(keys, { accountId, sessionId: session.id })}`;
  // Without a lock first, because nearly every call finds an existing session.
  const known = await findNewestSession(db.tenant(accountId), { accountId, userId });
  if (known !== undefined && isLinkable(known, new Date(nowMs))) return format(known);
  return db.tenantTransaction(accountId, async (sql) => {
    const work = await beginWork(sql, { accountId, userId });
    const { user, newest } = work;
    const isKept = user.kycStatus === 'approved' || (newest && isLinkable(newest, user.now));
    if (newest !== undefined && isKept) return format(newest);
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
  if ((await findUserKycStatus(sql, page)) === undefined) throw userNotFound();
  return listSessions(sql, page);
}

/** What the holder of a link may know; it has no data of the person. */
export type LinkedSession = {
  accountId: string;
  userId: string;
  sessionId: string;
  submission: number;
  status: SessionStatus;
  takesImages: boolean;
};

/** The session of a link. Throws `not_found` for a token that was never issued. */
export async function getLinkedSession(
  place: { db: Database; keys: KeyRing; nowMs: number },
  token: string,
): Promise<LinkedSession> {
  const linked = await findLinkedSession(place, token);
  if (linked !== undefined) return linked;
  throw new AppError('not_found', 'This verification link is not valid');
}

/** Undefined for a token that was never issued, or of a session that is not stored. */
export async function findLinkedSession(
  { db, keys, nowMs }: { db: Database; keys: KeyRing; nowMs: number },
  token: string,
): Promise<LinkedSession | undefined> {
  const id = findLinkSession(keys, token);
  const session = id && (await findSession(db.tenant(id.accountId), id));
  if (id === undefined || session === undefined) return undefined;
  const { userId, submission } = session;
  const linked = { ...id, userId, submission };
  // An approval is of the user, and outlasts what is decided about later sessions.
  const { accountId } = id;
  const kycStatus = await findUserKycStatus(db.tenant(accountId), { accountId, userId });
  if (kycStatus === 'approved') return { ...linked, status: 'Approved', takesImages: false };
  const takesImages = takesImagesAt(session, new Date(nowMs));
  // The expired link of a declined session accepts no images, so it is shown as expired.
  const status = openStatuses.has(session.status) && !takesImages ? 'Expired' : session.status;
  return { ...linked, status, takesImages };
}

/**
 * How far the verification of a user is, for a page that is about the user and not about one session.
 * `sessionId`: undefined where the next upload starts a session. Throws `not_found` for an unknown user.
 */
export async function getUserVerification(
  { db, nowMs }: { db: Database; nowMs: number },
  { accountId, userId }: UserId,
): Promise<Omit<LinkedSession, 'sessionId'> & { sessionId: string | undefined }> {
  const sql = db.tenant(accountId);
  const kycStatus = await findUserKycStatus(sql, { accountId, userId });
  if (kycStatus === undefined) throw userNotFound();
  const session = await findNewestSession(sql, { accountId, userId });
  const id = { accountId, userId };
  if (kycStatus === 'approved') {
    const sessionId = session?.id;
    return { ...id, sessionId, submission: 0, status: 'Approved', takesImages: false };
  }
  if (session === undefined || !isLinkable(session, new Date(nowMs))) {
    return { ...id, sessionId: undefined, submission: 0, status: 'Started', takesImages: true };
  }
  const { id: sessionId, submission, status } = session;
  return { ...id, sessionId, submission, status, takesImages: openStatuses.has(status) };
}

async function start(
  { sql, accountId, userId, user, newest }: Work,
  { status, submission }: { status: SessionStatus; submission: number },
): Promise<VerificationSession> {
  const expiresAt = new Date(user.now.getTime() + linkLifeMs);
  const id = newIdAfter(newest?.id);
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

/** Stores that a session has expired, before another one follows it. */
async function expire(work: Work, session: VerificationSession): Promise<void> {
  if (finalStatuses.has(session.status) || session.status === 'Declined') return;
  const expired = await move(work, session, { status: 'Expired', isSubmission: false });
  await announce(work, expired, undefined);
}

/** Updates the user's status and writes an event, in the same transaction. */
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
    provider: session.provider,
    session_time: formatSeconds(session.createdAt),
    expiration: formatSeconds(session.expiresAt),
    submissions: session.submission,
  });
  const type = `verification.${session.status.toLowerCase().replaceAll(' ', '_')}`;
  await writeVerificationEvent(sql, { accountId, sessionId: session.id, type, payload, now });
}
