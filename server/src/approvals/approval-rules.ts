import { z } from 'zod';
import { findCountry } from '../core/country.ts';
import { findCurrency, getCurrency } from '../core/currency.ts';
import { isUuid } from '../core/ids.ts';
import { DocumentFaults, parseDocument } from '../core/json-document.ts';
import { parseAmount } from '../core/money.ts';
import { deliveryTypes } from '../rails/contract/declarations.ts';

/**
 * Rules that say which payouts wait for the approval of persons. Inside a rule all conditions must hold;
 * of a list, one value. Between rules, one is enough: the strictest of those that match counts.
 */

const listOf = <T extends z.ZodType<string>>(each: T) => z.array(each).min(1).max(200);

const currencyCode = z.string().refine((code) => findCurrency(code) !== undefined, {
  error: 'is no currency that is known here',
});

const countryCode = z
  .string()
  .refine((code) => findCountry(code) !== undefined, { error: 'is no ISO 3166-1 alpha-3 code' });

const bounds = ['above', 'at_least', 'below', 'at_most'] as const;
const boundText = z.string().optional();

const amount = z
  .strictObject({
    currency: currencyCode.describe('What leaves the balance is compared in this currency'),
    above: boundText,
    at_least: boundText,
    below: boundText,
    at_most: boundText,
  })
  .superRefine((given, context) => {
    const currency = findCurrency(given.currency);
    if (currency === undefined) return;
    for (const bound of bounds) {
      const text = given[bound];
      if (text === undefined || parseAmount(text, currency).ok) continue;
      const message = `${bound} must be an amount in ${currency.code} as text, such as "1000"`;
      context.addIssue({ code: 'custom', path: [bound], message });
    }
    if (bounds.every((bound) => given[bound] === undefined)) {
      context.addIssue({ code: 'custom', message: `needs one of ${bounds.join(', ')}` });
    }
  });

/** As payouts have it: another spelling would match none. */
const identifier = z.uuid().refine(isUuid, { error: 'must be an identifier in lower case' });

const conditions = z.strictObject({
  amount: amount.optional(),
  source_currency: listOf(currencyCode).optional(),
  balance: listOf(identifier).optional().describe('Tokens of balances (wallet_token)'),
  destination_currency: listOf(currencyCode).optional(),
  country: listOf(countryCode).optional(),
  delivery_type: listOf(z.enum(deliveryTypes)).optional(),
  rail: listOf(z.string()).optional().describe('Names of rails, as the payout is quoted'),
  creator: listOf(identifier).optional().describe('Ids of credentials or operators'),
  recipient: z
    .enum(['new', 'known'])
    .optional()
    .describe('new: no payout to this recipient was completed yet'),
  metadata: z
    .record(z.string(), listOf(z.string()))
    .optional()
    .describe('By key, the values; of an entry that is no text, its JSON'),
});

const rule = z.strictObject({
  name: z.string().min(1).max(60).describe('Shown to those who decide'),
  when: conditions.describe('Without conditions it holds every payout'),
  approvers: z.int().min(1).max(5).default(1).describe('This many different people release it'),
  expires_hours: z
    .int()
    .min(1)
    .max(24 * 90)
    .default(72)
    .describe('Canceled, with its money given back, where it is not released by then'),
});
export type ApprovalRule = z.output<typeof rule>;

const nilId = '00000000-0000-0000-0000-000000000000';

/** A payout as an example states it: it names what matters for it. */
const examplePayout = z.strictObject({
  amount: z.string().default('100'),
  source_currency: currencyCode.default('USD'),
  balance: identifier.default(nilId),
  destination_currency: currencyCode.default('USD'),
  country: countryCode.default('USA'),
  delivery_type: z.enum(deliveryTypes).default('BANK_DEPOSIT'),
  rail: z.string().default(''),
  creator: identifier.default(nilId),
  recipient: z.enum(['new', 'known']).default('known'),
  metadata: z.record(z.string(), z.string()).default({}),
});

const example = z.strictObject({
  payout: examplePayout,
  holds: z
    .array(z.string())
    .describe('The names of the rules that must hold it; [] where none may'),
});

const content = z
  .strictObject({
    rules: z.array(rule).max(100),
    examples: z
      .array(example)
      .max(200)
      .default([])
      .describe('Payouts that the rules are tried on whenever the policy is set'),
  })
  .refine(({ rules }) => new Set(rules.map(({ name }) => name)).size === rules.length, {
    error: 'two rules have the same name',
    path: ['rules'],
  });
export type PolicyContent = z.output<typeof content>;

/** @throws DocumentFaults, also where an example is held by other rules than it says. */
export function readPolicyContent(text: string): PolicyContent {
  const policy = parseDocument(text, content, 'the policy');
  const faults = tryExamples(policy);
  if (faults.length > 0) throw new DocumentFaults(faults);
  return policy;
}

/** What rules look at. */
export type PayoutFacts = {
  /** Of the source, without the fee, in minor units. */
  readonly amountMinor: bigint;
  readonly sourceCurrency: string;
  /** The balance's token. */
  readonly balance: string;
  readonly destinationCurrency: string;
  /** ISO 3166-1 alpha-3. */
  readonly country: string;
  readonly deliveryType: string;
  readonly rail: string;
  /** Undefined of payouts that were created before this was recorded. */
  readonly creator: string | undefined;
  readonly isNewRecipient: boolean;
  /** By key; values that are no text as JSON. */
  readonly metadata: Readonly<Record<string, string>>;
};

/** An amount in another currency, rounded up; undefined without a rate. */
export type ConvertAmount = (minor: bigint, from: string, to: string) => bigint | undefined;

/** The rules that hold the payout, in their order. What cannot be compared counts as a match. */
export function matchRules(
  rules: readonly ApprovalRule[],
  facts: PayoutFacts,
  convert: ConvertAmount,
): ApprovalRule[] {
  return rules.filter(({ when }) => {
    const isIn = (values: readonly string[] | undefined, value: string | undefined): boolean =>
      values === undefined || value === undefined || values.includes(value);
    return (
      isWithin(when.amount, facts, convert) &&
      isIn(when.source_currency, facts.sourceCurrency) &&
      isIn(when.balance, facts.balance) &&
      isIn(when.destination_currency, facts.destinationCurrency) &&
      isIn(when.country, facts.country) &&
      isIn(when.delivery_type, facts.deliveryType) &&
      isIn(when.rail, facts.rail) &&
      isIn(when.creator, facts.creator) &&
      (when.recipient === undefined || (when.recipient === 'new') === facts.isNewRecipient) &&
      Object.entries(when.metadata ?? {}).every(([key, values]) =>
        values.includes(facts.metadata[key] ?? ''),
      )
    );
  });
}

function isWithin(
  range: z.output<typeof amount> | undefined,
  { amountMinor, sourceCurrency }: PayoutFacts,
  convert: ConvertAmount,
): boolean {
  if (range === undefined) return true;
  const currency = getCurrency(range.currency);
  const worth =
    sourceCurrency === currency.code
      ? amountMinor
      : convert(amountMinor, sourceCurrency, currency.code);
  if (worth === undefined) return true;
  const compare = (text: string | undefined, holds: (bound: bigint) => boolean): boolean => {
    if (text === undefined) return true;
    const bound = parseAmount(text, currency);
    return !bound.ok || holds(bound.minor);
  };
  return (
    compare(range.above, (bound) => worth > bound) &&
    compare(range.at_least, (bound) => worth >= bound) &&
    compare(range.below, (bound) => worth < bound) &&
    compare(range.at_most, (bound) => worth <= bound)
  );
}

function tryExamples({ rules, examples }: PolicyContent): string[] {
  return examples.flatMap(({ payout, holds }, index) => {
    const place = `examples.${index}`;
    const parsed = parseAmount(payout.amount, getCurrency(payout.source_currency));
    if (!parsed.ok) {
      return [`${place}.payout.amount: must be an amount in ${payout.source_currency}`];
    }
    const facts: PayoutFacts = {
      amountMinor: parsed.minor,
      sourceCurrency: payout.source_currency,
      balance: payout.balance,
      destinationCurrency: payout.destination_currency,
      country: payout.country,
      deliveryType: payout.delivery_type,
      rail: payout.rail,
      creator: payout.creator,
      isNewRecipient: payout.recipient === 'new',
      metadata: payout.metadata,
    };
    const isForeign = rules.some(
      ({ when }) => when.amount !== undefined && when.amount.currency !== payout.source_currency,
    );
    if (isForeign) {
      return [`${place}.payout.source_currency: must be that of the rules, which no rate changes`];
    }
    const held = matchRules(rules, facts, () => undefined).map(({ name }) => name);
    if (held.join('\n') === holds.join('\n')) return [];
    const list = (names: readonly string[]): string =>
      names.length === 0 ? 'none' : names.join(', ');
    return [`${place}: held by ${list(held)}, not by ${list(holds)}`];
  });
}
