import { statSync } from 'node:fs';
import { z } from 'zod';
import { isAddressRange } from '../config-values.ts';
import { scopes } from '../core/access.ts';
import { findCountry } from '../core/country.ts';
import { findCurrency, findCurrencyFault, getCurrency } from '../core/currency.ts';
import { isHttpsUrl } from '../core/https-url.ts';
import { findTokenId, isUuid } from '../core/ids.ts';
import { DocumentFaults } from '../core/json-document.ts';
import { findCharacterFault } from '../core/plain-text.ts';
import { deliveryTypes } from '../rails/contract/declarations.ts';

/** The options that several commands take. The metadata of each schema is its help. */

export type OptionHelp = {
  readonly value?: string;
  readonly about: string;
  /** On the command line `@path` stands for the text of a file. */
  readonly takesFile?: boolean;
};

/** An option with a value. */
export function option<T>(
  help: OptionHelp & { value: string },
  schema: z.ZodType<T, string>,
): z.ZodType<T, string> {
  return schema.meta(help);
}

/** A switch: true where it is given. */
export function flag(about: string) {
  return z.boolean().default(false).meta({ about });
}

export function oneOf<const T extends string>(about: string, values: readonly [T, ...T[]]) {
  const listed = values.join(', ');
  const help = { value: 'value', about: `${about}: ${listed}` };
  return option(help, z.enum(values, { error: `must be one of ${listed}` }));
}

/** The help of an option, also where it may be left out. */
export function getHelp(schema: z.ZodType): OptionHelp {
  const isWrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault;
  return (schema.meta() ?? (isWrapped ? getHelp(schema.unwrap() as z.ZodType) : {})) as OptionHelp;
}

const text = z.string();

export function identifier(about: string) {
  const schema = text.refine(isUuid, { error: 'must be an identifier (UUID)' });
  return option({ value: 'id', about }, schema);
}

/** Control and hidden characters would make two different texts look alike. */
export function visible(help: OptionHelp & { value: string }, lengthMax: number) {
  return option(
    help,
    text.refine(
      (given) =>
        given.length <= lengthMax &&
        given === given.trim() &&
        findCharacterFault(given) === undefined,
      { error: `must be at most ${lengthMax} visible characters, without spaces around them` },
    ),
  );
}

function httpsUrl(about: string, lengthMax: number) {
  const error = `must be an address with https:// of at most ${lengthMax} characters`;
  const isGood = (given: string) => given.length <= lengthMax && isHttpsUrl(given);
  return option({ value: 'url', about }, text.refine(isGood, { error }));
}

/** A token of the API; its value is the identifier in the database. */
function token(kind: 'user' | 'payout' | 'link', about: string) {
  const schema = text.transform((given, context) => {
    const id = findTokenId(kind, given);
    if (id !== undefined) return id;
    context.addIssue({ code: 'custom', message: `must be the token of a ${kind}` });
    return z.NEVER;
  });
  return option({ value: 'token', about }, schema);
}

function isInstant(given: string): boolean {
  return (
    /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}Z)?$/.test(given) &&
    !Number.isNaN(Date.parse(given)) &&
    // 30 February would be read as 2 March.
    new Date(given).toISOString().startsWith(given.slice(0, 19).replace('Z', ''))
  );
}

function instant(about: string) {
  const error = 'must be a date (2026-11-22) or a time in UTC (2026-11-22T08:00:00Z)';
  const schema = text.refine(isInstant, { error }).transform((given) => new Date(given));
  return option({ value: 'time', about }, schema);
}

const split = (given: string): string[] => given.split(' ').filter(Boolean);

const isScopeList = (given: string): boolean =>
  split(given).length > 0 && split(given).every((word) => scopes.some((scope) => scope === word));

const isRangeList = (given: string): boolean =>
  split(given).length > 0 && split(given).every(isAddressRange);

export const environmentName = option(
  { value: 'name', about: 'staging or live; default: OUTLAY_DEFAULT_ENVIRONMENT' },
  z.enum(['staging', 'live'], { error: 'must be one of staging, live' }),
);
export const account = identifier('account');
export const credential = identifier('credential');
export const exception = identifier('exception');
export const hold = identifier('legal hold');
export const freeze = identifier('freeze');
export const user = token('user', 'token of the user');
export const link = token('link', 'token of the link');
export const payout = token('payout', 'token of the payout');
export const payoutVersion = option(
  {
    value: 'version',
    about: 'only if the payout is as it was when exception list or payout explain showed this',
  },
  text.regex(/^[0-9a-f]{32}$/, 'must be the payout_version of exception list or payout explain'),
);
export const name = visible({ value: 'name', about: 'name of the account' }, 200);
export const accountName = visible({ value: 'name', about: 'how the name begins' }, 200);
export const accountIds = option(
  { value: 'ids', about: 'only these, up to 100, with commas between them' },
  text
    .transform((given) => given.split(',').map((id) => id.trim()))
    .refine((ids) => ids.length <= 100 && ids.every((id) => isUuid(id)), {
      error: 'must be up to 100 identifiers (UUID) with commas between them',
    }),
);
export const operatorName = option(
  { value: 'name', about: 'name of the operator' },
  text.regex(
    /^[a-z][a-z0-9._-]{1,39}$/,
    'must be 2 to 40 of a to z, digits, dot, hyphen and _, beginning with a letter',
  ),
);
export function usdAmount(about: string) {
  const error = 'must be a whole number of USD, up to 1000000000';
  return option(
    { value: 'usd', about },
    text.regex(/^(?:0|[1-9]\d{0,8}|1000000000)$/, error).transform(BigInt),
  );
}
export const limitName = visible({ value: 'name', about: 'name of the limit' }, 60);
export const displayName = visible({ value: 'name', about: 'the sender on its receipts' }, 200);
export const color = option(
  { value: 'color', about: 'of its receipts, as #0b6b4f' },
  text.regex(/^#[0-9a-f]{6}$/, 'must be # and six hexadecimal digits in lower case'),
);
/** Of the pages and receipts of a sender. */
export const privacyUrl = httpsUrl('address of its privacy notice, for pages of recipients', 500);
export const redirectUrl = httpsUrl('where the page leads when all is done', 2000);
export const reason = visible({ value: 'text', about: 'why' }, 1000);
/** Digits and a point; the currency decides about the rest. */
export const decimalText = text.regex(
  /^\d{1,40}(?:\.\d{1,40})?$/,
  'must be a decimal number, such as 12.50',
);
export const amount = option({ value: 'amount', about: 'decimal, such as 12.50' }, decimalText);
export const signedAmount = option(
  { value: 'amount', about: 'decimal; --amount=-12.50 takes from the balance' },
  text.regex(/^-?\d{1,40}(?:\.\d{1,40})?$/, 'must be a decimal number, such as -12.50'),
);
export const reference = visible(
  { value: 'text', about: 'of the payment or the case; booked once in an account' },
  100,
);
export const currency = option(
  { value: 'code', about: 'currency, such as USD' },
  text
    .refine((code) => findCurrency(code) !== undefined, {
      error: 'must be the code of a known currency, such as USD',
    })
    .transform(getCurrency),
);
/** A currency in which balances may still grow; a withdrawn one can be corrected and read. */
export const fundedCurrency = option(
  { value: 'code', about: 'currency, such as USD' },
  text
    .refine((code) => findCurrencyFault(code) === undefined, {
      error: ({ input }) => findCurrencyFault(String(input)),
    })
    .transform(getCurrency),
);
export const country = option(
  { value: 'code', about: 'country, such as MEX' },
  text.refine((code) => findCountry(code) !== undefined, {
    error: 'must be the alpha-3 code of a country, such as MEX',
  }),
);
export const deliveryType = oneOf('delivery type', deliveryTypes);
export const rail = option(
  { value: 'name', about: 'name of the rail' },
  text.regex(/^[a-z0-9_]{1,40}$/, 'must be the name of a rail: a to z, digits and _'),
);
export const scopeList = option(
  { value: 'scopes', about: 'with spaces between them; default: all but kyc:decide' },
  text
    .refine(isScopeList, { error: `must be some of: ${scopes.join(' ')}` })
    .transform((given) => scopes.filter((scope) => split(given).includes(scope))),
);
export const addressList = option(
  { value: 'ranges', about: 'from which it may be used (CIDR), with spaces between; default: any' },
  text
    .refine(isRangeList, { error: 'must be addresses or ranges, such as 10.0.0.0/8' })
    .transform(split),
);
/** A whole number of at least 0. */
export function atMost(about: string, max: number) {
  const schema = text
    .refine((given) => /^(?:0|[1-9]\d{0,15})$/.test(given) && Number(given) <= max, {
      error: `must be a whole number from 0 to ${max}`,
    })
    .transform(Number);
  return option({ value: 'number', about }, schema);
}
export const from = instant('from this time on');
export const to = instant('before this time');
export const until = instant('until this time');
/** In seconds. */
export function duration(about: string) {
  const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
  const schema = text
    .regex(/^\d{1,6}[smhd]$/, 'must be a number and s, m, h or d, such as 90m')
    .transform((given) => Number(given.slice(0, -1)) * (units[given.slice(-1)] ?? 1));
  return option({ value: 'time', about: `${about}, such as 90m, 2h or 3d` }, schema);
}
export const month = option(
  { value: 'month', about: 'such as 2026-11, by UTC' },
  text.regex(/^(?!0000)\d{4}-(?:0[1-9]|1[0-2])$/, 'must be a month, such as 2026-11'),
);
function limitOf(usual: number) {
  const about = `maximum number of results, up to 1000; default: ${usual}`;
  const error = 'must be a whole number from 1 to 1000';
  const schema = text.regex(/^(?:[1-9]\d{0,2}|1000)$/, error).transform(Number);
  return option({ value: 'count', about }, schema);
}
export const limit = limitOf(100);
/** Of lists that are mostly read whole. */
export const longLimit = limitOf(1000);

const foreignCursor = 'must come from the previous page';
export const cursor = option(
  { value: 'cursor', about: 'next_cursor of the previous page' },
  text.max(60, foreignCursor),
);
/** Of lists whose command prints nothing but rows. */
const rowCursorHelp = {
  value: 'cursor',
  about: 'where the next page begins, from the previous one',
};
export const rowCursor = option(rowCursorHelp, text.max(200, foreignCursor));
/** Of lists in the order of their identifiers. */
export const idCursor = option(rowCursorHelp, text.refine(isUuid, { error: foreignCursor }));
/** Of versions. */
export const numberCursor = option(
  rowCursorHelp,
  text.regex(/^[1-9]\d{0,8}$/, foreignCursor).transform(Number),
);
export const file = option(
  { value: 'path', about: 'file' },
  text.refine((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true, {
    error: 'must be a file that exists',
  }),
);
export const folder = option({ value: 'path', about: 'folder; created when absent' }, text);
export function trueOrFalse(about: string) {
  return option(
    { value: 'true|false', about },
    z
      .enum(['true', 'false'], { error: 'must be one of true, false' })
      .transform((v) => v === 'true'),
  );
}

/** Descriptions of cells, as `cell describe` prints them. */
export const cellFiles = option(
  {
    value: 'files',
    about: 'instead, compare cells: files of outlay admin cell describe, with commas between them',
  },
  text.transform((given) => given.split(',').map((path) => path.trim())),
);

/** How far back a look at past payouts goes. */
export const daysBack = option(
  { value: 'count', about: 'how many days back, up to 366; default: 30' },
  text
    .regex(/^[1-9]\d{0,2}$/, 'must be a whole number up to 366')
    .refine((given) => Number(given) <= 366, 'must be a whole number up to 366')
    .transform(Number),
);

/** Of a decision that waits, also where the same person repeats it. */
export const needsAnother = 'the same decision by another person';

/** A JSON document. */
export function jsonDocument<T>(
  about: string,
  {
    textMax,
    read,
  }: {
    textMax: number;
    /** @throws DocumentFaults */
    read(given: string): T;
  },
) {
  const help = {
    value: 'json',
    about: `${about} as JSON, or @ and the path of a file with them`,
    takesFile: true,
  };
  return option(
    help,
    text.max(textMax, `must be at most ${textMax} characters`).transform((given, context) => {
      try {
        return read(given);
      } catch (error) {
        if (!(error instanceof DocumentFaults)) throw error;
        context.addIssue({ code: 'custom', message: `has faults: ${error.message}` });
        return z.NEVER;
      }
    }),
  );
}
