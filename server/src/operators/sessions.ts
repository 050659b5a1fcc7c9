import { createHmac, timingSafeEqual } from 'node:crypto';
import { hashSecret, newId, newSecret } from '../core/ids.ts';
import { rowContext } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { defineProtectedTable, renewMac } from '../db/protected-tables.ts';
import { column } from '../db/rows.ts';
import {
  fingerprintOperator,
  type GenuineOperator,
  isGenuineOperator,
  type Operator,
  type OperatorServices,
} from './operators.ts';
import {
  endSessionRow,
  findSession,
  idleSeconds,
  insertSession,
  readNow,
  type SessionRow,
  touchSession,
} from './sessions.sql.ts';

export { endOtherSessions } from './sessions.sql.ts';

/**
 * Sessions of browsers: 256 random bits in a cookie, of which the database has the SHA-256. A session
 * ends after 30 minutes without use, after 12 hours, with the log-out, and at once when its operator is
 * revoked or gets another key or role: nothing is cached.
 */

const absoluteMs = 12 * 3_600_000;

export type LoginMethod = SessionRow['method'];

export type OperatorSession = {
  readonly id: string;
  readonly operator: Operator;
  readonly method: LoginMethod;
  /** May only set up a password and a second factor. */
  readonly isRestricted: boolean;
  readonly idleEndsAt: Date;
  readonly endsAt: Date;
};

type Terms = {
  id: string;
  operatorId: string;
  tokenHash: Buffer;
  method: LoginMethod;
  isRestricted: boolean;
  endsAt: Date;
  operatorFingerprint: Buffer;
};

/** What the code of a session covers. */
function describeSession(terms: Terms): string {
  const { id, operatorId, tokenHash, method, isRestricted, endsAt, operatorFingerprint } = terms;
  const hashes = [tokenHash, operatorFingerprint].map((hash) => hash.toString('hex'));
  const covered = [id, operatorId, method, String(isRestricted), endsAt.toISOString()];
  return rowContext('operator_sessions', ...covered, ...hashes);
}

export const protectedSessions = defineProtectedTable({
  table: 'operator_sessions',
  key: { id: 'uuid' },
  values: ['mac'],
  columns: {
    id: column.uuid,
    operator_id: column.uuid,
    token_hash: column.bytes,
    method: column.oneOf('link', 'key', 'password'),
    is_restricted: column.boolean,
    ends_at: column.instant,
    operator_fingerprint: column.bytes,
  },
  renew: renewMac((row) =>
    describeSession({
      id: row.id,
      operatorId: row.operator_id,
      tokenHash: row.token_hash,
      method: row.method,
      isRestricted: row.is_restricted,
      endsAt: row.ends_at,
      operatorFingerprint: row.operator_fingerprint,
    }),
  ),
});

/** Opens a session and returns the token of its cookie, which is shown only once. */
export async function openSession(
  { session, keys }: OperatorServices,
  operator: GenuineOperator,
  login: { method: LoginMethod; isRestricted: boolean; address: string },
): Promise<string> {
  const token = newSecret();
  const endsAt = new Date((await readNow(session)).getTime() + absoluteMs);
  const { method, isRestricted, address } = login;
  const terms = {
    id: newId(),
    operatorId: operator.id,
    tokenHash: hashSecret(token),
    method,
    isRestricted,
    endsAt,
    operatorFingerprint: operator.fingerprint,
  };
  await insertSession(session, { ...terms, address, mac: keys.mac(describeSession(terms)) });
  return token;
}

/** The open session of a token. A row that was written past the service opens nothing. */
export async function authenticateSession(
  { session, keys }: OperatorServices,
  token: string,
): Promise<OperatorSession | undefined> {
  const tokenHash = hashSecret(token);
  const row = await findSession(session, tokenHash);
  if (row === undefined) return undefined;
  const { id, method, is_restricted: isRestricted, ends_at: endsAt, secret_hash } = row;
  const operator = { id: row.operator_id, name: row.name, role: row.role };
  if (!isGenuineOperator(keys, { ...operator, secret_hash, mac: row.operator_mac }))
    return undefined;
  const operatorFingerprint = fingerprintOperator({ ...operator, secret_hash });
  if (!row.operator_fingerprint.equals(operatorFingerprint)) return undefined;
  const terms = { id, tokenHash, method, isRestricted, endsAt, operatorFingerprint };
  const described = describeSession({ ...terms, operatorId: operator.id });
  if (!keys.isMac(described, row.mac)) return undefined;
  const now = await readNow(session);
  if (row.is_stale) await touchSession(session, id);
  const idleEndsAt = new Date(Math.min(now.getTime() + idleSeconds * 1000, endsAt.getTime()));
  const acting = { ...operator, credential: `session_${id}` };
  return { id, operator: acting, method, isRestricted, idleEndsAt, endsAt };
}

export async function endSession(session: Session, token: string): Promise<void> {
  await endSessionRow(session, hashSecret(token));
}

/**
 * What a page sends with each request that changes something. It follows from the session's token alone,
 * which no other page knows and the database does not have, so that it lasts as long as the session.
 */
export function deriveCsrfToken(token: string): string {
  return createHmac('sha256', token).update('outlay operator csrf').digest('base64url');
}

export function isCsrfToken(token: string, given: string): boolean {
  return timingSafeEqual(hashSecret(given), hashSecret(deriveCsrfToken(token)));
}
