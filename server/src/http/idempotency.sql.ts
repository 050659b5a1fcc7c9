import type { Session, Statement } from '../db/pool.ts';

const select: Statement = {
  name: 'find_idempotency_record',
  text: `
    select fingerprint, status, body
    from idempotency_records
    where account_id = $1 and key = $2
      and created_at > environment_now() - interval '30 days'`,
};

const insert: Statement = {
  name: 'insert_idempotency_record',
  text: `
    insert into idempotency_records (account_id, key, fingerprint, status, body, created_at)
    values ($1, $2, $3, $4, $5, environment_now())
    on conflict (account_id, key) do update
      set fingerprint = excluded.fingerprint, status = excluded.status, body = excluded.body,
        created_at = excluded.created_at
      where idempotency_records.created_at <= environment_now() - interval '30 days'
    returning key`,
};

const deletedMax = 1000;

const deleteOld: Statement = {
  name: 'delete_old_idempotency_records',
  text: `
    delete from idempotency_records
    where (account_id, key) in (
      select account_id, key from idempotency_records
      where created_at <= environment_now() - interval '30 days'
      limit 1000
      -- Whoever renews one of them at this moment keeps it.
      for update skip locked)
    returning 1`,
};

export type IdempotencyRow = { fingerprint: Buffer; status: number; body: Buffer | null };

export async function findRecord(
  session: Session,
  id: { accountId: string; key: string },
): Promise<IdempotencyRow | undefined> {
  const [row] = await session.rows<IdempotencyRow>(select, [id.accountId, id.key]);
  return row;
}

/** False when another transaction has stored the same key before. */
export async function insertRecord(
  session: Session,
  record: IdempotencyRow & { accountId: string; key: string },
): Promise<boolean> {
  const { accountId, key, fingerprint, status, body } = record;
  const rows = await session.rows(insert, [accountId, key, fingerprint, status, body]);
  return rows.length === 1;
}

/** Removes at most a thousand records past their thirty days; answers whether there may be more. */
export async function deleteOldRecords(session: Session): Promise<boolean> {
  return (await session.rows(deleteOld)).length === deletedMax;
}
