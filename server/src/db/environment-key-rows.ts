import type { Session, Statement } from './postgres/pool.ts';
import { column, defineQuery, exec, many, nullable, one, type RowOf } from './rows.ts';

const all = defineQuery({
  name: 'select_environment_keys',
  text: `
    select generation, sealing_key, authentication_key, signing_key, public_key, endorsement,
      announced_at, active_at, active_at <= clock_timestamp() as is_active, renewed_at,
      destroyed_at, mac, e.name as environment
    from environment_keys cross join environment e order by generation desc`,
  columns: {
    generation: column.integer,
    sealing_key: column.bytes,
    authentication_key: column.bytes,
    signing_key: column.bytes,
    public_key: column.text,
    endorsement: column.bytes,
    announced_at: column.instant,
    active_at: column.instant,
    is_active: column.boolean,
    renewed_at: nullable(column.instant),
    destroyed_at: nullable(column.instant),
    mac: column.bytes,
    environment: column.text,
  },
});

const clock = defineQuery({
  name: 'read_clock_of_keys',
  text: `select date_trunc('milliseconds', clock_timestamp()) as now`,
  columns: { now: column.instant },
});

const insert: Statement = {
  name: 'insert_environment_keys',
  text: `
    insert into environment_keys (generation, sealing_key, authentication_key, signing_key,
      public_key, endorsement, announced_at, active_at, mac)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    on conflict (generation) do nothing`,
};

const rewrap: Statement = {
  name: 'rewrap_environment_keys',
  text: `
    update environment_keys set sealing_key = $2, authentication_key = $3, signing_key = $4
    where generation = $1 and destroyed_at is null`,
};

const destroy: Statement = {
  name: 'destroy_environment_keys',
  text: `
    update environment_keys
    set sealing_key = '', authentication_key = '', signing_key = '', destroyed_at = $2, mac = $3
    where generation = $1 and destroyed_at is null`,
};

const renewed: Statement = {
  name: 'note_renewed_keys',
  text: `update environment_keys set renewed_at = clock_timestamp() where generation = $1`,
};

const lock: Statement = {
  name: 'lock_environment_keys',
  text: `select pg_advisory_xact_lock(hashtext('environment_keys'), 0)`,
};

export type KeyRow = RowOf<typeof all.columns>;

/** The newest first. */
export const selectKeys = (session: Session): Promise<KeyRow[]> => many(session, all);

export const readKeyClock = async (session: Session): Promise<Date> =>
  (await one(session, clock)).now;

export type NewKeyRow = Omit<KeyRow, 'is_active' | 'renewed_at' | 'destroyed_at' | 'environment'>;

/** False where the generation is there already. */
export async function insertKeys(session: Session, row: NewKeyRow): Promise<boolean> {
  const secrets = [row.sealing_key, row.authentication_key, row.signing_key];
  const values = [row.public_key, row.endorsement, row.announced_at, row.active_at, row.mac];
  return (await exec(session, insert, [row.generation, ...secrets, ...values])) > 0;
}

export async function rewrapKeys(
  session: Session,
  row: Pick<KeyRow, 'generation' | 'sealing_key' | 'authentication_key' | 'signing_key'>,
): Promise<void> {
  const secrets = [row.sealing_key, row.authentication_key, row.signing_key];
  await exec(session, rewrap, [row.generation, ...secrets]);
}

export async function destroyKeys(
  session: Session,
  { generation, at, mac }: { generation: number; at: Date; mac: Buffer },
): Promise<void> {
  await exec(session, destroy, [generation, at, mac]);
}

/** All rows are under this generation, or were reported. */
export async function noteRenewed(session: Session, generation: number): Promise<void> {
  await exec(session, renewed, [generation]);
}

/** To the end of the transaction: one rotation at a time. */
export async function lockKeys(session: Session): Promise<void> {
  await exec(session, lock);
}
