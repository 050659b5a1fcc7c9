import type { Session, Statement } from '../db/postgres/pool.ts';

const find: Statement = {
  name: 'find_idempotency_answer',
  text: `
    select fingerprint, status, body, user_id, data_key from find_idempotency_answer($1, $2)`,
};

const store: Statement = {
  name: 'store_idempotency_answers',
  text: `select store_idempotency_answers($1, $2, $3, $4, $5) as is_stored`,
};

const answer: Statement = {
  name: 'answer_idempotency_record',
  text: `
    update idempotency_records set body = $4
    where account_id = $1 and key = $2 and fingerprint = $3 and body is null`,
};

const findKey: Statement = {
  name: 'find_key_of_answer',
  text: 'select data_key from users where account_id = $1 and id = $2',
};

export type IdempotencyRow = {
  fingerprint: Buffer;
  status: number;
  body: Buffer | null;
  /** The user whose key seals the body, and that key as it is stored; null where there is none. */
  user_id: string | null;
  data_key: Buffer | null;
};

export async function findRecord(
  session: Session,
  id: { accountId: string; key: string },
): Promise<IdempotencyRow | undefined> {
  const [row] = await session.rows<IdempotencyRow>(find, [id.accountId, id.key]);
  return row;
}

export type NewRecord = {
  accountId: string;
  key: string;
  fingerprint: Buffer;
  /** The text of a 200; null where it is empty, or not known yet. */
  body: Buffer | null;
  /** The user whose key seals the body. */
  userId?: string | undefined;
};

/** The wrapped key of a user. */
export async function findDataKey(
  session: Session,
  user: { accountId: string; userId: string },
): Promise<Buffer | undefined> {
  const values = [user.accountId, user.userId];
  const [row] = await session.rows<{ data_key: Buffer }>(findKey, values);
  return row?.data_key;
}

/** Stores all of them, or none and answers false: one of the keys was stored by somebody else. */
export async function storeRecords(
  session: Session,
  records: readonly NewRecord[],
): Promise<boolean> {
  const [row] = await session.rows<{ is_stored: boolean }>(store, [
    records.map(({ accountId }) => accountId),
    records.map(({ key }) => key),
    records.map(({ fingerprint }) => fingerprint),
    records.map(({ body }) => body),
    records.map(({ userId }) => userId ?? null),
  ]);
  return row?.is_stored === true;
}

/** Gives a record that was stored without an answer its answer. */
export async function answerRecord(
  session: Session,
  { accountId, key, fingerprint, body }: NewRecord,
): Promise<void> {
  await session.rows(answer, [accountId, key, fingerprint, body]);
}
