import { AppError, type Fault, throwFaults } from '../core/errors.ts';
import { newIdAfter } from '../core/ids.ts';
import { normalizePersonName } from '../core/person-name.ts';
import { type KeyRing, openBytes, sealBytes } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import {
  findDataKey,
  type IdentityDecision,
  insertDecision,
  listDecisionRows,
  needsTwoPersons,
  type RecipientReason,
  readVotes,
  selectImages,
} from './decisions.sql.ts';
import type { ImageType } from './intake.ts';
import {
  findNewestSession,
  type SessionStatus,
  type UserId,
  type VerificationSession,
} from './kyc.sql.ts';
import {
  announce,
  beginWork,
  imageContext,
  move,
  statusAt,
  userNotFound,
  type Work,
} from './kyc.ts';

export {
  findRecipientReason,
  type IdentityDecision,
  identityDecisions,
  listPendingRows as listPending,
  measureReviews,
  type PendingRow,
  type RecipientReason,
  recipientReasons,
} from './decisions.sql.ts';

/**
 * Decisions of persons about identities, by command or through the API, in every environment. Each
 * decision is stored with its author and reason. An account can require that two people decide the
 * same about the same images.
 */

export type Services = { readonly sql: Session; readonly keys: KeyRing };

export type GivenDecision = UserId & {
  /** What the reviewer looked at: a later upload must not be decided unseen. */
  readonly sessionId: string;
  readonly submission: number;
  readonly decision: IdentityDecision;
  /** The name of the reviewer. */
  readonly decidedBy: string;
  readonly reason: string;
  /** What the page tells the recipient; the reason itself is for the client. */
  readonly recipientReason?: RecipientReason | undefined;
  /** Undefined for a command. */
  readonly credentialId: string | undefined;
};

export type DecidedIdentity = {
  /** `waiting`: another person must decide the same. */
  readonly result: 'done' | 'waiting';
  readonly session: VerificationSession;
};

export const decidedByLengthMax = 200;
export const reasonLengthMax = 2_000;

/** The legal decisions for the status of a session with images. */
const decidable: Readonly<Partial<Record<SessionStatus, readonly IdentityDecision[]>>> = {
  Submitted: ['approved', 'declined', 'resubmission_requested'],
  Resubmitted: ['approved', 'declined', 'resubmission_requested'],
  Review: ['approved', 'declined', 'resubmission_requested'],
  'Resubmission requested': ['approved', 'declined'],
  Declined: ['approved'],
};

const statuses: Readonly<Record<IdentityDecision, SessionStatus>> = {
  approved: 'Approved',
  declined: 'Declined',
  resubmission_requested: 'Resubmission requested',
};

/**
 * Decides in the caller's transaction of the account.
 *
 * @throws AppError not_found (user), invalid_request (name, reason), illegal_move (with the
 * obstacle).
 */
export async function decideIdentity(
  { sql, keys }: Services,
  given: GivenDecision,
): Promise<DecidedIdentity> {
  const { accountId, userId, decision, decidedBy, reason } = given;
  const person = normalizePersonName(decidedBy);
  throwFaults(findFaults(given, person));
  const work = await beginWork(sql, { accountId, userId });
  const session = findDecidable(work, given);
  const { id: sessionId, submission } = session;
  const outcome = { accountId, sessionId, submission, decision, person };
  const personsNeeded = (await needsTwoPersons(sql, accountId)) ? 2 : 1;
  const others = await readVotes(sql, outcome);
  const isEffective = others.count + 1 >= personsNeeded;
  const id = newIdAfter(others.lastId);
  const userKey = keys.unwrap(work.user.dataKey, { accountId, userId });
  await insertDecision(sql, {
    ...outcome,
    id,
    userId,
    decidedBy: decidedBy.trim(),
    reason: sealBytes(userKey, Buffer.from(reason), reasonContext(id)),
    recipientReason: decision === 'approved' ? '' : (given.recipientReason ?? ''),
    credentialId: given.credentialId,
    isEffective,
    now: work.user.now,
  });
  if (!isEffective) return { result: 'waiting', session: await review(work, session) };
  const decided = await move(work, session, { status: statuses[decision], isSubmission: false });
  await announce(work, decided, decision === 'resubmission_requested' ? 'pending' : decision);
  return { result: 'done', session: decided };
}

function findFaults({ reason, decidedBy }: GivenDecision, person: string): Fault[] {
  const faults: Fault[] = [];
  // One character can become several in the normal form.
  if (person === '' || person.length > 400 || decidedBy.length > decidedByLengthMax) {
    const detail = `decided_by must be a name of 1 to ${decidedByLengthMax} characters`;
    faults.push({ pointer: '/decided_by', code: 'invalid_value', detail });
  }
  if (reason.trim() === '' || reason.length > reasonLengthMax) {
    const detail = `reason must have 1 to ${reasonLengthMax} characters`;
    faults.push({ pointer: '/reason', code: 'invalid_value', detail });
  }
  return faults;
}

/** The newest session, if the reviewer saw it and the decision is legal. */
function findDecidable({ user, newest }: Work, given: GivenDecision): VerificationSession {
  const { sessionId, submission, decision } = given;
  if (newest === undefined) throw illegal('the user has no verification session');
  if (sessionId !== newest.id) {
    throw illegal(
      `the newest verification session of the user is ${newest.id}: look at its images, then decide`,
    );
  }
  if (newest.submission === 0) throw illegal('the user has not uploaded any images');
  if (submission !== newest.submission) {
    throw illegal(
      `the newest upload of the user is number ${newest.submission}, not ${submission}: look at it, then decide`,
    );
  }
  const status = statusAt(newest, user.now);
  if (decidable[status]?.includes(decision) === true) return newest;
  throw illegal(`a verification session that is ${status} cannot become ${decision}`);
}

function illegal(detail: string): AppError {
  return new AppError('illegal_move', detail);
}

/** After the first of two decisions, the session is under review. */
async function review(work: Work, session: VerificationSession): Promise<VerificationSession> {
  if (session.status !== 'Submitted' && session.status !== 'Resubmitted') return session;
  const reviewed = await move(work, session, { status: 'Review', isSubmission: false });
  await announce(work, reviewed, undefined);
  return reviewed;
}

export function reasonContext(id: string): string {
  return `identity decision ${id}`;
}

export type DecisionRecord = {
  readonly sessionId: string;
  readonly submission: number;
  readonly decision: IdentityDecision;
  readonly decidedBy: string;
  readonly reason: string;
  readonly credentialId: string | undefined;
  readonly isEffective: boolean;
  readonly decidedAt: Date;
};

/** All decisions about a user, newest first. @throws AppError not_found. */
export async function listDecisions(
  { sql, keys }: Services,
  user: UserId,
): Promise<DecisionRecord[]> {
  const dataKey = await findDataKey(sql, user);
  if (dataKey === undefined) throw userNotFound();
  const userKey = keys.unwrap(dataKey, user);
  const rows = await listDecisionRows(sql, user);
  return rows.map((row) => ({
    sessionId: row.session_id,
    submission: row.submission,
    decision: row.decision,
    decidedBy: row.decided_by,
    reason: openBytes(userKey, row.reason, reasonContext(row.id)).toString(),
    credentialId: row.credential_id ?? undefined,
    isEffective: row.is_effective,
    decidedAt: row.decided_at,
  }));
}

export type OpenedImages = {
  readonly session: VerificationSession;
  readonly images: readonly { readonly type: ImageType; readonly bytes: Buffer }[];
};

/** The images of the last upload. @throws AppError not_found where there are none. */
export async function openImages({ sql, keys }: Services, user: UserId): Promise<OpenedImages> {
  const { accountId, userId } = user;
  const session = await findNewestSession(sql, user);
  if (session === undefined || session.submission === 0) {
    throw new AppError('not_found', 'the user has not uploaded any images');
  }
  const { id: sessionId, submission } = session;
  const rows = await selectImages(sql, { accountId, userId, sessionId, submission });
  const images = rows.map(({ type, sealed, data_key: dataKey }) => {
    const userKey = keys.unwrap(dataKey, { accountId, userId });
    return { type, bytes: openBytes(userKey, sealed, imageContext(accountId, session, type)) };
  });
  return { session, images };
}
