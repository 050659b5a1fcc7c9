import { z } from 'zod';
import { getCurrency } from '../../core/currency.ts';
import { getAmountMinor } from '../../core/money.ts';
import type { RailAnswer, RailHost, RecordChange } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import {
  type PaymentBook as KitBook,
  openPaymentBook as openKitBook,
} from '../kit/payment-book.ts';
import { type NextRecord, openRecords, reasonSchema, type TypedRecord } from '../kit/records.ts';
import { normalizeAccount, orderSchema, type PaymentOrder } from './orders.ts';
import type { WrittenPayment } from './written-file.ts';

/**
 * The payments of the rail, by reference. A payment waits until a file is closed with it; from then on
 * only the bank's reports move it, and only forward:
 *
 *   waiting -> filed -> accepted -> rejected -> paid -> returned
 *
 * A waiting payment has an entry in the queue, whose key begins with its due time. The entry is
 * removed by the write that ends the waiting, so that a payment is in one file at most.
 */
export const paymentStates = [
  'waiting',
  'filed',
  'accepted',
  'rejected',
  'paid',
  'returned',
] as const;
export type PaymentState = (typeof paymentStates)[number];

const paymentSchema = z.object({
  order: orderSchema,
  dueAtMs: z.number(),
  /** The file that holds it, or "": it never left. */
  messageId: z.string(),
  reason: reasonSchema.optional(),
  code: z.string(),
  /** Returned amounts by the id of the observation; "" is the whole amount. */
  returns: z.record(z.string(), z.string()),
});
type PaymentValue = z.output<typeof paymentSchema>;
type NextPayment = NextRecord<PaymentState, PaymentValue>;

export type Payment = TypedRecord<PaymentState, PaymentValue>;

/** What the bank reported, as far as the payment's record is concerned. */
export type ReportedState = {
  readonly state: 'accepted' | 'paid' | 'rejected' | 'returned';
  readonly observationId: string;
  readonly reason?: Reason | undefined;
  readonly code: string;
  readonly amountMinor?: bigint | undefined;
};

export type PaymentBook = KitBook<PaymentState, PaymentValue> & {
  /** References of waiting payments that are due, the earliest first. */
  listDue(atMs: number, count: number): Promise<readonly string[]>;
  /** When the next waiting payment is due; undefined: none waits. */
  findNextDue(): Promise<number | undefined>;
  /** The changes that record a payment as part of a file that left before. */
  describeAdoption(written: WrittenPayment, messageId: string): Promise<readonly RecordChange[]>;
  /** Records what the bank reported; a repeated or older report changes nothing. */
  apply(reference: string, reported: ReportedState): Promise<void>;
};

export function openPaymentBook(host: Pick<RailHost, 'store' | 'log' | 'nowMs'>): PaymentBook {
  const queue = openRecords(host.store, {
    collection: 'queue',
    states: ['waiting'],
    value: z.object({}),
  });
  const readQueue = async (count: number) =>
    (await queue.page({ state: 'waiting', count })).map(({ key }) => ({
      dueAtMs: Number(key.slice(0, 14)),
      reference: key.slice(15),
    }));
  const book = openKitBook(host, {
    collection: 'payments',
    states: paymentStates,
    value: paymentSchema,
    isSame: ({ value: { order } }, instruction) =>
      order.amountMinor === instruction.amountMinor &&
      order.currency === instruction.currency &&
      getAccount(order) === getAccount(instruction),
    answer: (payment) => answerFrom(payment, host.nowMs()),
    changeCompanions: (before, after) => {
      const wasWaiting = before?.state === 'waiting';
      const isWaiting = after.state === 'waiting';
      if (wasWaiting === isWaiting) return [];
      const key = formatQueueKey(after.value.dueAtMs, after.key);
      // Entries of the queue are never changed, so that the revision is that of a new record.
      const seen = { key, revision: wasWaiting ? 1 : 0 };
      return [queue.change(seen, isWaiting ? { state: 'waiting', value: {} } : undefined)];
    },
  });
  return {
    ...book,
    listDue: async (atMs, count) =>
      (await readQueue(count))
        .filter(({ dueAtMs }) => dueAtMs <= atMs)
        .map(({ reference }) => reference),
    findNextDue: async () => (await readQueue(1))[0]?.dueAtMs,
    describeAdoption: async (written, messageId) => {
      const payment = await book.find(written.reference);
      if (payment?.state === 'waiting')
        return book.change(payment, fileWaiting(payment, messageId));
      if (payment !== undefined) return [];
      const { reference } = written;
      const seen = { key: reference, revision: 0, reference };
      return book.change(seen, startPayment('filed', describeOrder(written), { messageId }));
    },
    apply: async (reference, reported) => {
      await book.update(reference, (payment) => payment && moveForward(payment, reported));
    },
  };
}

function getAccount({ attributes }: Pick<PaymentOrder, 'attributes'>): string {
  return normalizeAccount(attributes['BankAccountNumber']);
}

/** The record of a payment that is not known yet. */
export function startPayment(
  state: 'waiting' | 'filed' | 'rejected',
  order: PaymentOrder,
  some: Partial<Pick<PaymentValue, 'dueAtMs' | 'messageId'>> & { readonly reason?: Reason } = {},
): NextPayment {
  const empty = { dueAtMs: 0, messageId: '', code: '', returns: {} };
  return { state, value: { order, ...empty, ...some } };
}

/** The part of an order that a file holds: enough to recognize it and to compare bookings. */
function describeOrder({ reference, currency, amount, account }: WrittenPayment): PaymentOrder {
  return {
    reference,
    payerKey: '',
    countryCode: '',
    currency,
    amountMinor: getAmountMinor(amount, getCurrency(currency)),
    attributes: { BankAccountNumber: account },
    beneficiary: {
      firstName: '',
      middleName: '',
      lastName: '',
      businessName: '',
      address1: '',
      address2: '',
      city: '',
      stateProvince: '',
      postalCode: '',
      countryCode: '',
    },
    originator: { accountId: '', name: '' },
  };
}

/** The digits are as many for every instant until the year 5138, so that keys sort by time. */
function formatQueueKey(dueAtMs: number, reference: string): string {
  return `${String(dueAtMs).padStart(14, '0')}-${reference}`;
}

/** What a waiting payment becomes that goes into a file. */
export function fileWaiting({ value }: Payment, messageId: string): NextPayment {
  return { state: 'filed', value: { ...value, messageId } };
}

/** What a waiting payment becomes that is never sent; undefined where it is in a file already. */
export function withdraw({ state, value }: Payment, reason: Reason): NextPayment | undefined {
  return state === 'waiting' ? { state: 'rejected', value: { ...value, reason } } : undefined;
}

/**
 * A report about a payment that still waits ends the waiting, whatever it says: after a restore from
 * backup that is how the rail learns what it had sent already.
 */
function moveForward({ state, value }: Payment, reported: ReportedState): NextPayment | undefined {
  const { observationId, amountMinor } = reported;
  const isForward = paymentStates.indexOf(reported.state) > paymentStates.indexOf(state);
  const isNewReturn = reported.state === 'returned' && value.returns[observationId] === undefined;
  if (!isForward && !isNewReturn) return undefined;
  return {
    state: isForward ? reported.state : state,
    value: {
      ...value,
      reason: reported.reason,
      code: reported.code,
      returns: isNewReturn
        ? { ...value.returns, [observationId]: amountMinor?.toString() ?? '' }
        : value.returns,
    },
  };
}

/** How long after the cut-off, and how often from then on, another query makes sense. */
const checkAfterMs = 3_600_000;

function answerFrom({ state, value }: Payment, nowMs: number): RailAnswer {
  const { reason = 'other' } = value;
  const code = value.code === '' ? {} : { code: value.code };
  switch (state) {
    case 'waiting':
      return { outcome: 'accepted', checkAtMs: Math.max(value.dueAtMs, nowMs) + checkAfterMs };
    case 'filed':
    case 'accepted':
      return { outcome: 'accepted', checkAtMs: nowMs + checkAfterMs, ...code };
    case 'rejected':
      return { outcome: 'rejected', reason, ...code };
    case 'paid':
      return { outcome: 'paid', ...code };
    case 'returned': {
      const amounts = Object.values(value.returns);
      const isWhole = amounts.includes('');
      const amountMinor = amounts.reduce((sum, text) => sum + BigInt(text === '' ? '0' : text), 0n);
      return isWhole || amountMinor === 0n
        ? { outcome: 'returned', reason, ...code }
        : { outcome: 'returned', reason, amountMinor, ...code };
    }
  }
}
