import { createHash, timingSafeEqual } from 'node:crypto';
import { AppError } from '../core/errors.ts';
import { hashSecret, newId, newSecret } from '../core/ids.ts';
import { type KeyRing, rowContext } from '../core/sealing.ts';
import { lockEnvironment } from '../db/environment-record.ts';
import type { Session } from '../db/postgres/pool.ts';
import { defineProtectedTable, renewMac } from '../db/protected-tables.ts';
import { column } from '../db/rows.ts';
import { endApprovalsOf } from './approvals.sql.ts';
import {
  countOperators,
  countOwners,
  findOperator,
  findOperatorByName,
  findSimilarOperator,
  insertOperator,
  type OperatorRow,
  replaceOperatorKey,
  revokeOperatorRow,
  selectOperators,
} from './operators.sql.ts';
import { type OperatorRole, operatorRoles } from './roles.ts';

export { countOperators, countOwnersEver } from './operators.sql.ts';

/**
 * Operators: persons with a key and a role of their own. A key is `op_` and 48 bytes in Base64url: the
 * operator's id, then 256 random bits, of which only the SHA-256 is stored.
 */

export type Operator = {
  readonly id: string;
  /** Unique in the environment, forever. */
  readonly name: string;
  readonly role: OperatorRole;
  /** The key or session that the request has, for the audit log; absent where none acts. */
  readonly credential?: string;
};

export type OperatorServices = { readonly session: Session; readonly keys: KeyRing };

export type NewOperator = { operator: string; name: string; role: OperatorRole; key: string };

type Vouched = Pick<OperatorRow, 'id' | 'name' | 'role' | 'secret_hash'>;

/** What an operator's row vouches for, under a key that the database does not have. */
function describeOperator({ id, name, role, secret_hash: hash }: Vouched): string {
  return rowContext('operators', id, name, role, hash.toString('hex'));
}

/** Changes with the key, the name or the role of an operator: sessions and links end with it. */
export function fingerprintOperator(row: Vouched): Buffer {
  return createHash('sha256').update(describeOperator(row)).digest();
}

export const protectedOperators = defineProtectedTable({
  table: 'operators',
  key: { id: 'uuid' },
  values: ['mac'],
  columns: {
    id: column.uuid,
    name: column.text,
    role: column.oneOf(...operatorRoles),
    secret_hash: column.bytes,
  },
  renew: renewMac(describeOperator),
});

function formatKey(id: string): string {
  const bytes = [Buffer.from(id.replaceAll('-', ''), 'hex'), Buffer.from(newSecret(), 'base64url')];
  return `op_${Buffer.concat(bytes).toString('base64url')}`;
}

function readKey(text: string): { id: string; hash: Buffer } | undefined {
  const match = /^op_([A-Za-z0-9_-]{64})$/.exec(text);
  if (match === null) return undefined;
  const hex = Buffer.from(match[1] ?? '', 'base64url').toString('hex', 0, 16);
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return { id, hash: hashSecret(text) };
}

/**
 * A name stands for one person forever, and must not be mistaken for another's.
 *
 * @throws AppError illegal_move where the name, or one that differs from it only in `.`, `_` and `-`, was given before.
 */
export async function requireNewName(session: Session, name: string): Promise<void> {
  const similar = await findSimilarOperator(session, name);
  if (similar !== undefined) {
    throw new AppError(
      'illegal_move',
      similar.name === name
        ? `an operator ${name} exists, or existed`
        : `the name ${name} is too similar to ${similar.name}, who is or was an operator: choose one that differs in more than . _ and -`,
    );
  }
}

/** Creates an operator, and shows the key once. @throws AppError as `requireNewName` does. */
export async function createOperator(
  { session, keys }: OperatorServices,
  operator: { name: string; role: OperatorRole; createdBy: string | undefined },
): Promise<NewOperator> {
  const { name, role, createdBy } = operator;
  await requireNewName(session, name);
  const id = newId();
  const key = formatKey(id);
  const row = { id, name, role, secret_hash: hashSecret(key) };
  await insertOperator(session, { ...row, mac: keys.mac(describeOperator(row)), createdBy });
  return { operator: id, name, role, key };
}

/**
 * Creates the first operator of an environment, an owner; undefined where there are operators. `keep`
 * stores the key before the operator exists.
 */
export async function createFirstOwner(
  services: OperatorServices,
  name: string,
  keep?: (key: string) => void,
): Promise<NewOperator | undefined> {
  await lockEnvironment(services.session);
  if ((await countOperators(services.session)) > 0) return undefined;
  const created = await createOperator(services, { name, role: 'owner', createdBy: undefined });
  keep?.(created.key);
  return created;
}

/** `fingerprint`: as of `fingerprintOperator`. */
export type GenuineOperator = Operator & { readonly fingerprint: Buffer };

/** False where the row was written past the service. */
export function isGenuineOperator(
  keys: KeyRing,
  row: Pick<OperatorRow, 'id' | 'name' | 'role' | 'secret_hash' | 'mac'>,
): boolean {
  return keys.isMac(describeOperator(row), row.mac);
}

function toGenuine(row: OperatorRow): GenuineOperator {
  return { id: row.id, name: row.name, role: row.role, fingerprint: fingerprintOperator(row) };
}

/** The operator of a name or an id, unless it is revoked or its row is not genuine. */
export async function findGenuineOperator(
  { session, keys }: OperatorServices,
  by: string | { id: string },
): Promise<GenuineOperator | undefined> {
  const row = await (typeof by === 'string'
    ? findOperatorByName(session, by)
    : findOperator(session, by.id));
  if (row === undefined || row.revoked_at !== null || !isGenuineOperator(keys, row)) {
    return undefined;
  }
  return toGenuine(row);
}

/** The operator whose key it is; undefined for any other text. */
export async function authenticateKey(
  { session, keys }: OperatorServices,
  text: string,
): Promise<GenuineOperator | undefined> {
  const row = await findByKey(session, text);
  if (row === undefined || row.revoked_at !== null || !isGenuineOperator(keys, row)) {
    return undefined;
  }
  return toGenuine(row);
}

/** The operator whose key it was until the operator was revoked; undefined for any other text. */
export async function findRevokedOperator(
  session: Session,
  text: string,
): Promise<Operator | undefined> {
  const row = await findByKey(session, text);
  return row === undefined || row.revoked_at === null ? undefined : toOperator(row, text);
}

async function findByKey(session: Session, text: string): Promise<OperatorRow | undefined> {
  const key = readKey(text);
  if (key === undefined) return undefined;
  const row = await findOperator(session, key.id);
  return row !== undefined && timingSafeEqual(row.secret_hash, key.hash) ? row : undefined;
}

/**
 * The operator whose key it is; undefined for any other text. A row that was written past the service
 * is nobody's.
 */
export async function authenticateOperator(
  services: OperatorServices,
  text: string,
): Promise<Operator | undefined> {
  const found = await authenticateKey(services, text);
  return found && toOperator(found, text);
}

function toOperator({ id, name, role }: Operator, key: string): Operator {
  return { id, name, role, credential: nameKey(hashSecret(key)) };
}

/** Tells the keys of an operator apart, and says nothing of their secrets. */
const nameKey = (hash: Buffer): string => `key_${hash.toString('hex', 0, 6)}`;

/** Operators without their secrets, by name. */
export async function listOperators({ session, keys }: OperatorServices) {
  return (await selectOperators(session)).map((row) => ({
    operator: row.id,
    name: row.name,
    role: row.role,
    created_at: row.created_at,
    key: nameKey(row.secret_hash),
    key_created_at: row.key_created_at,
    revoked_at: row.revoked_at,
    // False: the row was changed past the service, and its key does not authenticate.
    is_genuine: row.revoked_at === null ? isGenuineOperator(keys, row) : row.mac.length === 0,
  }));
}

/** @throws AppError not_found. */
export async function getOperator(session: Session, name: string): Promise<Operator> {
  const row = await findOperatorByName(session, name);
  if (row !== undefined && row.revoked_at === null) return row;
  throw new AppError('not_found', `there is no operator ${name}`);
}

/** Replaces the key of an operator; the old one ends at once. @throws AppError not_found. */
export async function renewOperatorKey(
  { session, keys }: OperatorServices,
  operator: Operator,
): Promise<NewOperator> {
  const { id, name, role } = operator;
  const key = formatKey(id);
  const row = { id, name, role, secret_hash: hashSecret(key) };
  if (!(await replaceOperatorKey(session, { ...row, mac: keys.mac(describeOperator(row)) }))) {
    throw new AppError('not_found', `there is no operator ${name}`);
  }
  return { operator: id, name, role, key };
}

/**
 * Revokes an operator; nothing that the person does afterwards is accepted, and what the person has
 * requested lapses.
 *
 * @throws AppError not_found, illegal_move where no owner would be left.
 */
export async function revokeOperator(session: Session, operator: Operator): Promise<void> {
  await lockEnvironment(session);
  if (operator.role === 'owner' && (await countOwners(session)) < 2) {
    throw new AppError('illegal_move', 'the last owner cannot be revoked');
  }
  if (!(await revokeOperatorRow(session, operator.id))) {
    throw new AppError('not_found', `there is no operator ${operator.name}`);
  }
  await endApprovalsOf(session, operator.id);
}
