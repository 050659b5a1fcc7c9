import type { RailAnswer } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { listFees, listReturns, type ReturnedPart } from './money-moves.ts';
import type { Problem, Tracking, Transfer } from './wire.ts';

/** What the statuses, reasons and refusals of Adyen mean. */

export type Outcome = 'accepted' | 'paid' | 'rejected' | 'returned';

export type TransferReading =
  | {
      readonly kind: 'known';
      readonly outcome: Outcome;
      /** Of `rejected` and `returned`. */
      readonly reason: Reason;
      /** Status and reason of Adyen, such as `refused.notEnoughBalance`. */
      readonly code: string;
      /** When the funds should arrive, real time; undefined where Adyen gives no estimate. */
      readonly arrivesAtMs: number | undefined;
      /** Of `returned`; empty where the events do not tell: it is the whole amount. */
      readonly parts: readonly ReturnedPart[];
    }
  | { readonly kind: 'not_understood'; readonly code: string };

/** Nothing has left, and the transfer may still be sent. */
const openStatuses: ReadonlySet<string> = new Set([
  'received',
  'pending',
  'pendingApproval',
  'approvalPending',
  'pendingExecution',
  'authorised',
  'bankTransferPending',
  'internalTransferPending',
  'bookingPending',
]);

/** `failed` has a meaning of its own: see `readFailed`. */
const refusedStatuses: ReadonlySet<string> = new Set(['refused', 'cancelled']);

export function readTransfer(transfer: Transfer): TransferReading {
  const { status, reason = '' } = transfer;
  const code = reason === '' ? status : `${status}.${reason}`;
  const arrivesAtMs = findArrival(transfer);
  const parts = listReturns(transfer);
  const known = (outcome: Outcome, why: Reason = 'other'): TransferReading => ({
    kind: 'known',
    outcome,
    reason: why,
    code,
    arrivesAtMs,
    parts: outcome === 'returned' ? parts : [],
  });
  if (openStatuses.has(status)) return known('accepted');
  if (refusedStatuses.has(status)) return known('rejected', readReason(transfer, 'other'));
  if (status === 'failed') return known(readFailed(transfer), readReason(transfer, 'other'));
  // The return of an internal transfer is a modification of it, and a card can send money back under
  // other statuses: what came back on the balance account counts, whatever the status.
  if (status === 'returned' || parts.length > 0) {
    return known('returned', readReason(transfer, 'sent_back'));
  }
  if (status === 'booked') return known(isDelivered(transfer) ? 'paid' : 'accepted');
  return { kind: 'not_understood', code };
}

/**
 * Instant transfers and transfers to cards are confirmed or fail after they were booked; the others
 * count as paid when they are booked (Adyen, payout lifecycle).
 */
function needsConfirmation({ category, categoryData }: Transfer): boolean {
  return category === 'card' || categoryData?.priority === 'instant';
}

function isDelivered(transfer: Transfer): boolean {
  if (isInReview(transfer)) return false;
  return !needsConfirmation(transfer) || listTracking(transfer).some(isConfirmation);
}

/** `accepted` is the confirmation of a card, `credited` that of an instant transfer. */
function isConfirmation({ type, status }: Tracking): boolean {
  return type === 'confirmation' && (status === 'credited' || status === 'accepted');
}

/** Adyen reviews the transfer before it is sent on. */
function isInReview({ tracking }: Transfer): boolean {
  return tracking?.type === 'internalReview' && tracking.status === 'pending';
}

/** A transfer that counted as paid comes back; one that did not was never paid. */
function readFailed(transfer: Transfer): Outcome {
  const wasBooked = transfer.events?.some(({ status }) => status === 'booked') ?? false;
  if (needsConfirmation(transfer)) {
    return listTracking(transfer).some(isConfirmation) ? 'returned' : 'rejected';
  }
  // Without events it is not known whether it counted as paid: `returned` holds in both cases.
  return wasBooked || transfer.events === undefined ? 'returned' : 'rejected';
}

function listTracking({ tracking, events = [] }: Transfer): Tracking[] {
  return [tracking, ...events.map(({ trackingData }) => trackingData)].filter(
    (one) => one !== undefined,
  );
}

function findArrival(transfer: Transfer): number | undefined {
  const texts = listTracking(transfer).flatMap(
    ({ estimatedArrivalTime }) => estimatedArrivalTime ?? [],
  );
  return texts[0] === undefined ? undefined : Date.parse(texts[0]);
}

/** Reasons of the description. What is not listed says no more than `other`. */
const reasons: Readonly<Record<string, Reason>> = {
  accountHierarchyNotActive: 'not_configured',
  amountLimitExceeded: 'amount_refused',
  approvalExpired: 'payer_refused',
  avsDeclined: 'invalid_details',
  balanceAccountTemporarilyBlockedByTransactionRule: 'payer_unavailable',
  blockCard: 'account_blocked',
  callReferral: 'account_not_creditable',
  cancelled: 'cancelled',
  captureCard: 'account_blocked',
  cardExpired: 'invalid_details',
  counterpartyAccountBlocked: 'account_blocked',
  counterpartyAccountClosed: 'account_closed',
  counterpartyAccountNotFound: 'account_not_found',
  counterpartyAddressRequired: 'invalid_details',
  counterpartyBankTimedOut: 'payer_unavailable',
  counterpartyBankUnavailable: 'payer_unavailable',
  declined: 'account_not_creditable',
  declinedByTransactionRule: 'payer_refused',
  declinedNonGeneric: 'account_not_creditable',
  doNotHonor: 'account_not_creditable',
  domesticDebitTransactionNotAllowed: 'account_not_creditable',
  duplicateTransmissionDetected: 'duplicate',
  error: 'payer_error',
  formatError: 'payer_error',
  fraud: 'compliance',
  internalTimeout: 'payer_error',
  invalidAccount: 'account_not_found',
  invalidAmount: 'amount_refused',
  invalidCard: 'invalid_details',
  invalidExpiryDate: 'invalid_details',
  invalidIssuer: 'invalid_details',
  invalidToAccount: 'account_not_found',
  issuerSuspectedFraud: 'compliance',
  lostCard: 'account_blocked',
  noCheckingAccount: 'account_not_found',
  noSavingsAccount: 'account_not_found',
  notEnoughBalance: 'no_funds',
  notSupported: 'payer_unavailable',
  refusedByCounterpartyBank: 'account_not_creditable',
  refusedByCustomer: 'recipient_refused',
  restrictedCard: 'account_blocked',
  routeNotFound: 'payer_unavailable',
  scaAuthenticationRequired: 'not_configured',
  scaFailed: 'not_configured',
  stolenCard: 'account_blocked',
  transactionNotPermitted: 'account_not_creditable',
  transferInstrumentDoesNotExist: 'invalid_details',
  unableToRouteTransaction: 'payer_unavailable',
  withdrawalAmountExceeded: 'amount_refused',
  withdrawalCountExceeded: 'amount_refused',
};

function readReason(transfer: Transfer, otherwise: Reason): Reason {
  const { tracking, status, reason = '' } = transfer;
  const isRegulatory = tracking?.type === 'internalReview' && tracking.status === 'failed';
  if (isRegulatory) return 'compliance';
  if (status === 'cancelled' && (reason === '' || reason === 'unknown')) return 'cancelled';
  return reasons[reason] ?? otherwise;
}

/** Why an order was refused with 422, by the members that Adyen names. */
export function readRefusal({ invalidFields = [], routingDetails = [] }: Problem): Reason {
  const names = invalidFields.map(({ name }) => name.toLowerCase());
  if (names.some((name) => name.includes('counterparty'))) return 'invalid_details';
  if (names.some((name) => name.includes('amount'))) return 'amount_refused';
  if (names.length > 0) return 'not_configured';
  return routingDetails.length > 0 ? 'payer_unavailable' : 'payer_refused';
}

const yearMs = 365 * 24 * 3_600_000;

/** As the answer to a call. `nowMs` is the environment's clock, `realNowMs` that of Adyen. */
export function describeAnswer(
  reading: Omit<TransferReading & { kind: 'known' }, 'parts'> & {
    readonly parts: readonly Pick<ReturnedPart, 'amountMinor'>[];
  },
  transfer: Transfer,
  { nowMs, realNowMs }: { nowMs: number; realNowMs: number },
): RailAnswer {
  const { outcome, reason, code, arrivesAtMs, parts } = reading;
  const charges = listFees(transfer);
  const extras = {
    providerReference: transfer.id,
    code,
    ...(charges.length > 0 && { charges }),
  };
  switch (outcome) {
    case 'accepted':
    case 'paid': {
      const leftMs = Math.min((arrivesAtMs ?? 0) - realNowMs, yearMs);
      return { outcome, ...extras, ...(leftMs > 0 && { checkAtMs: Math.ceil(nowMs + leftMs) }) };
    }
    case 'rejected':
      return { outcome, reason, ...extras };
    case 'returned': {
      const amountMinor = parts.reduce((sum, part) => sum + part.amountMinor, 0n);
      return { outcome, reason, ...extras, ...(amountMinor > 0n && { amountMinor }) };
    }
  }
}
