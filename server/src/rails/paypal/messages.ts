import { z } from 'zod';
import { parseJson } from '../kit/answers.ts';

/**
 * PayPal's answers, as far as the rail reads them (Payouts 1.9, Transaction Search and Webhooks
 * Management of PayPal's published OpenAPI descriptions). Other members mean nothing.
 */

/** What may be logged, stored in the clear and put into a path. */
const identifier = z.string().regex(/^[0-9A-Za-z._-]{1,64}$/);
const code = z.string().regex(/^[0-9A-Za-z_]{1,80}$/);
const time = z.string().max(100);
const reference = z.string().max(256);

export const moneySchema = z.object({
  currency: z.string().regex(/^[A-Z]{3}$/),
  value: z.string().max(32),
});
const reportMoneySchema = z.object({
  currency_code: z.string().regex(/^[A-Z]{3}$/),
  value: z.string().max(32),
});

const linkSchema = z.object({ href: z.string().max(20_000), rel: z.string().max(100) });

export const tokenSchema = z.object({
  access_token: z.string().regex(/^[!-~]{1,10000}$/),
  /** Seconds. */
  expires_in: z.int().positive(),
  /** Separated by spaces. */
  scope: z.string().max(20_000).default(''),
});

/** The `link` of a detail is not in the description; PayPal sends it with a repeated batch. */
export const errorSchema = z.object({
  name: code,
  details: z
    .array(
      z.object({
        field: z.string().max(1000).default(''),
        issue: z.string().max(1000).default(''),
        link: z.array(linkSchema).max(100).default([]),
      }),
    )
    .max(20_000)
    .catch([])
    .default([]),
});
export type ApiError = z.output<typeof errorSchema>;

const batchHeaderSchema = z.object({
  payout_batch_id: identifier,
  batch_status: z.enum(['DENIED', 'PENDING', 'PROCESSING', 'SUCCESS', 'CANCELED']),
  sender_batch_header: z.object({ sender_batch_id: reference.default('') }),
});

export const createdSchema = z.object({ batch_header: batchHeaderSchema });

const itemStatuses = [
  'SUCCESS',
  'FAILED',
  'PENDING',
  'UNCLAIMED',
  'RETURNED',
  'ONHOLD',
  'BLOCKED',
  'REFUNDED',
  'REVERSED',
] as const;

export const itemSchema = z.object({
  payout_item_id: identifier,
  payout_batch_id: identifier,
  /** Absent until the item is processed. */
  transaction_status: z.enum(itemStatuses).default('PENDING'),
  payout_item_fee: moneySchema.optional(),
  payout_item: z.object({ amount: moneySchema, sender_item_id: reference.default('') }),
  currency_conversion: z.object({ from_amount: moneySchema.optional() }).optional(),
  time_processed: time.optional(),
  errors: z.object({ name: code }).optional(),
});
export type PayoutItem = z.output<typeof itemSchema>;

export const batchSchema = z.object({
  batch_header: batchHeaderSchema,
  items: z.array(itemSchema).max(1000).default([]),
});
export type PayoutBatch = z.output<typeof batchSchema>;

/** As much of a batch as shows which one it is. */
export const namedBatchSchema = z.object({
  batch_header: z.object({ payout_batch_id: identifier }),
});

export const eventSchema = z.object({
  id: identifier,
  event_type: z.string().regex(/^[A-Z0-9._-]{1,100}$/),
  create_time: time.optional(),
  resource: z
    .object({
      payout_batch_id: identifier.optional(),
      sender_batch_id: reference.optional(),
      batch_header: z
        .object({
          payout_batch_id: identifier.optional(),
          sender_batch_header: z.object({ sender_batch_id: reference.optional() }).optional(),
        })
        .optional(),
    })
    .default({}),
});
export type PaypalEvent = z.output<typeof eventSchema>;

export const eventListSchema = z.object({
  /** Read one by one, so that one of another form does not hide the others. */
  events: z.array(z.unknown()).max(10_000).default([]),
  links: z.array(linkSchema).max(100).default([]),
});

export const verificationSchema = z.object({
  verification_status: z.enum(['SUCCESS', 'FAILURE']),
});

export const webhookSchema = z.object({
  url: z.string().max(2048),
  event_types: z.array(z.object({ name: z.string().max(200) })).max(500),
});

export const transactionsSchema = z.object({
  transaction_details: z
    .array(
      z.object({
        transaction_info: z.object({
          transaction_id: identifier,
          transaction_event_code: code.optional(),
          transaction_initiation_date: time,
          transaction_amount: reportMoneySchema,
          transaction_status: z.string().max(1).default(''),
          /** The transaction that it follows from, with the type `TXN`. */
          paypal_reference_id: identifier.optional(),
          paypal_reference_id_type: z.string().max(3).optional(),
          /** The `sender_item_id` of a payout. */
          custom_field: z.string().max(127).default(''),
        }),
      }),
    )
    .max(500)
    .default([]),
  total_pages: z.int().nonnegative().default(1),
  last_refreshed_datetime: time.optional(),
});
export type ReportedTransaction = z.output<
  typeof transactionsSchema
>['transaction_details'][number]['transaction_info'];

export const balancesSchema = z.object({
  balances: z
    .array(
      z.object({
        currency: z.string().regex(/^[A-Z]{3}$/),
        total_balance: reportMoneySchema,
        available_balance: reportMoneySchema.optional(),
      }),
    )
    .max(200)
    .default([]),
  last_refresh_time: time.optional(),
});

/** Milliseconds; undefined where it is no time. PayPal also writes offsets without a colon. */
export function readTime(text: string | undefined): number | undefined {
  const atMs = Date.parse((text ?? '').replace(/([+-]\d{2})(\d{2})$/, '$1:$2'));
  return Number.isFinite(atMs) ? atMs : undefined;
}

/** Undefined where the text is no event. */
export function readEventText(text: string): PaypalEvent | undefined {
  return eventSchema.safeParse(parseJson(text)).data;
}

/** As this service forms references; other apps of the account have others. */
export function isReference(text: string): boolean {
  return /^(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.test(text);
}

/** As this service forms the `sender_batch_id` of a batch of several items. */
export function isBatchKey(text: string): boolean {
  return /^batch-[0-9a-f]{32}$/.test(text);
}
