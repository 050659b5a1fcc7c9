import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { UsageError } from '../failure.ts';

/** The file of `outlay partner-check`: keys and test payments (docs/guides/partner.md). */

const id = z.string().regex(/^[0-9A-Za-z._:-]{1,64}$/);
const secret = z.string().refine((text) => Buffer.from(text, 'base64').length >= 32, {
  error: 'must be the Base64 of at least 32 bytes',
});
const macKey = z.strictObject({ id, key: secret });
const signedKey = z.discriminatedUnion('algorithm', [
  z.strictObject({ id, algorithm: z.literal('hmac-sha256'), key: secret }),
  z.strictObject({ id, algorithm: z.literal('ed25519'), key: z.string() }),
]);
export type MacKey = z.output<typeof macKey>;
export type SignedKey = z.output<typeof signedKey>;

const access = z.discriminatedUnion('level', [
  z.strictObject({
    level: z.literal('signed'),
    signingKey: signedKey,
    partnerKeys: z.array(signedKey).min(1),
  }),
  z.strictObject({
    level: z.literal('hmac'),
    key: macKey,
    callbackKeys: z.array(macKey).default([]),
  }),
  z.strictObject({
    level: z.literal('tls'),
    /** PEM. */
    certificate: z.string(),
    privateKey: z.string(),
    authority: z.string().optional(),
    callbackKeys: z.array(macKey).default([]),
  }),
]);
export type Access = z.output<typeof access>;

export const orderSchema = z.looseObject({
  payer: z.string(),
  country: z.string(),
  delivery_type: z.string(),
  amount: z.string(),
  currency: z.string(),
  destination: z.record(z.string(), z.string()),
  beneficiary: z.record(z.string(), z.string()),
  /** What the partner requires of it, beside `id` and `name`. */
  originator: z.record(z.string(), z.string()).default({}),
});
export type OrderTemplate = z.output<typeof orderSchema>;

/** Without defaults, which would replace what the order has. */
const orderChanges = orderSchema
  .extend({ originator: z.record(z.string(), z.string()) })
  .partial()
  .optional();

const descriptionSchema = z.strictObject({
  access,
  /** A payment that ends as paid in the partner's test environment. */
  order: orderSchema,
  /** What of it differs for payments that end otherwise there; left out: not checked. */
  rejected: orderChanges,
  returned: orderChanges,
  /** What of it differs for accounts with these results of an account check. */
  accountChecks: z
    .strictObject({ match: orderChanges, close_match: orderChanges, no_match: orderChanges })
    .partial()
    .optional(),
});
export type Description = z.output<typeof descriptionSchema>;

/** @throws UsageError with every fault of the file. */
export function readDescription(path: string): Description {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new UsageError(`${path} must be JSON`);
  }
  const read = descriptionSchema.safeParse(json);
  if (read.success) return read.data;
  const faults = read.error.issues.map(
    ({ path: at, message }) => `${at.map(String).join('.') || 'the file'}: ${message}`,
  );
  throw new UsageError(`${path} is not valid. ${faults.join('; ')}`);
}
