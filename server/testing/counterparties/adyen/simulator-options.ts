import { z } from 'zod';

/** How the simulated Adyen behaves; changed by `POST /control/options`. */

const pattern = z.string().max(200);
const share = z.number().min(0).max(1);

export const faultSchema = z.strictObject({
  on: z.enum(['create', 'get', 'list', 'cancel', 'balance', 'report']),
  kind: z.enum([
    'error_before',
    'error_after',
    'reset_before',
    'reset_after',
    'silent_before',
    'silent_after',
    'busy',
    'rate_limited',
    'garbage',
    'cut',
    'wrong_amount',
    'delay',
  ]),
  share: share.default(1),
  /** How often at most. */
  count: z.int().min(1).optional(),
  delayMs: z.int().min(0).default(500),
});
export type Fault = z.output<typeof faultSchema>;

export const simulatorOptionsSchema = z.strictObject({
  /** Between two steps of a transfer; 0: only `advance` moves it. */
  settleMs: z.int().min(0).default(0),
  /** Of references: refused when it is authorised, failed after it was booked, returned. */
  refusePattern: pattern.default('$^'),
  refuseReason: z.string().default('counterpartyAccountNotFound'),
  failPattern: pattern.default('$^'),
  failReason: z.string().default('counterpartyAccountClosed'),
  returnPattern: pattern.default('$^'),
  /** The status of an internal transfer that its recipient has sent back, which is not described. */
  sentBackStatus: z.enum(['returned', 'booked']).default('returned'),
  /** Tokens of cards and IDs of accounts that Adyen does not know: refused with 422. */
  unknownPattern: pattern.default('$^'),
  /** Taken after the booking: as an event of the transfer, or as a transfer of its own. */
  fee: z
    .strictObject({
      value: z.int().min(1),
      currency: z.string().length(3),
      by: z.enum(['event', 'transfer']),
    })
    .optional(),
  /** Adyen's own review, some steps long, after the booking. */
  reviewPattern: pattern.default('$^'),
  /** More than it is refused with amountLimitExceeded. Minor units. */
  transferLimit: z.int().default(1_000_000_000_000),
  /** Priorities without a route are refused with 422, or passed over in `priorities`. */
  routes: z
    .array(z.string())
    .default(['regular', 'fast', 'instant', 'wire', 'crossBorder', 'internal']),
  isInMaintenance: z.boolean().default(false),
  /** After so long an idempotency key is forgotten: 31 days at least. */
  keyMs: z
    .int()
    .min(0)
    .default(31 * 24 * 3_600_000),
  /** How long a new transfer is missing in lists. */
  listLagMs: z.int().min(0).default(0),
  /** A page of a list has no more transfers, whatever is asked for. */
  pageMax: z.int().min(1).max(100).default(100),
  faults: z.array(faultSchema).default([]),
  /** Webhooks. */
  lostShare: share.default(0),
  duplicateShare: share.default(0),
  reorderShare: share.default(0),
  reorderMs: z.int().min(0).default(300),
  forgedShare: share.default(0),
  retryMs: z.int().min(10).default(200),
});
export type SimulatorOptions = z.output<typeof simulatorOptionsSchema>;
