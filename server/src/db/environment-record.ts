import type { Session, Statement } from './postgres/pool.ts';
import { column, defineQuery, exec, many, maybeOne, one, type RowOf } from './rows.ts';

const selectEnvironment = defineQuery({
  name: 'select_environment',
  text: `select name, master_key_id, index_key, index_generation from environment`,
  columns: {
    name: column.oneOf('staging', 'live'),
    master_key_id: column.text,
    index_key: column.bytes,
    index_generation: column.integer,
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

export async function insertEnvironment(
  session: Session,
  row: Omit<EnvironmentRow, 'index_generation'>,
): Promise<void> {
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

const limitsOff: Statement = {
  name: '',
  text: `
    select set_config('statement_timeout', '0', true),
      set_config('idle_in_transaction_session_timeout', '0', true)`,
};

const tryLock = defineQuery({
  name: 'try_lock_index_key',
  text: `select pg_try_advisory_xact_lock(hashtext('outlay index key'), 0) as is_locked`,
  columns: { is_locked: column.boolean },
});

/**
 * Takes the index key away from all processes until the end of the transaction, which may take long. False
 * while one of them holds it (`postgres/index-key-hold.ts`).
 */
export async function tryLockIndexKey(session: Session): Promise<boolean> {
  await session.query(limitsOff);
  return (await one(session, tryLock)).is_locked;
}

/** The number of a lock is an oid in this view. */
const selectHolders = defineQuery({
  name: 'list_holders_of_index_key',
  text: `
    select coalesce(nullif(a.application_name, ''), 'another login') as name,
      coalesce(host(a.client_addr), '') as address, count(*)::integer as connections
    from pg_locks l left join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.granted and l.pid <> pg_backend_pid()
      and l.database = (select oid from pg_database where datname = current_database())
      and l.classid = (hashtext('outlay index key')::bigint & 4294967295)::oid
      and l.objid = 0 and l.objsubid = 2
    group by 1, 2 order by 1, 2`,
  columns: { name: column.text, address: column.text, connections: column.integer },
});

export type IndexKeyHolder = RowOf<typeof selectHolders.columns>;

/** The processes that hold the index key, as they name their connections. */
export function listIndexKeyHolders(session: Session): Promise<IndexKeyHolder[]> {
  return many(session, selectHolders);
}

const replaceIndex: Statement = {
  name: 'replace_index_key',
  text: `
    update environment set index_key = $1, index_generation = index_generation + 1
    where index_generation = $2`,
};

/** Of the generation after the given one. */
export async function replaceIndexKey(
  session: Session,
  key: Pick<EnvironmentRow, 'index_key' | 'index_generation'>,
): Promise<void> {
  const count = await exec(session, replaceIndex, [key.index_key, key.index_generation]);
  if (count !== 1) throw new Error('impossible: the environment was read in this transaction');
}
