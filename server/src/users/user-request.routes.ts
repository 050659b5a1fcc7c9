import { z } from 'zod';
import { birthDateMin, isRealDate } from '../core/calendar-date.ts';
import { findCountry } from '../core/country.ts';
import { metadataField } from '../http/metadata.ts';
import { textField } from '../http/schema.ts';

/** The members of a user in requests. */

/** The domain has at least two labels of at most 63 characters, none of which begins or ends with a hyphen. */
const emailPattern =
  /^[^\s@<>()]{1,64}@(?:[^\s@<>()[\],;:".-](?:[^\s@<>()[\],;:".]{0,61}[^\s@<>()[\],;:".-])?\.)+[^\s@<>()[\],;:".-][^\s@<>()[\],;:".]{0,61}[^\s@<>()[\],;:".-]$/;

const datePattern = /^\d{4}-\d{2}-\d{2}$/;

const timeZones = new Set<string>();

/** Whether the name is a time zone of the runtime's IANA database. */
function isTimeZone(name: string): boolean {
  if (timeZones.has(name)) return true;
  // The runtime also accepts offsets, which do not have this form.
  if (!/^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/.test(name)) return false;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    // The runtime ignores case and resolves older names; only the spelling must be exact.
    const isOtherSpelling = timeZone !== name && timeZone.toLowerCase() === name.toLowerCase();
    if (timeZone === name) timeZones.add(name);
    return !isOtherSpelling;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** An optional text may also be "", as absent texts are in answers. */
function optional(schema: z.ZodType<string>, pattern?: RegExp) {
  const { $schema: _dialect, ...described } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
  });
  const source = pattern?.source ?? described.pattern;
  const jsonSchema = source === undefined ? described : { ...described, pattern: `^$|${source}` };
  return z
    .union([z.literal(''), schema])
    .optional()
    .meta({ jsonSchema });
}

export const nameField = textField(100)
  .min(1, { abort: true })
  .refine((name) => name.trim() !== '', { error: 'must not be blank' });

export const countryField = z
  .string()
  .refine((code) => findCountry(code) !== undefined, {
    error: 'must be an ISO 3166-1 alpha-3 country code',
  })
  .meta({ jsonSchema: { type: 'string', pattern: '^[A-Z]{3}$' } })
  .describe('ISO 3166-1 alpha-3');

const userFields = {
  internal_user_id: z
    .string()
    .regex(/^[A-Za-z0-9+,\-./_~|]{1,75}$/, {
      error: 'must have 1 to 75 letters, digits and + , - . / _ ~ |',
    })
    .describe('Your own identifier of the user; unique in the account'),
  country: countryField,
  first_name: nameField,
  last_name: nameField,
  email: textField(254)
    .regex(emailPattern, { error: 'must be an email address' })
    .describe('Unique in the account'),
  middle_name: optional(textField(100)),
  business_name: optional(textField(200)),
  address1: optional(textField(200)),
  address2: optional(textField(200)),
  city: optional(textField(100)),
  state_province: optional(textField(100)),
  postal_code: optional(textField(20)),
  mobile_number: optional(
    z
      .string()
      .max(40)
      .transform((text) => text.replaceAll(/[ .()-]/g, '').replace(/^\+/, ''))
      .pipe(z.string().regex(/^\d{5,20}$/, { error: 'must be 5 to 20 digits' })),
    /^\+?[0-9 .()-]{5,39}$/,
  ).describe('With the country code. Stored as digits only, without + and separators'),
  date_of_birth: optional(
    z
      .string()
      .refine(isRealDate, { error: 'must be a calendar date, YYYY-MM-DD', abort: true })
      .refine((date) => date >= birthDateMin, { error: `must be ${birthDateMin} or later` }),
    datePattern,
  ).describe(`YYYY-MM-DD, from ${birthDateMin} on and at least eighteen years ago`),
  language: optional(
    z.string().regex(/^[a-z]{2}$/, { error: 'must be an ISO 639-1 code: two lower-case letters' }),
  ).describe('ISO 639-1; of messages to the user. Default en'),
  timezone: optional(
    z.string().max(64).refine(isTimeZone, { error: 'must be an IANA time zone name' }),
  ).describe('An IANA name such as America/Mexico_City. Default: the time zone of the country'),
  metadata: metadataField.optional(),
};

export const userRequest = z.object(userFields).meta({ id: 'UserRequest' });

export const userChanges = z.object(userFields).partial().meta({ id: 'UserChanges' });

export const userStatuses = ['ACTIVE', 'LOCKED', 'DEACTIVE'] as const;
