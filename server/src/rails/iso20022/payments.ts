import { z } from 'zod';
import { getCurrency } from '../../core/currency.ts';
import { getAmountMinor } from '../../core/money.ts';
import type {
  Instruction,
  RailAnswer,
  RailHost,
  RecordChange,
  StoredRecord,
} from '../contract/contract.ts';
import { type Reason, reasonTexts } from '../contract/reasons.ts';
import { normalizeAccount, type PaymentOrder, storedOrderSchema, storeOrder } from './orders.ts';
import type { WrittenPayment } from './written-file.ts';

/**
 * What the rail remembers of payments, by reference. A payment waits until a file is closed with it;
 * from then on only what the bank says moves it, and only forward:
 *
 *   waiting -> filed -> accepted -> rejected -> paid -> returned
 *
 * Beside a waiting one stands an entry of the queue, whose key begins with when it is due. It goes
 * with the same write that ends the waiting, so that a payment is in one file at most.
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
  order: storedOrderSchema,
  /** Of the entry in the queue that it had, or "". */
  queueKey: z.string(),
  dueAtMs: z.number(),
  /** The file it went into, or "": it never left. */
  messageId: z.string(),
  reason: z.string(),
  code: z.string(),
  /** What came back, by the id of the observation; "" is all of it. */
  returns: z.record(z.string(), z.string()),
});

export type Payment = {
  readonly revision: number;
  readonly state: PaymentState;
  readonly value: z.output<typeof paymentSchema>;
};

type PaymentValue = Payment['value'];

export const paymentCollection = 'payments';
export const queueCollection = 'queue';

/** What the bank said, as far as a payment's own record is concerned. */
export type Standing = {
  readonly state: 'accepted' | 'paid' | 'rejected' | 'returned';
  readonly observationId: string;
  readonly reason?: Reason | undefined;
  readonly code: string;
  readonly amountMinor?: bigint | undefined;
};

export type PaymentBook = {
  find(reference: string): Promise<Payment | undefined>;
  /** Enters a payment that waits; false where the reference is known already. */
  enter(instruction: Instruction, dueAtMs: number): Promise<boolean>;
  /** Enters a payment that will never be sent; false where the reference is known already. */
  enterRejected(instruction: Instruction, reason: Reason): Promise<boolean>;
  /** Ends the waiting of one that is in no file yet; false where it is not waiting any more. */
  withdraw(payment: Payment, reason: Reason): Promise<boolean>;
  /** The entries of the queue, the next due first. */
  listDue(atMs: number, count: number): Promise<readonly QueueEntry[]>;
  /** When the next one is due; undefined: none waits. */
  findNextDue(): Promise<number | undefined>;
  /** The changes by which a payment of a file that left before is known to be in it. */
  describeAdoption(written: WrittenPayment, messageId: string): Promise<readonly RecordChange[]>;
  /** Notes what the bank said; what it said before and what is older changes nothing. */
  apply(reference: string, standing: Standing): Promise<void>;
};

export type QueueEntry = {
  readonly key: string;
  readonly revision: number;
  readonly reference: string;
  readonly dueAtMs: number;
};

/** Anybody may be writing at the same moment, but nobody for long. */
const triesMax = 20;

export function openPaymentBook(host: Pick<RailHost, 'store' | 'log'>): PaymentBook {
  const { store } = host;
  const find = async (reference: string): Promise<Payment | undefined> => {
    const record = await store.get(paymentCollection, reference);
    return record === undefined ? undefined : readPayment(record);
  };
  return {
    find,
    enter: async (instruction, dueAtMs) => {
      const queueKey = formatQueueKey(dueAtMs, instruction.reference);
      const value = newValue(instruction, { queueKey, dueAtMs });
      return store.write([
        changePayment(instruction.reference, 0, { state: 'waiting', value }),
        {
          collection: queueCollection,
          key: queueKey,
          revision: 0,
          next: { state: 'waiting', value: {} },
        },
      ]);
    },
    enterRejected: async (instruction, reason) => {
      const value = { ...newValue(instruction, { queueKey: '', dueAtMs: 0 }), reason };
      return store.write([changePayment(instruction.reference, 0, { state: 'rejected', value })]);
    },
    withdraw: async (payment, reason) => {
      if (payment.state !== 'waiting') return false;
      return store.write(rejectWaiting(payment, reason));
    },
    listDue: async (atMs, count) => {
      const records = await store.list(queueCollection, { state: 'waiting', count });
      return records.map(readQueueEntry).filter(({ dueAtMs }) => dueAtMs <= atMs);
    },
    findNextDue: async () => {
      const [record] = await store.list(queueCollection, { state: 'waiting', count: 1 });
      return record === undefined ? undefined : readQueueEntry(record).dueAtMs;
    },
    describeAdoption: async (written, messageId) => {
      const payment = await find(written.reference);
      if (payment?.state === 'waiting') return fileWaiting(payment, messageId);
      if (payment !== undefined) return [];
      const value = {
        ...newValue(describeOrder(written), { queueKey: '', dueAtMs: 0 }),
        messageId,
      };
      return [changePayment(written.reference, 0, { state: 'filed', value })];
    },
    apply: async (reference, standing) => {
      for (let tries = 0; tries < triesMax; tries += 1) {
        const payment = await find(reference);
        if (payment === undefined) return;
        const changes = moveForward(payment, standing);
        if (changes.length === 0 || (await store.write(changes))) return;
      }
      throw new Error(`${reference} changes too often to be written`);
    },
  };
}

function newValue(
  instruction: PaymentOrder,
  { queueKey, dueAtMs }: { queueKey: string; dueAtMs: number },
): z.input<typeof paymentSchema> {
  const order = storeOrder(instruction);
  return { order, queueKey, dueAtMs, messageId: '', reason: '', code: '', returns: {} };
}

/** As much of the order as the file tells: enough to recognise it, and to compare what is booked. */
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
      email: '',
      mobileNumber: '',
      dateOfBirth: '',
    },
    originator: { accountId: '', name: '' },
  };
}

function readPayment(record: StoredRecord): Payment {
  const state = paymentStates.find((one) => one === record.state);
  if (state === undefined) throw new Error(`the record of ${record.key} has no known state`);
  return { revision: record.revision, state, value: paymentSchema.parse(record.value) };
}

/** The digits are as many for every instant until the year 5138, so that keys sort by time. */
function formatQueueKey(dueAtMs: number, reference: string): string {
  return `${String(dueAtMs).padStart(14, '0')}-${reference}`;
}

function readQueueEntry({ key, revision }: StoredRecord): QueueEntry {
  return { key, revision, reference: key.slice(15), dueAtMs: Number(key.slice(0, 14)) };
}

function changePayment(
  reference: string,
  revision: number,
  next: { state: PaymentState; value: z.input<typeof paymentSchema> },
): RecordChange {
  return { collection: paymentCollection, key: reference, revision, next };
}

/** The queue's entries are never changed, so that the revision is always that of a new record. */
function removeFromQueue({ queueKey }: PaymentValue): RecordChange {
  return { collection: queueCollection, key: queueKey, revision: 1, next: undefined };
}

function storeValue(value: PaymentValue): z.input<typeof paymentSchema> {
  return { ...value, order: storeOrder(value.order) };
}

/** What a payment becomes that goes into a file, together with the file's own record. */
export function fileWaiting(payment: Payment, messageId: string): RecordChange[] {
  const { reference } = payment.value.order;
  const value = storeValue({ ...payment.value, messageId });
  return [
    changePayment(reference, payment.revision, { state: 'filed', value }),
    removeFromQueue(payment.value),
  ];
}

function rejectWaiting(payment: Payment, reason: Reason): RecordChange[] {
  const value = storeValue({ ...payment.value, reason });
  const { reference } = payment.value.order;
  return [
    changePayment(reference, payment.revision, { state: 'rejected', value }),
    removeFromQueue(payment.value),
  ];
}

/**
 * What the bank says of a payment that still waits takes it out of the queue, whatever it is: after
 * a restore from backup that is how the rail learns what it had sent already.
 */
function moveForward(payment: Payment, standing: Standing): RecordChange[] {
  const { state, value } = payment;
  const { observationId, amountMinor } = standing;
  const isForward = paymentStates.indexOf(standing.state) > paymentStates.indexOf(state);
  const isNewReturn = standing.state === 'returned' && value.returns[observationId] === undefined;
  if (!isForward && !isNewReturn) return [];
  const next = storeValue({
    ...value,
    reason: standing.reason ?? '',
    code: standing.code,
    returns: isNewReturn
      ? { ...value.returns, [observationId]: amountMinor?.toString() ?? '' }
      : value.returns,
  });
  const { reference } = value.order;
  const change = changePayment(reference, payment.revision, {
    state: isForward ? standing.state : state,
    value: next,
  });
  return state === 'waiting' ? [change, removeFromQueue(value)] : [change];
}

/** Whether it is the same money to the same account as when the reference was first heard of. */
export function isSameOrder(payment: Payment, instruction: Instruction): boolean {
  const { order } = payment.value;
  const name = 'BankAccountNumber';
  return (
    order.amountMinor === instruction.amountMinor &&
    order.currency === instruction.currency &&
    normalizeAccount(order.attributes[name]) === normalizeAccount(instruction.attributes[name])
  );
}

/** How long after the cut-off, and how often from then on, asking again makes sense. */
const checkAfterMs = 3_600_000;

export function answerFor(payment: Payment, nowMs: number): RailAnswer {
  const { state, value } = payment;
  const code = value.code === '' ? {} : { code: value.code };
  switch (state) {
    case 'waiting':
      return { outcome: 'accepted', checkAtMs: Math.max(value.dueAtMs, nowMs) + checkAfterMs };
    case 'filed':
    case 'accepted':
      return { outcome: 'accepted', checkAtMs: nowMs + checkAfterMs, ...code };
    case 'rejected':
      return { outcome: 'rejected', reason: readReason(value.reason), ...code };
    case 'paid':
      return { outcome: 'paid', ...code };
    case 'returned': {
      const amounts = Object.values(value.returns);
      const isWhole = amounts.includes('');
      const amountMinor = amounts.reduce((sum, text) => sum + BigInt(text === '' ? '0' : text), 0n);
      const reason = readReason(value.reason);
      return isWhole || amountMinor === 0n
        ? { outcome: 'returned', reason, ...code }
        : { outcome: 'returned', reason, amountMinor, ...code };
    }
  }
}

function readReason(text: string): Reason {
  return isReason(text) ? text : 'other';
}

function isReason(text: string): text is Reason {
  return Object.hasOwn(reasonTexts, text);
}
