import { parseExactBytes } from '../../../src/core/exact-json.ts';
import {
  cancelOrderSchema,
  paymentOrderSchema,
  type RefusalCode,
  refusalStatus,
} from '../../../src/rails/partner/protocol.ts';
import {
  type SigningKey,
  type VerifyingKeys,
  verifyMessage,
} from '../../../src/rails/partner/signatures.ts';
import type { BookedPayment, Books } from './reference-books.ts';
import type { Knobs } from './reference-knobs.ts';
import { type Life, showEvent, showPayment } from './reference-life.ts';

/** How the reference partner answers: who asks, for what, and what the books say to it. */

export type Partner = {
  readonly books: Books;
  readonly life: Life;
  knobs: Knobs;
  readonly outlayKeys: VerifyingKeys;
  readonly key: SigningKey;
  readonly nowMs: () => number;
  /** Requests for orders by reference, repeated and refused ones too. */
  readonly seen: Map<string, number>;
};

export type Received = {
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
};

export type Reply = { readonly status: number; readonly json: object; readonly createdS: number };

/** Decides about a request in one go: between the look at the time and the booking nothing waits. */
export function decide(partner: Partner, received: Received): Reply {
  const createdS = Math.floor(partner.nowMs() / 1000);
  const refuse = (error: RefusalCode, detail: string): Reply => ({
    status: refusalStatus[error],
    json: { error, detail },
    createdS,
  });
  const { method, url, path, headers, body } = received;
  const message = { method, url, headers };
  const verified = verifyMessage({ role: 'request', message, body }, partner.outlayKeys);
  if (!verified.ok) return refuse('signature_refused', verified.detail);
  if (partner.nowMs() / 1000 >= verified.expiresS) {
    return refuse('signature_refused', 'the request has expired');
  }
  if (verified.createdS > createdS + 30) return refuse('signature_refused', 'it is of the future');
  if (method === 'GET' && path === '/health') {
    return { status: 200, json: { status: 'ok', protocol: '1' }, createdS };
  }
  const [, after] = /^\/events\/(\d{1,15})$/.exec(path) ?? [];
  if (method === 'GET' && after !== undefined) {
    return { status: 200, json: listEvents(partner, Number(after)), createdS };
  }
  const outcome = decidePayment(partner, received);
  return 'error' in outcome
    ? refuse(outcome.error, outcome.detail)
    : { status: 200, json: showPayment(outcome, partner.knobs), createdS };
}

const pageMax = 100;

function listEvents({ books, knobs }: Partner, after: number) {
  const page = books.events.slice(after, after + pageMax);
  const events = page.flatMap((event) => {
    const payment = books.payments.get(event.reference);
    return payment === undefined ? [] : [showEvent(event, payment, knobs)];
  });
  return { events, next: String(after + page.length) };
}

type Refused = { readonly error: RefusalCode; readonly detail: string };

function decidePayment(
  partner: Partner,
  { method, path, body }: Received,
): BookedPayment | Refused {
  const match = /^\/payments\/([0-9A-Za-z._:-]{1,64})(\/cancel)?$/.exec(path);
  if (match === null) return { error: 'malformed', detail: 'there is no such address' };
  const [, reference = '', action] = match;
  if (method === 'GET' && action === undefined) {
    const payment = partner.books.payments.get(reference);
    return payment ?? { error: 'unknown_reference', detail: 'nothing is booked under it' };
  }
  if (method === 'PUT' && action === undefined) {
    const order = paymentOrderSchema.safeParse(readJson(body));
    if (!order.success || order.data.reference !== reference) {
      return { error: 'malformed', detail: 'the body is not an order under this reference' };
    }
    const booked = partner.life.book(order.data, body.toString('utf8'));
    if (booked !== 'conflict') return booked;
    return { error: 'reference_conflict', detail: 'booked with another body' };
  }
  if (method === 'POST' && action !== undefined) {
    const order = cancelOrderSchema.safeParse(readJson(body));
    if (order.success && order.data.reference === reference) return partner.life.cancel(order.data);
    return { error: 'malformed', detail: 'the body is not an order to cancel' };
  }
  return { error: 'malformed', detail: 'there is no such method' };
}

function readJson(body: Buffer): unknown {
  try {
    return parseExactBytes(body);
  } catch {
    return undefined;
  }
}
