import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, maybeOne, one, type RowOf } from '../db/rows.ts';
import { operatorRoles } from './roles.ts';

const clock = defineQuery({
  name: 'select_operator_time',
  text: `select date_trunc('milliseconds', clock_timestamp()) as now`,
  columns: { now: column.instant },
});

/** The rest without use after which a session ends. */
export const idleSeconds = 30 * 60;
/** The time of the last use is stored this often. */
const touchSeconds = 30;

const insert: Statement = {
  name: 'insert_operator_session',
  text: `
    insert into operator_sessions (id, operator_id, token_hash, method, is_restricted, address,
      created_at, used_at, ends_at, operator_fingerprint, mac)
    values ($1, $2, $3, $4, $5, $6, clock_timestamp(), clock_timestamp(), $7, $8, $9)`,
};

const found = defineQuery({
  name: 'find_operator_session',
  text: `
    select s.id, s.method, s.is_restricted, s.ends_at, s.operator_fingerprint, s.mac,
      s.operator_id, o.name, o.role, o.secret_hash, o.mac as operator_mac,
      s.used_at < clock_timestamp() - interval '${touchSeconds} seconds' as is_stale
    from operator_sessions s join operators o on o.id = s.operator_id
    where s.token_hash = $1 and s.ended_at is null and o.revoked_at is null
      and s.ends_at > clock_timestamp()
      and s.used_at > clock_timestamp() - interval '${idleSeconds} seconds'`,
  columns: {
    id: column.uuid,
    method: column.oneOf('link', 'key', 'password'),
    is_restricted: column.boolean,
    ends_at: column.instant,
    operator_fingerprint: column.bytes,
    mac: column.bytes,
    operator_id: column.uuid,
    name: column.text,
    role: column.oneOf(...operatorRoles),
    secret_hash: column.bytes,
    operator_mac: column.bytes,
    is_stale: column.boolean,
  },
});

const touch: Statement = {
  name: 'touch_operator_session',
  text: `update operator_sessions set used_at = clock_timestamp() where id = $1`,
};

const end: Statement = {
  name: 'end_operator_session',
  text: `
    update operator_sessions set ended_at = clock_timestamp()
    where token_hash = $1 and ended_at is null`,
};

const endAll: Statement = {
  name: 'end_operator_sessions',
  text: `
    update operator_sessions set ended_at = clock_timestamp()
    where operator_id = $1 and ended_at is null and id <> $2`,
};

const prune: Statement = {
  name: 'prune_operator_sessions',
  text: `
    with old_sessions as (
      delete from operator_sessions where ends_at < clock_timestamp() - interval '30 days'
    ), old_links as (
      delete from operator_links where expires_at < clock_timestamp() - interval '30 days'
    )
    delete from login_attempts where since < clock_timestamp() - interval '1 day'`,
};

export type SessionRow = RowOf<typeof found.columns>;

export async function readNow(session: Session): Promise<Date> {
  return (await one(session, clock)).now;
}

export type NewSessionRow = {
  id: string;
  operatorId: string;
  tokenHash: Buffer;
  method: SessionRow['method'];
  isRestricted: boolean;
  address: string;
  endsAt: Date;
  operatorFingerprint: Buffer;
  mac: Buffer;
};

export async function insertSession(session: Session, row: NewSessionRow): Promise<void> {
  const { id, operatorId, tokenHash, method, isRestricted, address, endsAt } = row;
  await exec(session, prune);
  const values = [id, operatorId, tokenHash, method, isRestricted, address, endsAt];
  await exec(session, insert, [...values, row.operatorFingerprint, row.mac]);
}

export const findSession = (session: Session, tokenHash: Buffer) =>
  maybeOne(session, found, [tokenHash]);

export const touchSession = (session: Session, id: string) => exec(session, touch, [id]);

export const endSessionRow = (session: Session, tokenHash: Buffer) =>
  exec(session, end, [tokenHash]);

/** All but one. */
export const endOtherSessions = (session: Session, operatorId: string, keptId: string) =>
  exec(session, endAll, [operatorId, keptId]);
