import type { Charge, Instruction, RailAnswer, RailObservation } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { isBatchKey, type PayoutBatch, type PayoutItem, readTime } from './messages.ts';
import { readMoney } from './order.ts';

/** What a batch means for one payment. */

/** PayPal's error codes of items and batches in our vocabulary; any other is `other`. */
const reasons: Readonly<Record<string, Reason>> = {
  RECEIVER_UNREGISTERED: 'account_not_found',
  RECEIVER_ACCOUNT_INVALID: 'account_not_found',
  RECEIVER_ACCOUNT_LOCKED: 'account_blocked',
  RECEIVER_ACCOUNT_LIMITATION: 'account_blocked',
  RECEIVER_UNCONFIRMED: 'account_not_creditable',
  RECEIVER_UNVERIFIED: 'account_not_creditable',
  RECEIVER_COUNTRY_NOT_ALLOWED: 'account_not_creditable',
  RECEIVER_STATE_RESTRICTED: 'account_not_creditable',
  RECEIVER_REFUSED: 'recipient_refused',
  RECEIVING_LIMIT_EXCEEDED: 'amount_refused',
  TRANSACTION_LIMIT_EXCEEDED: 'amount_refused',
  SPENDING_LIMIT_EXCEEDED: 'amount_refused',
  ZERO_AMOUNT: 'amount_refused',
  CURRENCY_NOT_SUPPORTED_FOR_RECEIVER: 'currency_refused',
  NON_HOLDING_CURRENCY: 'currency_refused',
  CURRENCY_COMPLIANCE: 'compliance',
  REGULATORY_BLOCKED: 'compliance',
  REGULATORY_PENDING: 'compliance',
  RISK_DECLINE: 'compliance',
  SELF_PAY_NOT_ALLOWED: 'invalid_details',
  VALIDATION_ERROR: 'invalid_details',
  INSUFFICIENT_FUNDS: 'no_funds',
  ACCOUNT_RESTRICTED: 'payer_refused',
  ACCOUNT_UNCONFIRMED_EMAIL: 'payer_refused',
  SENDER_ACCOUNT_UNVERIFIED: 'payer_refused',
  SENDER_STATE_RESTRICTED: 'payer_refused',
  INTERNAL_ERROR: 'payer_error',
};

export function readReason(code: string | undefined, otherwise: Reason = 'other'): Reason {
  return (Object.hasOwn(reasons, code ?? '') ? reasons[code ?? ''] : undefined) ?? otherwise;
}

/** A batch of several items as one of its payments sees it: with the item of that payment only. */
export function pickItem(batch: PayoutBatch, reference: string): PayoutBatch {
  const items = batch.items.filter(
    ({ payout_item: { sender_item_id: itemId } }) => itemId === reference,
  );
  return { ...batch, items };
}

const finalStatuses: readonly string[] = ['SUCCESS', 'DENIED', 'CANCELED'];

/** A batch that has ended shows all of its items, or none where nothing of it was processed. */
export function lacksItem(batch: PayoutBatch, reference: string): boolean {
  const isShown = finalStatuses.includes(batch.batch_header.batch_status) && batch.items.length > 0;
  return isShown && pickItem(batch, reference).items.length === 0;
}

export type ExpectedItem = Pick<Instruction, 'reference' | 'currency' | 'amountMinor'> & {
  /** The `sender_batch_id`; absent: a batch of its own, under the reference. */
  readonly batchKey?: string;
};

/** Why the batch cannot be the payment of the instruction; undefined where it can. */
export function findEchoFault(
  { batch_header: header, items }: PayoutBatch,
  { reference, currency, amountMinor, batchKey = reference }: ExpectedItem,
): string | undefined {
  if (header.sender_batch_header.sender_batch_id !== batchKey) return 'another sender_batch_id';
  if (items.length > 1) return 'more than one item';
  const [item] = items;
  if (item === undefined) return undefined;
  if (item.payout_batch_id !== header.payout_batch_id) return 'an item of another batch';
  if (item.payout_item.sender_item_id !== reference) return 'another sender_item_id';
  const money = readMoney(item.payout_item.amount);
  return money?.amountMinor === amountMinor && money.currency === currency
    ? undefined
    : 'another amount';
}

/** When a batch that is not processed yet is asked for again; PayPal takes seconds to minutes. */
const processingMs = 2 * 60_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** `nowMs`: of the environment. */
export function describeBatch(batch: PayoutBatch, nowMs: number): RailAnswer {
  const { batch_header: header, items } = batch;
  const [item] = items;
  const isDead = header.batch_status === 'DENIED' || header.batch_status === 'CANCELED';
  const isOpen = item === undefined || item.transaction_status === 'PENDING';
  if (isDead && isOpen) {
    // Nothing of it was processed.
    const code = item?.errors?.name ?? header.batch_status;
    const reason = header.batch_status === 'DENIED' ? 'payer_refused' : 'cancelled';
    return { outcome: 'rejected', reason: readReason(item?.errors?.name, reason), code };
  }
  if (item === undefined) return { outcome: 'accepted', checkAtMs: nowMs + processingMs };
  return describeItem(item, nowMs);
}

function describeItem(item: PayoutItem, nowMs: number): RailAnswer {
  const code = item.errors?.name;
  const about = {
    providerReference: item.payout_item_id,
    ...(code === undefined ? {} : { code }),
  };
  const amountMinor = readMoney(item.payout_item.amount)?.amountMinor;
  const amount = amountMinor === undefined ? {} : { amountMinor };
  switch (item.transaction_status) {
    case 'PENDING':
      return { ...about, outcome: 'accepted', checkAtMs: nowMs + processingMs };
    case 'ONHOLD':
      return { ...about, outcome: 'accepted', checkAtMs: nowMs + hourMs };
    case 'UNCLAIMED':
      return { ...about, outcome: 'ready_for_pickup', checkAtMs: nowMs + dayMs };
    case 'SUCCESS':
      return { ...about, ...amount, outcome: 'paid', charges: listCharges(item) };
    case 'FAILED':
      return { ...about, outcome: 'rejected', reason: readReason(code) };
    // PayPal does not say whether a blocked item may still be released.
    case 'BLOCKED':
      return { ...about, code: code ?? 'BLOCKED', outcome: 'unknown', reason: 'review' };
    case 'RETURNED':
      return { ...about, ...amount, outcome: 'returned', reason: 'not_collected' };
    case 'REFUNDED':
      return {
        ...about,
        ...amount,
        outcome: 'returned',
        reason: 'sent_back',
        charges: listCharges(item),
      };
    case 'REVERSED':
      return {
        ...about,
        ...amount,
        outcome: 'returned',
        reason: 'recalled',
        charges: listCharges(item),
      };
  }
}

/** The fee is an estimate until the item has succeeded; what an unclaimed item costs is not said. */
function listCharges({ payout_item_fee: fee }: PayoutItem): Charge[] {
  const money = fee === undefined ? undefined : readMoney(fee);
  return money === undefined ? [] : [{ id: 'fee', kind: 'partner', ...money }];
}

/**
 * Undefined where nothing final is known. An outcome is reported once, whatever else of the batch has
 * changed: a return that is reported again would count as another part.
 */
export function describeObservation(
  batch: PayoutBatch,
  { reference, nowMs }: { readonly reference: string; readonly nowMs: number },
): RailObservation | undefined {
  const { payout_batch_id: batchId, sender_batch_header: sender } = batch.batch_header;
  const answer = describeBatch(batch, nowMs);
  const { outcome, providerReference, charges, code } = answer;
  if (outcome === 'retry' || outcome === 'unknown' || outcome === 'accepted') return undefined;
  const part = isBatchKey(sender.sender_batch_id) ? `${reference}:` : '';
  return {
    id: `batch:${batchId}:${part}${outcome}`,
    reference,
    outcome,
    atMs: readTime(batch.items[0]?.time_processed) ?? nowMs,
    ...('reason' in answer ? { reason: answer.reason } : {}),
    ...(outcome === 'paid' && answer.amountMinor !== undefined
      ? { amountMinor: answer.amountMinor }
      : {}),
    ...(providerReference === undefined ? {} : { providerReference }),
    ...(charges === undefined ? {} : { charges }),
    ...(code === undefined ? {} : { code }),
  };
}
