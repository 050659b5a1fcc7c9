import { createHash, randomUUID } from 'node:crypto';
import { getCurrency } from '../../../src/core/currency.ts';
import { getAmountMinor } from '../../../src/core/money.ts';
import { formatFixedAmount } from '../../../src/rails/kit/amounts.ts';
import type {
  CancelOrder,
  Payment,
  PaymentEvent,
  PaymentOrder,
  PaymentReturn,
} from '../../../src/rails/partner/protocol.ts';
import { findOrderFault } from './order-rules.ts';
import type { BookedEvent, BookedPayment, PaymentBook, State } from './payment-book.ts';
import { matches, type SimulatorOptions } from './simulator-options.ts';

/** What happens to a payment at the simulator, and when. */

export type PaymentLifecycle = {
  /**
   * Books an order once; `conflict` where another order has its reference. `text` is the order as
   * canonical JSON, so that it is the same whether it came alone or in a batch.
   */
  book(order: PaymentOrder, text: string): BookedPayment | 'conflict';
  /** Stops what is not paid yet, and keeps an unknown reference from ever being paid. */
  cancel(order: CancelOrder): BookedPayment;
  move(reference: string, to: { state: State; reason: string }): void;
  giveBack(reference: string, back: { id: string; amount: string; reason: string }): void;
  /** Continues what was under way when the process ended. */
  resume(): void;
  stop(): void;
};

export type PaymentLifecycleOptions = {
  readonly books: PaymentBook;
  readonly getOptions: () => SimulatorOptions;
  readonly nowMs: () => number;
  /** Called when there is a callback to send. */
  readonly onEvent: () => void;
};

export function createPaymentLifecycle(options: PaymentLifecycleOptions): PaymentLifecycle {
  const { books, getOptions, nowMs, onEvent } = options;
  const timers = new Set<NodeJS.Timeout>();
  const later = (delayMs: number, step: () => void): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      step();
    }, delayMs);
    timers.add(timer);
  };
  const move: PaymentLifecycle['move'] = (reference, { state, reason }) => {
    const event = randomUUID();
    books.append({ type: 'state', reference, state, reason, event, atMs: nowMs() });
    onEvent();
    const payment = books.payments.get(reference);
    if (payment !== undefined) plan(payment);
  };
  const giveBack: PaymentLifecycle['giveBack'] = (reference, { id, amount, reason }) => {
    const payment = books.payments.get(reference);
    if (payment === undefined || payment.returns.some((entry) => entry.id === id)) return;
    const atMs = nowMs();
    const occurredAt = new Date(atMs).toISOString();
    const entry = { id, amount, reason, occurred_at: occurredAt };
    books.append({ type: 'return', reference, entry, event: randomUUID(), atMs });
    onEvent();
  };
  /** Schedules the next step, which checks the state again when it is due. */
  const plan = (payment: BookedPayment): void => {
    const step = findNextStep(payment, getOptions());
    if (step === undefined) return;
    later(step.afterMs, () => {
      if (payment.state !== step.from) return;
      if (step.state === 'returned') {
        for (const back of listReturns(payment, getOptions())) giveBack(payment.reference, back);
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
  life: PaymentLifecycleOptions &
    Pick<PaymentLifecycle, 'move'> & { plan: (payment: BookedPayment) => void },
  order: PaymentOrder,
  text: string,
): BookedPayment | 'conflict' {
  const { books, getOptions, nowMs, move, plan } = life;
  const { reference } = order;
  const digest = createHash('sha256').update(text).digest('hex');
  const known = books.payments.get(reference);
  // A tombstone answers every order: the reference was canceled before one arrived.
  if (known !== undefined) {
    return known.digest === '' || known.digest === digest ? known : 'conflict';
  }
  const { amount, currency, payer, delivery_type, callback_url } = order;
  const kept = { amount, currency, payer, delivery_type, callback_url };
  const { capabilities, defects } = getOptions();
  const isListed = capabilities.includes('booked_events') && !defects.includes('hides_bookings');
  const event = isListed ? { event: randomUUID() } : {};
  books.append({ type: 'booked', reference, digest, order: kept, ...event, atMs: nowMs() });
  const payment = getBooked(books, reference);
  const fault = findOrderFault(order, getOptions());
  if (fault !== undefined) {
    move(reference, { state: 'rejected', reason: fault });
    return payment;
  }
  const first = findNextStep(payment, getOptions());
  const isAtOnce = getOptions().isInstant || matches(getOptions().rejectPattern, order);
  if (isAtOnce && first !== undefined) move(reference, first);
  else plan(payment);
  return payment;
}

function cancel(
  { books, nowMs, move, getOptions }: PaymentLifecycleOptions & Pick<PaymentLifecycle, 'move'>,
  { reference, amount, currency }: CancelOrder,
): BookedPayment {
  const known = books.payments.get(reference);
  const { defects } = getOptions();
  if (known === undefined && defects.includes('forgets_cancellations')) {
    const order = { amount, currency, payer: '', callback_url: '', delivery_type: 'BILL' } as const;
    const payment = { reference, number: 'none', digest: '', order, bookedAtMs: nowMs() };
    return { ...payment, state: 'rejected', reason: 'cancelled', returns: [], paidCount: 0 };
  }
  if (known?.state === 'paid' && defects.includes('cancels_paid')) {
    move(reference, { state: 'rejected', reason: 'cancelled' });
  } else if (known === undefined) {
    books.append({ type: 'tombstone', reference, amount, currency, atMs: nowMs() });
  } else if (known.state === 'accepted' || known.state === 'ready_for_pickup') {
    move(reference, { state: 'rejected', reason: 'cancelled' });
  }
  return getBooked(books, reference);
}

function getBooked(books: PaymentBook, reference: string): BookedPayment {
  const payment = books.payments.get(reference);
  if (payment === undefined) throw new Error(`${reference} is not in the books`);
  return payment;
}

type Step = { from: State; state: State; reason: string; afterMs: number };

function findNextStep(payment: BookedPayment, options: SimulatorOptions): Step | undefined {
  const { state, order, returns } = payment;
  const named = { reference: payment.reference, payer: order.payer };
  if (state === 'accepted') {
    const next = { from: state, reason: '', afterMs: options.settleMs };
    if (matches(options.rejectPattern, named) || matches(options.rejectLaterPattern, named)) {
      return { ...next, state: 'rejected', reason: options.rejectReason };
    }
    const isPickup = options.pickupTypes.includes(order.delivery_type);
    const isReady = isPickup || matches(options.readyPattern, named);
    return { ...next, state: isReady ? 'ready_for_pickup' : 'paid' };
  }
  if (state === 'ready_for_pickup' && options.collectMs !== null) {
    return { from: state, state: 'paid', reason: '', afterMs: options.collectMs };
  }
  if (state === 'paid' && returns.length === 0 && matches(options.returnPattern, named)) {
    return { from: state, state: 'returned', reason: '', afterMs: options.returnAfterMs };
  }
  const { defects, settleMs } = options;
  if (state === 'paid' && defects.includes('rejects_paid')) {
    return { from: state, state: 'rejected', reason: 'payer_error', afterMs: settleMs };
  }
  if (payment.reason === 'cancelled' && defects.includes('pays_canceled')) {
    return { from: state, state: 'paid', reason: '', afterMs: settleMs };
  }
  return undefined;
}

function listReturns({ order }: BookedPayment, options: SimulatorOptions) {
  const amountMinor = getAmountMinor(order.amount, getCurrency(order.currency));
  return options.returnParts.map((part, index) => {
    const minor = (amountMinor * BigInt(part)) / 10_000n || 1n;
    return {
      id: `r${index + 1}`,
      amount: formatFixedAmount(minor, order.currency),
      reason: options.returnReason,
    };
  });
}

/** A payment as the protocol shows it. */
export function showPayment(
  payment: Pick<BookedPayment, 'reference' | 'number' | 'order' | 'state' | 'reason'> & {
    returns: readonly PaymentReturn[];
  },
  options: SimulatorOptions,
): Payment {
  const { reference, number, order, state, reason, returns } = payment;
  const { amount, currency } = order;
  const hasFee = options.fee !== '' && (state === 'paid' || state === 'returned');
  return {
    reference,
    amount: options.defects.includes('changes_amounts') ? `9${amount}` : amount,
    currency,
    state,
    ...(reason === '' || options.defects.includes('rejects_without_reason') ? {} : { reason }),
    partner_reference: number,
    charges: hasFee ? [{ id: 'fee', amount: options.fee, currency }] : [],
    returns: options.defects.includes('hides_returns') ? [] : [...returns],
  };
}

/** An event as the protocol shows it, with the payment as it was then. */
export function showEvent(
  event: BookedEvent,
  payment: BookedPayment,
  options: SimulatorOptions,
): PaymentEvent {
  const occurredAt = new Date(event.atMs).toISOString();
  const hasZone = !options.defects.includes('states_times_without_zone');
  return {
    id: event.id,
    occurred_at: hasZone ? occurredAt : occurredAt.slice(0, -1),
    payment: showPayment({ ...payment, ...event }, options),
    ...(event.entry === undefined ? {} : { return: event.entry }),
  };
}
