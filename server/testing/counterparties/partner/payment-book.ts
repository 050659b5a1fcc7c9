import { join } from 'node:path';
import type { PaymentOrder, PaymentReturn } from '../../../src/rails/partner/protocol.ts';
import { openJournal } from '../journal.ts';

/**
 * The simulator's payment book: an append-only file of JSON lines. What has been answered is on the
 * disk, so that the process may be killed at any moment.
 */

export type State = 'accepted' | 'ready_for_pickup' | 'paid' | 'rejected' | 'returned';

export type Entry =
  | {
      type: 'booked';
      reference: string;
      digest: string;
      order: BookedOrder;
      /** Of the event that lists the booking; absent without the capability `booked_events`. */
      event?: string;
      atMs: number;
    }
  /** A reference that was canceled before an order arrived. */
  | { type: 'tombstone'; reference: string; amount: string; currency: string; atMs: number }
  | { type: 'state'; reference: string; state: State; reason: string; event: string; atMs: number }
  | { type: 'return'; reference: string; entry: PaymentReturn; event: string; atMs: number }
  | { type: 'delivered'; event: string }
  /** Before any of its orders. */
  | { type: 'batch'; batch: string; digest: string; references: readonly string[] };

export type BookedBatch = { readonly digest: string; readonly references: readonly string[] };

/** The part of an order that is stored; nothing personal. */
export type BookedOrder = Pick<
  PaymentOrder,
  'amount' | 'currency' | 'payer' | 'delivery_type' | 'callback_url'
>;

/** The content of a callback: the payment as it was at that moment. */
export type BookedEvent = {
  readonly id: string;
  readonly reference: string;
  readonly atMs: number;
  readonly state: State;
  readonly reason: string;
  readonly returns: readonly PaymentReturn[];
  readonly entry: PaymentReturn | undefined;
};

export type BookedPayment = {
  readonly reference: string;
  /** The partner's own number. */
  readonly number: string;
  /** Of the body of the order; "" for a tombstone, which answers every order. */
  readonly digest: string;
  readonly order: BookedOrder;
  readonly bookedAtMs: number;
  state: State;
  reason: string;
  returns: PaymentReturn[];
  /** How often the money of this reference went out. */
  paidCount: number;
};

export type PaymentBook = {
  readonly payments: ReadonlyMap<string, BookedPayment>;
  /** Events whose callback has not been accepted yet, by id, oldest first. */
  readonly pending: ReadonlyMap<string, BookedEvent>;
  /** All events in order. */
  readonly events: readonly BookedEvent[];
  readonly batches: ReadonlyMap<string, BookedBatch>;
  /** Visible at once; on the disk when `flushed` returns. */
  append(entry: Entry): void;
  flushed(): Promise<void>;
  close(): Promise<void>;
};

export function openPaymentBook(folder: string): PaymentBook {
  const journal = openJournal<Entry>(join(folder, 'books.jsonl'));
  const payments = new Map<string, BookedPayment>();
  const pending = new Map<string, BookedEvent>();
  const events: BookedEvent[] = [];
  const batches = new Map<string, BookedBatch>();
  const tables = { payments, pending, events, batches };
  for (const entry of journal.entries) apply(entry, tables);
  return {
    payments,
    pending,
    events,
    batches,
    append: (entry) => {
      apply(entry, tables);
      journal.append(entry);
    },
    flushed: journal.flushed,
    close: journal.close,
  };
}

type Tables = {
  payments: Map<string, BookedPayment>;
  pending: Map<string, BookedEvent>;
  events: BookedEvent[];
  batches: Map<string, BookedBatch>;
};

function apply(entry: Entry, { payments, pending, events, batches }: Tables): void {
  const addEvent = (event: BookedEvent): void => {
    pending.set(event.id, event);
    events.push(event);
  };
  const number = `P${payments.size + 1}`;
  switch (entry.type) {
    case 'booked': {
      const { reference, digest, order, atMs, event } = entry;
      const payment: BookedPayment = {
        reference,
        number,
        digest,
        order,
        bookedAtMs: atMs,
        state: 'accepted',
        reason: '',
        returns: [],
        paidCount: 0,
      };
      payments.set(reference, payment);
      // It is listed only: a callback would tell what the answer has told.
      if (event !== undefined) events.push(describeEvent(payment, { event, atMs }));
      return;
    }
    case 'tombstone': {
      const { reference, amount, currency, atMs } = entry;
      const order = { amount, currency, payer: '', callback_url: '' };
      payments.set(reference, {
        reference,
        number,
        digest: '',
        order: { ...order, delivery_type: 'BANK_DEPOSIT' },
        bookedAtMs: atMs,
        state: 'rejected',
        reason: 'cancelled',
        returns: [],
        paidCount: 0,
      });
      return;
    }
    case 'state': {
      const payment = getPayment(payments, entry.reference);
      payment.state = entry.state;
      payment.reason = entry.reason;
      if (entry.state === 'paid') payment.paidCount += 1;
      addEvent(describeEvent(payment, entry));
      return;
    }
    case 'return': {
      const payment = getPayment(payments, entry.reference);
      payment.returns = [...payment.returns, entry.entry];
      if (isAllBack(payment)) payment.state = 'returned';
      addEvent({ ...describeEvent(payment, entry), entry: entry.entry });
      return;
    }
    case 'delivered':
      pending.delete(entry.event);
      return;
    case 'batch':
      batches.set(entry.batch, { digest: entry.digest, references: entry.references });
      return;
  }
}

function describeEvent(
  { reference, state, reason, returns }: BookedPayment,
  { event, atMs }: { event: string; atMs: number },
): BookedEvent {
  return { id: event, reference, atMs, state, reason, returns, entry: undefined };
}

function getPayment(payments: Map<string, BookedPayment>, reference: string): BookedPayment {
  const payment = payments.get(reference);
  if (payment === undefined) throw new Error(`no payment is booked under ${reference}`);
  return payment;
}

/** In billionths, finer than any currency. */
export function readBillionths(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.split('.');
  return BigInt(whole + fraction.padEnd(9, '0'));
}

function isAllBack({ order, returns }: BookedPayment): boolean {
  const back = returns.reduce((sum, { amount }) => sum + readBillionths(amount), 0n);
  return back >= readBillionths(order.amount);
}
