import { parseExactBytes } from '../../../src/core/exact-json.ts';
import {
  cancelOrderSchema,
  paymentOrderSchema,
  type RefusalCode,
  refusalStatus,
} from '../../../src/rails/partner/protocol.ts';
import type { BookedPayment, PaymentBook } from './payment-book.ts';
import { type PaymentLifecycle, showEvent, showPayment } from './payment-lifecycle.ts';
import type { PartnerHttpRequest, Reply, SimulatorLevel } from './simulator-level.ts';
import type { SimulatorOptions } from './simulator-options.ts';

/** Handles the requests of the partner protocol: verifies, then answers from the payment book. */

export type PartnerState = {
  readonly books: PaymentBook;
  readonly lifecycle: PaymentLifecycle;
  options: SimulatorOptions;
  readonly level: SimulatorLevel;
  readonly nowMs: () => number;
  /** Order requests by reference, including repeated and refused ones. */
  readonly orderCounts: Map<string, number>;
};

/** Synchronous, so that nothing comes between checking the expiry and booking. */
export function handleRequest(partner: PartnerState, received: PartnerHttpRequest): Reply {
  const createdS = Math.floor(partner.nowMs() / 1000);
  const refuse = (error: RefusalCode, detail: string): Reply => ({
    status: refusalStatus[error],
    json: { error, detail },
    createdS,
  });
  const { method, path } = received;
  const verified = partner.level.verify(received);
  if (!verified.ok) return refuse('signature_refused', verified.detail);
  if (partner.nowMs() / 1000 >= verified.expiresS) {
    return refuse('signature_refused', 'the request has expired');
  }
  if (verified.createdS > createdS + 30)
    return refuse('signature_refused', 'the signature must not be created in the future');
  if (method === 'GET' && path === '/health') {
    return { status: 200, json: { status: 'ok', protocol: '1' }, createdS };
  }
  const [, after] = /^\/events\/(\d{1,15})$/.exec(path) ?? [];
  if (method === 'GET' && after !== undefined) {
    return { status: 200, json: listEvents(partner, Number(after)), createdS };
  }
  const outcome = handlePayment(partner, received);
  return 'error' in outcome
    ? refuse(outcome.error, outcome.detail)
    : { status: 200, json: showPayment(outcome, partner.options), createdS };
}

const pageMax = 100;

function listEvents({ books, options }: PartnerState, after: number) {
  const page = books.events.slice(after, after + pageMax);
  const events = page.flatMap((event) => {
    const payment = books.payments.get(event.reference);
    return payment === undefined ? [] : [showEvent(event, payment, options)];
  });
  return { events, next: String(after + page.length) };
}

type Refused = { readonly error: RefusalCode; readonly detail: string };

function handlePayment(
  partner: PartnerState,
  { method, path, body }: PartnerHttpRequest,
): BookedPayment | Refused {
  const match = /^\/payments\/([0-9A-Za-z._:-]{1,64})(\/cancel)?$/.exec(path);
  if (match === null) return { error: 'malformed', detail: 'there is no such path' };
  const [, reference = '', action] = match;
  if (method === 'GET' && action === undefined) {
    const payment = partner.books.payments.get(reference);
    return payment ?? { error: 'unknown_reference', detail: 'no payment has this reference' };
  }
  if (method === 'PUT' && action === undefined) {
    const order = paymentOrderSchema.safeParse(readJson(body));
    if (!order.success || order.data.reference !== reference) {
      return { error: 'malformed', detail: 'the body must be an order with this reference' };
    }
    const booked = partner.lifecycle.book(order.data, body.toString('utf8'));
    if (booked !== 'conflict') return booked;
    return {
      error: 'reference_conflict',
      detail: 'the reference is already used by another order',
    };
  }
  if (method === 'POST' && action !== undefined) {
    const order = cancelOrderSchema.safeParse(readJson(body));
    if (order.success && order.data.reference === reference)
      return partner.lifecycle.cancel(order.data);
    return { error: 'malformed', detail: 'the body must be a cancellation of this reference' };
  }
  return { error: 'malformed', detail: 'the path does not support this method' };
}

function readJson(body: Buffer): unknown {
  try {
    return parseExactBytes(body);
  } catch {
    return undefined;
  }
}
