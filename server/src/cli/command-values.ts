import { statSync } from 'node:fs';
import type { parseArgs } from 'node:util';
import { ConfigError, isAddressRange } from '../config.ts';
import { scopes } from '../core/access.ts';
import { findCurrency } from '../core/currency.ts';
import { AppError } from '../core/errors.ts';
import { findTokenId, isUuid } from '../core/ids.ts';
import { exceptionKinds } from '../exceptions/exceptions.ts';

/** The options of commands: which there are, what they may be, and which command takes which. */

export const options = {
  environment: { type: 'string' },
  name: { type: 'string' },
  account: { type: 'string' },
  currency: { type: 'string' },
  amount: { type: 'string' },
  credential: { type: 'string' },
  kind: { type: 'string' },
  rail: { type: 'string' },
  scopes: { type: 'string' },
  addresses: { type: 'string' },
  'accept-both-tokens': { type: 'string' },
  'identity-two-persons': { type: 'string' },
  folder: { type: 'string' },
  'accept-jumps': { type: 'boolean' },
  all: { type: 'boolean' },
  closed: { type: 'boolean' },
  from: { type: 'string' },
  to: { type: 'string' },
  limit: { type: 'string' },
  cursor: { type: 'string' },
  'accept-doubts': { type: 'boolean' },
  'accept-unlisted': { type: 'boolean' },
  decision: { type: 'string' },
  user: { type: 'string' },
  payout: { type: 'string' },
  exception: { type: 'string' },
  action: { type: 'string' },
  by: { type: 'string' },
  reason: { type: 'string' },
  file: { type: 'string' },
} as const;

export type OptionName = keyof typeof options;
export type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];

type Form = { isValid: (text: string) => boolean; text: string };

const oneOf = (values: readonly string[]): Form => ({
  isValid: (text) => values.includes(text),
  text: `must be one of ${values.join(', ')}`,
});
const identifier: Form = { isValid: isUuid, text: 'must be an identifier (UUID)' };
/** Control and invisible characters would make two names, or reasons, look alike. */
const isPlain = (text: string, lengthMax: number): boolean =>
  text.length <= lengthMax && text === text.trim() && !/[\p{C}\p{Zl}\p{Zp}]/u.test(text);
const plainText = (lengthMax: number): Form => ({
  isValid: (text) => isPlain(text, lengthMax),
  text: `must be at most ${lengthMax} visible characters, without spaces around them`,
});
const instant: Form = {
  isValid: (text) =>
    /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}Z)?$/.test(text) &&
    !Number.isNaN(Date.parse(text)) &&
    // 30 February would be 2 March.
    new Date(text).toISOString().startsWith(text.slice(0, 19).replace('Z', '')),
  text: 'must be a date (2026-11-22) or a time in UTC (2026-11-22T08:00:00Z)',
};
const eachOf = (isValid: (text: string) => boolean, text: string): Form => ({
  isValid: (words) => words.split(' ').filter(Boolean).every(isValid) && words.trim() !== '',
  text,
});

/** What each option may be, whatever the command; an empty text is none at all. */
const forms: Readonly<Partial<Record<OptionName, Form>>> = {
  environment: oneOf(['staging', 'live']),
  name: plainText(200),
  account: identifier,
  currency: {
    isValid: (text) => findCurrency(text) !== undefined,
    text: 'must be the code of a known currency, such as USD',
  },
  credential: identifier,
  rail: {
    isValid: (text) => /^[a-z0-9_]{1,40}$/.test(text),
    text: 'must be the name of a rail: a to z, digits and _',
  },
  scopes: eachOf(
    (text) => (scopes as readonly string[]).includes(text),
    `must be some of: ${scopes.join(' ')}`,
  ),
  addresses: eachOf(isAddressRange, 'must be addresses or ranges, such as 10.0.0.0/8'),
  'accept-both-tokens': oneOf(['true', 'false']),
  'identity-two-persons': oneOf(['true', 'false']),
  from: instant,
  to: instant,
  limit: {
    isValid: (text) => /^[1-9]\d{0,3}$/.test(text) && Number(text) <= 1000,
    text: 'must be a whole number from 1 to 1000',
  },
  cursor: { isValid: (text) => text.length <= 60, text: 'must come from the page before' },
  user: {
    isValid: (text) => findTokenId('user', text) !== undefined,
    text: 'must be the token of a user',
  },
  payout: {
    isValid: (text) => findTokenId('payout', text) !== undefined,
    text: 'must be the token of a payout',
  },
  exception: identifier,
  by: plainText(100),
  reason: plainText(1000),
  file: {
    isValid: (text) => statSync(text, { throwIfNoEntry: false })?.isFile() === true,
    text: 'must be a file that exists',
  },
};

type Taken = {
  needs?: readonly OptionName[];
  takes?: readonly OptionName[];
  /** One of these at least. */
  needsOneOf?: readonly OptionName[];
  /** Options that this command limits further. */
  forms?: Readonly<Partial<Record<OptionName, Form>>>;
};

const credentialKind = { kind: oneOf(['api_key', 'client']) };

/** Which options a command needs and takes; `--environment` goes with every one. */
export const commandOptions: Readonly<Record<string, Taken>> = {
  migrate: {},
  verify: {},
  doctor: {},
  'rates import': { takes: ['accept-jumps'] },
  'account list': {},
  'account create': { needs: ['name'] },
  'account fund': { needs: ['account', 'currency', 'amount'] },
  'account set': {
    needs: ['account'],
    needsOneOf: ['accept-both-tokens', 'identity-two-persons'],
  },
  'credential list': { needs: ['account'] },
  'credential create': {
    needs: ['account', 'kind'],
    takes: ['scopes', 'addresses'],
    forms: credentialKind,
  },
  'credential revoke': { needs: ['account', 'credential'] },
  'exception list': {
    takes: ['account', 'kind', 'rail', 'payout', 'from', 'to', 'all', 'closed', 'limit', 'cursor'],
    forms: { kind: oneOf(exceptionKinds) },
  },
  'exception close': {
    needs: ['by', 'reason'],
    takes: ['exception', 'kind', 'rail', 'from', 'to'],
  },
  'payout explain': { needs: ['payout'] },
  'payout decide': { needs: ['payout', 'action', 'by', 'reason'] },
  'payout cancel': { needs: ['payout'] },
  'payout margin': { needs: ['payout'] },
  'recovery show': {},
  'recovery release': { needs: ['by', 'reason'], takes: ['accept-unlisted'] },
  'screening import': { takes: ['accept-doubts'] },
  'screening show': { takes: ['user', 'payout'] },
  'screening decide': {
    needs: ['decision', 'by', 'reason'],
    takes: ['user', 'payout'],
    forms: { decision: oneOf(['cleared', 'confirmed']) },
  },
  'identity list': { takes: ['account'] },
  'identity show': { needs: ['user'] },
  'identity export': { needs: ['user', 'folder'] },
  'identity decide': {
    needs: ['user', 'decision', 'by', 'reason'],
    forms: { decision: oneOf(['approved', 'declined', 'resubmission_requested']) },
  },
  'rail check': {},
  'secret seal': { needs: ['file'] },
};

/** @throws ConfigError with everything that is wrong with the options of a command. */
export function checkOptions(command: string, values: Values): void {
  const taken = commandOptions[command];
  if (taken === undefined) return;
  const { needs = [], takes = [], needsOneOf = [] } = taken;
  const known: readonly string[] = [...needs, ...takes, ...needsOneOf, 'environment'];
  const faults: string[] = [];
  for (const [name, value] of Object.entries(values)) {
    if (!known.includes(name)) faults.push(`${command} does not take --${name}`);
    else if (typeof value === 'string' && value !== '') {
      for (const form of [forms[name as OptionName], taken.forms?.[name as OptionName]]) {
        if (form?.isValid(value) === false) faults.push(`--${name} ${form.text}`);
      }
    }
    // An empty text is a variable that was not set, never a wish.
    if (value === '' && known.includes(name)) faults.push(`--${name} is empty`);
  }
  faults.push(
    ...needs.filter((name) => values[name] === undefined).map((name) => `--${name} is missing`),
  );
  if (needsOneOf.length > 0 && needsOneOf.every((name) => values[name] === undefined)) {
    faults.push(`${needsOneOf.map((name) => `--${name}`).join(' or ')} is missing`);
  }
  if (faults.length > 0) throw new ConfigError(faults.join('; '));
}

export function need(values: Values, name: OptionName): string {
  const value = values[name];
  if (typeof value !== 'string' || value === '') throw new ConfigError(`--${name} is missing`);
  return value;
}

/** A refusal of the service, as the sentence that the person at the terminal reads. */
export async function tell<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AppError) throw new ConfigError(error.message, { cause: error });
    throw error;
  }
}
