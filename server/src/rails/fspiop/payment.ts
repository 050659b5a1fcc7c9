import { z } from 'zod';
import { nameId } from '../../core/ids.ts';
import type {
  Charge,
  Instruction,
  RailAnswer,
  RailHost,
  RailObservation,
} from '../contract/contract.ts';
import { type Reason, reasonTexts } from '../contract/reasons.ts';
import { minorUnits, type NextRecord, type TypedRecord } from '../kit/records.ts';

/**
 * The record of a payment, and what is reported of it. States:
 *
 *   asking          the hub is being asked which provider has the wallet; not reported as under way
 *   idle            the hub could not be asked; nothing happens until the payment is sent again
 *   lookup          the hub has accepted the look-up
 *   quote_due       the provider is known
 *   quote           the provider was asked for a quote
 *   transfer_due    the terms of the quote are accepted
 *   transfer        the one transfer is recorded and may have been sent
 *   paid            committed: the fulfilment was shown
 *   refused         never to be paid
 *   refused_untold  refused by the rail itself and not reported to the service yet
 */
export const states = [
  'asking',
  'idle',
  'lookup',
  'quote_due',
  'quote',
  'transfer_due',
  'transfer',
  'paid',
  'refused',
  'refused_untold',
] as const;
export type State = (typeof states)[number];

const requestSchema = z.object({
  method: z.enum(['GET', 'POST']),
  uri: z.string(),
  headers: z.record(z.string(), z.string()),
  /** "" with GET. */
  body: z.string(),
});

/** A request as it is sent and repeated, byte for byte. */
export type SignedRequest = z.output<typeof requestSchema>;

const termsSchema = z.object({
  /** As the provider wrote it; the packet repeats it literally. */
  transferAmount: z.string(),
  transferMinor: minorUnits,
  condition: z.string(),
  ilpPacket: z.string(),
  expiresAtMs: z.number(),
});
export type Terms = z.output<typeof termsSchema>;

export const paymentSchema = z.object({
  reference: z.string(),
  transferId: z.string(),
  payerKey: z.string(),
  currency: z.string(),
  amountMinor: minorUnits,
  /** Digits of the wallet's number; "" when the payment has ended. */
  msisdn: z.string(),
  /** Words that the name on the wallet must have. */
  wantedWords: z.array(z.string()),
  originatorName: z.string(),
  /** The wallet's provider; "" until the look-up. */
  payeeFsp: z.string(),
  startedAtMs: z.number(),
  /** When to repeat an unanswered request. */
  againAtMs: z.number(),
  /** Requests in this state. */
  calls: z.number(),
  /** Key of the pointer from the wallet; "" where there is none. */
  lookupKey: z.string(),
  /** Quotes requested; each has its own identifier. */
  quotes: z.number(),
  /** The open quote's identifier; "" where there is none. */
  quoteId: z.string(),
  quoteRequest: requestSchema.nullable(),
  terms: termsSchema.nullable(),
  transferRequest: requestSchema.nullable(),
  expiresAtMs: z.number(),
  /** How often the transfer may have been sent. */
  posts: z.number(),
  /** The hub has accepted the transfer. */
  isTaken: z.boolean(),
  /** Queries about the transfer. */
  asks: z.number(),
  /** The hub reported that it does not know the transfer. */
  isAbsent: z.boolean(),
  /** It did so after the transfer had expired, so that it can no longer begin. */
  isAbsentForGood: z.boolean(),
  /** The transfer was reported as committed without a valid fulfilment. */
  isContradicted: z.boolean(),
  reason: z.custom<Reason>((text) => Object.hasOwn(reasonTexts, String(text))).nullable(),
  code: z.string(),
});
export type Payment = z.output<typeof paymentSchema>;
export type StoredPayment = TypedRecord<State, Payment>;
export type PaymentUpdate = NextRecord<State, Payment>;

/** Of the identifiers derived from a reference, which never change. */
const namespace = '6f3d0c1e-5c0b-5e0f-9a57-3f1d2b7c8e40';

/** The API accepts UUIDs of versions 1 to 5 only, so a version 5 UUID is derived from the reference. */
export function nameTransfer(reference: string): string {
  return nameId(`transfer ${reference}`, namespace);
}

export function nameTransaction(reference: string): string {
  return nameId(`transaction ${reference}`, namespace);
}

export function nameQuote(reference: string, number: number): string {
  return nameId(`quote ${number} ${reference}`, namespace);
}

/** The wallet's number as the scheme writes it; undefined where it is invalid. */
export function readMsisdn({ attributes, beneficiary }: Instruction): string | undefined {
  const text = attributes['PhoneNumber'] ?? beneficiary.mobileNumber;
  const digits = text.replace(/^\+/, '');
  return /^[1-9]\d{5,14}$/.test(digits) ? digits : undefined;
}

/**
 * Compares the wallet only until the payment has ended, when it is erased. Without an attribute the number
 * is the recipient's own, which a client may change at any time; that of the look-up counts.
 */
export function isSame(payment: Payment, instruction: Instruction): boolean {
  const isOwnNumber = instruction.attributes['PhoneNumber'] === undefined;
  return (
    payment.currency === instruction.currency &&
    payment.amountMinor === instruction.amountMinor &&
    (isOwnNumber || payment.msisdn === '' || payment.msisdn === readMsisdn(instruction))
  );
}

/** Erases personal data from a payment that has ended. */
export function endPayment(payment: Payment, reason: Reason | null, code: string): Payment {
  return {
    ...payment,
    msisdn: '',
    wantedWords: [],
    originatorName: '',
    lookupKey: '',
    quoteId: '',
    quoteRequest: null,
    transferRequest: null,
    terms: payment.terms === null ? null : { ...payment.terms, ilpPacket: '' },
    reason,
    code,
  };
}

/** The fee of the payee's provider, on top of the amount. */
export function listCharges({ terms, amountMinor, currency }: Payment): Charge[] {
  const feeMinor = (terms?.transferMinor ?? amountMinor) - amountMinor;
  return feeMinor > 0n
    ? [{ id: 'payee_fee', kind: 'partner', currency, amountMinor: feeMinor }]
    : [];
}

export function describeAnswer(
  { state, value: payment }: StoredPayment,
  { nowMs, realNowMs }: Pick<RailHost, 'nowMs' | 'realNowMs'>,
): RailAnswer {
  const providerReference = payment.transferId;
  const code = payment.code === '' ? {} : { code: payment.code };
  switch (state) {
    case 'asking':
      return { outcome: 'unknown', reason: 'no_answer' };
    case 'idle':
      return { outcome: 'retry', reason: payment.reason ?? 'unreachable', ...code };
    case 'paid':
      return { outcome: 'paid', providerReference, charges: listCharges(payment) };
    case 'refused':
    case 'refused_untold':
      return {
        outcome: 'rejected',
        providerReference,
        reason: payment.reason ?? 'other',
        ...code,
      };
    case 'transfer':
      if (payment.isContradicted) {
        return { outcome: 'unknown', providerReference, reason: 'not_understood' };
      }
      if (realNowMs() >= payment.expiresAtMs) {
        return { outcome: 'unknown', providerReference, reason: 'no_answer', ...code };
      }
      return {
        outcome: 'accepted',
        providerReference,
        checkAtMs: nowMs() + payment.expiresAtMs - realNowMs(),
      };
    default:
      return { outcome: 'accepted', providerReference, checkAtMs: payment.againAtMs };
  }
}

/** The notification about a payment that has ended; undefined where it has not. */
export function describeEnd(
  { state, value: payment }: PaymentUpdate,
  atMs: number,
): RailObservation | undefined {
  const { reference, transferId: providerReference } = payment;
  if (state === 'paid') {
    const charges = listCharges(payment);
    return {
      id: `${providerReference} paid`,
      reference,
      providerReference,
      outcome: 'paid',
      charges,
      atMs,
    };
  }
  if (state !== 'refused' && state !== 'refused_untold') return undefined;
  return describeRefusal(payment, payment.reason ?? 'other', { code: payment.code, atMs });
}

export function describeRefusal(
  payment: Payment,
  reason: Reason,
  { code, atMs }: { readonly code: string; readonly atMs: number },
): RailObservation {
  const { reference, transferId } = payment;
  return {
    id: `${transferId} rejected ${code}`,
    reference,
    providerReference: transferId,
    outcome: 'rejected',
    reason,
    code,
    atMs,
  };
}
