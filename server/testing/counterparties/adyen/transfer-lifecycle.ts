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
  /** From any state. */
  force(transfer: SimulatedTransfer, status: 'returned' | 'failed', reason: string): void;
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
  const change = (
    transfer: SimulatedTransfer,
    next: { status?: string; reason?: string; tracking?: Record<string, string> },
  ): void => {
    applyMoney(setup, transfer, next.status);
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
        if (next !== undefined) change(transfer, next);
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
    force: (transfer, status, reason) => change(transfer, { status, reason }),
  };
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

type Next = { status?: string; reason?: string; tracking?: Record<string, string> };

function findNext(setup: LifecycleOptions, transfer: SimulatedTransfer): Next | undefined {
  const plannedOutcome = readPlannedOutcome(setup, transfer);
  const options = setup.options();
  switch (transfer.status) {
    case 'received':
      return authorise(setup, transfer, plannedOutcome);
    case 'authorised':
      return { status: 'booked', reason: 'approved' };
    case 'booked':
      return findNextOfBooked(transfer, { plannedOutcome, options, nowMs: setup.nowMs() });
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
  transfer: SimulatedTransfer,
  {
    plannedOutcome,
    options,
    nowMs,
  }: { plannedOutcome: PlannedOutcome; options: SimulatorOptions; nowMs: number },
): Next | undefined {
  const { tracking, order, priority } = transfer;
  if (tracking === undefined && new RegExp(options.reviewPattern).test(transfer.reference)) {
    transfer.reviewSteps = reviewStepsMax;
    return { tracking: { type: 'internalReview', status: 'pending' } };
  }
  if (transfer.reviewSteps > 0) {
    transfer.reviewSteps -= 1;
    return undefined;
  }
  if (plannedOutcome === 'failed') return { status: 'failed', reason: options.failReason };
  const isTracked = tracking !== undefined && tracking['type'] !== 'internalReview';
  if (!isTracked) {
    if (order.category === 'card')
      return { tracking: { type: 'confirmation', status: 'accepted' } };
    if (priority === 'instant') return { tracking: { type: 'confirmation', status: 'credited' } };
    const estimatedArrivalTime = new Date(nowMs + 60_000).toISOString();
    return { tracking: { type: 'estimation', estimatedArrivalTime } };
  }
  return plannedOutcome === 'returned'
    ? { status: 'returned', reason: 'counterpartyAccountClosed' }
    : undefined;
}

const giveBack: ReadonlySet<string | undefined> = new Set(['failed', 'returned']);

/** Authorised: the amount is reserved. Booked: it has left. Failed or returned: it is back. */
function applyMoney(
  { balances }: LifecycleOptions,
  transfer: SimulatedTransfer,
  status: string | undefined,
): void {
  const { value, currency } = transfer.order.amount;
  const funds = balances.get(currency);
  if (funds === undefined) return;
  if (status === 'authorised') funds.reserved += value;
  if (status === 'booked') {
    funds.reserved -= value;
    funds.balance -= value;
    transfer.paidCount += 1;
  }
  if (giveBack.has(status) && transfer.paidCount > 0) funds.balance += value;
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
  const mutations: Record<string, Record<string, number>> = {
    received: { received: -value },
    pendingApproval: { received: -value },
    authorised: { received: value, reserved: -value },
    booked: { balance: -value, reserved: value },
    refused: { received: value },
    cancelled: { received: value },
    failed: { balance: value },
    returned: { balance: value },
  };
  return {
    id,
    type: 'accounting',
    status: transfer.status,
    bookingDate: at,
    valueDate: at,
    mutations: [{ currency, ...mutations[transfer.status] }],
    ...(transfer.status === 'booked' && { transactionId: `${id}${currency}` }),
  };
}

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
    type: { bank: 'bankTransfer', card: 'cardTransfer', internal: 'internalTransfer' }[
      order.category
    ],
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

/** Six digits of a card number at the beginning and four at the end are shown. */
function maskCounterparty(counterparty: SentOrder['counterparty']): unknown {
  const { card } = counterparty;
  if (card === undefined) return counterparty;
  const { number } = card.cardIdentification;
  const masked = `${number.slice(0, 6)}******${number.slice(-4)}`;
  return { card: { ...card, cardIdentification: { ...card.cardIdentification, number: masked } } };
}
