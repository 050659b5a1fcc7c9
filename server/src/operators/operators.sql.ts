import type { Session, Statement } from '../db/postgres/pool.ts';
import {
  column,
  defineQuery,
  exec,
  many,
  maybeOne,
  nullable,
  one,
  type RowOf,
} from '../db/rows.ts';
import { operatorRoles } from './roles.ts';

const operatorColumns = {
  id: column.uuid,
  name: column.text,
  role: column.oneOf(...operatorRoles),
  secret_hash: column.bytes,
  mac: column.bytes,
  created_at: column.instant,
  key_created_at: column.instant,
  revoked_at: nullable(column.instant),
} as const;
const selected = Object.keys(operatorColumns).join(', ');

const byId = defineQuery({
  name: 'find_operator',
  text: `select ${selected} from operators where id = $1`,
  columns: operatorColumns,
});

const byName = defineQuery({
  name: 'find_operator_by_name',
  text: `select ${selected} from operators where name = $1`,
  columns: operatorColumns,
});

/** The same expression as in the index `operators_similar_name`. */
const bySimilarName = defineQuery({
  name: 'find_similar_operator',
  text: `select ${selected} from operators where translate(name, '._-', '') = translate($1, '._-', '')`,
  columns: operatorColumns,
});

const all = defineQuery({
  name: 'select_operators',
  text: `select ${selected} from operators order by name`,
  columns: operatorColumns,
});

const insert: Statement = {
  name: 'insert_operator',
  text: `
    insert into operators (id, name, role, secret_hash, mac, created_at, created_by, key_created_at)
    values ($1, $2, $3, $4, $5, clock_timestamp(), $6, clock_timestamp())`,
};

const replaceKey: Statement = {
  name: 'replace_operator_key',
  text: `
    update operators set secret_hash = $2, mac = $3, key_created_at = clock_timestamp()
    where id = $1 and revoked_at is null`,
};

const revoke: Statement = {
  name: 'revoke_operator',
  text: `
    update operators set revoked_at = clock_timestamp(), mac = ''
    where id = $1 and revoked_at is null`,
};

const owners = defineQuery({
  name: 'count_owners',
  text: `select count(*)::integer as count from operators where role = 'owner' and revoked_at is null`,
  columns: { count: column.integer },
});

const everOwners = defineQuery({
  name: 'count_owners_ever',
  text: `select count(*)::integer as count from operators where role = 'owner'`,
  columns: { count: column.integer },
});

const allCount = defineQuery({
  name: 'count_operators',
  text: `select count(*)::integer as count from operators`,
  columns: { count: column.integer },
});

export type OperatorRow = RowOf<typeof operatorColumns>;

export const findOperator = (session: Session, id: string) => maybeOne(session, byId, [id]);

export const findOperatorByName = (session: Session, name: string) =>
  maybeOne(session, byName, [name]);

/** The operator, revoked or not, whose name differs at most in `.`, `_` and `-`. */
export const findSimilarOperator = (session: Session, name: string) =>
  maybeOne(session, bySimilarName, [name]);

export const selectOperators = (session: Session) => many(session, all);

export async function insertOperator(
  session: Session,
  row: Pick<OperatorRow, 'id' | 'name' | 'role' | 'secret_hash' | 'mac'> & {
    createdBy: string | undefined;
  },
): Promise<void> {
  const { id, name, role, secret_hash: hash, mac, createdBy } = row;
  await exec(session, insert, [id, name, role, hash, mac, createdBy ?? null]);
}

/** False where the operator is revoked. */
export async function replaceOperatorKey(
  session: Session,
  { id, secret_hash: hash, mac }: Pick<OperatorRow, 'id' | 'secret_hash' | 'mac'>,
): Promise<boolean> {
  return (await exec(session, replaceKey, [id, hash, mac])) > 0;
}

/** False where the operator was revoked before. */
export async function revokeOperatorRow(session: Session, id: string): Promise<boolean> {
  return (await exec(session, revoke, [id])) > 0;
}

export async function countOperators(session: Session): Promise<number> {
  return (await one(session, allCount)).count;
}

export async function countOwners(session: Session): Promise<number> {
  return (await one(session, owners)).count;
}

/** With the revoked ones. */
export async function countOwnersEver(session: Session): Promise<number> {
  return (await one(session, everOwners)).count;
}
