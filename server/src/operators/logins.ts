import { AppError } from '../core/errors.ts';
import { hashSecret, newSecret } from '../core/ids.ts';
import { type KeyRing, rowContext } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { defineProtectedTable, renewMac, reseal } from '../db/protected-tables.ts';
import { column } from '../db/rows.ts';
import {
  countAttemptRow,
  findLogin,
  forgetAttemptRows,
  type LoginRow,
  type NewLinkRow,
  storeLink,
  storeLogin,
  takeTotpStep,
  useLinkRow,
} from './logins.sql.ts';
import {
  authenticateKey,
  findGenuineOperator,
  type GenuineOperator,
  type Operator,
  type OperatorServices,
} from './operators.ts';
import { hashPassword, verifyPassword } from './passwords.ts';
import { readNow } from './sessions.sql.ts';
import type { LoginMethod } from './sessions.ts';
import { createTotpSecret, describeTotp, findTotpStep } from './totp.ts';

/** How operators log in to the console: by a link, by their key, or by a password; with a second factor. */

const linkMs = 24 * 3_600_000;
const windowSeconds = 15 * 60;
const attemptsOfOperatorMax = 10;
const attemptsOfAddressMax = 30;

export type LoginRequest = { address: string } & (
  | { link: string }
  | { key: string; code?: string | undefined }
  | { operator: string; password: string; code?: string | undefined }
);

export type Login = {
  operator: GenuineOperator;
  method: LoginMethod;
  /** Whether the operator has proved a second factor. */
  hasSecondFactor: boolean;
};

function refuse(): AppError {
  return new AppError(
    'login_failed',
    'The login failed. Check the name, the password and the code, or use a link that was not used',
  );
}

/** For a logged-in operator: says which field is wrong, which reveals nothing new. */
function refuseField(field: string, detail: string): AppError {
  const fault = { pointer: `/${field}`, code: 'invalid_value', detail } as const;
  return new AppError('invalid_request', detail, { faults: [fault] });
}

/**
 * Who logs in. A failed attempt counts for the operator's name and for the address.
 *
 * @throws AppError login_failed, rate_limited.
 */
export async function logIn(services: OperatorServices, request: LoginRequest): Promise<Login> {
  const { session } = services;
  const counted = [{ key: `address ${request.address}`, max: attemptsOfAddressMax }];
  if ('operator' in request) {
    counted.push({ key: `operator ${request.operator}`, max: attemptsOfOperatorMax });
  }
  for (const { key, max } of counted) await countAttempt(session, key, max);
  const login = await identify(services, request);
  if (login === undefined) throw refuse();
  // Attempts of an address stay counted: one correct login must not buy more guesses at others.
  if ('operator' in request) {
    await forgetAttemptRows(session, hashSecret(`operator ${request.operator}`));
  }
  return login;
}

async function countAttempt(session: Session, key: string, max: number): Promise<void> {
  const { attempts, wait_seconds: wait } = await countAttemptRow(
    session,
    hashSecret(key),
    windowSeconds,
  );
  if (attempts <= max) return;
  throw new AppError('rate_limited', 'Too many attempts to log in. Wait, or use another way', {
    retryAfterSeconds: Math.max(1, wait),
  });
}

async function identify(
  services: OperatorServices,
  request: LoginRequest,
): Promise<Login | undefined> {
  if ('link' in request) {
    const operator = await takeLink(services, request.link);
    return operator && { operator, method: 'link', hasSecondFactor: false };
  }
  if ('key' in request) {
    const operator = await authenticateKey(services, request.key);
    if (operator === undefined) return undefined;
    const login = await findGenuineLogin(services, operator.id);
    return checkCode(services, { operator, login, method: 'key', code: request.code });
  }
  const operator = await findGenuineOperator(services, request.operator);
  const login = operator && (await findGenuineLogin(services, operator.id));
  // An unknown name costs as much time as a wrong password.
  const isRight = await verifyPassword(login?.password_hash, request.password);
  if (operator === undefined || !isRight) return undefined;
  return checkCode(services, { operator, login, method: 'password', code: request.code });
}

async function checkCode(
  { session, keys }: OperatorServices,
  given: {
    operator: GenuineOperator;
    login: LoginRow | undefined;
    method: LoginMethod;
    code: string | undefined;
  },
): Promise<Login | undefined> {
  const { operator, login, method, code } = given;
  if (login?.totp_secret === null || login === undefined) {
    return { operator, method, hasSecondFactor: false };
  }
  const secret = keys.open(login.totp_secret, totpContext(operator.id));
  const step = findTotpStep(secret, code ?? '', await readNow(session));
  if (step === undefined || !(await takeTotpStep(session, operator.id, step))) return undefined;
  return { operator, method, hasSecondFactor: true };
}

function totpContext(operatorId: string): string {
  return rowContext('operator_logins.totp_secret', operatorId);
}

type Factors = Pick<LoginRow, 'password_hash' | 'totp_secret'>;

/** What the code of a login covers. */
function describeLoginRow(operatorId: string, factors: Factors): string {
  const { password_hash: hash, totp_secret: secret } = factors;
  return rowContext('operator_logins', operatorId, hash, secret?.toString('hex') ?? '');
}

export const protectedLogins = defineProtectedTable({
  table: 'operator_logins',
  key: { operator_id: 'uuid' },
  values: ['totp_secret', 'mac'],
  columns: { operator_id: column.uuid, password_hash: column.text },
  renew: (keys, { operator_id: id, password_hash, totp_secret: sealed, mac }) => {
    const before = { password_hash, totp_secret: sealed.length === 0 ? null : sealed };
    if (!keys.isMac(describeLoginRow(id, before), mac)) return undefined;
    const secret = before.totp_secret && reseal(keys, sealed, totpContext(id));
    const after = keys.mac(describeLoginRow(id, { password_hash, totp_secret: secret }));
    return { totp_secret: secret ?? sealed, mac: after };
  },
});

/** A row that was written past the service counts as none. */
async function findGenuineLogin(
  { session, keys }: OperatorServices,
  operatorId: string,
): Promise<LoginRow | undefined> {
  const row = await findLogin(session, operatorId);
  if (row === undefined) return undefined;
  return keys.isMac(describeLoginRow(operatorId, row), row.mac) ? row : undefined;
}

async function changeLogin(
  services: OperatorServices,
  operatorId: string,
  change: Partial<Pick<LoginRow, 'password_hash' | 'totp_secret'>>,
): Promise<void> {
  const before = await findGenuineLogin(services, operatorId);
  const row = {
    password_hash: before?.password_hash ?? '',
    totp_secret: before?.totp_secret ?? null,
    ...change,
  };
  const mac = services.keys.mac(describeLoginRow(operatorId, row));
  await storeLogin(services.session, operatorId, { ...row, mac });
}

export type LoginSetup = { hasPassword: boolean; hasTotp: boolean };

export async function describeLogin(
  services: OperatorServices,
  operatorId: string,
): Promise<LoginSetup> {
  const row = await findGenuineLogin(services, operatorId);
  return {
    hasPassword: row !== undefined && row.password_hash !== '',
    hasTotp: row !== undefined && row.totp_secret !== null,
  };
}

/** Sets the password. @throws AppError invalid_request where `current` is asked for and wrong. */
export async function setPassword(
  services: OperatorServices,
  operator: Operator,
  given: { password: string; current: string | undefined; needsCurrent: boolean },
): Promise<void> {
  const row = await findGenuineLogin(services, operator.id);
  if (given.needsCurrent && row !== undefined && row.password_hash !== '') {
    await countAttempt(services.session, `operator ${operator.name}`, attemptsOfOperatorMax);
    if (!(await verifyPassword(row.password_hash, given.current ?? ''))) {
      const detail = 'current_password must be the password that you log in with now';
      throw refuseField('current_password', detail);
    }
  }
  const hash = await hashPassword(given.password);
  await changeLogin(services, operator.id, { password_hash: hash });
}

/** A new secret for an authenticator. It counts only once `confirmTotp` got a code of it. */
export function proposeTotp({ keys }: OperatorServices, operator: Operator, issuer: string) {
  const secret = createTotpSecret();
  const sealed = keys.seal(secret, totpContext(operator.id)).toString('base64url');
  return { ...describeTotp(secret, { name: operator.name, issuer }), proposal: sealed };
}

/**
 * Stores a proposed second factor.
 *
 * @throws AppError invalid_request where the code is wrong, or that of the present factor is.
 */
export async function confirmTotp(
  services: OperatorServices,
  operator: GenuineOperator,
  given: { proposal: string; code: string; currentCode: string | undefined; isByLink: boolean },
): Promise<void> {
  const { session, keys } = services;
  await countAttempt(session, `operator ${operator.name}`, attemptsOfOperatorMax);
  const login = await findGenuineLogin(services, operator.id);
  if (!given.isByLink && login !== undefined && login.totp_secret !== null) {
    const code = given.currentCode;
    if ((await checkCode(services, { operator, login, method: 'key', code })) === undefined) {
      const detail = 'current_code must be a code that the present authenticator shows now';
      throw refuseField('current_code', detail);
    }
  }
  const sealed = Buffer.from(given.proposal, 'base64url');
  const secret = openProposal(keys, sealed, operator.id);
  const step = secret && findTotpStep(secret, given.code, await readNow(session));
  if (secret === undefined) {
    throw refuseField('proposal', 'proposal must be the one you were given: begin the setup again');
  }
  if (step === undefined) {
    const detail =
      'code must be the six digits that the new authenticator shows now. Enter the next ones, and check the time of the device';
    throw refuseField('code', detail);
  }
  // The proposal may be older than the newest keys.
  const stored = keys.seal(secret, totpContext(operator.id));
  await changeLogin(services, operator.id, { totp_secret: stored });
  await takeTotpStep(session, operator.id, step);
  await forgetAttemptRows(session, hashSecret(`operator ${operator.name}`));
}

function openProposal(keys: KeyRing, sealed: Buffer, operatorId: string): Buffer | undefined {
  try {
    return keys.open(sealed, totpContext(operatorId));
  } catch {
    // Not one that this operator was given.
    return undefined;
  }
}

/** A link that logs the operator in once within a day. */
export async function createLink(
  { session, keys }: OperatorServices,
  operator: GenuineOperator,
): Promise<{ token: string; expiresAt: Date }> {
  const token = newSecret();
  const tokenHash = hashSecret(token);
  const expiresAt = new Date((await readNow(session)).getTime() + linkMs);
  const { id: operatorId, fingerprint: operatorFingerprint } = operator;
  const link = { tokenHash, operatorId, expiresAt, operatorFingerprint };
  await storeLink(session, { ...link, mac: keys.mac(describeLink(link)) });
  return { token, expiresAt };
}

/** What the code of a link covers. */
function describeLink(link: Omit<NewLinkRow, 'mac'>): string {
  const { tokenHash, operatorId, expiresAt, operatorFingerprint } = link;
  const hashes = [tokenHash, operatorFingerprint].map((hash) => hash.toString('hex'));
  return rowContext('operator_links', operatorId, expiresAt.toISOString(), ...hashes);
}

export const protectedLinks = defineProtectedTable({
  table: 'operator_links',
  key: { token_hash: 'bytea' },
  values: ['mac'],
  columns: {
    token_hash: column.bytes,
    operator_id: column.uuid,
    expires_at: column.instant,
    operator_fingerprint: column.bytes,
  },
  renew: renewMac((row) =>
    describeLink({
      tokenHash: row.token_hash,
      operatorId: row.operator_id,
      expiresAt: row.expires_at,
      operatorFingerprint: row.operator_fingerprint,
    }),
  ),
});

async function takeLink(
  services: OperatorServices,
  token: string,
): Promise<GenuineOperator | undefined> {
  const tokenHash = hashSecret(token);
  const row = await useLinkRow(services.session, tokenHash);
  const operator = row && (await findGenuineOperator(services, { id: row.operator_id }));
  if (row === undefined || operator === undefined) return undefined;
  const { expires_at: expiresAt, operator_fingerprint: operatorFingerprint } = row;
  if (!operatorFingerprint.equals(operator.fingerprint)) return undefined;
  const link = { tokenHash, operatorId: operator.id, expiresAt, operatorFingerprint };
  return services.keys.isMac(describeLink(link), row.mac) ? operator : undefined;
}
