import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { findCountry } from '../../core/country.ts';
import { findCurrency, findCurrencyFault } from '../../core/currency.ts';
import { parseAmount } from '../../core/money.ts';
import {
  isCalendar,
  isTimeZone,
  isWeekend,
  permitted,
  timePattern,
} from '../contract/declaration-values.ts';
import { accountForms, deliveryTypes } from '../contract/declarations.ts';
import { defaultPriceRules } from '../contract/price-rules.ts';

/** The operator's file of rails, with their payers and tariffs. */

export const feeStep = z.strictObject({
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

export const availability = z.strictObject({
  timeZone: z.string().refine(isTimeZone, permitted.timeZone).default('UTC'),
  calendar: z.string().refine(isCalendar, permitted.calendar).nullable().default(null),
  weekend: z.array(z.int()).refine(isWeekend, permitted.weekend).default([]),
  cutOff: z.string().regex(timePattern, permitted.time).nullable().default(null),
  delay: z.union(
    [
      z.strictObject({ minutes: z.int() }),
      z.strictObject({ businessDays: z.int(), arrival: z.string().regex(timePattern) }),
    ],
    { error: permitted.delay },
  ),
});

/** A gray square of one pixel, for companies and payers without a logo. */
const plainLogo =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==';

/** PNG in Base64; the plain logo where it is "" or absent. */
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
  countryCode: z.string().refine((code) => findCountry(code) !== undefined, permitted.country),
  deliveryType: z.enum(deliveryTypes),
  accountForm: z.enum(accountForms).optional(),
  currencies: z.array(
    z.string().refine((code) => findCurrencyFault(code) === undefined, {
      error: ({ input }) => findCurrencyFault(String(input)),
    }),
  ),
  tariffs: z.array(tariff),
  availability,
  numberOfLocations: z.int().default(0),
  additionalDescription: z.string().default(''),
  isDynamicToken: z.boolean().default(false),
  verification: z
    .discriminatedUnion(
      'kind',
      [
        z.strictObject({ kind: z.literal('always') }),
        z.strictObject({ kind: z.literal('above'), amount: z.string() }),
        z.strictObject({ kind: z.literal('never') }),
      ],
      { error: permitted.verification },
    )
    .default({ kind: 'never' }),
  rateLockSeconds: z.int().nullable().default(null),
  options: z.record(z.string(), z.string()).default({}),
});

export const dailyLimits = z.record(z.string(), z.string()).transform((limits, context) => {
  const read: Record<string, bigint> = {};
  for (const [code, text] of Object.entries(limits)) {
    const currency = findCurrency(code);
    const amount = currency === undefined ? undefined : parseAmount(text, currency);
    if (amount?.ok === true) read[code] = amount.minor;
    else
      context.addIssue({
        code: 'custom',
        message: `must be an amount of a known currency, such as "MXN": "2000000.00"`,
        path: [code],
      });
  }
  return read;
});

/** Only of a rail whose kind quotes prices. */
const prices = z.strictObject({
  everySeconds: z
    .int()
    .min(5)
    .max(3600)
    .default(defaultPriceRules.readEveryMs / 1000),
  maxAgeSeconds: z
    .int()
    .min(10)
    .max(86_400)
    .default(defaultPriceRules.ageMsMax / 1000),
  bearBasisPoints: z.int().min(0).max(10_000).default(defaultPriceRules.bearBasisPoints),
});

const railName = z.string().regex(/^[a-z0-9_]{1,40}$/, 'must be 1 to 40 of a to z, digits and _');

const rail = z.strictObject({
  kind: z.string(),
  name: railName,
  config: z.unknown().default({}),
  companies: z.array(company),
  payers: z.array(payer),
  dailyLimits: dailyLimits.default({}),
  prices: prices
    .refine(
      ({ everySeconds, maxAgeSeconds }) => everySeconds <= maxAgeSeconds,
      'everySeconds must be at most maxAgeSeconds',
    )
    .optional(),
  pace: z
    .strictObject({
      concurrencyMax: z.int().min(1).max(1000).optional(),
      perSecondMax: z.number().positive().nullable().optional(),
    })
    .default({}),
});

const fileSchema = z.strictObject({ rails: z.array(z.unknown()) });

export type RailConfig = z.output<typeof rail>;

export type SecretSources = {
  readVariable(name: string): string | undefined;
  /** The content of a sealed file; @throws where it was sealed under another key. */
  openSealed(sealed: Buffer, file: string): Buffer;
};

/** The first bytes of a file that `outlay admin secret seal` wrote; the rest is Base64. */
export const sealedPrefix = 'outlay-sealed:';

/** What a sealed file holds; undefined for any other one. */
export function findSealed(content: Buffer): Buffer | undefined {
  const text = content.toString('latin1');
  if (!text.startsWith(sealedPrefix)) return undefined;
  return Buffer.from(text.slice(sealedPrefix.length).trim(), 'base64');
}

/** A fault of the operator's file. Its text holds no values, which could be secrets. */
export type RailFault = {
  /** Undefined for a fault of the whole file, or of a rail without a usable name. */
  readonly rail: string | undefined;
  /** With the member that it is about. */
  readonly text: string;
};

/** `configs`: the rails without a fault. */
export type RailFile = {
  readonly configs: readonly RailConfig[];
  readonly faults: readonly RailFault[];
};

/** One line for each fault. */
export function describeRailFaults(path: string, faults: readonly RailFault[]): string {
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`;
  return [`${path} has ${count}:`, ...faults.map(({ text }) => `  ${text}`)].join('\n');
}

/** The rails without a fault, and every fault of the others. */
export function readRailFile(path: string, secrets: SecretSources): RailFile {
  const ofFile = (text: string): RailFile => ({ configs: [], faults: [{ rail: undefined, text }] });
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return ofFile('the file cannot be read: check that it exists and its permissions');
  }
  let written: unknown;
  try {
    written = JSON.parse(text);
  } catch {
    // The parser's message quotes the text, which may hold secrets.
    return ofFile('the file must be JSON');
  }
  const file = fileSchema.safeParse(written);
  if (!file.success) {
    const faults = listFaults(file.error).map((fault) => ({ rail: undefined, text: fault }));
    return { configs: [], faults };
  }
  const read = file.data.rails.map((one, index) => readRail(one, index, secrets));
  const taken = listTakenNames(read.map(({ name }) => name));
  const configs = read.flatMap(({ name, config, faults }) =>
    config === undefined || faults.length > 0 || taken.has(name ?? '') ? [] : [config],
  );
  const ofNames = [...taken].map((name) => ({
    rail: name,
    text: `rail ${name}: the name ${name} is already in use`,
  }));
  return { configs, faults: [...read.flatMap(({ faults }) => faults), ...ofNames] };
}

function listTakenNames(names: readonly (string | undefined)[]): Set<string> {
  const named = names.filter((name) => name !== undefined);
  return new Set(
    named.filter((name, index) => named.indexOf(name) !== index || name === 'sandbox'),
  );
}

type ReadRail = { name: string | undefined; config: RailConfig | undefined; faults: RailFault[] };

function readRail(written: unknown, index: number, secrets: SecretSources): ReadRail {
  const named = z.looseObject({ name: railName }).safeParse(written);
  const name = named.data?.name;
  const isNamed = name !== undefined;
  const parsed = rail.safeParse(written);
  const given = z.looseObject({ config: z.unknown() }).safeParse(written).data?.config ?? {};
  const filled = fillSecrets(given, secrets);
  const texts = [
    ...(parsed.success ? [] : listFaults(parsed.error)).map((fault) =>
      isNamed ? `rail ${name}: ${fault}` : `rails.${index}.${fault}`,
    ),
    ...filled.faults.map((fault) => `${isNamed ? `rail ${name}` : `rails.${index}`}: ${fault}`),
  ];
  return {
    name,
    config: parsed.success ? { ...parsed.data, config: filled.value } : undefined,
    faults: texts.map((text) => ({ rail: name, text })),
  };
}

/** The members that break a rule, without their values. */
export function describeFaults(error: z.ZodError): string {
  return listFaults(error).join('; ');
}

/** One text for each member that breaks a rule. */
export function listFaults(error: z.ZodError): string[] {
  return error.issues.map((issue) => describeIssue(issue));
}

const unionMessage = 'Invalid input';

function describeIssue(issue: z.core.$ZodIssue): string {
  const place = issue.path.map(String).join('.') || 'the file';
  // Of a choice between forms, the rule of each.
  if (issue.code === 'invalid_union' && issue.message === unionMessage && issue.errors.length > 0) {
    const forms = issue.errors.map((issues) => issues.map(describeIssue).join(', '));
    return `${place}: must have one of ${forms.length} forms: ${forms.map((form) => `(${form})`).join(' or ')}`;
  }
  return `${place}: ${issue.message}`;
}

/** Replaces `{"env": …}` and `{"file": …}` by the secrets they name, at any depth. */
function fillSecrets(value: unknown, secrets: SecretSources): { value: unknown; faults: string[] } {
  const faults: string[] = [];
  const read = (source: 'env' | 'file', name: string): string => {
    const found = source === 'env' ? readVariable(name, secrets) : readSecretFile(name, secrets);
    if ('fault' in found) faults.push(found.fault);
    return 'value' in found ? found.value : '';
  };
  const fill = (one: unknown): unknown => {
    if (Array.isArray(one)) return one.map(fill);
    if (typeof one !== 'object' || one === null) return one;
    const entries: [string, unknown][] = Object.entries(one);
    const [first] = entries;
    if (entries.length === 1 && first !== undefined && typeof first[1] === 'string') {
      const [source, name] = first;
      if (source === 'env' || source === 'file') return read(source, name);
    }
    return Object.fromEntries(entries.map(([key, member]) => [key, fill(member)]));
  };
  return { value: fill(value), faults };
}

type Secret = { value: string } | { fault: string };

function readVariable(name: string, secrets: SecretSources): Secret {
  const value = secrets.readVariable(name);
  return value === undefined || value === ''
    ? { fault: `the environment variable ${name} is not set` }
    : { value };
}

function readSecretFile(name: string, secrets: SecretSources): Secret {
  let content: Buffer;
  try {
    content = readFileSync(name);
  } catch {
    return { fault: `the file ${name} cannot be read` };
  }
  const sealed = findSealed(content);
  if (sealed === undefined) return { value: content.toString('utf8').trimEnd() };
  try {
    return { value: secrets.openSealed(sealed, name).toString('utf8').trimEnd() };
  } catch {
    return { fault: `the file ${name} was sealed under keys that this environment does not have` };
  }
}
