import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Instruction, RailAnswer, RailHost, RecordChange } from '../contract/contract.ts';
import { openPaymentBook, type PaymentBook } from '../kit/payment-book.ts';
import { minorUnits, reasonSchema, type TypedRecord } from '../kit/records.ts';
import { openTransfers } from './transfer-records.ts';

/**
 * What the rail remembers of a payment. Money moves by funding alone, and the record says whether a
 * funding request can have left:
 *
 * - `open`: none has left, or every one was refused. A recipient, a quote or a transfer may exist.
 * - `waiting`: none has left; it is ordered, and waits for a batch group. There is no transfer.
 * - `grouped`: none has left; it is in the batch group `groupKey`, which may have its transfer.
 * - `funding`: one may have left for `transferId`. No other transfer is ever funded for this reference.
 * - `funded`: Wise has confirmed one, and no other leaves.
 * - `refused`, `cancelled`: never paid, for ever.
 */
export const states = [
  'open',
  'waiting',
  'grouped',
  'funding',
  'funded',
  'refused',
  'cancelled',
] as const;
export type PaymentState = (typeof states)[number];

const identifier = z.string().regex(/^\d{1,19}$/);

export const paymentSchema = z.object({
  amountMinor: minorUnits,
  currency: z.string(),
  /** SHA-256 of payer, destination and recipient; "" where recovery has found the transfer. */
  digest: z.string(),
  /** Of the transfer, or of the next attempt to create it. */
  order: z
    .object({
      recipientId: identifier,
      quoteId: z.string(),
      /** In the source currency: what is converted, and the fee. */
      netMinor: minorUnits,
      feeMinor: minorUnits,
      /** Whether it is paid out over SWIFT. */
      isSwift: z.boolean(),
      /** Real time, milliseconds. */
      fixedUntilMs: z.int(),
    })
    .optional(),
  transferId: identifier.optional(),
  /** What its transfer says, the real time since when it waits, and its batch group (`groups.ts`). */
  details: z.record(z.string(), z.string()).optional(),
  waitingSinceMs: z.int().optional(),
  groupKey: z.string().optional(),
  /** Funding requests without a definite answer, and the real time when the last one began. */
  fundingCount: z.int().default(0),
  fundedAtMs: z.int().default(0),
  reason: reasonSchema.optional(),
  code: z.string().max(200).optional(),
  /** Grows when a query has answered that nothing was sent, so that an older send cannot continue. */
  fence: z.int().default(0),
});
export type PaymentValue = z.output<typeof paymentSchema>;
export type Payment = TypedRecord<PaymentState, PaymentValue>;
export type Payments = PaymentBook<PaymentState, PaymentValue>;

export function openPayments(host: RailHost): Payments {
  const transfers = openTransfers(host.store);
  return openPaymentBook(host, {
    collection: 'payments',
    states,
    value: paymentSchema,
    isOfRecipient: true,
    isSame: ({ value }, instruction) =>
      value.amountMinor === instruction.amountMinor &&
      value.currency === instruction.currency &&
      (value.digest === '' || value.digest === digestInstruction(instruction)),
    answer: answerRecord,
    // Callbacks name the transfer, so its record is written together with the payment's.
    changeCompanions: (before, after): readonly RecordChange[] => {
      const { transferId, order, amountMinor, currency } = after.value;
      if (transferId === undefined || before?.value.transferId === transferId) return [];
      const terms = order && {
        currency,
        amountMinor,
        netMinor: order.netMinor,
        feeMinor: order.feeMinor,
        isSwift: order.isSwift,
      };
      const value = { reference: after.key, ...(terms && { terms }) };
      return [transfers.change({ key: transferId, revision: 0 }, { state: 'known', value })];
    },
  });
}

/** Of a payment that can still be paid: `accepted`, and only Wise knows its outcome. */
function answerRecord({ state, value }: Payment): RailAnswer {
  const { reason = 'other', code } = value;
  if (state !== 'refused' && state !== 'cancelled') return { outcome: 'accepted' };
  return { outcome: 'rejected', reason, ...(code === undefined ? {} : { code }) };
}

/** Where the money goes. A corrected name is the same payment. */
function digestInstruction(instruction: Instruction): string {
  const { payerKey, countryCode, deliveryType, attributes } = instruction;
  const sorted = Object.entries(attributes).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const parts = [payerKey, countryCode, deliveryType, sorted];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

export function describeFirst(instruction: Instruction): PaymentValue {
  const { amountMinor, currency } = instruction;
  const digest = digestInstruction(instruction);
  return { amountMinor, currency, digest, fundingCount: 0, fundedAtMs: 0, fence: 0 };
}
