import { z } from 'zod';
import { findCurrency, getCurrency } from '../../core/currency.ts';
import { JsonNumber } from '../../core/exact-json.ts';
import { formatAmount, readDecimal } from '../../core/money.ts';

/**
 * The bodies of the Wise Platform API that the rail reads, as its OpenAPI description has them. Amounts
 * and identifiers are JSON numbers there, so answers are parsed with `core/exact-json`, which keeps the
 * text of a number. Members that are not named here mean nothing to the rail.
 */

/** Wise leaves out what has no value, or gives null. */
function orAbsent<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined);
}

const numberText = z.instanceof(JsonNumber).transform(({ text }) => text);

/** Decimal text. */
const decimalText = numberText.refine((text) => readDecimal(text) !== undefined, {
  error: 'must be a decimal number',
});

/** An int64 as text: it may exceed what a JavaScript number holds exactly. */
export const identifier = numberText.refine((text) => /^[1-9]\d{0,18}$/.test(text), {
  error: 'must be an identifier',
});

const uuid = z.guid().transform((text) => text.toLowerCase());
const code = z.string().max(100);
const currencyCode = z
  .string()
  .regex(/^[A-Z]{3}$/)
  .refine((text) => findCurrency(text) !== undefined, { error: 'must be a known currency' });

/** The description has `2017-11-24 10:47:49` and `2018-01-10T12:15:00.000+0000`; without a zone: UTC. */
export const instant = z
  .string()
  .max(60)
  .transform((text, context) => {
    const iso = text
      .trim()
      .replace(' ', 'T')
      .replace(/([+-]\d{2})(\d{2})$/, '$1:$2');
    const atMs = Date.parse(/(?:Z|[+-]\d{2}:\d{2})$/.test(iso) ? iso : `${iso}Z`);
    if (Number.isFinite(atMs)) return atMs;
    context.addIssue('must be a date and time');
    return z.NEVER;
  });

const moneySchema = z.object({ amount: decimalText, currency: currencyCode });

const paymentOptionSchema = z.object({
  disabled: z.boolean(),
  disabledReason: orAbsent(z.object({ code: code.optional() })),
  payIn: code,
  payOut: code,
  sourceAmount: decimalText,
  targetAmount: decimalText,
  sourceCurrency: currencyCode,
  targetCurrency: currencyCode,
  price: z.object({ total: z.object({ value: moneySchema }) }),
  estimatedDelivery: orAbsent(instant),
});
export type PaymentOption = z.output<typeof paymentOptionSchema>;

export const quoteSchema = z.object({
  id: uuid,
  sourceCurrency: currencyCode,
  targetCurrency: currencyCode,
  payOut: orAbsent(code),
  rate: decimalText,
  rateType: z.enum(['FIXED', 'FLOATING']),
  rateExpirationTime: orAbsent(instant),
  expirationTime: instant,
  // Options that are read in part only, such as disabled ones without amounts, are no options.
  paymentOptions: z
    .array(z.unknown())
    .max(200)
    .transform((options) =>
      options.flatMap((option) => paymentOptionSchema.safeParse(option).data ?? []),
    ),
  notices: z
    .array(z.object({ type: code }))
    .max(100)
    .default([]),
});
export type WiseQuote = z.output<typeof quoteSchema>;

const optionalText = orAbsent(z.string().max(2000));
const optionalCount = orAbsent(numberText.transform(Number).pipe(z.int().min(0)));

const requirementFieldSchema = z.object({
  key: z.string().min(1).max(100),
  name: optionalText,
  type: code.default('text'),
  refreshRequirementsOnChange: z.boolean().default(false),
  required: z.boolean(),
  minLength: optionalCount,
  maxLength: optionalCount,
  validationRegexp: optionalText,
  valuesAllowed: orAbsent(
    z.array(z.object({ key: z.string().max(300), name: optionalText })).max(2000),
  ),
});
export type RequirementField = z.output<typeof requirementFieldSchema>;

const formFieldsMax = 60;

/** A form: of a type of recipient account, or of a transfer. */
const requirementFormSchema = z.object({
  type: code,
  // More fields than a person would fill in are no form.
  fields: z
    .array(z.object({ group: z.array(requirementFieldSchema).max(50) }))
    .max(100)
    .refine((fields) => fields.reduce((sum, { group }) => sum + group.length, 0) <= formFieldsMax),
});
export type RequirementForm = z.output<typeof requirementFormSchema>;
export const requirementFormsSchema = z.array(requirementFormSchema).max(50);

export const recipientSchema = z.object({ id: identifier });

const outcomeSchema = z.object({
  type: code,
  outcome: code,
  requiresCustomerAcceptance: z.boolean().default(false),
});

export const compatibilitySchema = z.object({
  accountId: identifier,
  confirmations: orAbsent(z.object({ outcomes: orAbsent(z.array(outcomeSchema).max(20)) })),
});

export const transferSchema = z.object({
  id: identifier,
  targetAccount: identifier,
  quoteUuid: orAbsent(uuid),
  status: z.string().regex(/^[a-z_]{1,60}$/),
  created: instant,
  targetCurrency: currencyCode,
  targetValue: decimalText,
  /** The originator transfer of the description has none; this rail creates standard transfers. */
  customerTransactionId: orAbsent(uuid),
});
export type Transfer = z.output<typeof transferSchema>;

const groupStatus = z.enum([
  'NEW',
  'COMPLETED',
  'MARKED_FOR_CANCELLATION',
  'PROCESSING_CANCEL',
  'CANCELLED',
]);

export const batchGroupSchema = z.object({
  id: uuid,
  /** Of no order, and perhaps negative: it goes back as it came. */
  version: numberText.refine((text) => /^-?\d{1,19}$/.test(text), { error: 'must be an integer' }),
  status: groupStatus,
  transferIds: z.array(identifier).max(1000),
});
export type BatchGroup = z.output<typeof batchGroupSchema>;

/** The answer to the funding of a batch group. */
export const groupFundingSchema = z.object({ id: uuid, status: groupStatus });

/** Read one by one, so that one that makes no sense does not hide the others. */
export const transferListSchema = z.array(z.unknown()).max(1000);

export const fundingSchema = z.object({
  type: z.literal('BALANCE'),
  status: z.enum(['COMPLETED', 'REJECTED']),
  errorCode: orAbsent(z.string().max(200)),
});

export const completedPaymentsSchema = z.array(z.object({ id: identifier })).max(100);

export const deliveryEstimateSchema = z.object({ estimatedDeliveryDate: instant });

export const balancesSchema = z
  .array(
    z.object({
      currency: z.string().max(10),
      amount: z.object({ value: decimalText, currency: z.string().max(10) }),
    }),
  )
  .max(500);

export const subscriptionsSchema = z
  .array(
    z.object({
      trigger_on: z.string().max(200),
      delivery: z.object({ url: z.string().max(2000) }),
    }),
  )
  .max(1000);

export const tokenSchema = z.object({
  access_token: z.string().min(1).max(4000),
  expires_in: numberText.transform(Number).pipe(z.int().min(1)),
});

/** The form of refusals of POST /v1/accounts; the other operations describe none and answer alike. */
export const refusalSchema = z.object({
  errors: z
    .array(z.object({ code: z.string().max(200), path: orAbsent(z.string().max(200)) }))
    .min(1)
    .max(100),
});

export const stateChange = 'transfers#state-change';

export const transferRefund = 'transfers#refund';

export const eventSchema = z.object({
  event_type: z.string().max(100),
  data: z.record(z.string(), z.unknown()),
});

export const stateChangeSchema = z.object({
  event_type: z.literal(stateChange),
  data: z.object({
    resource: z.object({ id: identifier, profile_id: identifier }),
    current_state: z.string().regex(/^[a-z_]{1,60}$/),
    occurred_at: instant,
  }),
});

export const transferRefundSchema = z.object({
  event_type: z.literal(transferRefund),
  data: z.object({
    resource: z.object({
      id: identifier,
      profile_id: identifier,
      refund_amount: decimalText,
      refund_currency: currencyCode,
    }),
    occurred_at: instant,
  }),
});

/** The amount as a JSON number with every digit. */
export function writeAmount(minor: bigint, currency: string): JsonNumber {
  return new JsonNumber(formatAmount(minor, getCurrency(currency)));
}
