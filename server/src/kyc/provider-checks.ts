import { AppError } from '../core/errors.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { type ClaimedCheck, findSubject, requestCheck } from './checks.sql.ts';
import { listFindings, openImagesOf, openRecipient, ownerOf, runNextCheck } from './checks.ts';
import { needsTwoPersons } from './decisions.sql.ts';
import { decideIdentity } from './decisions.ts';
import { findNewestSession } from './kyc.sql.ts';
import type { IdentityProvider } from './provider/provider.ts';

/** Asks a provider about submissions, and looks for its opinion until it has one. */

export type ProviderWorker = {
  readonly db: Database;
  readonly keys: KeyRing;
  readonly provider: IdentityProvider;
  /** Whether `clear` approves where nothing that was read here contradicts it. */
  readonly approvesClear: boolean;
  readonly now: () => Date;
  readonly onError: (error: unknown) => void;
};

/** Longer than a call may take. */
const leaseMs = 60_000;
const firstLookMs = 1_000;
/** At most a quarter of an hour apart: about three days. */
const triesMax = 300;

/** Requests the opinion of the provider, after a document was read. */
export function requestOpinion(sql: Session, check: ClaimedCheck): Promise<void> {
  const { account_id: accountId, session_id: sessionId, submission } = check;
  return requestCheck(sql, { accountId, sessionId, submission }, { kind: 'provider', triesMax });
}

/** Takes the next step with the next case. Returns whether there may be more. */
export function askProvider(worker: ProviderWorker, stopping: AbortSignal): Promise<boolean> {
  const { provider, approvesClear } = worker;
  const step = async (check: ClaimedCheck, userKey: Buffer) => {
    if (check.reference === null) {
      const reference = await openCase(worker, { check, userKey }, stopping);
      return { ms: firstLookMs, reference };
    }
    const opinion = await provider.findOpinion(check.reference, stopping);
    if (opinion === undefined) return undefined;
    if (opinion.outcome === 'clear' && approvesClear) await approve(worker, check);
    return JSON.stringify(opinion);
  };
  // The first try opens the case.
  return runNextCheck(worker, { kind: 'provider', leaseMs, step, triesBefore: 1 }, stopping);
}

async function openCase(
  { db, keys, provider }: ProviderWorker,
  { check, userKey }: { check: ClaimedCheck; userKey: Buffer },
  signal: AbortSignal,
): Promise<string> {
  const user = ownerOf(check);
  const subject = await findSubject(db.system, user);
  if (subject === undefined) throw new Error('unreachable: users are never removed');
  const recipient = await openRecipient({ sql: db.system, keys }, user, { ...subject, userKey });
  const { firstName, middleName, lastName, dateOfBirth, country } = recipient;
  const images = await openImagesOf(db.system, check, userKey);
  const id = `${check.session_id}-${check.submission}`;
  return provider.open(
    { id, images, firstName, middleName, lastName, dateOfBirth, country },
    signal,
  );
}

/**
 * Approves in the name of the provider: the submission that it saw, where one person would suffice and
 * nothing that was read here speaks against it.
 */
async function approve(worker: ProviderWorker, check: ClaimedCheck): Promise<void> {
  const { db, keys, provider, now } = worker;
  const user = ownerOf(check);
  if (await needsTwoPersons(db.system, user.accountId)) return;
  const session = await findNewestSession(db.system, user);
  // A person who has begun to review it decides.
  if (session?.status !== 'Submitted' && session?.status !== 'Resubmitted') return;
  if (await isContradicted(worker, check)) return;
  const given = {
    ...user,
    sessionId: check.session_id,
    submission: check.submission,
    decision: 'approved',
    decidedBy: `provider ${provider.name}`,
    reason: `${provider.name} reported clear on ${now().toISOString().slice(0, 10)}.`,
    credentialId: undefined,
  } as const;
  try {
    await db.systemTransaction((sql) => decideIdentity({ sql, keys }, given));
  } catch (error) {
    // Decided or replaced by other images since.
    if (!(error instanceof AppError && error.code === 'illegal_move')) throw error;
  }
}

async function isContradicted(worker: ProviderWorker, check: ClaimedCheck): Promise<boolean> {
  const { db, keys, now } = worker;
  const user = { ...ownerOf(check), now: now() };
  const findings = await listFindings({ sql: db.system, keys }, user);
  const read = findings.find(
    ({ sessionId, submission }) =>
      sessionId === check.session_id && submission === check.submission,
  )?.document.read;
  if (read === undefined) return false;
  const differs = read.comparisons.some(
    ({ field, result }) => result === 'different' && field !== 'issuing_state',
  );
  return differs || read.isExpired;
}
