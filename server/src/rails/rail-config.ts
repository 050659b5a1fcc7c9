import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { findCurrency } from '../core/currency.ts';
import { parseAmount } from '../core/money.ts';
import { deliveryTypes } from './declarations.ts';

/** The operator's file of rails: which there are, whom they pay through, and at what price. */

const feeStep = z.strictObject({
  upTo: z.string().nullable(),
  fixed: z.string(),
  basisPoints: z.int(),
});

const tariff = z.strictObject({
  effectiveFrom: z.string().nullable().default(null),
  fee: z.array(feeStep),
  marginBasisPoints: z.int().default(0),
  rates: z.record(z.string(), z.string()).default({}),
  minLimit: z.string().default('0'),
  maxLimit: z.string().default('0'),
});

const availability = z.strictObject({
  timeZone: z.string().default('UTC'),
  calendar: z.string().nullable().default(null),
  weekend: z.array(z.int()).default([]),
  cutOff: z.string().nullable().default(null),
  delay: z.union([
    z.strictObject({ minutes: z.int() }),
    z.strictObject({ businessDays: z.int(), arrival: z.string() }),
  ]),
});

/** A grey square of one pixel, for who has no logo. */
const plainLogo =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==';

/** PNG in Base64; "" and nothing at all are the plain one. */
const logoSchema = z
  .string()
  .default('')
  .transform((logo) => (logo === '' ? plainLogo : logo));

const company = z.strictObject({
  key: z.string(),
  name: z.string(),
  description: z.string().default(''),
  logo: logoSchema,
});

const payer = z.strictObject({
  key: z.string(),
  companyKey: z.string(),
  payerName: z.string(),
  logo: logoSchema,
  countryCode: z.string(),
  deliveryType: z.enum(deliveryTypes),
  currencies: z.array(z.string()),
  tariffs: z.array(tariff),
  availability,
  numberOfLocations: z.int().default(0),
  additionalDescription: z.string().default(''),
  isDynamicToken: z.boolean().default(false),
  verification: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('always') }),
      z.strictObject({ kind: z.literal('above'), amount: z.string() }),
      z.strictObject({ kind: z.literal('never') }),
    ])
    .default({ kind: 'never' }),
  rateLockSeconds: z.int().nullable().default(null),
  options: z.record(z.string(), z.string()).default({}),
});

const dailyLimits = z.record(z.string(), z.string()).transform((limits, context) => {
  const read: Record<string, bigint> = {};
  for (const [code, text] of Object.entries(limits)) {
    const currency = findCurrency(code);
    const amount = currency === undefined ? undefined : parseAmount(text, currency);
    if (amount?.ok === true) read[code] = amount.minor;
    else context.addIssue({ code: 'custom', message: `a limit of ${text} ${code}`, path: [code] });
  }
  return read;
});

const rail = z.strictObject({
  kind: z.string(),
  name: z.string().regex(/^[a-z0-9_]{1,40}$/, 'a to z, digits and _, at most 40'),
  config: z.unknown().default({}),
  companies: z.array(company),
  payers: z.array(payer),
  dailyLimits: dailyLimits.default({}),
  pace: z
    .strictObject({
      concurrencyMax: z.int().min(1).max(1000).optional(),
      perSecondMax: z.number().positive().nullable().optional(),
    })
    .default({}),
});

const fileSchema = z.strictObject({ rails: z.array(rail) });

export type RailConfig = z.output<typeof rail>;

export type SecretSources = {
  readVariable(name: string): string | undefined;
  /** What a sealed file holds; @throws where it was sealed under another key. */
  openSealed(sealed: Buffer): Buffer;
};

/** How a file begins that `outlay secret seal` wrote; the rest is Base64. */
export const sealedPrefix = 'outlay-sealed:';

/** A fault of the operator's file. Its message never holds a value of it that could be a secret. */
export class RailConfigError extends Error {}

/** @throws RailConfigError with every fault of the file. */
export function readRailConfigs(path: string, secrets: SecretSources): RailConfig[] {
  let written: unknown;
  try {
    written = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    // The parser's own message quotes the text.
    throw new RailConfigError(`${path} is not a file of JSON`);
  }
  const parsed = fileSchema.safeParse(written);
  if (!parsed.success) throw new RailConfigError(`${path}: ${describeFaults(parsed.error)}`);
  const names = parsed.data.rails.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index || name === 'sandbox');
  if (twice !== undefined) throw new RailConfigError(`${path}: the name ${twice} is taken`);
  return parsed.data.rails.map((one) => ({
    ...one,
    config: fillSecrets(one.config, `${path}: ${one.name}`, secrets),
  }));
}

/** Which members are wrong and why, without their values. */
export function describeFaults(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => `${path.map(String).join('.') || 'all of it'}: ${message}`)
    .join('; ');
}

/** Puts the values of secrets in the places of their sources, at any depth. */
function fillSecrets(value: unknown, place: string, secrets: SecretSources): unknown {
  if (Array.isArray(value)) return value.map((one) => fillSecrets(one, place, secrets));
  if (typeof value !== 'object' || value === null) return value;
  const entries: [string, unknown][] = Object.entries(value);
  const [first] = entries;
  if (entries.length === 1 && first !== undefined && typeof first[1] === 'string') {
    const [source, name] = first;
    if (source === 'env') return readVariable(name, place, secrets);
    if (source === 'file') return readSecretFile(name, place, secrets);
  }
  return Object.fromEntries(entries.map(([key, one]) => [key, fillSecrets(one, place, secrets)]));
}

function readVariable(name: string, place: string, secrets: SecretSources): string {
  const value = secrets.readVariable(name);
  if (value === undefined || value === '') {
    throw new RailConfigError(`${place}: the environment variable ${name} is not set`);
  }
  return value;
}

function readSecretFile(name: string, place: string, secrets: SecretSources): string {
  let text: string;
  try {
    text = readFileSync(name, 'utf8');
  } catch {
    throw new RailConfigError(`${place}: the file ${name} cannot be read`);
  }
  if (!text.startsWith(sealedPrefix)) return text.trimEnd();
  try {
    const sealed = Buffer.from(text.slice(sealedPrefix.length).trim(), 'base64');
    return secrets.openSealed(sealed).toString('utf8').trimEnd();
  } catch {
    throw new RailConfigError(`${place}: the file ${name} was sealed under another master key`);
  }
}
