import { timingSafeEqual } from 'node:crypto';
import { hashSecret, newId, newSecret } from '../core/ids.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { isGenuineOperator, type Operator, type OperatorServices } from './operators.ts';
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
  tokenHash: Buffer;
  method: LoginMethod;
  isRestricted: boolean;
  endsAt: Date;
};

function computeMac(keys: KeyRing, terms: Terms, operatorMac: Buffer): Buffer {
  const { id, tokenHash, method, isRestricted, endsAt } = terms;
  const covered = [id, tokenHash.toString('hex'), method, isRestricted, endsAt.getTime()];
  const row = JSON.stringify([...covered, operatorMac.toString('hex')]);
  return keys.blindIndex('operator_session', row);
}

/** Opens a session and returns the token of its cookie, which is shown only once. */
export async function openSession(
  { session, keys }: OperatorServices,
  operator: Operator & { mac: Buffer },
  login: { method: LoginMethod; isRestricted: boolean; address: string },
): Promise<string> {
  const token = newSecret();
  const endsAt = new Date((await readNow(session)).getTime() + absoluteMs);
  const { method, isRestricted, address } = login;
  const terms = { id: newId(), tokenHash: hashSecret(token), method, isRestricted, endsAt };
  const mac = computeMac(keys, terms, operator.mac);
  await insertSession(session, { ...terms, operatorId: operator.id, address, mac });
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
  const { id, method, is_restricted: isRestricted, ends_at: endsAt, operator_mac: mac } = row;
  const expected = computeMac(keys, { id, tokenHash, method, isRestricted, endsAt }, mac);
  const operator = { id: row.operator_id, name: row.name, role: row.role };
  const isGenuine = isGenuineOperator(keys, { ...operator, secret_hash: row.secret_hash, mac });
  if (!isGenuine || !timingSafeEqual(row.mac, expected)) return undefined;
  const now = await readNow(session);
  if (row.is_stale) await touchSession(session, id);
  const idleEndsAt = new Date(Math.min(now.getTime() + idleSeconds * 1000, endsAt.getTime()));
  const acting = { ...operator, credential: `session_${id}` };
  return { id, operator: acting, method, isRestricted, idleEndsAt, endsAt };
}

export async function endSession(session: Session, token: string): Promise<void> {
  await endSessionRow(session, hashSecret(token));
}

/** What a page sends with each request that changes something; it follows from the session's token. */
export function deriveCsrfToken(keys: KeyRing, token: string): string {
  return keys.blindIndex('operator_csrf', token).toString('base64url');
}

export function isCsrfToken(keys: KeyRing, token: string, given: string): boolean {
  return timingSafeEqual(hashSecret(given), hashSecret(deriveCsrfToken(keys, token)));
}
