import { randomBytes } from 'node:crypto';
import type { AdyenBooks, SimulatedTransfer } from './adyen-books.ts';
import type { SentOrder } from './order-checks.ts';
import type { SimulatorOptions } from './simulator-options.ts';

/** What becomes of a transfer, step by step, and how it is described in answers and webhooks. */

export const balancePlatform = 'OutlayPlatform';
export const accountHolderId = 'AH00000000000000000000001';

/** `failed`: after the booking. */
export type PlannedOutcome = 'paid' | 'refused' | 'failed' | 'returned';

export type Lifecycle = {
  create(order: SentOrder, priority: string | undefined): SimulatedTransfer;
  /** One step of every transfer. */
  advance(): void;
  approve(transfer: SimulatedTransfer): void;
  cancel(transfer: SimulatedTransfer): void;
  /** From any state. `value`: what comes back, minor units; the rest of the amount when absent. */
  force(transfer: SimulatedTransfer, end: ForcedEnd): void;
};

export type ForcedEnd = {
  readonly status: 'returned' | 'failed';
  readonly reason: string;
  readonly value?: number | undefined;
};

/** What a step changes; `returned` is the part that comes back, `fee` what Adyen takes. */
type Next = {
  status?: string;
  reason?: string;
  tracking?: Record<string, string>;
  returned?: number;
  fee?: { readonly value: number; readonly currency: string };
};

export type LifecycleOptions = {
  readonly books: AdyenBooks;
  readonly options: () => SimulatorOptions;
  readonly nowMs: () => number;
  /** Stronger than the patterns of the options. */
  readonly plannedOutcomes: ReadonlyMap<string, PlannedOutcome>;
  /** Minor units, by currency; settled funds of the balance account. */
  readonly balances: Map<string, { balance: number; reserved: number }>;
  announce(transfer: SimulatedTransfer, isNew: boolean): void;
};

export function createLifecycle(setup: LifecycleOptions): Lifecycle {
  const { books, nowMs } = setup;
  const change = (transfer: SimulatedTransfer, next: Next): void => {
    applyMoney(setup, transfer, next);
    transfer.updatedAtMs = nowMs();
    transfer.sequence += 1;
    if (next.status !== undefined) transfer.status = next.status;
    if (next.reason !== undefined) transfer.reason = next.reason;
    if (next.tracking !== undefined) transfer.tracking = next.tracking;
    transfer.events.push(describeEvent(transfer, next));
    books.keepTransfer(transfer);
    setup.announce(transfer, transfer.sequence === 1);
  };
  return {
    create: (order, priority) => {
      const transfer = newTransfer(order, priority, nowMs());
      const isInReview = (order.review?.numberOfApprovalsRequired ?? 0) > 0;
      books.keepTransfer(transfer);
      change(
        transfer,
        isInReview
          ? { status: 'pendingApproval', reason: 'pendingApproval' }
          : { status: 'received' },
      );
      return transfer;
    },
    advance: () => {
      for (const transfer of books.list()) {
        const next = findNext(setup, transfer);
        if (next === undefined) continue;
        if (next.fee !== undefined) transfer.isCharged = true;
        if (next.fee === undefined || setup.options().fee?.by === 'event') change(transfer, next);
        else takeFee(setup, transfer, next.fee);
      }
    },
    approve: (transfer) => {
      if (transfer.status !== 'pendingApproval') return;
      transfer.approvals += 1;
      const needed = transfer.order.review?.numberOfApprovalsRequired ?? 0;
      if (transfer.approvals >= needed) change(transfer, { status: 'received', reason: 'pending' });
    },
    cancel: (transfer) => {
      if (transfer.status !== 'pendingApproval') return;
      change(transfer, { status: 'cancelled', reason: 'cancelled' });
    },
    force: (transfer, { status, reason, value }) => {
      const returned = value ?? transfer.order.amount.value - transfer.returnedValue;
      change(transfer, { ...describeSentBack(setup, transfer, status), reason, returned });
    },
  };
}

/** A wallet sends money back under the same transfer, whose status then is not described. */
function describeSentBack(
  { options }: LifecycleOptions,
  { order }: SimulatedTransfer,
  status: 'returned' | 'failed',
): Pick<Next, 'status'> {
  const isSentBack = order.category === 'internal' && status === 'returned';
  return { status: isSentBack ? options().sentBackStatus : status };
}

/** A booked transfer of its own, under the reference of the transfer that it is for. */
function takeFee(
  { books, balances, nowMs, announce }: LifecycleOptions,
  { order, reference }: SimulatedTransfer,
  amount: { readonly value: number; readonly currency: string },
): void {
  const { balanceAccountId } = order;
  const feeOrder = { amount, balanceAccountId, category: 'internal' as const, counterparty: {} };
  const fee = {
    ...newTransfer({ ...feeOrder, reference }, undefined, nowMs()),
    status: 'booked',
    reason: 'approved',
    sequence: 1,
    isFee: true,
  };
  const funds = balances.get(amount.currency);
  if (funds !== undefined) funds.balance -= amount.value;
  fee.events.push(describeEvent(fee, { fee: amount }));
  books.keepTransfer(fee);
  announce(fee, true);
}

function newTransfer(
  order: SentOrder,
  priority: string | undefined,
  nowMs: number,
): SimulatedTransfer {
  const id = randomBytes(8).toString('hex').toUpperCase();
  return {
    id,
    reference: order.reference ?? id,
    order,
    priority,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    status: 'received',
    reason: 'pending',
    sequence: 0,
    reviewSteps: -1,
    approvals: 0,
    tracking: undefined,
    events: [],
    paidCount: 0,
    returnedValue: 0,
    isCharged: false,
    isFee: false,
  };
}

function readPlannedOutcome(
  { plannedOutcomes, options }: LifecycleOptions,
  { reference }: SimulatedTransfer,
): PlannedOutcome {
  const chosen = plannedOutcomes.get(reference);
  if (chosen !== undefined) return chosen;
  const { refusePattern, failPattern, returnPattern } = options();
  if (new RegExp(refusePattern).test(reference)) return 'refused';
  if (new RegExp(failPattern).test(reference)) return 'failed';
  return new RegExp(returnPattern).test(reference) ? 'returned' : 'paid';
}

function findNext(setup: LifecycleOptions, transfer: SimulatedTransfer): Next | undefined {
  if (transfer.isFee) return undefined;
  const plannedOutcome = readPlannedOutcome(setup, transfer);
  const options = setup.options();
  switch (transfer.status) {
    case 'received':
      return authorise(setup, transfer, plannedOutcome);
    case 'authorised':
      return { status: 'booked', reason: 'approved' };
    case 'booked':
      if (options.fee !== undefined && !transfer.isCharged) {
        return { fee: { value: options.fee.value, currency: options.fee.currency } };
      }
      return findNextOfBooked(setup, transfer, plannedOutcome);
    default:
      return undefined;
  }
}

function authorise(
  { options, balances }: LifecycleOptions,
  { order }: SimulatedTransfer,
  plannedOutcome: PlannedOutcome,
): Next {
  const { transferLimit, refuseReason } = options();
  const { value, currency } = order.amount;
  if (plannedOutcome === 'refused') return { status: 'refused', reason: refuseReason };
  if (value > transferLimit) return { status: 'refused', reason: 'amountLimitExceeded' };
  const funds = balances.get(currency);
  if (funds === undefined || funds.balance - funds.reserved < value) {
    return { status: 'refused', reason: 'notEnoughBalance' };
  }
  return { status: 'authorised', reason: 'approved' };
}

const reviewStepsMax = 2;

function findNextOfBooked(
  setup: LifecycleOptions,
  transfer: SimulatedTransfer,
  plannedOutcome: PlannedOutcome,
): Next | undefined {
  const { tracking, order, priority } = transfer;
  const options = setup.options();
  const whole = order.amount.value;
  // Between two balance accounts nothing is sent on that could be reviewed.
  const isReviewed =
    order.category !== 'internal' && new RegExp(options.reviewPattern).test(transfer.reference);
  if (tracking === undefined && isReviewed) {
    transfer.reviewSteps = reviewStepsMax;
    return { tracking: { type: 'internalReview', status: 'pending' } };
  }
  if (transfer.reviewSteps > 0) {
    transfer.reviewSteps -= 1;
    return undefined;
  }
  if (transfer.returnedValue > 0) return undefined;
  if (plannedOutcome === 'failed') {
    return { status: 'failed', reason: options.failReason, returned: whole };
  }
  const isTracked = tracking !== undefined && tracking['type'] !== 'internalReview';
  if (!isTracked && order.category !== 'internal') {
    if (order.category === 'card')
      return { tracking: { type: 'confirmation', status: 'accepted' } };
    if (priority === 'instant') return { tracking: { type: 'confirmation', status: 'credited' } };
    const estimatedArrivalTime = new Date(setup.nowMs() + 60_000).toISOString();
    return { tracking: { type: 'estimation', estimatedArrivalTime } };
  }
  if (plannedOutcome !== 'returned') return undefined;
  const end = describeSentBack(setup, transfer, 'returned');
  return { ...end, reason: 'counterpartyAccountClosed', returned: whole };
}

/** Authorised: the amount is reserved. Booked: it has left. A part that is returned is back. */
function applyMoney(
  { balances }: LifecycleOptions,
  transfer: SimulatedTransfer,
  { status, returned = 0, fee }: Next,
): void {
  const { value, currency } = transfer.order.amount;
  const charged = fee === undefined ? undefined : balances.get(fee.currency);
  if (charged !== undefined) charged.balance -= fee?.value ?? 0;
  const funds = balances.get(currency);
  if (funds === undefined) return;
  if (status === 'authorised') funds.reserved += value;
  if (status === 'booked' && transfer.status === 'authorised') {
    funds.reserved -= value;
    funds.balance -= value;
    transfer.paidCount += 1;
  }
  if (transfer.paidCount > 0) {
    funds.balance += returned;
    transfer.returnedValue += returned;
  }
}

function describeEvent(transfer: SimulatedTransfer, next: Next): Record<string, unknown> {
  const { value, currency } = transfer.order.amount;
  const at = new Date(transfer.updatedAtMs).toISOString();
  const id = `EVJN${randomBytes(12).toString('hex').toUpperCase()}`;
  if (next.tracking !== undefined) {
    return {
      id,
      type: 'tracking',
      status: transfer.status,
      trackingData: next.tracking,
      updateDate: at,
    };
  }
  const base = { id, type: 'accounting', bookingDate: at, valueDate: at };
  if (next.fee !== undefined) {
    const mutations = [{ currency: next.fee.currency, balance: -next.fee.value }];
    return { ...base, status: 'fee', mutations, transactionId: `${id}${next.fee.currency}` };
  }
  if (next.returned !== undefined && transfer.paidCount > 0) {
    return {
      ...base,
      status: transfer.status,
      mutations: [{ currency, balance: next.returned }],
      transactionId: `${id}${currency}`,
      ...(transfer.order.category === 'internal' && {
        modification: { id: `RTRN${id.slice(4)}`, type: 'return', direction: 'incoming' },
      }),
    };
  }
  const mutations: Record<string, Record<string, number>> = {
    received: { received: -value },
    pendingApproval: { received: -value },
    authorised: { received: value, reserved: -value },
    booked: { balance: -value, reserved: value },
    refused: { received: value },
    cancelled: { received: value },
  };
  return {
    ...base,
    status: transfer.status,
    mutations: [{ currency, ...mutations[transfer.status] }],
    ...(transfer.status === 'booked' && { transactionId: `${id}${currency}` }),
  };
}

const types = {
  bank: 'bankTransfer',
  card: 'cardTransfer',
  internal: 'internalTransfer',
} as const;

/** `Transfer`: the answer to an order. */
export function describeTransfer(transfer: SimulatedTransfer): Record<string, unknown> {
  const { order, id, reference, status, reason, priority, createdAtMs } = transfer;
  return {
    id,
    accountHolder: { id: accountHolderId, description: 'The operator' },
    amount: order.amount,
    balanceAccount: { id: order.balanceAccountId, description: 'Payouts' },
    category: order.category,
    ...(order.category === 'bank' && { categoryData: { type: 'bank', priority } }),
    ...(order.category === 'internal' && { categoryData: { type: 'internal' } }),
    counterparty: maskCounterparty(order.counterparty),
    createdAt: new Date(createdAtMs).toISOString(),
    creationDate: new Date(createdAtMs).toISOString(),
    ...(order.description !== undefined && { description: order.description }),
    direction: 'outgoing',
    reason,
    reference,
    ...(order.referenceForBeneficiary !== undefined && {
      referenceForBeneficiary: order.referenceForBeneficiary,
    }),
    ...(order.review !== undefined && { review: order.review }),
    status,
    type: transfer.isFee ? 'fee' : types[order.category],
  };
}

/** `TransferData`: the answer to a query, and of webhooks. */
export function describeTransferData(transfer: SimulatedTransfer): Record<string, unknown> {
  const { events, sequence, tracking, updatedAtMs } = transfer;
  return {
    ...describeTransfer(transfer),
    balancePlatform,
    balances: [{ currency: transfer.order.amount.currency, received: 0, reserved: 0 }],
    events,
    sequenceNumber: sequence,
    ...(tracking !== undefined && { tracking }),
    updatedAt: new Date(updatedAtMs).toISOString(),
  };
}

/** The same transfer from the side of the balance account that gets the money. */
export function describeIncoming(transfer: SimulatedTransfer): Record<string, unknown> {
  const { order, id } = transfer;
  const outgoing = describeTransferData({ ...transfer, events: [] });
  const { events: _events, balances: _balances, ...shared } = outgoing;
  return {
    ...shared,
    id: `${id.slice(8)}${id.slice(0, 8)}`,
    accountHolder: { id: 'AH00000000000000000000002' },
    balanceAccount: { id: order.counterparty.balanceAccountId },
    counterparty: { balanceAccountId: order.balanceAccountId },
    direction: 'incoming',
  };
}

/** Six digits of a card number at the beginning and four at the end are shown. */
function maskCounterparty(counterparty: SentOrder['counterparty']): unknown {
  const { card } = counterparty;
  if (card === undefined) return counterparty;
  if ('storedPaymentMethodId' in card.cardIdentification) return { card };
  const { number, ...expiry } = card.cardIdentification;
  const masked = `${number.slice(0, 6)}******${number.slice(-4)}`;
  return { card: { ...card, cardIdentification: { ...expiry, number: masked } } };
}
