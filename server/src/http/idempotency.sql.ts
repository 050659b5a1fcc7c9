import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, maybeOne, nullable, one, type RowOf } from '../db/rows.ts';

const recordColumns = {
  fingerprint: column.bytes,
  status: column.integer,
  body: nullable(column.bytes),
  /** The user whose key seals the body, and that key as it is stored; null without a user. */
  user_id: nullable(column.uuid),
  data_key: nullable(column.bytes),
};
export type IdempotencyRow = RowOf<typeof recordColumns>;

const find = defineQuery({
  name: 'find_idempotency_answer',
  text: `
    select fingerprint, status, body, user_id, data_key from find_idempotency_answer($1, $2)`,
  columns: recordColumns,
});

const store = defineQuery({
  name: 'store_idempotency_answers',
  text: `select store_idempotency_answers($1, $2, $3, $4, $5) as is_stored`,
  columns: { is_stored: column.boolean },
});

const answer: Statement = {
  name: 'answer_idempotency_record',
  text: `
    update idempotency_records set body = $3
    where account_id = $1 and key = $2 and body is null
      and created_at > (select environment_now()) - interval '30 days'`,
};

const findKey = defineQuery({
  name: 'find_key_of_answer',
  text: 'select data_key from users where account_id = $1 and id = $2',
  columns: { data_key: column.bytes },
});

export async function findRecord(
  session: Session,
  id: { accountId: string; key: string },
): Promise<IdempotencyRow | undefined> {
  return maybeOne(session, find, [id.accountId, id.key]);
}

export type NewRecord = {
  accountId: string;
  key: string;
  fingerprint: Buffer;
  /** The text of a 200; null if it is empty or not known yet. */
  body: Buffer | null;
  /** The user whose key seals the body. */
  userId?: string | undefined;
};

/** The wrapped key of a user. */
export async function findDataKey(
  session: Session,
  user: { accountId: string; userId: string },
): Promise<Buffer | undefined> {
  return (await maybeOne(session, findKey, [user.accountId, user.userId]))?.data_key;
}

/** Stores all records, or none and returns false if one of the keys is stored already. */
export async function storeRecords(
  session: Session,
  records: readonly NewRecord[],
): Promise<boolean> {
  const { is_stored } = await one(session, store, [
    records.map(({ accountId }) => accountId),
    records.map(({ key }) => key),
    records.map(({ fingerprint }) => fingerprint),
    records.map(({ body }) => body),
    records.map(({ userId }) => userId ?? null),
  ]);
  return is_stored;
}

/** Completes a record that was stored without an answer. */
export async function answerRecord(
  session: Session,
  { accountId, key, body }: Pick<NewRecord, 'accountId' | 'key' | 'body'>,
): Promise<void> {
  await exec(session, answer, [accountId, key, body]);
}
