import type { Session, Statement } from './postgres/pool.ts';
import { column, defineQuery, exec, maybeOne, type RowOf } from './rows.ts';

const selectEnvironment = defineQuery({
  name: 'select_environment',
  text: `select name, master_key_id, index_key from environment`,
  columns: {
    name: column.oneOf('staging', 'live'),
    master_key_id: column.text,
    index_key: column.bytes,
  },
});

const insert: Statement = {
  name: 'insert_environment',
  text: `
    insert into environment (name, master_key_id, index_key) values ($1, $2, $3)
    on conflict (only_row) do nothing`,
};

const replaceKey: Statement = {
  name: 'replace_master_key',
  text: 'update environment set master_key_id = $1, index_key = $2',
};

const lock: Statement = {
  name: 'lock_environment',
  text: `select name from environment for update`,
};

export type EnvironmentRow = RowOf<typeof selectEnvironment.columns>;

export async function findEnvironment(session: Session): Promise<EnvironmentRow | undefined> {
  return maybeOne(session, selectEnvironment);
}

export async function insertEnvironment(session: Session, row: EnvironmentRow): Promise<void> {
  await exec(session, insert, [row.name, row.master_key_id, row.index_key]);
}

/** Records which master key wraps from now on. */
export async function replaceMasterKey(
  session: Session,
  key: Pick<EnvironmentRow, 'master_key_id' | 'index_key'>,
): Promise<void> {
  await exec(session, replaceKey, [key.master_key_id, key.index_key]);
}

/** Serializes the steps that are done once per environment. */
export async function lockEnvironment(session: Session): Promise<void> {
  await exec(session, lock);
}
