import { createHash, randomUUID } from 'node:crypto';
import { getCurrency } from '../../../src/core/currency.ts';
import { getAmountMinor } from '../../../src/core/money.ts';
import { formatFixedAmount } from '../../../src/rails/partner/payment-order.ts';
import type {
  CancelOrder,
  Payment,
  PaymentEvent,
  PaymentOrder,
  PaymentReturn,
} from '../../../src/rails/partner/protocol.ts';
import type { BookedEvent, BookedPayment, Books, State } from './reference-books.ts';
import { type Knobs, matches } from './reference-knobs.ts';

/** What happens to a payment at the reference partner, and when. */

export type Life = {
  /** Books an order once; `conflict` where another order has its reference. */
  book(order: PaymentOrder, text: string): BookedPayment | 'conflict';
  /** Stops what is not paid yet, and keeps an unknown reference from ever being paid. */
  cancel(order: CancelOrder): BookedPayment;
  move(reference: string, to: { state: State; reason: string }): void;
  giveBack(reference: string, back: { id: string; amount: string; reason: string }): void;
  /** Goes on with what was under way when the process ended. */
  resume(): void;
  stop(): void;
};

export type LifeOptions = {
  readonly books: Books;
  readonly knobs: () => Knobs;
  readonly nowMs: () => number;
  /** Told that there is a callback to send. */
  readonly onEvent: () => void;
};

export function createLife(options: LifeOptions): Life {
  const { books, knobs, nowMs, onEvent } = options;
  const timers = new Set<NodeJS.Timeout>();
  const later = (delayMs: number, step: () => void): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      step();
    }, delayMs);
    timers.add(timer);
  };
  const move: Life['move'] = (reference, { state, reason }) => {
    const event = randomUUID();
    books.append({ type: 'state', reference, state, reason, event, atMs: nowMs() });
    onEvent();
    const payment = books.payments.get(reference);
    if (payment !== undefined) plan(payment);
  };
  const giveBack: Life['giveBack'] = (reference, { id, amount, reason }) => {
    const payment = books.payments.get(reference);
    if (payment === undefined || payment.returns.some((entry) => entry.id === id)) return;
    const atMs = nowMs();
    const occurredAt = new Date(atMs).toISOString();
    const entry = { id, amount, reason, occurred_at: occurredAt };
    books.append({ type: 'return', reference, entry, event: randomUUID(), atMs });
    onEvent();
  };
  /** Sets the next step; it looks at the state again when its time has come. */
  const plan = (payment: BookedPayment): void => {
    const step = findNextStep(payment, knobs());
    if (step === undefined) return;
    later(step.afterMs, () => {
      if (payment.state !== step.from) return;
      if (step.state === 'returned') {
        for (const back of listReturns(payment, knobs())) giveBack(payment.reference, back);
      } else {
        move(payment.reference, { state: step.state, reason: step.reason });
      }
    });
  };
  return {
    book: (order, text) => book({ ...options, move, plan }, order, text),
    cancel: (order) => cancel({ ...options, move }, order),
    move,
    giveBack,
    resume: () => books.payments.forEach(plan),
    stop: () => timers.forEach((timer) => clearTimeout(timer)),
  };
}

function book(
  life: LifeOptions & Pick<Life, 'move'> & { plan: (payment: BookedPayment) => void },
  order: PaymentOrder,
  text: string,
): BookedPayment | 'conflict' {
  const { books, knobs, nowMs, move, plan } = life;
  const { reference } = order;
  const digest = createHash('sha256').update(text).digest('hex');
  const known = books.payments.get(reference);
  // A tombstone answers for any order: it was cancelled before one was seen.
  if (known !== undefined) {
    return known.digest === '' || known.digest === digest ? known : 'conflict';
  }
  const { amount, currency, payer, delivery_type, callback_url } = order;
  const kept = { amount, currency, payer, delivery_type, callback_url };
  books.append({ type: 'booked', reference, digest, order: kept, atMs: nowMs() });
  const payment = getBooked(books, reference);
  const first = findNextStep(payment, knobs());
  const isAtOnce = knobs().isInstant || matches(knobs().rejectPattern, order);
  if (isAtOnce && first !== undefined) move(reference, first);
  else plan(payment);
  return payment;
}

function cancel(
  { books, nowMs, move }: LifeOptions & Pick<Life, 'move'>,
  { reference, amount, currency }: CancelOrder,
): BookedPayment {
  const known = books.payments.get(reference);
  if (known === undefined) {
    books.append({ type: 'tombstone', reference, amount, currency, atMs: nowMs() });
  } else if (known.state === 'accepted' || known.state === 'ready_for_pickup') {
    move(reference, { state: 'rejected', reason: 'cancelled' });
  }
  return getBooked(books, reference);
}

function getBooked(books: Books, reference: string): BookedPayment {
  const payment = books.payments.get(reference);
  if (payment === undefined) throw new Error(`${reference} is not in the books`);
  return payment;
}

type Step = { from: State; state: State; reason: string; afterMs: number };

function findNextStep(payment: BookedPayment, knobs: Knobs): Step | undefined {
  const { state, order, returns } = payment;
  const named = { reference: payment.reference, payer: order.payer };
  if (state === 'accepted') {
    const next = { from: state, reason: '', afterMs: knobs.settleMs };
    if (matches(knobs.rejectPattern, named) || matches(knobs.rejectLaterPattern, named)) {
      return { ...next, state: 'rejected', reason: knobs.rejectReason };
    }
    const isPickup = knobs.pickupTypes.includes(order.delivery_type);
    const isReady = isPickup || matches(knobs.readyPattern, named);
    return { ...next, state: isReady ? 'ready_for_pickup' : 'paid' };
  }
  if (state === 'ready_for_pickup' && knobs.collectMs !== null) {
    return { from: state, state: 'paid', reason: '', afterMs: knobs.collectMs };
  }
  if (state === 'paid' && returns.length === 0 && matches(knobs.returnPattern, named)) {
    return { from: state, state: 'returned', reason: '', afterMs: knobs.returnAfterMs };
  }
  return undefined;
}

function listReturns({ order }: BookedPayment, knobs: Knobs) {
  const amountMinor = getAmountMinor(order.amount, getCurrency(order.currency));
  return knobs.returnParts.map((part, index) => {
    const minor = (amountMinor * BigInt(part)) / 10_000n || 1n;
    return {
      id: `r${index + 1}`,
      amount: formatFixedAmount(minor, order.currency),
      reason: knobs.returnReason,
    };
  });
}

/** A payment as the protocol shows it. */
export function showPayment(
  payment: Pick<BookedPayment, 'reference' | 'number' | 'order' | 'state' | 'reason'> & {
    returns: readonly PaymentReturn[];
  },
  knobs: Knobs,
): Payment {
  const { reference, number, order, state, reason, returns } = payment;
  const { amount, currency } = order;
  const hasFee = knobs.fee !== '' && (state === 'paid' || state === 'returned');
  return {
    reference,
    amount,
    currency,
    state,
    ...(reason === '' ? {} : { reason }),
    partner_reference: number,
    charges: hasFee ? [{ id: 'fee', amount: knobs.fee, currency }] : [],
    returns: [...returns],
  };
}

/** An event as the protocol shows it, with the payment as it was then. */
export function showEvent(event: BookedEvent, payment: BookedPayment, knobs: Knobs): PaymentEvent {
  return {
    id: event.id,
    occurred_at: new Date(event.atMs).toISOString(),
    payment: showPayment({ ...payment, ...event }, knobs),
    ...(event.entry === undefined ? {} : { return: event.entry }),
  };
}
