import { z } from 'zod';
import { getCurrency } from '../../core/currency.ts';
import { getAmountMinor } from '../../core/money.ts';
import type { RailAnswer, RailHost, RecordChange } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import {
  type PaymentBook as KitBook,
  openPaymentBook as openKitBook,
} from '../kit/payment-book.ts';
import { emptyBeneficiary } from '../kit/recipient.ts';
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
  /** Shown until the bank gives its own reference; "" where the file has none. */
  uetr: z.string().default(''),
  /** How long the bank has to answer an instant payment; 0: it is none. */
  answerMs: z.number().default(0),
  /** Until when, once its file was closed; later the outcome is unknown until the bank reports it. */
  answerByMs: z.number().default(0),
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
  /** Whether the bank's answer to an instant payment is due, or is late by less than a minute. */
  isAnswerAwaited(nowMs: number): Promise<boolean>;
  /** The changes that record a payment as part of a file that left before. */
  describeAdoption(written: WrittenPayment, messageId: string): Promise<readonly RecordChange[]>;
  /** Records what the bank reported; a repeated or older report changes nothing. */
  apply(reference: string, reported: ReportedState): Promise<void>;
};

export function openPaymentBook(host: Pick<RailHost, 'store' | 'log' | 'nowMs'>): PaymentBook {
  const entries = openEntries(host.store);
  const readQueue = async (count: number) =>
    (await entries.queue.page({ state: 'waiting', count })).map(({ key }) => ({
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
    changeCompanions: entries.change,
  });
  return {
    ...book,
    listDue: async (atMs, count) =>
      (await readQueue(count))
        .filter(({ dueAtMs }) => dueAtMs <= atMs)
        .map(({ reference }) => reference),
    findNextDue: async () => (await readQueue(1))[0]?.dueAtMs,
    isAnswerAwaited: async (nowMs) => {
      const after = formatQueueKey(Math.max(nowMs - lateMs, 0), '');
      return (await entries.awaiting.page({ after, count: 1 })).length > 0;
    },
    describeAdoption: async (written, messageId) => {
      const payment = await book.find(written.reference);
      const { reference, uetr, isInstant } = written;
      // The time to answer an instant payment has passed.
      const closedAtMs = host.nowMs() - (payment?.value.answerMs ?? 0);
      if (payment?.state === 'waiting')
        return book.change(payment, fileWaiting(payment, { messageId, closedAtMs }));
      if (payment !== undefined) return [];
      const seen = { key: reference, revision: 0, reference };
      const some = { messageId, uetr, answerByMs: isInstant ? host.nowMs() : 0 };
      return book.change(seen, startPayment('filed', describeOrder(written), some));
    },
    apply: async (reference, reported) => {
      await book.update(reference, (payment) => payment && moveForward(payment, reported));
    },
  };
}

/** What follows from a payment: its entry in the queue, and the one of its awaited answer. */
function openEntries(store: RailHost['store']) {
  const value = z.object({});
  const queue = openRecords(store, { collection: 'queue', states: ['waiting'], value });
  const awaiting = openRecords(store, { collection: 'awaiting', states: ['awaiting'], value });
  return {
    queue,
    awaiting,
    change: (
      before: Payment | undefined,
      after: NextPayment & { readonly key: string },
    ): readonly RecordChange[] => {
      const wasWaiting = before?.state === 'waiting';
      const isWaiting = after.state === 'waiting';
      const wasAwaited = before !== undefined && isAnswerOpen(before);
      const isAwaited = isAnswerOpen(after);
      const changes: RecordChange[] = [];
      // Entries are never changed, so that the revision is that of a new record.
      if (wasWaiting !== isWaiting) {
        const key = formatQueueKey(after.value.dueAtMs, after.key);
        const seen = { key, revision: wasWaiting ? 1 : 0 };
        changes.push(queue.change(seen, isWaiting ? { state: 'waiting', value: {} } : undefined));
      }
      if (wasAwaited !== isAwaited) {
        const key = formatQueueKey(after.value.answerByMs, after.key);
        const seen = { key, revision: wasAwaited ? 1 : 0 };
        const next = isAwaited ? ({ state: 'awaiting', value: {} } as const) : undefined;
        changes.push(awaiting.change(seen, next));
      }
      return changes;
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
  some: Partial<
    Pick<PaymentValue, 'dueAtMs' | 'messageId' | 'uetr' | 'answerMs' | 'answerByMs'>
  > & { readonly reason?: Reason } = {},
): NextPayment {
  const times = { dueAtMs: 0, answerMs: 0, answerByMs: 0 };
  const empty = { ...times, messageId: '', uetr: '', code: '', returns: {} };
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
    beneficiary: emptyBeneficiary,
    originator: { accountId: '', name: '' },
  };
}

/** The digits are as many for every instant until the year 5138, so that keys sort by time. */
function formatQueueKey(dueAtMs: number, reference: string): string {
  return `${String(dueAtMs).padStart(14, '0')}-${reference}`;
}

/** What a waiting payment becomes that goes into a file. */
export function fileWaiting(
  { value }: Payment,
  { messageId, closedAtMs }: { messageId: string; closedAtMs: number },
): NextPayment {
  const answerByMs = value.answerMs === 0 ? 0 : closedAtMs + value.answerMs;
  return { state: 'filed', value: { ...value, messageId, answerByMs } };
}

/** Whether the bank has an instant payment and has not reported its outcome. */
function isAnswerOpen({ state, value }: NextPayment): boolean {
  return value.answerByMs > 0 && (state === 'filed' || state === 'accepted');
}

/** What a waiting payment becomes that is never sent; undefined where it is in a file already. */
export function withdraw({ state, value }: Payment, reason: Reason): NextPayment | undefined {
  return state === 'waiting' ? { state: 'rejected', value: { ...value, reason } } : undefined;
}

/**
 * A report about a payment that still waits ends the waiting, no matter what it says: after a restore from
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
/** How long after its time an instant payment's answer is looked for as often as before. */
const lateMs = 60_000;

function answerFrom({ state, value }: Payment, nowMs: number): RailAnswer {
  const { reason = 'other' } = value;
  const code = value.code === '' ? {} : { code: value.code };
  // Not once the outcome is known: the bank's own reference may have come with it.
  const uetr = value.uetr === '' ? {} : { providerReference: value.uetr };
  if (isAnswerOpen({ state, value })) {
    // Silence proves nothing: the payment may have been made, and is not sent again.
    return nowMs < value.answerByMs
      ? { outcome: 'accepted', checkAtMs: value.answerByMs, ...code, ...uetr }
      : { outcome: 'unknown', reason: 'no_answer', ...code, ...uetr };
  }
  switch (state) {
    case 'waiting':
      return value.answerMs > 0
        ? { outcome: 'accepted', checkAtMs: nowMs + value.answerMs }
        : { outcome: 'accepted', checkAtMs: Math.max(value.dueAtMs, nowMs) + checkAfterMs };
    case 'filed':
    case 'accepted':
      return { outcome: 'accepted', checkAtMs: nowMs + checkAfterMs, ...code, ...uetr };
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
