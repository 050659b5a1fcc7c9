import { z } from 'zod';
import { getCurrency } from '../../core/currency.ts';
import type { Charge, RailAnswer, RailHost } from '../contract/contract.ts';
import { openPaymentBook, type PaymentBook } from '../kit/payment-book.ts';
import { minorUnits, openRecords, type TypedRecord } from '../kit/records.ts';
import type { SolanaConfig } from './config.ts';

/**
 * The record of one payment, under its reference.
 *
 * waiting: no transaction of it can land. signed: the last attempt may land at any time. paid and
 * rejected: final.
 */
const paymentStates = ['waiting', 'signed', 'paid', 'rejected'] as const;
export type PaymentState = (typeof paymentStates)[number];

/** The attribute that holds the recipient's address. */
export const addressAttribute = 'BankAccountNumber';

const attemptSchema = z.object({
  signature: z.string(),
  /** The signed bytes, Base64; null: found on the chain, without a record of its signing. */
  wire: z.string().nullable(),
  /** No block above this height takes the transaction. */
  lastValidBlockHeight: z.int(),
  /** The most that it costs, lamports. */
  costMax: z.int(),
  signedAtMs: z.number(),
});

const paymentSchema = z.object({
  currency: z.string(),
  amountMinor: minorUnits,
  /** As instructed; checked before anything is signed. */
  recipient: z.string(),
  mint: z.string(),
  /** The amount in the smallest units of the token. */
  units: minorUnits,
  committedAtMs: z.number(),
  /** The oldest first. All but the last one can never land. */
  attempts: z.array(attemptSchema),
  /** Of a transaction in a final block: what it cost, lamports. */
  landed: z.object({ signature: z.string(), slot: z.int(), cost: z.int() }).nullable(),
  reason: z
    .enum([
      'cancelled',
      'amount_refused',
      'currency_refused',
      'invalid_details',
      'account_blocked',
      'recipient_refused',
      'other',
    ])
    .nullable(),
  /** Why a waiting payment is not signed. */
  waitsFor: z
    .enum(['no_funds', 'fee_limit', 'fee_day_limit', 'simulation', 'token_mismatch'])
    .nullable(),
});

export type Payment = z.infer<typeof paymentSchema>;
export type Attempt = z.infer<typeof attemptSchema>;
export type StoredPayment = TypedRecord<PaymentState, Payment>;
export type SolanaPayments = PaymentBook<PaymentState, Payment>;

export function openPayments(host: RailHost, { pollSeconds }: SolanaConfig): SolanaPayments {
  return openPaymentBook(host, {
    collection: 'payment',
    states: paymentStates,
    value: paymentSchema,
    isSame: ({ value }, { currency, amountMinor, attributes }) =>
      value.currency === currency &&
      value.amountMinor === amountMinor &&
      value.recipient === (attributes[addressAttribute] ?? ''),
    answer: (stored) => describeAnswer(stored, host.nowMs() + pollSeconds * 1000),
  });
}

/** Network fee and, where the recipient had no account for the token, its rent. */
export function listCharges({ landed }: Payment): Charge[] {
  if (landed === null || landed.cost <= 0) return [];
  const { code: currency } = getCurrency('SOL');
  return [{ id: landed.signature, kind: 'network', currency, amountMinor: BigInt(landed.cost) }];
}

export function describeAnswer(
  { state, value: payment }: Pick<StoredPayment, 'state' | 'value'>,
  checkAtMs: number,
): RailAnswer {
  const signature = payment.landed?.signature ?? payment.attempts.at(-1)?.signature;
  const extras = {
    ...(signature === undefined ? {} : { providerReference: signature }),
    ...(payment.landed === null ? {} : { charges: listCharges(payment) }),
  };
  switch (state) {
    case 'waiting': {
      const code = payment.waitsFor === null ? {} : { code: payment.waitsFor };
      return { outcome: 'accepted', checkAtMs, ...code };
    }
    case 'signed':
      return { outcome: 'accepted', checkAtMs, ...extras };
    case 'paid':
      return { outcome: 'paid', ...extras };
    case 'rejected':
      return { outcome: 'rejected', reason: payment.reason ?? 'other', ...extras };
  }
}

/**
 * Transactions that the chain shows for a reference and the records lack, which happens after a
 * restore from a backup; keys are references.
 */
export function openUnknown(host: RailHost) {
  return openRecords(host.store, {
    collection: 'unknown',
    states: ['open', 'taken'],
    value: z.object({ signature: z.string() }),
  });
}

/** The newest final transaction of the account that was compared with the records. */
export function openCursor(host: RailHost) {
  return openRecords(host.store, {
    collection: 'cursor',
    states: ['seen'],
    value: z.object({ signature: z.string() }),
  });
}
