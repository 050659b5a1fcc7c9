import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { z } from 'zod';
import { findCountry } from './core/country.ts';
import { listFaults } from './core/json-document.ts';
import { describeReadFault } from './core/read-fault.ts';
import { readSmtpServer, type SmtpServer } from './core/smtp-server.ts';
import { findUrlFault } from './db/postgres/database-url.ts';

/** How the values of settings are read. */

type Setting<T> = { schema: z.ZodType<T, string | undefined>; about: string; example: string };

export function setting<T>(
  schema: z.ZodType<T, string | undefined>,
  about: string,
  example: string,
): Setting<T> {
  return { schema, about, example };
}

/** `otherwise`: the value where nothing is set. */
export function wholeNumber<Otherwise extends number | undefined>(bounds: {
  min: number;
  max: number;
  otherwise: Otherwise;
}) {
  const isWithin = (value: number): boolean =>
    Number.isInteger(value) && value >= bounds.min && value <= bounds.max;
  return z
    .string()
    .optional()
    .transform((text): number | Otherwise => (text === undefined ? bounds.otherwise : Number(text)))
    .refine((value) => value === undefined || isWithin(value), {
      error: `must be a whole number from ${bounds.min} to ${bounds.max}`,
    });
}

export function choice<const T extends string>(values: readonly [T, ...T[]], otherwise: T) {
  return z
    .enum(values, { error: `must be one of ${values.join(', ')}` })
    .optional()
    .transform((value): T => value ?? otherwise);
}

export const text = z.string().optional();
/** Alpha-3 codes of ISO 3166-1, with spaces or commas between them. */
export const countryList = text
  .transform((value) => (value ?? '').split(/[\s,]+/).filter((code) => code !== ''))
  .refine((codes) => codes.every((code) => findCountry(code) !== undefined), {
    error: 'must be alpha-3 codes of countries, such as CUB PRK',
  });
/** A label of a host name, so that the name can be one. */
export const cellName = text.refine(
  (value) => value === undefined || /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/.test(value),
  { error: 'must be 1 to 32 of a to z, digits and -, without - at an end' },
);
export const databaseUrl = text.superRefine((value, context) => {
  const fault = value === undefined ? undefined : findUrlFault(value);
  if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
});
export const httpUrl = text.refine(
  (value) => value === undefined || /^https?:\/\/[^/?#]+$/.test(value),
  {
    error: 'must be http(s)://host without a path',
  },
);
export const smtpServer = text.transform((value, context): SmtpServer | undefined => {
  const server = value === undefined ? undefined : readSmtpServer(value);
  if (value !== undefined && server === undefined) {
    const message = 'must be smtp(s)://user:password@host:port without a path';
    context.addIssue({ code: 'custom', message });
  }
  return server;
});
export const emailAddress = text.refine(
  (value) => value === undefined || /^[^\s@<>(),;:"]{1,64}@[^\s@<>(),;:"]+$/.test(value),
  { error: 'must be an e-mail address without a name' },
);
export const secretKey = text.refine(
  (value) =>
    value === undefined ||
    value.split(',').every((key) => Buffer.from(key, 'base64').length === 32),
  { error: 'must be 32 bytes in Base64, or several such keys with commas between them' },
);

export function addressRanges(otherwise?: string) {
  return z
    .string()
    .optional()
    .transform((value = otherwise) => value?.split(',').map((range) => range.trim()) ?? [])
    .refine((ranges) => ranges.every(isAddressRange), {
      error: 'must be addresses or ranges (CIDR)',
    });
}

/** An address, or a range of addresses in CIDR notation. */
export function isAddressRange(range: string): boolean {
  const [address = '', bits, ...rest] = range.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
  );
}

/** A file of the operator's that a setting names. @throws Error with every fault of it. */
export function readJsonFile<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): z.output<Schema> {
  let written: unknown;
  try {
    written = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new Error(describeReadFault(path, cause), { cause });
  }
  const parsed = schema.safeParse(written);
  if (parsed.success) return parsed.data;
  throw new Error(`${path}: ${listFaults(parsed.error).join('; ')}`);
}
