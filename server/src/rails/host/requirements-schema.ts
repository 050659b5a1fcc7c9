import { z } from 'zod';
import type { AccountForm } from '../contract/requirements.ts';

/**
 * The bounds of what a counterparty may ask for. Its forms reach clients, pages of recipients and the
 * database, so a form beyond a bound is refused as a whole, and the last one stays in use.
 */

/** No control characters, no line breaks. */
const plain = (lengthMax: number) =>
  z
    .string()
    .min(1)
    .max(lengthMax)
    .regex(/^[^\p{Cc}\u2028\u2029]*$/u);

const length = z.int().min(0).max(10_000);

const fieldSchema = z.object({
  key: plain(100),
  attribute: plain(60).optional(),
  isCompact: z.boolean(),
  label: plain(100),
  input: z.enum(['text', 'options', 'date']),
  isRequired: z.boolean(),
  isRefreshing: z.boolean(),
  lengthMin: length.optional(),
  lengthMax: length.optional(),
  pattern: z.string().max(500).optional(),
  choices: z
    .array(z.object({ value: plain(100), label: plain(100) }))
    .min(1)
    .max(1000)
    .optional(),
});

export const formsSchema: z.ZodType<readonly AccountForm[]> = z
  .array(z.object({ type: plain(100), fields: z.array(fieldSchema).max(60) }))
  .min(1)
  .max(20);

/** Of the JSON of all forms. */
export const formsBytesMax = 400_000;

export const givenSchema = z
  .record(plain(100), plain(100))
  .refine((given) => Object.keys(given).length <= 20);
