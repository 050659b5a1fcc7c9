import { createHash, createHmac } from 'node:crypto';
import { z } from 'zod';

/**
 * A cell as others see it: one of several installations that share the accounts of an operator
 * (docs/guides/cells.md). It is made in the cell and compared elsewhere, so it holds no secret: what
 * must not be shared is a keyed hash, and the key is chosen for one comparison.
 */

/** Shown on the terminal of whoever compares, who did not write it. */
const operatorText = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[^\p{C}\p{Zl}\p{Zp}]+$/u, 'must consist of visible characters');

const hash = z.string().regex(/^[0-9a-f]{64}$/);

const exclusiveSchema = z.strictObject({
  /** With the rail that it belongs to. */
  what: operatorText,
  hash,
});

export const cellSchema = z.strictObject({
  format: z.literal('outlay-cell-1'),
  cell: operatorText,
  environment: z.enum(['staging', 'live']),
  described_at: z.iso.datetime(),
  /** The database's time minus that of the machine. */
  database_ahead_ms: z.int(),
  release: z.string().regex(/^\d{1,5}\.\d{1,5}\.\d{1,5}$/),
  schema: z.int().min(1),
  public_url: z.url({ protocol: /^https?$/ }).max(500),
  /** Of the key under `/.well-known/receipt-key.pem`, which no other environment has. */
  signing_key_id: z.string().regex(/^[0-9a-f]{16}$/),
  /** The same in all descriptions that were made with one salt. */
  salt_id: hash,
  exclusives: z.array(exclusiveSchema).max(10_000),
  /** What could not be described. */
  faults: z.array(operatorText).max(1000),
});

export type CellDescription = z.output<typeof cellSchema>;
export type DescribedExclusive = z.output<typeof exclusiveSchema>;

/** `openssl rand -hex 32` makes one. */
export const saltPattern = /^[0-9a-f]{64}$/;

/** Equal values of one kind have equal hashes; without the salt a value cannot be looked up. */
export function hashExclusive(salt: string, kind: string, value: string): string {
  return createHmac('sha256', Buffer.from(salt, 'hex'))
    .update(JSON.stringify([kind, value]))
    .digest('hex');
}

export function identifySalt(salt: string): string {
  return createHash('sha256').update(`outlay-cell-1 ${salt}`).digest('hex');
}
