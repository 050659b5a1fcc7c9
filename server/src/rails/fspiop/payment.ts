import { nameId } from '../../core/ids.ts';
import type {
  Charge,
  Instruction,
  RailAnswer,
  RailHost,
  RailObservation,
} from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import type { SignedRequest } from './messages.ts';

/**
 * A payment as the rail remembers it, and what it says of it. Where it stands is its record's state:
 *
 *   asking          the hub is being asked which provider has the wallet; nobody was told yet that
 *                   the payment is under way
 *   idle            the hub could not be asked; nothing is done until it is sent again
 *   lookup          the hub has taken the question
 *   quote_due       the provider is known
 *   quote           the provider was asked for its terms
 *   transfer_due    the terms are taken
 *   transfer        the one transfer is written down, and may have been sent
 *   paid            carried out: the fulfilment was shown
 *   refused         never to be paid
 *   refused_untold  the same, by our own decision, of which the service has not heard yet
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

export type Terms = {
  /** As the provider wrote it; the packet repeats it letter by letter. */
  readonly transferAmount: string;
  readonly transferMinor: string;
  readonly condition: string;
  readonly ilpPacket: string;
  readonly expiresAtMs: number;
};

/** In the store as JSON. Amounts are minor units in decimal. */
export type Payment = {
  readonly reference: string;
  readonly transferId: string;
  readonly payerKey: string;
  readonly currency: string;
  readonly amountMinor: string;
  /** Digits of the wallet's number; "" when the payment has ended. */
  readonly msisdn: string;
  readonly wantedWords: readonly string[];
  readonly originatorName: string;
  /** The provider that a quote was asked of; "" before. */
  readonly payeeFsp: string;
  readonly startedAtMs: number;
  /** When silence has lasted long enough, in the states that wait. */
  readonly againAtMs: number;
  /** How often it was asked in this state. */
  readonly calls: number;
  /** Of the record that finds it by its wallet; "" where there is none. */
  readonly lookupKey: string;
  /** How many quotes were asked for; each has its own identifier. */
  readonly quotes: number;
  /** The open quote's identifier; "" where there is none. */
  readonly quoteId: string;
  readonly quoteRequest: SignedRequest | null;
  readonly terms: Terms | null;
  readonly transferRequest: SignedRequest | null;
  readonly expiresAtMs: number;
  /** How often the transfer may have gone out. */
  readonly posts: number;
  /** The hub said that it has taken it. */
  readonly isTaken: boolean;
  /** How often the hub was asked where it stands. */
  readonly asks: number;
  /** The hub said that it does not know it. */
  readonly isAbsent: boolean;
  /** It said so when the transfer had run out, and cannot begin any more. */
  readonly isAbsentForGood: boolean;
  /** A fulfilment that does not fit was shown. */
  readonly isContradicted: boolean;
  readonly reason: Reason | null;
  readonly code: string;
};

/** Names what follows from a reference, so that it is the same for ever. */
const namespace = '6f3d0c1e-5c0b-5e0f-9a57-3f1d2b7c8e40';

/**
 * The transfer's identifier. The API takes UUIDs of the versions 1 to 5 only, and a payout's is of
 * version 7, so that one of version 5 is made from it.
 */
export function nameTransfer(reference: string): string {
  return nameId(`transfer ${reference}`, namespace);
}

export function nameTransaction(reference: string): string {
  return nameId(`transaction ${reference}`, namespace);
}

export function nameQuote(reference: string, number: number): string {
  return nameId(`quote ${number} ${reference}`, namespace);
}

/** The number of a wallet as the scheme writes it; undefined where it is none. */
export function readMsisdn({ attributes, beneficiary }: Instruction): string | undefined {
  const text = attributes['PhoneNumber'] ?? beneficiary.mobileNumber;
  const digits = text.replace(/^\+/, '');
  return /^[1-9]\d{5,14}$/.test(digits) ? digits : undefined;
}

/** Whether an instruction is the one that was written down; its wallet only until the end. */
export function isSame(payment: Payment, instruction: Instruction): boolean {
  return (
    payment.currency === instruction.currency &&
    payment.amountMinor === instruction.amountMinor.toString() &&
    (payment.msisdn === '' || payment.msisdn === readMsisdn(instruction))
  );
}

/** What an ended payment keeps: nothing of a person. */
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

/** What the payee's provider took on top of the amount. */
export function listCharges({ terms, amountMinor, currency }: Payment): Charge[] {
  const fee = BigInt(terms?.transferMinor ?? amountMinor) - BigInt(amountMinor);
  return fee > 0n ? [{ id: 'payee_fee', kind: 'partner', currency, amountMinor: fee }] : [];
}

export function describeAnswer(
  state: State,
  payment: Payment,
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

/** What the service is told of a payment that has ended; undefined where it has not. */
export function describeEnd(
  state: State,
  payment: Payment,
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
