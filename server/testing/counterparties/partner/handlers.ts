import { randomInt } from 'node:crypto';
import { canonicalizeJson, type ExactJson } from '../../../src/core/exact-json.ts';
import {
  cancelOrderSchema,
  paymentOrderSchema,
  type RefusalCode,
  refusalStatus,
} from '../../../src/rails/partner/protocol.ts';
import { handleBatch } from './batches.ts';
import { handleCapability } from './capabilities.ts';
import type { BookedPayment, PaymentBook } from './payment-book.ts';
import { type PaymentLifecycle, showEvent, showPayment } from './payment-lifecycle.ts';
import { readJson } from './read-json.ts';
import type { PartnerHttpRequest, Reply, SimulatorLevel } from './simulator-level.ts';
import type { Defect, SimulatorOptions } from './simulator-options.ts';

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
  const refuseAs = (outcome: Refused): Reply => {
    if (outcome.error === 'malformed' && hasDefect('fails_on_malformed')) {
      return { status: 500, json: {}, createdS };
    }
    const isUnknown = outcome.error === 'unknown_reference';
    const isMistaken = isUnknown && hasDefect('refuses_unknown_as_malformed');
    return refuse(isMistaken ? 'malformed' : outcome.error, outcome.detail);
  };
  const { method, path } = received;
  const verified = partner.level.verify(received);
  const hasDefect = (defect: Defect): boolean => partner.options.defects.includes(defect);
  const timeFault = verified.ok ? findTimeFault(partner, verified) : undefined;
  if (!verified.ok && !hasDefect('ignores_authentication')) {
    return refuse('signature_refused', verified.detail);
  }
  if (timeFault !== undefined && !hasDefect('accepts_expired')) {
    return refuse('signature_refused', timeFault);
  }
  if (method === 'GET' && path === '/health') {
    const status = hasDefect('reports_failing') ? 'failing' : 'ok';
    return { status: 200, json: { status, protocol: '1' }, createdS };
  }
  const [, after] = /^\/events\/(\d{1,15})$/.exec(path) ?? [];
  if (method === 'GET' && after !== undefined) {
    return { status: 200, json: listEvents(partner, Number(after)), createdS };
  }
  const part = handleCapability(partner, received) ?? handleBatch(partner, received);
  if (part !== undefined) {
    return isRefused(part) ? refuseAs(part) : { status: 200, json: part, createdS };
  }
  const outcome = handlePayment(partner, received);
  if (!('error' in outcome)) {
    return { status: 200, json: showPayment(outcome, partner.options), createdS };
  }
  return refuseAs(outcome);
}

function findTimeFault(
  { nowMs }: PartnerState,
  { expiresS, createdS }: { expiresS: number; createdS: number },
): string | undefined {
  const nowS = nowMs() / 1000;
  if (nowS >= expiresS) return 'the request has expired';
  return createdS > nowS + 30 ? 'the signature must not be created in the future' : undefined;
}

const pageMax = 100;

function listEvents({ books, options }: PartnerState, after: number) {
  if (options.defects.includes('loses_events')) return { events: [], next: String(after) };
  const all = options.defects.includes('reorders_events')
    ? books.events.toSorted(() => Math.random() - 0.5)
    : books.events;
  const page = all.slice(after, after + pageMax);
  const events = page.flatMap((event) => {
    const payment = books.payments.get(event.reference);
    return payment === undefined ? [] : [showEvent(event, payment, options)];
  });
  return { events, next: String(after + page.length) };
}

type Refused = { readonly error: RefusalCode; readonly detail: string };

function isRefused(part: object): part is Refused {
  return 'error' in part;
}

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
    const text = canonicalizeJson(readJson(body) as ExactJson);
    const booked = partner.lifecycle.book(order.data, text);
    if (booked !== 'conflict') {
      const isAgain = partner.options.defects.includes('books_again');
      return isAgain ? { ...booked, number: `P${randomInt(1_000_000_000)}` } : booked;
    }
    const known = partner.books.payments.get(reference);
    if (known !== undefined && partner.options.defects.includes('takes_conflicts')) return known;
    return {
      error: 'reference_conflict',
      detail: 'the reference is already used by another order',
    };
  }
  if (method === 'POST' && action !== undefined) {
    const order = cancelOrderSchema.safeParse(readJson(body));
    const isTaken =
      order.data?.reference === reference ||
      partner.options.defects.includes('ignores_cancel_body');
    if (order.success && isTaken) return partner.lifecycle.cancel(order.data);
    return { error: 'malformed', detail: 'the body must be a cancellation of this reference' };
  }
  return { error: 'malformed', detail: 'the path does not support this method' };
}
