import { createHash } from 'node:crypto';
import { AppError, assert } from '../core/errors.ts';
import { type ExactJson, emitCanonicalJson } from '../core/exact-json.ts';
import { findTokenId } from '../core/ids.ts';
import { openPickupCode } from '../core/pickup-code.ts';
import { type KeyRing, openBytes, rowContext, sealBytes } from '../core/sealing.ts';
import type { SealedAnswer } from '../db/keyed-batcher.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { defineProtectedTable, reseal } from '../db/protected-tables.ts';
import { column } from '../db/rows.ts';
import {
  answerRecord,
  findDataKey,
  findRecord,
  type IdempotencyRow,
  storeRecords,
} from './idempotency.sql.ts';
import { type Answer, jsonType } from './problem.ts';
import type { AnswerBuilder, AnswerUser, KeyRecord, RequestKey, WriteOptions } from './route.ts';

/**
 * Idempotency-Key: the first answer is stored in the transaction of its effect and replayed for
 * thirty days. An error rolls back and stores nothing. An answer about a user is sealed with that
 * user's key, and cannot be replayed after the user's erasure.
 */

export { storeRecords } from './idempotency.sql.ts';

export type KeyedServices = { db: Database; keys: KeyRing };

/** Another transaction stored the key first: rolls this one back. */
class KeyStoredByOther extends Error {}

export type Work = (session: Session) => Promise<string | null>;

/** Keys whose first request is running in this process. */
export type RunningKeys = Set<string>;

/**
 * Runs `work` (which returns the answer's text, null for an empty one) at most once per key.
 *
 * @throws AppError idempotency_key_reused, idempotency_in_progress, and whatever `work` throws.
 */
export async function runKeyed(
  services: KeyedServices,
  request: { accountId: string; requestKey: RequestKey | undefined },
  options: Omit<WriteOptions, 'tryGrouped'> & {
    running: RunningKeys;
    tryGrouped?: () => Promise<string | null | undefined>;
    work: Work;
  },
): Promise<Answer> {
  const { accountId, requestKey } = request;
  if (requestKey === undefined) {
    const grouped = await options.tryGrouped?.();
    if (grouped !== undefined) return answerOf(grouped, false);
    const { db } = services;
    const text =
      options.isOneEffect === true && options.isAcrossAccounts !== true
        ? await options.work(db.tenant(accountId))
        : await transact(db, { accountId, ...options }, options.work);
    return answerOf(text, false);
  }
  const name = `${accountId} ${requestKey.key}`;
  if (options.running.has(name)) {
    throw new AppError(
      'idempotency_in_progress',
      'The first request with this Idempotency-Key is still being processed',
      { retryAfterSeconds: 1 },
    );
  }
  options.running.add(name);
  try {
    const grouped = await ignoreErrors(options.tryGrouped);
    if (grouped !== undefined) return answerOf(grouped, false);
    return await runOnce(services, { accountId, ...requestKey }, options);
  } finally {
    options.running.delete(name);
  }
}

/**
 * Undefined for an error of the client: the request may repeat one that succeeded, whose answer
 * `runOnce` looks for. Without one the error occurs again there.
 */
async function ignoreErrors<T>(run: (() => Promise<T>) | undefined): Promise<T | undefined> {
  try {
    return await run?.();
  } catch (error) {
    if (error instanceof AppError && error.code !== 'unavailable') return undefined;
    throw error;
  }
}

/** Makes the answer of a request in a shared transaction, and seals it for its key. */
export function createAnswerBuilder(
  keys: KeyRing,
  request: {
    accountId: string;
    requestKey: RequestKey | undefined;
    write: (value: unknown) => string | null;
  },
): AnswerBuilder {
  const { accountId, requestKey, write } = request;
  return {
    requestKey,
    prepare: (valueOf, userOf) => {
      if (requestKey === undefined) {
        return { keyed: undefined, toContent: (result) => ({ value: valueOf(result) }) };
      }
      let text: string | null = null;
      const seal = (result: Parameters<typeof valueOf>[0]): SealedAnswer => {
        text = write(valueOf(result));
        const user = userOf(result);
        const id = { accountId, ...requestKey };
        return { userId: user.userId, body: sealAnswer(keys, id, { text: text ?? '', user }) };
      };
      return { keyed: { ...requestKey, seal }, toContent: () => ({ text }) };
    },
  };
}

type RecordId = { accountId: string; key: string };

function contextOf({ accountId, key }: RecordId): string {
  return rowContext('idempotency_records', accountId, key);
}

function sealAnswer(
  keys: KeyRing,
  id: RecordId,
  { text, user }: { text: string; user: AnswerUser | undefined },
): Buffer {
  const plain = Buffer.from(text);
  if (user === undefined) return keys.seal(plain, contextOf(id));
  const userKey = keys.unwrap(user.dataKey, { accountId: id.accountId, userId: user.userId });
  return sealBytes(userKey, plain, contextOf(id));
}

/** All answers are sealed except those of group commits, which hold no personal data. */
function openAnswer(keys: KeyRing, id: RecordId, row: IdempotencyRow & { body: Buffer }): string {
  const { body, user_id: userId, data_key: dataKey } = row;
  if (body[0] === '{'.charCodeAt(0)) return openCommitAnswer(keys, id, row);
  if (userId === null) return keys.open(body, contextOf(id)).toString();
  if (dataKey === null)
    throw new AppError('user_erased', 'The personal data of this user was erased');
  const userKey = keys.unwrap(dataKey, { accountId: id.accountId, userId });
  return openBytes(userKey, body, contextOf(id)).toString();
}

const commitAnswer = /^(\{"payout_token":"([^"]+)","status":"success","pickup_code":")(\d{8})"/;

/** The answer of a group commit: in it only the pickup code is personal, and stored as in the payout. */
function openCommitAnswer(
  keys: KeyRing,
  { accountId }: RecordId,
  row: IdempotencyRow & { body: Buffer },
): string {
  const { user_id: userId, data_key: dataKey } = row;
  const text = row.body.toString();
  if (userId === null) return text;
  if (dataKey === null || dataKey.length === 0) {
    throw new AppError('user_erased', 'The personal data of this user was erased');
  }
  const [whole = '', begin = '', token = '', stored = ''] = commitAnswer.exec(text) ?? [];
  const payoutId = findTokenId('payout', token) ?? '';
  const code = openPickupCode(keys, { accountId, userId, payoutId, stored, dataKey });
  return `${begin}${code}"${text.slice(whole.length)}`;
}

/** Answers that concern no single user. That of a commit is plain: it begins with a brace. */
const isUnderOurKeys = `user_id is null and get_byte(coalesce(nullif(body, ''), '{'), 0) <> ${'{'.charCodeAt(0)}`;

/** The digests of all requests, and some of the answers. */
export const protectedAnswers = defineProtectedTable({
  table: 'idempotency_records',
  key: { account_id: 'uuid', key: 'text', month: 'date' },
  values: ['fingerprint', 'body'],
  partly: { body: `case when ${isUnderOurKeys} then body end` },
  columns: { account_id: column.uuid, key: column.text },
  renew: (keys, { account_id: accountId, key, fingerprint, body }) => {
    const id = { accountId, key };
    return {
      fingerprint: reseal(keys, fingerprint, digestContext(id)),
      body: body.length === 0 ? body : reseal(keys, body, contextOf(id)),
    };
  },
});

type KeyId = RequestKey & { accountId: string };
type Mode = Pick<WriteOptions, 'isAcrossAccounts' | 'aboutUser'> & { work: Work };

function transact<T>(
  db: Database,
  mode: Pick<WriteOptions, 'isAcrossAccounts'> & { accountId: string },
  work: (session: Session) => Promise<T>,
): Promise<T> {
  return mode.isAcrossAccounts === true
    ? db.systemTransaction(work, { accountId: mode.accountId })
    : db.tenantTransaction(mode.accountId, work);
}

async function runOnce(services: KeyedServices, id: KeyId, mode: Mode): Promise<Answer> {
  const { keys } = services;
  const replay = (row: IdempotencyRow): Answer => {
    if (!isSameRequest(keys, id, row)) throw refuseReuse();
    const { body } = row;
    return answerOf(body === null ? null : openAnswer(keys, id, { ...row, body }), true);
  };
  try {
    return await transact(services.db, { ...id, ...mode }, async (session) => {
      const first = await findRecord(session, id);
      if (first !== undefined) return replay(first);
      const text = await mode.work(session);
      const user = text === null ? undefined : await findUser(session, id, mode.aboutUser);
      const body = text === null ? null : sealAnswer(keys, id, { text, user });
      const record = { ...id, body, userId: user?.userId };
      if (!(await storeRecords(session, [record]))) throw new KeyStoredByOther();
      return answerOf(text, false);
    });
  } catch (error) {
    // Another process may have answered the same key meanwhile. Its answer counts, even if its
    // effect caused our error.
    const first = await findRecord(services.db.tenant(id.accountId), id);
    if (first !== undefined) return replay(first);
    throw error;
  }
}

function refuseReuse(): AppError {
  return new AppError(
    'idempotency_key_reused',
    'This Idempotency-Key was already used with another method, path, query or body',
  );
}

/** For a request that takes several transactions, such as a resumable upload. */
export function openKeyRecord(keys: KeyRing, id: KeyId): KeyRecord {
  const context = contextOf(id);
  return {
    key: id.key,
    claim: async (session) => {
      if (await storeRecords(session, [{ ...id, body: null }])) return;
      const stored = await findRecord(session, id);
      if (stored === undefined || !isSameRequest(keys, id, stored)) throw refuseReuse();
    },
    answer: async (session, text) => {
      const stored = await findRecord(session, id);
      if (stored === undefined || !isSameRequest(keys, id, stored)) return;
      await answerRecord(session, { ...id, body: keys.seal(Buffer.from(text), context) });
    },
    findAnswer: async (session) => {
      const row = await findRecord(session, id);
      return row === undefined || row.body === null || !isSameRequest(keys, id, row)
        ? undefined
        : openAnswer(keys, id, { ...row, body: row.body });
    },
  };
}

export function answerOf(text: string | null, isReplay: boolean): Answer {
  return {
    status: 200,
    contentType: jsonType,
    body: text,
    ...(isReplay ? { headers: { 'idempotent-replayed': 'true' } } : {}),
  };
}

/** Called after the work, which may create the user. */
async function findUser(
  session: Session,
  { accountId }: KeyId,
  userId: string | undefined,
): Promise<AnswerUser | undefined> {
  if (userId === undefined) return undefined;
  const dataKey = await findDataKey(session, { accountId, userId });
  assert(dataKey !== undefined, 'the user of the answer belongs to the account');
  return { userId, dataKey };
}

/**
 * White space, escapes, key order and number form of the body do not matter. The digest is stored sealed:
 * who reads the database could otherwise find out what a short request said by trying. It is compared and
 * never searched, so that it needs no keyed hash, whose key could not be replaced while records last.
 */
export function createRequestKey(
  keys: Pick<KeyRing, 'seal'>,
  id: RecordId,
  request: { method: string; path: string; body: ExactJson | undefined },
): RequestKey {
  const hash = createHash('sha256').update(`${request.method} ${request.path}\n`);
  if (request.body !== undefined) emitCanonicalJson(request.body, (part) => hash.update(part));
  const digest = hash.digest();
  return { key: id.key, digest, fingerprint: keys.seal(digest, digestContext(id)) };
}

function digestContext({ accountId, key }: RecordId): string {
  return rowContext('idempotency_records.fingerprint', accountId, key);
}

function isSameRequest(
  keys: Pick<KeyRing, 'open'>,
  id: KeyId,
  { fingerprint }: Pick<IdempotencyRow, 'fingerprint'>,
): boolean {
  return keys.open(fingerprint, digestContext(id)).equals(id.digest);
}

/** @throws AppError invalid_request. */
export function readKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(header)) {
    const detail = 'Idempotency-Key must be 1 to 255 visible ASCII characters';
    throw new AppError('invalid_request', detail, {
      faults: [{ parameter: 'Idempotency-Key', code: 'invalid_header', detail }],
    });
  }
  return header;
}
