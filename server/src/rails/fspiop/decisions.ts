import type { Reason } from '../contract/reasons.ts';
import { readMinor } from '../kit/amounts.ts';
import type { Settings } from './config.ts';
import { classifyTransferError, getReason, isTransient } from './error-codes.ts';
import { isFulfilled, readTransaction } from './ilp.ts';
import type { Money, Party, Quote, TransferUpdate } from './messages.ts';
import { hasWords } from './names.ts';
import {
  endPayment,
  nameTransaction,
  type Payment,
  type PaymentUpdate,
  type State,
  type StoredPayment,
  type Terms,
} from './payment.ts';

/** How messages of the hub and the providers change a payment; no I/O. */

/** Quotes requested for one payment when they expire or fail on the way. */
const quotesMax = 3;

/** After this time past its expiration a transfer can no longer begin, whatever the clocks show. */
const graceMs = 60_000;

export function refuse(payment: Payment, reason: Reason, code: string): PaymentUpdate {
  return { state: 'refused', value: endPayment(payment, reason, code) };
}

/** The callback may arrive before the answer to the look-up. */
function isLookedUp(state: State): boolean {
  return state === 'asking' || state === 'lookup';
}

/** Checks the wallet's provider and the name on the wallet. */
export function applyParty(
  { state, value: payment }: StoredPayment,
  party: Party,
  { payeeFsp, wantedFsp }: { readonly payeeFsp: string; readonly wantedFsp: string | undefined },
): PaymentUpdate | undefined {
  if (!isLookedUp(state)) return undefined;
  if (wantedFsp !== undefined && wantedFsp !== payeeFsp) {
    return refuse(payment, 'account_not_found', 'other_provider');
  }
  if (!hasWords(nameParty(party), payment.wantedWords)) {
    return refuse(payment, 'name_mismatch', 'name_mismatch');
  }
  return {
    state: 'quote_due',
    value: { ...payment, payeeFsp, wantedWords: [], lookupKey: '', calls: 0 },
  };
}

function nameParty({ name, personalInfo }: Party): string {
  const { firstName, middleName, lastName } = personalInfo?.complexName ?? {};
  return [name, firstName, middleName, lastName]
    .filter((part) => typeof part === 'string')
    .join(' ');
}

export function applyPartyError(
  { state, value: payment }: StoredPayment,
  code: string,
): PaymentUpdate | undefined {
  if (!isLookedUp(state) || isTransient(code)) return undefined;
  return refuse(payment, getReason(code), code);
}

export function applyQuote(
  { state, value: payment }: StoredPayment,
  quote: Quote,
  settings: Settings,
): PaymentUpdate | undefined {
  if (state !== 'quote') return undefined;
  const terms = readTerms(payment, quote);
  if (terms === undefined) return refuse(payment, 'amount_refused', 'quote_amount');
  const fault = findTermsFault(payment, terms, settings);
  if (fault !== undefined) return refuse(payment, fault.reason, fault.code);
  return {
    state: 'transfer_due',
    value: { ...payment, terms, quoteRequest: null, calls: 0 },
  };
}

/** Undefined where the recipient would not receive exactly the amount of the payment. */
function readTerms(payment: Payment, quote: Quote): Terms | undefined {
  const read = (money: Money | null | undefined): bigint | undefined => {
    if (money === null || money === undefined) return 0n;
    return money.currency === payment.currency
      ? readMinor(money.amount, payment.currency)
      : undefined;
  };
  const transfer = read(quote.transferAmount);
  const fee = read(quote.payeeFspFee);
  const commission = read(quote.payeeFspCommission);
  if (transfer === undefined || fee === undefined || commission === undefined) return undefined;
  const received = quote.payeeReceiveAmount
    ? read(quote.payeeReceiveAmount)
    : transfer - fee + commission;
  if (received !== payment.amountMinor || transfer <= 0n) return undefined;
  return {
    transferAmount: quote.transferAmount.amount,
    transferMinor: transfer,
    condition: quote.condition,
    ilpPacket: quote.ilpPacket,
    expiresAtMs: Date.parse(quote.expiration),
  };
}

/**
 * Why terms are not for this payment or cost too much. Checked when they arrive and again before the
 * transfer is signed.
 */
export function findTermsFault(
  payment: Payment,
  terms: Terms,
  settings: Settings,
): { readonly reason: Reason; readonly code: string } | undefined {
  const { currency, msisdn, amountMinor } = payment;
  const transferMinor = readMinor(terms.transferAmount, currency);
  if (transferMinor === undefined || transferMinor !== terms.transferMinor) {
    return { reason: 'amount_refused', code: 'quote_amount' };
  }
  if (transferMinor - amountMinor > settings.feeMaxMinor(currency, amountMinor)) {
    return { reason: 'payer_refused', code: 'quote_fee' };
  }
  // A packet that cannot be read is accepted, since only its provider interprets it.
  const transaction = readTransaction(terms.ilpPacket) ?? {};
  const { transactionId, quoteId, payee } = transaction;
  const id = (payee as { partyIdInfo?: { partyIdentifier?: unknown } } | undefined)?.partyIdInfo
    ?.partyIdentifier;
  const isOther =
    (transactionId !== undefined && transactionId !== nameTransaction(payment.reference)) ||
    (quoteId !== undefined && quoteId !== payment.quoteId) ||
    (id !== undefined && id !== msisdn);
  return isOther ? { reason: 'payer_error', code: 'quote_packet' } : undefined;
}

export function applyQuoteError(
  { state, value: payment }: StoredPayment,
  code: string,
): PaymentUpdate | undefined {
  if (state !== 'quote') return undefined;
  return isTransient(code)
    ? requestNewQuote(payment, code)
    : refuse(payment, getReason(code), code);
}

/** Replaces a quote that expired or failed. */
export function requestNewQuote(payment: Payment, code: string): PaymentUpdate {
  if (payment.quotes >= quotesMax) return refuse(payment, 'payer_unavailable', code);
  return {
    state: 'quote_due',
    value: { ...payment, quoteId: '', quoteRequest: null, terms: null, calls: 0 },
  };
}

/**
 * Applies the hub's state of the transfer. Only a fulfilment that matches the condition proves that
 * it was paid, even after it was refused.
 */
export function applyTransferState(
  { state, value: payment }: StoredPayment,
  update: TransferUpdate,
): PaymentUpdate | undefined {
  if (payment.posts === 0 || state === 'paid') return undefined;
  const { transferState, fulfilment } = update;
  switch (transferState) {
    case 'COMMITTED':
      if (isFulfilled(payment.terms?.condition ?? '', fulfilment ?? '')) {
        return {
          state: 'paid',
          value: endPayment({ ...payment, isContradicted: false }, null, ''),
        };
      }
      return state === 'transfer'
        ? { state, value: { ...payment, isContradicted: true, isTaken: true } }
        : undefined;
    case 'ABORTED':
      // It was reported as committed, too: a person must find out which is true.
      return state === 'transfer' && !payment.isContradicted
        ? refuse(payment, 'payer_refused', transferState)
        : undefined;
    case 'RECEIVED':
    case 'RESERVED':
      return state === 'transfer' && !payment.isTaken
        ? { state, value: { ...payment, isTaken: true, isAbsent: false } }
        : undefined;
  }
}

/**
 * `isAnswer`: the code is the answer to a POST and not a callback. `realNowMs`: the time of day, by
 * which the hub expires transfers.
 */
export function applyTransferError(
  { state, value: payment }: StoredPayment,
  code: string,
  { isAnswer, realNowMs }: { readonly isAnswer: boolean; readonly realNowMs: number },
): PaymentUpdate | undefined {
  if (state !== 'transfer' || payment.isContradicted) return undefined;
  switch (classifyTransferError(code)) {
    case 'final':
      // The answer to a repeated request does not apply to the first, which may be carried out.
      return isAnswer && payment.posts > 1 && !payment.isAbsentForGood
        ? undefined
        : refuse(payment, getReason(code), code);
    case 'request': {
      // The only request, or one for a transfer that the hub does not have.
      const isOnlyOne = payment.posts === 1 && (isAnswer || payment.asks === 0);
      return isOnlyOne || payment.isAbsentForGood
        ? refuse(payment, getReason(code), code)
        : undefined;
    }
    case 'absent':
      return {
        state,
        value: {
          ...payment,
          code,
          isTaken: false,
          isAbsent: true,
          isAbsentForGood: realNowMs >= payment.expiresAtMs + graceMs,
          againAtMs: 0,
        },
      };
    case 'transient':
      return undefined;
  }
}
