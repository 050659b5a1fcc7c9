import { z } from 'zod';
import type { Instruction, RailAnswer, RailHost } from '../contract/contract.ts';
import { openPaymentBook, type PaymentBook } from '../kit/payment-book.ts';
import { minorUnits, reasonSchema, type TypedRecord } from '../kit/records.ts';
import { listReceivers, type Receiver } from './order.ts';

/**
 * What the rail remembers of a payment. `unsent`: nothing has left. `ordering`: an order may have left,
 * and its batch is not known. `ordered`: PayPal has named the batch. `waiting`: for a batch of several
 * items. `batched`: it is in the batch `batchKey` (batch-records.ts), which knows its outcome.
 * `reported`: PayPal's report has shown it to a restored database; its batch is not known, so that it is
 * never ordered. `refused` and `cancelled`: it was and will never be ordered.
 */
export const states = [
  'unsent',
  'ordering',
  'ordered',
  'waiting',
  'batched',
  'reported',
  'refused',
  'cancelled',
] as const;
export type State = (typeof states)[number];

const paymentSchema = z.object({
  amountMinor: minorUnits,
  currency: z.string(),
  /** In PayPal's form; "": not known, because the payment was recovered from PayPal's report. */
  receiver: z.string(),
  receiverType: z.enum(['', 'EMAIL', 'PHONE']),
  payerKey: z.string(),
  /** Since when it has waited for a batch, by the environment's clock; 0: it never has. */
  waitingSinceMs: z.number(),
  /** The `sender_batch_id` of the batch of several items that it is in, or "". */
  batchKey: z.string(),
  /** Orders that may have left. */
  attempts: z.int(),
  /** When the first of them left, real milliseconds; 0: none has. */
  firstSentAtMs: z.number(),
  /** PayPal's `payout_batch_id`, or "". */
  batchId: z.string(),
  /** Of a refusal. */
  reason: reasonSchema.nullable(),
  code: z.string(),
});
export type Payment = z.output<typeof paymentSchema>;
export type PaymentRecord = TypedRecord<State, Payment>;
export type Payments = PaymentBook<State, Payment>;

export function openPayments(host: RailHost): Payments {
  return openPaymentBook(host, {
    collection: 'payments',
    states: [...states],
    value: paymentSchema,
    isSame: ({ value }, instruction) =>
      value.amountMinor === instruction.amountMinor &&
      value.currency === instruction.currency &&
      isSameReceiver(value, instruction),
    answer: describeRecord,
  });
}

/**
 * A client may change the e-mail address of a recipient at any time, and that of the order counts; a
 * mobile number is an attribute, which the payout has since its commit.
 */
function isSameReceiver({ receiver, receiverType }: Payment, instruction: Instruction): boolean {
  if (receiverType !== 'PHONE') return true;
  return listReceivers(instruction).some((one) => one.receiver === receiver);
}

/**
 * Nothing has left: it is ordered to the recipient's present address, or refused where there is none any
 * more.
 */
export async function renewReceiver(
  payments: Payments,
  reference: string,
  receiver: Receiver | undefined,
): Promise<void> {
  await payments.update(reference, (seen) => {
    if (seen?.state !== 'unsent' || seen.value.receiver === receiver?.receiver) return undefined;
    if (receiver === undefined) {
      return { state: 'refused', value: { ...seen.value, reason: 'invalid_details' } };
    }
    const { receiver: name, type } = receiver;
    return { state: 'unsent', value: { ...seen.value, receiver: name, receiverType: type } };
  });
}

/** `accepted` stands for: only PayPal knows. */
function describeRecord({ state, value }: PaymentRecord): RailAnswer {
  switch (state) {
    case 'unsent':
      return { outcome: 'retry', reason: 'unreachable' };
    case 'ordering':
    case 'ordered':
    case 'waiting':
    case 'batched':
    case 'reported':
      return { outcome: 'accepted' };
    case 'refused': {
      const { reason, code } = value;
      return { outcome: 'rejected', reason: reason ?? 'other', ...(code === '' ? {} : { code }) };
    }
    case 'cancelled':
      return { outcome: 'rejected', reason: 'cancelled' };
  }
}

export function describePayment(
  { amountMinor, currency, payerKey }: Pick<Instruction, 'amountMinor' | 'currency' | 'payerKey'>,
  receiver?: Receiver,
): Payment {
  return {
    amountMinor,
    currency,
    receiver: receiver?.receiver ?? '',
    receiverType: receiver?.type ?? '',
    payerKey,
    waitingSinceMs: 0,
    batchKey: '',
    attempts: 0,
    firstSentAtMs: 0,
    batchId: '',
    reason: null,
    code: '',
  };
}

/**
 * PayPal books a `sender_batch_id` once within 30 days. An order is repeated only as long as none of
 * its repetitions can arrive later than that.
 */
export const keyMs = 28 * 24 * 3_600_000;

export type Attempt =
  | { readonly kind: 'begun'; readonly record: PaymentRecord }
  /** It may have left, and PayPal may have forgotten its key. */
  | { readonly kind: 'expired'; readonly record: PaymentRecord }
  /** It must no longer be ordered. */
  | { readonly kind: 'over' };

/** Records that an order may leave. `nowMs`: real time. */
export async function beginAttempt(
  payments: Payments,
  reference: string,
  nowMs: number,
): Promise<Attempt> {
  let isExpired = false;
  const { record, isChanged } = await payments.update(reference, (seen) => {
    isExpired = false;
    if (seen?.state !== 'unsent' && seen?.state !== 'ordering') return undefined;
    const { value } = seen;
    const firstSentAtMs = value.attempts === 0 ? nowMs : value.firstSentAtMs;
    isExpired = nowMs - firstSentAtMs > keyMs;
    if (isExpired) return undefined;
    return { state: 'ordering', value: { ...value, attempts: value.attempts + 1, firstSentAtMs } };
  });
  if (isChanged) return { kind: 'begun', record };
  return isExpired && record !== undefined ? { kind: 'expired', record } : { kind: 'over' };
}

/** PayPal has certainly not booked the order: true where no other one may have left. */
export async function endAttempt(
  payments: Payments,
  record: PaymentRecord,
  refusal?: Pick<Payment, 'reason' | 'code'>,
): Promise<boolean> {
  if (record.value.attempts !== 1) return false;
  const value = { ...record.value, attempts: 0, firstSentAtMs: 0 };
  return payments.write(
    record,
    refusal === undefined
      ? { state: 'unsent', value }
      : { state: 'refused', value: { ...value, ...refusal } },
  );
}

/** PayPal has named the batch. */
export async function setBatch(
  payments: Payments,
  reference: string,
  batchId: string,
): Promise<void> {
  await payments.update(reference, (seen) =>
    seen?.state === 'ordering' || (seen?.state === 'ordered' && seen.value.batchId !== batchId)
      ? { state: 'ordered', value: { ...seen.value, batchId } }
      : undefined,
  );
}

/** PayPal does not know the batch: the next order asks for its name again. */
export async function forgetBatch(
  payments: Payments,
  reference: string,
  batchId: string,
): Promise<void> {
  await payments.update(reference, (seen) =>
    seen?.state === 'ordered' && seen.value.batchId === batchId
      ? { state: 'ordering', value: { ...seen.value, batchId: '' } }
      : undefined,
  );
}
