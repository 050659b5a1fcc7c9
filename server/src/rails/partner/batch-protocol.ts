import { z } from 'zod';
import { identifier, paymentOrderSchema, paymentSchema } from './protocol.ts';

/**
 * Batches of the partner protocol: several orders in one request, each with its own outcome. A batch is
 * how orders travel; the reference of each order is still what makes it one payment.
 */

/** Whatever a partner announces, no batch of ours has more. */
export const batchOrdersMax = 500;

const count = z.string().regex(/^[1-9][0-9]{0,8}$/);

/** In the answer to GET /capabilities: what the partner takes in one request. */
export const batchLimitsSchema = z.object({ orders_max: count, bytes_max: count });

/** PUT /batches/{batch}. The members of an order are those of PUT /payments/{reference}. */
export const paymentBatchSchema = z.object({
  batch: identifier,
  orders: z.array(paymentOrderSchema).min(1).max(batchOrdersMax),
});

/** Why an order of a batch has no payment; it says nothing about the other orders. */
export const batchItemErrors = [
  'unknown_reference',
  'reference_conflict',
  'malformed',
  'busy',
] as const;

/** One order of a batch: the payment as it stands, or why there is none. */
export const batchItemSchema = z.object({
  reference: identifier,
  payment: paymentSchema.optional(),
  error: z.enum(batchItemErrors).optional(),
  detail: z.string().max(1000).optional(),
});

/** The answer to PUT and GET. */
export const batchResultSchema = z.object({
  batch: identifier,
  /** Read one by one, so that one that makes no sense does not hide the others. */
  orders: z.array(z.unknown()).max(batchOrdersMax),
});
