import { z } from 'zod';
import { openVersions } from '../attributes/attribute-versions.ts';
import { findUserKey, type KeyRing, openBytes, rowContext, sealBytes } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { openPerson } from '../users/users.ts';
import {
  type CheckKind,
  type CheckRow,
  type CheckState,
  type ClaimedCheck,
  claimCheck,
  delayCheck,
  findSubject,
  finishCheck,
  listAttributeSets,
  listCheckRows,
  releaseCheck,
  repeatReading,
} from './checks.sql.ts';
import { WorkerError } from './confined-worker.ts';
import { selectImages } from './decisions.sql.ts';
import { type Services } from './decisions.ts';
import { describeFaces, type FaceFinding } from './faces/face-finding.ts';
import { findNewestSession, type UserId } from './kyc.sql.ts';
import { imageContext, userNotFound } from './kyc.ts';
import { compareDocument, type ReadDocument, type Recipient } from './reading/compare.ts';
import { type DocumentReading, readDocument } from './reading/reader.ts';
import { parseZone } from './reading/zone.ts';

/**
 * What machines find out about the images of a submission. Their findings are for the person who
 * decides; none of them decides.
 */

/** Longer than a reading or a comparison may take. */
const workerLeaseMs = 90_000;
const retryMsFirst = 1_000;
const retryMsMax = 15 * 60_000;

function chooseRetryMs(tries: number): number {
  return Math.min(retryMsMax, retryMsFirst * 2 ** Math.min(tries, 20));
}

const storedReading = z.object({
  result: z.enum(['read', 'partly_read', 'not_read', 'not_installed']),
  lines: z.array(z.string()),
  agreeing: z.int(),
});

export type CheckWorker = {
  readonly db: Database;
  readonly keys: KeyRing;
  readonly onError: (error: unknown) => void;
  /** Called in the transaction that stores a reading: requests what follows it. */
  readonly afterReading?: ((sql: Session, check: ClaimedCheck) => Promise<void>) | undefined;
  /** Tests replace it. */
  readonly read?: typeof readDocument;
};

/** Reads the next document that waits. Returns whether there may be more. */
export function readNextDocument(worker: CheckWorker, stopping: AbortSignal): Promise<boolean> {
  const { read = readDocument, afterReading } = worker;
  const find = async ({ document }: CheckedPictures): Promise<string> => {
    const reading = await read(document, stopping);
    const stored: z.infer<typeof storedReading> = {
      result: reading.result,
      lines: 'zone' in reading ? [...reading.zone.lines] : [],
      agreeing: 'zone' in reading ? reading.agreeing : 0,
    };
    return JSON.stringify(stored);
  };
  return checkNextPictures(worker, { kind: 'document', find, after: afterReading }, stopping);
}

export type CheckedPictures = {
  readonly selfie: Buffer | undefined;
  /** The front first. */
  readonly document: readonly Buffer[];
};

type PictureWork = Pick<CheckWork, 'kind' | 'after'> & {
  readonly find: (pictures: CheckedPictures) => Promise<string>;
};

/** Checks the next pictures and stores the result. Returns whether there may be more. */
export function checkNextPictures(
  worker: Pick<CheckWorker, 'db' | 'keys' | 'onError'>,
  { find, ...work }: PictureWork,
  stopping: AbortSignal,
): Promise<boolean> {
  const step: CheckWork['step'] = async (check, userKey) => {
    const images = await openImagesOf(worker.db.system, check, userKey);
    return find({
      selfie: images.find(({ type }) => type === 'face')?.bytes,
      document: images.filter(({ type }) => type !== 'face').map(({ bytes }) => bytes),
    });
  };
  return runNextCheck(worker, { ...work, leaseMs: workerLeaseMs, step }, stopping);
}

type CheckWork = {
  readonly kind: CheckKind;
  /** Longer than a step may take. */
  readonly leaseMs: number;
  /**
   * Returns the result, which is sealed as it is; or when the next step is due; or undefined to take this
   * one again with back-off, as after an error.
   */
  readonly step: (
    check: ClaimedCheck,
    userKey: Buffer,
  ) => Promise<string | { readonly ms: number; readonly reference: string } | undefined>;
  /** Tries before the first step that is repeated. */
  readonly triesBefore?: number;
  readonly after?: CheckWorker['afterReading'];
};

/** Claims the next check of a kind and takes its next step. Returns whether there may be more. */
export async function runNextCheck(
  { db, keys, onError }: Pick<CheckWorker, 'db' | 'keys' | 'onError'>,
  { kind, leaseMs, step, triesBefore = 0, after }: CheckWork,
  stopping: AbortSignal,
): Promise<boolean> {
  if (stopping.aborted) return false;
  const check = await claimCheck(db.system, kind, leaseMs);
  if (check === undefined) return false;
  const id = { ...check, kind };
  const userKey = findUserKey(keys, check.data_key, ownerOf(check));
  if (userKey === undefined) {
    await finishCheck(db.system, id, { state: 'skipped' });
    return true;
  }
  try {
    const found = await step(check, userKey);
    if (typeof found === 'string') {
      const context = resultContext(check.account_id, check, kind);
      const sealed = sealBytes(userKey, Buffer.from(found), context);
      await db.systemTransaction(async (sql) => {
        await finishCheck(sql, id, { state: 'done', sealed });
        await after?.(sql, check);
      });
      return true;
    }
    if (found !== undefined) {
      await delayCheck(db.system, id, found);
      return true;
    }
  } catch (error) {
    if (stopping.aborted) {
      await releaseCheck(db.system, id);
      return false;
    }
    if (!(error instanceof WorkerError)) onError(error);
  }
  const ms = chooseRetryMs(check.tries - triesBefore);
  if (check.tries_left > 0) await delayCheck(db.system, id, { ms });
  else await finishCheck(db.system, id, { state: 'failed' });
  return true;
}

export function ownerOf({ account_id: accountId, user_id: userId }: ClaimedCheck): UserId {
  return { accountId, userId };
}

/** The images of exactly this submission: the face first, then the front of the document. */
export async function openImagesOf(sql: Session, check: ClaimedCheck, userKey: Buffer) {
  const { session_id: sessionId, submission } = check;
  const { accountId, userId } = ownerOf(check);
  const rows = await selectImages(sql, { accountId, userId, sessionId, submission });
  return rows
    .map(({ type, sealed }) => {
      const context = imageContext(accountId, { id: sessionId, submission }, type);
      return { type, bytes: openBytes(userKey, sealed, context) };
    })
    .toSorted((a, b) => b.type.localeCompare(a.type));
}

type CheckKey = { readonly session_id: string; readonly submission: number };

/** The context of a sealed result, so that it cannot replace another one. */
function resultContext(accountId: string, check: CheckKey, kind: CheckKind): string {
  return rowContext('verification_checks', accountId, check.session_id, check.submission, kind);
}

export type DocumentFinding = {
  readonly result: 'waiting' | 'failed' | DocumentReading['result'];
  /** How many preparations of the picture read the same. */
  readonly agreeing: number;
  readonly read: ReadDocument | undefined;
};

export type OpenedCheck = CheckRow & { readonly opened: string | undefined };

export type SubmissionFindings = {
  readonly sessionId: string;
  readonly submission: number;
  readonly document: DocumentFinding;
  readonly face: FaceFinding;
  /** Undefined without a provider. */
  readonly provider:
    | { readonly state: CheckState; readonly opinion: string | undefined }
    | undefined;
};

/**
 * What was found about the submissions of a user, newest first, compared with what is known about the
 * user now.
 *
 * @throws AppError not_found.
 */
export async function listFindings(
  { sql, keys }: Services,
  user: UserId & { now: Date },
): Promise<SubmissionFindings[]> {
  const subject = await findSubject(sql, user);
  if (subject === undefined) throw userNotFound();
  const userKey = findUserKey(keys, subject.data_key, user);
  if (userKey === undefined) return [];
  const recipient = await openRecipient({ sql, keys }, user, { ...subject, userKey });
  const rows = (await listCheckRows(sql, user)).map((row): OpenedCheck => {
    const context = resultContext(user.accountId, row, row.kind);
    const opened = row.sealed === null ? undefined : openBytes(userKey, row.sealed, context);
    return { ...row, opened: opened?.toString() };
  });
  return rows
    .filter(({ kind }) => kind === 'document')
    .map((row) => {
      const findOther = (kind: CheckKind): OpenedCheck | undefined =>
        rows.find(
          (other) =>
            other.kind === kind &&
            other.session_id === row.session_id &&
            other.submission === row.submission,
        );
      const provider = findOther('provider');
      return {
        sessionId: row.session_id,
        submission: row.submission,
        document: describeReading(row, recipient, user.now),
        face: describeFaces(findOther('face')),
        provider: provider && { state: provider.state, opinion: provider.opened },
      };
    });
}

function describeReading(row: OpenedCheck, recipient: Recipient, now: Date): DocumentFinding {
  if (row.opened === undefined) {
    return { result: row.state === 'failed' ? 'failed' : 'waiting', agreeing: 0, read: undefined };
  }
  const { result, lines, agreeing } = storedReading.parse(JSON.parse(row.opened));
  const zone = parseZone(lines);
  return { result, agreeing, read: zone && compareDocument(zone, recipient, now) };
}

type Subject = { readonly userKey: Buffer; readonly sealed: Buffer; readonly country: string };

export async function openRecipient(
  { sql, keys }: Services,
  user: UserId,
  { userKey, sealed, country }: Subject,
): Promise<Recipient> {
  const person = openPerson(userKey, { ...user, sealed });
  const sets = await listAttributeSets(sql, user);
  const versions = await openVersions(
    { session: sql, keys, accountId: user.accountId },
    sets.map(({ id, latest_version: version }) => ({ setId: id, version })),
  );
  const numbers = versions.flatMap(({ values }) => values?.IdentificationNumber ?? []);
  return {
    firstName: person.first_name,
    middleName: person.middle_name,
    lastName: person.last_name,
    dateOfBirth: person.date_of_birth,
    country,
    documentNumbers: [...new Set(numbers)],
  };
}

/** Reads the document of the newest submission and compares its faces again. @throws AppError not_found. */
export async function readAgain(sql: Session, user: UserId): Promise<void> {
  const session = await findNewestSession(sql, user);
  if (session === undefined || session.submission === 0) throw userNotFound();
  const { id: sessionId, submission } = session;
  await repeatReading(sql, { accountId: user.accountId, sessionId, submission });
}
