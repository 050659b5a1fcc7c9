import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { keyId, readSecret, sharedSecret } from './signatures.ts';

/**
 * Authentication of the light level: an HMAC over one request, or a TLS client certificate. Answers
 * are not signed. The receiver of one cannot prove it later, and everything between the
 * two ends of the TLS connection, such as a proxy or a cache of the partner, may have written it.
 */

export const lightKeySchema = z.strictObject({ id: keyId, key: sharedSecret });
export type LightKey = z.output<typeof lightKeySchema>;

const certificate = z
  .string()
  .max(20_000)
  .refine((text) => text.includes('-----BEGIN CERTIFICATE'), { error: 'must be PEM: CERTIFICATE' });

export const lightLevelSchema = z.strictObject({
  authentication: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('hmac'), key: lightKeySchema }),
    z.strictObject({
      kind: z.literal('tls'),
      certificate,
      privateKey: z
        .string()
        .max(20_000)
        .refine((text) => /-----BEGIN (?:\w+ )*PRIVATE KEY-----/.test(text), {
          error: 'must be the PEM of a private key',
        }),
      /** Of the partner's server, where no public authority has issued its certificate. */
      authority: certificate.optional(),
    }),
  ]),
  /** Of the partner's callbacks; without it none is accepted, and the list of events is read. */
  callbackKeys: z.array(lightKeySchema).max(8).default([]),
  /** How long statements of the partner may contradict each other before a person decides. */
  confirmSeconds: z.int().min(1).max(604_800).default(3600),
  /** How far the partner's queries may lag behind its books. */
  queryLagSeconds: z.int().min(0).max(86_400).default(60),
});
export type LightLevel = z.output<typeof lightLevelSchema>;

/** Keeps a request from being taken for a callback, also under one key. */
export type LightRole = 'request' | 'callback';

export type LightMessage = {
  readonly role: LightRole;
  readonly method: string;
  /** Of the address that is called, as it is sent. */
  readonly path: string;
  readonly body: Uint8Array;
  /** Seconds since 1970, real time: nothing is carried out or accepted from then on. */
  readonly expiresS: number;
};

export const expiresHeader = 'outlay-expires';
/** The partner's clock in seconds, read before its books are. */
export const timeHeader = 'outlay-time';

const scheme = 'Outlay-HMAC-SHA256';

/** The value of Authorization. */
export function authorize(message: LightMessage, { id, key }: LightKey): string {
  return `${scheme} key=${id}, signature=${compute(message, key).toString('hex')}`;
}

export type LightHeaders = Readonly<Record<string, string>>;
export type LightVerification =
  | { readonly ok: true; readonly expiresS: number }
  | { readonly ok: false; readonly detail: string };

/** Whether a holder of one of the keys sent it, unchanged. Its time is returned and not checked. */
export function verifyAuthorization(
  message: Omit<LightMessage, 'expiresS'>,
  headers: LightHeaders,
  keys: readonly LightKey[],
): LightVerification {
  const refuse = (detail: string): LightVerification => ({ ok: false, detail });
  const expires = headers[expiresHeader] ?? '';
  if (!/^\d{1,11}$/.test(expires)) return refuse('Outlay-Expires must be seconds since 1970');
  const form = /^Outlay-HMAC-SHA256 key=([0-9A-Za-z._:-]{1,64}), signature=([0-9a-f]{64})$/;
  const [, id, signature] = form.exec(headers['authorization'] ?? '') ?? [];
  if (id === undefined || signature === undefined) {
    return refuse(`Authorization must be "${scheme} key=<id>, signature=<hex>"`);
  }
  const key = keys.find((one) => one.id === id);
  if (key === undefined) return refuse('the key is not known');
  const expiresS = Number(expires);
  const expected = compute({ ...message, expiresS }, key.key);
  return timingSafeEqual(expected, Buffer.from(signature, 'hex'))
    ? { ok: true, expiresS }
    : refuse('the signature is wrong');
}

function compute({ role, method, path, body, expiresS }: LightMessage, text: string): Buffer {
  const secret = readSecret(text);
  if (secret === undefined) throw new Error('a shared secret is not the Base64 of 32 bytes');
  const digest = createHash('sha256').update(body).digest('hex');
  const signed = [`outlay-${role}`, method, path, String(expiresS), digest].join('\n');
  return createHmac('sha256', secret).update(signed).digest();
}
