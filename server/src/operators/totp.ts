import { Secret, TOTP } from 'otpauth';

/** The second factor: codes by time (RFC 6238), as every authenticator computes them. */

const periodSeconds = 30;
/** A code of the period before or after is accepted, because clocks differ. */
const window = 1;

function create(secret: Buffer, labels: { name?: string; issuer?: string } = {}): TOTP {
  const { name = '', issuer = '' } = labels;
  const bytes = new Uint8Array(secret).buffer;
  return new TOTP({
    issuer,
    label: name,
    algorithm: 'SHA1',
    digits: 6,
    period: periodSeconds,
    secret: new Secret({ buffer: bytes }),
  });
}

/** 160 random bits. */
export function createTotpSecret(): Buffer {
  return Buffer.from(new Secret({ size: 20 }).bytes);
}

/** What an authenticator is given: as text, and as the address of a QR code. */
export function describeTotp(secret: Buffer, labels: { name: string; issuer: string }) {
  const totp = create(secret, labels);
  return { secret: totp.secret.base32, uri: totp.toString() };
}

/** The time step of a valid code. */
export function findTotpStep(secret: Buffer, code: string, now: Date): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined;
  const timestamp = now.getTime();
  const delta = create(secret).validate({ token: code, timestamp, window });
  if (delta === null) return undefined;
  return Math.floor(timestamp / 1000 / periodSeconds) + delta;
}
