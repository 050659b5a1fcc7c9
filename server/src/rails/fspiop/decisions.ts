import type { Reason } from '../contract/reasons.ts';
import { readMinor, type Settings } from './config.ts';
import { getReason, isPassing, weighTransferError } from './error-codes.ts';
import { isFulfilled, readTransaction } from './ilp.ts';
import type { Money, Party, Quote, TransferNews } from './messages.ts';
import { hasWords } from './names.ts';
import { endPayment, nameTransaction, type Payment, type State, type Terms } from './payment.ts';
import type { Held, Next } from './payment-records.ts';

/** What follows for a payment from what the hub and the providers say; no I/O. */

/** New quotes are asked for when one ran out or failed on the way; a provider that goes on is left. */
export const quotesMax = 3;

/** A transfer that had run out for so long does not begin any more, whatever the clocks say. */
const graceMs = 60_000;

export function refuse(payment: Payment, reason: Reason, code: string): Next {
  return { state: 'refused', payment: endPayment(payment, reason, code) };
}

export type Decision = {
  readonly settings: Settings;
  readonly nowMs: number;
};

/** The callback may be quicker than the answer to the question. */
function isLookedUp(state: State): boolean {
  return state === 'asking' || state === 'lookup';
}

/** The provider of the wallet, and the name on it. */
export function takeParty(
  { state, payment }: Held,
  party: Party,
  { payeeFsp, wantedFsp }: { readonly payeeFsp: string; readonly wantedFsp: string | undefined },
): Next | undefined {
  if (!isLookedUp(state)) return undefined;
  if (wantedFsp !== undefined && wantedFsp !== payeeFsp) {
    return refuse(payment, 'account_not_found', 'other_provider');
  }
  if (!hasWords(nameParty(party), payment.wantedWords)) {
    return refuse(payment, 'name_mismatch', 'name_mismatch');
  }
  return {
    state: 'quote_due',
    payment: { ...payment, payeeFsp, wantedWords: [], lookupKey: '', calls: 0 },
  };
}

function nameParty({ name, personalInfo }: Party): string {
  const { firstName, middleName, lastName } = personalInfo?.complexName ?? {};
  return [name, firstName, middleName, lastName]
    .filter((part) => typeof part === 'string')
    .join(' ');
}

export function takePartyError({ state, payment }: Held, code: string): Next | undefined {
  if (!isLookedUp(state) || isPassing(code)) return undefined;
  return refuse(payment, getReason(code), code);
}

export function takeQuote(
  { state, payment }: Held,
  quote: Quote,
  { settings }: Decision,
): Next | undefined {
  if (state !== 'quote') return undefined;
  const terms = readTerms(payment, quote);
  if (terms === undefined) return refuse(payment, 'amount_refused', 'quote_amount');
  const fault = findTermsFault(payment, terms, settings);
  if (fault !== undefined) return refuse(payment, fault.reason, fault.code);
  return {
    state: 'transfer_due',
    payment: { ...payment, terms, quoteRequest: null, calls: 0 },
  };
}

/** Undefined where the recipient would get another amount than the one that was asked for. */
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
  if (received?.toString() !== payment.amountMinor || transfer <= 0n) return undefined;
  return {
    transferAmount: quote.transferAmount.amount,
    transferMinor: transfer.toString(),
    condition: quote.condition,
    ilpPacket: quote.ilpPacket,
    expiresAtMs: Date.parse(quote.expiration),
  };
}

/**
 * Whether terms are those of this payment and cost no more than is allowed. Asked when they come,
 * and once more before the transfer is signed.
 */
export function findTermsFault(
  payment: Payment,
  terms: Terms,
  settings: Settings,
): { readonly reason: Reason; readonly code: string } | undefined {
  const { currency, msisdn } = payment;
  const amountMinor = BigInt(payment.amountMinor);
  const transferMinor = readMinor(terms.transferAmount, currency);
  if (transferMinor === undefined || transferMinor.toString() !== terms.transferMinor) {
    return { reason: 'amount_refused', code: 'quote_amount' };
  }
  if (transferMinor - amountMinor > settings.feeMaxMinor(currency, amountMinor)) {
    return { reason: 'payer_refused', code: 'quote_fee' };
  }
  // A packet that cannot be read is the provider's own affair: it is not ours to open.
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

export function takeQuoteError({ state, payment }: Held, code: string): Next | undefined {
  if (state !== 'quote') return undefined;
  return isPassing(code) ? askAgain(payment, code) : refuse(payment, getReason(code), code);
}

/** Another quote in the place of one that is of no use any more. */
export function askAgain(payment: Payment, code: string): Next {
  if (payment.quotes >= quotesMax) return refuse(payment, 'payer_unavailable', code);
  return {
    state: 'quote_due',
    payment: { ...payment, quoteId: '', quoteRequest: null, terms: null, calls: 0 },
  };
}

/**
 * What the hub says of the transfer. Only a fulfilment that fits the condition proves that it was
 * paid, and it does so even where the transfer was given for dead.
 */
export function takeTransferNews({ state, payment }: Held, news: TransferNews): Next | undefined {
  if (payment.posts === 0 || state === 'paid') return undefined;
  const { transferState, fulfilment } = news;
  switch (transferState) {
    case 'COMMITTED':
      if (isFulfilled(payment.terms?.condition ?? '', fulfilment ?? '')) {
        return {
          state: 'paid',
          payment: endPayment({ ...payment, isContradicted: false }, null, ''),
        };
      }
      return state === 'transfer'
        ? { state, payment: { ...payment, isContradicted: true, isTaken: true } }
        : undefined;
    case 'ABORTED':
      // It was called committed as well: a person has to find out which is true.
      return state === 'transfer' && !payment.isContradicted
        ? refuse(payment, 'payer_refused', transferState)
        : undefined;
    case 'RECEIVED':
    case 'RESERVED':
      return state === 'transfer' && !payment.isTaken
        ? { state, payment: { ...payment, isTaken: true, isAbsent: false } }
        : undefined;
  }
}

/**
 * `isAnswer`: the code came as the answer to a POST, and not as a callback. `realNowMs`: the time of
 * day, by which the hub expires transfers.
 */
export function takeTransferError(
  { state, payment }: Held,
  code: string,
  { isAnswer, realNowMs }: { readonly isAnswer: boolean; readonly realNowMs: number },
): Next | undefined {
  if (state !== 'transfer' || payment.isContradicted) return undefined;
  switch (weighTransferError(code)) {
    case 'dead':
      // The answer to a repetition is about that request: the first one may be carried out.
      return isAnswer && payment.posts > 1 && !payment.isAbsentForGood
        ? undefined
        : refuse(payment, getReason(code), code);
    case 'request': {
      // The one request that there was, or one of a transfer that the hub does not have.
      const isOnlyOne = payment.posts === 1 && (isAnswer || payment.asks === 0);
      return isOnlyOne || payment.isAbsentForGood
        ? refuse(payment, getReason(code), code)
        : undefined;
    }
    case 'absent':
      return {
        state,
        payment: {
          ...payment,
          code,
          isTaken: false,
          isAbsent: true,
          isAbsentForGood: realNowMs >= payment.expiresAtMs + graceMs,
          againAtMs: 0,
        },
      };
    case 'nothing':
      return undefined;
  }
}
