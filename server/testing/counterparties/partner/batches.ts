import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonicalizeJson } from '../../../src/core/exact-json.ts';
import type { batchItemErrors } from '../../../src/rails/partner/batch-protocol.ts';
import {
  identifier,
  type Payment,
  paymentOrderSchema,
  type RefusalCode,
} from '../../../src/rails/partner/protocol.ts';
import type { PaymentBook } from './payment-book.ts';
import { type PaymentLifecycle, showPayment } from './payment-lifecycle.ts';
import { readJson } from './read-json.ts';
import type { PartnerHttpRequest } from './simulator-level.ts';
import { isHit, matches, type SimulatorOptions } from './simulator-options.ts';

/** Batches: each order is booked by itself, under its own reference, as if it had come alone. */

type Partner = {
  readonly options: SimulatorOptions;
  readonly books: PaymentBook;
  readonly lifecycle: PaymentLifecycle;
  readonly orderCounts: Map<string, number>;
};
type Refused = { readonly error: RefusalCode; readonly detail: string };
type ItemError = (typeof batchItemErrors)[number];
type Item = { reference: string; payment?: Payment; error?: ItemError };
type BatchResult = { readonly batch: string; readonly orders: readonly Item[] };

/** The orders are read one by one, so that one which is not valid does not refuse the others. */
const frameSchema = z.object({
  batch: identifier,
  orders: z.array(z.looseObject({ reference: identifier })).min(1),
});

/** Undefined where the request is about no batch, or this partner has none. */
export function handleBatch(
  partner: Partner,
  { method, path, body }: PartnerHttpRequest,
): BatchResult | Refused | undefined {
  const [, batch] = /^\/batches\/([0-9A-Za-z._:-]{1,64})$/.exec(path) ?? [];
  if (batch === undefined || !partner.options.capabilities.includes('batches')) return undefined;
  if (method === 'PUT') return bookBatch(partner, batch, body);
  if (method === 'GET') return findBatch(partner, batch);
  return { error: 'malformed', detail: 'the path does not support this method' };
}

function bookBatch(partner: Partner, batch: string, body: Buffer): BatchResult | Refused {
  const { options, books } = partner;
  const { defects } = options;
  const json = readJson(body);
  const frame = frameSchema.safeParse(json);
  if (!frame.success || frame.data.batch !== batch) {
    return { error: 'malformed', detail: 'the body must be a batch with this identifier' };
  }
  const { orders } = frame.data;
  const isTooLarge = orders.length > options.batchOrdersMax || body.length > options.batchBytesMax;
  if (isTooLarge && !defects.includes('ignores_batch_limits')) {
    return { error: 'batch_too_large', detail: `at most ${options.batchOrdersMax} orders` };
  }
  const references = orders.map(({ reference }) => reference);
  if (new Set(references).size < references.length) {
    return { error: 'malformed', detail: 'each reference must be there once' };
  }
  const digest = createHash('sha256').update(body).digest('hex');
  const known = books.batches.get(batch);
  const isConflict = known !== undefined && known.digest !== digest;
  if (isConflict && !defects.includes('takes_conflicting_batches')) {
    return { error: 'reference_conflict', detail: 'the identifier is that of another batch' };
  }
  if (known === undefined) books.append({ type: 'batch', batch, digest, references });
  const items = orders.map((order) => bookItem(partner, order));
  const hasConflict = items.some(({ error }) => error === 'reference_conflict');
  return hasConflict && defects.includes('refuses_batches_as_a_whole')
    ? { error: 'reference_conflict', detail: 'a reference is that of another order' }
    : { batch, orders: items };
}

function bookItem(
  { options, books, lifecycle, orderCounts }: Partner,
  json: { readonly reference: string },
): Item {
  const { reference } = json;
  orderCounts.set(reference, (orderCounts.get(reference) ?? 0) + 1);
  const order = paymentOrderSchema.safeParse(json);
  if (!order.success) return { reference, error: 'malformed' };
  const isBusy = matches(options.batchBusyPattern, { reference }) || isHit(options.batchBusyShare);
  if (isBusy && !books.payments.has(reference)) return { reference, error: 'busy' };
  const wasBooked = books.payments.has(reference);
  const booked = lifecycle.book(order.data, canonicalizeJson(json));
  if (booked === 'conflict') return { reference, error: 'reference_conflict' };
  const payment = showPayment(booked, options);
  const isAgain = wasBooked && options.defects.includes('books_batch_orders_again');
  return {
    reference,
    payment: isAgain ? { ...payment, partner_reference: `${payment.partner_reference}b` } : payment,
  };
}

function findBatch({ options, books }: Partner, batch: string): BatchResult | Refused {
  const known = books.batches.get(batch);
  if (known === undefined || options.defects.includes('forgets_batches')) {
    return { error: 'unknown_reference', detail: 'no batch has this identifier' };
  }
  const orders = known.references.map((reference): Item => {
    const payment = books.payments.get(reference);
    if (payment === undefined) return { reference, error: 'unknown_reference' };
    return { reference, payment: showPayment(payment, options) };
  });
  return { batch, orders };
}
