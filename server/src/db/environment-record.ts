import type { EnvironmentName } from '../core/access.ts';
import type { Session, Statement } from './postgres/pool.ts';

const selectText: Statement = {
  name: 'select_environment',
  text: `select name, master_key_id from environment`,
};

const insertText: Statement = {
  name: 'insert_environment',
  text: `
    insert into environment (name, master_key_id) values ($1, $2)
    on conflict (only_row) do nothing`,
};

const lockText: Statement = {
  name: 'lock_environment',
  text: `select name from environment for update`,
};

export type EnvironmentRow = { name: EnvironmentName; master_key_id: string };

export async function findEnvironment(session: Session): Promise<EnvironmentRow | undefined> {
  const [row] = await session.rows<EnvironmentRow>(selectText);
  return row;
}

export async function insertEnvironment(session: Session, row: EnvironmentRow): Promise<void> {
  await session.rows(insertText, [row.name, row.master_key_id]);
}

/** Makes one process at a time do what is done once per environment. */
export async function lockEnvironment(session: Session): Promise<void> {
  await session.rows(lockText);
}
