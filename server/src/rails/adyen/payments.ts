import { z } from 'zod';
import type { Instruction, RailAnswer, RailHost } from '../contract/contract.ts';
import { openPaymentBook, type PaymentBook } from '../kit/payment-book.ts';
import { minorUnits, reasonSchema, type TypedRecord } from '../kit/records.ts';
import type { Outcome } from './outcomes.ts';

/**
 * What the rail remembers of a payment.
 *
 * `sending`: an order may have left; its text is kept, so that it is repeated byte for byte under the
 * same idempotency key. `idle`: every order that left was certainly not processed. `known`: Adyen has
 * a transfer. `refused`: Adyen refused the order for good. `cancelled`: canceled before it was sent.
 */
export const paymentStates = ['sending', 'idle', 'known', 'refused', 'cancelled'] as const;
export type PaymentState = (typeof paymentStates)[number];

const valueSchema = z.object({
  amountMinor: minorUnits,
  currency: z.string(),
  /** `hashTarget` of order.ts; "" where the payment was found after a restore. */
  target: z.string().default(''),
  /** The order as JSON; "" once Adyen has answered for it. */
  body: z.string().default(''),
  /** How many orders may have left, and when the first and the last of them did (real time). */
  sends: z.int().default(0),
  firstSentAtMs: z.int().default(0),
  lastSentAtMs: z.int().default(0),
  /** The one before the last. */
  earlierSentAtMs: z.int().default(0),
  /** Of Adyen; "" while it is not known. */
  transferId: z.string().default(''),
  /** The last outcome that was reported; "" for none. */
  reported: z.enum(['', 'accepted', 'paid', 'rejected', 'returned']).default(''),
  /** How many observations of returns and fees were reported. */
  reports: z.int().default(0),
  /** Of a refusal. */
  reason: reasonSchema.default('other'),
  code: z.string().default(''),
});
export type PaymentValue = z.output<typeof valueSchema>;
export type PaymentRecord = TypedRecord<PaymentState, PaymentValue>;
export type Payments = PaymentBook<PaymentState, PaymentValue>;

export function openPayments(
  host: RailHost,
  findTarget: (instruction: Instruction) => string | undefined,
): Payments {
  return openPaymentBook(host, {
    collection: 'payments',
    states: paymentStates,
    value: valueSchema,
    isOfRecipient: true,
    isSame: ({ value }, instruction) =>
      value.amountMinor === instruction.amountMinor &&
      value.currency === instruction.currency &&
      // A corrected name or address is the same payment; a payment found after a restore has no target.
      (value.target === '' || value.target === (findTarget(instruction) ?? value.target)),
    answer: answerFromRecord,
  });
}

/** `accepted` stands for a payment that only Adyen can answer for. */
function answerFromRecord({ state, value }: PaymentRecord): RailAnswer {
  switch (state) {
    case 'refused':
      return { outcome: 'rejected', reason: value.reason, ...(value.code && { code: value.code }) };
    case 'cancelled':
      return { outcome: 'rejected', reason: 'cancelled' };
    case 'idle':
      return { outcome: 'retry', reason: 'unreachable' };
    case 'sending':
    case 'known':
      return { outcome: 'accepted' };
  }
}

/** Records the transfer and forgets the text of the order, which tells of the recipient. */
export async function markKnown(
  payments: Payments,
  reference: string,
  known: { readonly transferId: string; readonly outcome: Outcome },
): Promise<void> {
  await payments.update(reference, (record) => {
    if (record === undefined || record.state === 'refused' || record.state === 'cancelled') {
      return undefined;
    }
    const { value } = record;
    const reported = isNews(value.reported, known.outcome) ? known.outcome : value.reported;
    const isSame =
      record.state === 'known' &&
      value.transferId === known.transferId &&
      value.reported === reported;
    if (isSame) return undefined;
    return {
      state: 'known',
      value: { ...value, transferId: known.transferId, reported, body: '' },
    };
  });
}

/** Whether an outcome says more than the one that was reported last, or contradicts it. */
export function isNews(reported: PaymentValue['reported'], outcome: Outcome): boolean {
  if (reported === outcome) return false;
  if (outcome === 'accepted') return reported === '';
  return !(reported === 'returned' && outcome === 'paid');
}
