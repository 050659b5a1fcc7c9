import { hash, verify } from '@node-rs/argon2';
import { createSemaphore } from '../core/semaphore.ts';

/** Passwords of operators: Argon2id (RFC 9106) with the least that OWASP recommends for a login. */

export const passwordLengthMin = 12;
export const passwordLengthMax = 200;

const parameters = {
  // Argon2id; the package declares its names in a form that only compilers read.
  algorithm: 2,
  memoryCost: 19_456,
  timeCost: 2,
  parallelism: 1,
};

/** Each takes 19 MB: more at the same time wait. */
const { run: inTurn } = createSemaphore(2);

/** The same character typed on two systems may be composed differently. */
const normalize = (password: string): string => password.normalize('NFC');

export function hashPassword(password: string): Promise<string> {
  return inTurn(() => hash(normalize(password), parameters));
}

/** Of an unknown text. */
let unknown: Promise<string> | undefined;

/** False without a stored hash, after as much work. */
export async function verifyPassword(
  stored: string | undefined,
  password: string,
): Promise<boolean> {
  if (stored !== undefined && stored !== '') {
    return inTurn(() => verify(stored, normalize(password)));
  }
  unknown ??= hashPassword(crypto.randomUUID());
  const placeholder = await unknown;
  await inTurn(() => verify(placeholder, normalize(password)));
  return false;
}
