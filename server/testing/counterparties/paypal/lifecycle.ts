import { randomBytes } from 'node:crypto';
import { getCurrency } from '../../../src/core/currency.ts';
import { getAmountMinor } from '../../../src/core/money.ts';
import { computeFee } from './amounts.ts';
import type { BookedBatch, BookedItem, ItemStatus, PaypalBooks } from './paypal-books.ts';
import type { SimulatorOptions } from './simulator-options.ts';
import { showBatchHeader, showItem } from './views.ts';

/** What happens to batches and items at the simulated PayPal, one status at a time. */

export type Lifecycle = {
  /** One turn: every batch and item whose time has come gets its next status. */
  advance(): void;
  /** How a payment is to end, whatever the patterns say. */
  expect(senderItemId: string, outcome: 'paid' | 'rejected' | 'returned'): void;
  cancel(item: BookedItem): BookedItem;
  /** What is left, by currency, in minor units. */
  readBalances(): ReadonlyMap<string, bigint>;
};

type LifecycleOptions = {
  readonly books: PaypalBooks;
  readonly getOptions: () => SimulatorOptions;
  readonly nowMs: () => number;
};

/** As many characters of PayPal's alphabet as asked for. */
export function newPaypalId(length: number): string {
  const letters = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ';
  return Array.from(randomBytes(length), (byte) => letters[byte % letters.length]).join('');
}

const spent: ReadonlySet<ItemStatus> = new Set(['SUCCESS', 'UNCLAIMED', 'ONHOLD', 'BLOCKED']);

export function createLifecycle(options: LifecycleOptions): Lifecycle {
  const { books, getOptions, nowMs } = options;
  const expected = new Map<string, string>();
  const readBalances = (): Map<string, bigint> => {
    const balances = new Map<string, bigint>();
    for (const [code, text] of Object.entries(getOptions().balances)) {
      balances.set(code, getAmountMinor(text, getCurrency(code)));
    }
    for (const item of [...books.batches.values()].flatMap(({ items }) => items)) {
      const { currency, value, status } = item;
      const amount = spent.has(status) ? getAmountMinor(value, getCurrency(currency)) : 0n;
      const fee = status === 'PENDING' || status === 'FAILED' ? 0n : computeFee(item);
      balances.set(currency, (balances.get(currency) ?? 0n) - amount - fee);
    }
    return balances;
  };
  const emit = (type: string, resource: object): void => {
    const atMs = nowMs();
    const id = `WH-${newPaypalId(17)}-${newPaypalId(17)}`;
    const isItem = type.startsWith('PAYMENT.PAYOUTS-ITEM');
    const body = {
      id,
      event_version: '1.0',
      create_time: new Date(atMs).toISOString(),
      resource_type: isItem ? 'payouts_item' : 'payouts',
      event_type: type,
      summary: `${type} of the simulated PayPal`,
      resource,
      links: [],
    };
    books.addEvent({ id, atMs, type, body });
  };
  const setBatch = (batch: BookedBatch, status: BookedBatch['status']): BookedBatch => {
    const next = { ...batch, status, atMs: nowMs() };
    books.putBatch(next);
    emit(`PAYMENT.PAYOUTSBATCH.${status}`, { batch_header: showBatchHeader(next), links: [] });
    return next;
  };
  const setItem = (item: BookedItem, status: ItemStatus, error = ''): BookedItem => {
    const batch = [...books.batches.values()].find(({ items }) => items.includes(item));
    if (batch === undefined) throw new Error(`${item.id} is in no batch`);
    const next = { ...item, status, error, atMs: nowMs() };
    const items = batch.items.map((one) => (one === item ? next : one));
    const changed = { ...batch, items };
    books.putBatch(changed);
    emit(`PAYMENT.PAYOUTS-ITEM.${eventNames[status]}`, showItem(changed, next));
    return next;
  };
  const advance = (): void => {
    for (const batch of books.batches.values()) {
      if (nowMs() - batch.atMs < getOptions().stepMs) continue;
      if (batch.status === 'PENDING') {
        const isDenied = batch.items.some((item) => matches(getOptions().denyPattern, item));
        const error = isDenied ? 'ACCOUNT_RESTRICTED' : 'INSUFFICIENT_FUNDS';
        if (!isDenied && isCovered(batch, readBalances())) setBatch(batch, 'PROCESSING');
        else setBatch({ ...batch, items: batch.items.map(deny(error)) }, 'DENIED');
      } else if (batch.status === 'PROCESSING') {
        const { status, items } = setBatch(batch, 'SUCCESS');
        if (status === 'SUCCESS') {
          for (const item of items) {
            setItem(item, ...findFirstStatus(item, getOptions(), expected.get(item.senderItemId)));
          }
        }
      } else if (batch.status === 'SUCCESS') {
        for (const item of batch.items) {
          const next = findNextStatus(item, {
            options: getOptions(),
            expected: expected.get(item.senderItemId),
            forMs: nowMs() - item.atMs,
          });
          if (next !== undefined) setItem(item, next);
        }
      }
    }
  };
  return {
    advance,
    expect: (senderItemId, outcome) => void expected.set(senderItemId, outcome),
    cancel: (item) => setItem(item, 'RETURNED'),
    readBalances,
  };
}

const deny =
  (error: string) =>
  (item: BookedItem): BookedItem => ({ ...item, status: 'FAILED', error });

const eventNames: Readonly<Record<ItemStatus, string>> = {
  PENDING: 'PENDING',
  SUCCESS: 'SUCCEEDED',
  FAILED: 'FAILED',
  UNCLAIMED: 'UNCLAIMED',
  RETURNED: 'RETURNED',
  ONHOLD: 'HELD',
  BLOCKED: 'BLOCKED',
  REFUNDED: 'REFUNDED',
  REVERSED: 'REVERSED',
};

function isCovered({ items }: BookedBatch, balances: ReadonlyMap<string, bigint>): boolean {
  const needed = new Map<string, bigint>();
  for (const item of items) {
    const amount = getAmountMinor(item.value, getCurrency(item.currency)) + computeFee(item);
    needed.set(item.currency, (needed.get(item.currency) ?? 0n) + amount);
  }
  return [...needed].every(([code, amount]) => (balances.get(code) ?? 0n) >= amount);
}

export function matches(
  text: string,
  { senderItemId, receiver }: Pick<BookedItem, 'senderItemId' | 'receiver'>,
): boolean {
  if (text === '') return false;
  const expression = new RegExp(text);
  return expression.test(senderItemId) || expression.test(receiver);
}

function findFirstStatus(
  item: BookedItem,
  options: SimulatorOptions,
  expected: string | undefined,
): [ItemStatus, string?] {
  const { failPattern, failCode, unclaimedPattern, abandonPattern } = options;
  const { holdPattern, blockPattern } = options;
  if (expected === 'rejected' || matches(failPattern, item)) return ['FAILED', failCode];
  if (matches(unclaimedPattern, item) || matches(abandonPattern, item)) {
    return ['UNCLAIMED', 'RECEIVER_UNREGISTERED'];
  }
  if (matches(holdPattern, item)) return ['ONHOLD', 'RECEIVER_ACCOUNT_LIMITATION'];
  return matches(blockPattern, item) ? ['BLOCKED', 'REGULATORY_PENDING'] : ['SUCCESS'];
}

function findNextStatus(
  item: BookedItem,
  at: { options: SimulatorOptions; expected: string | undefined; forMs: number },
): ItemStatus | undefined {
  const { options, expected, forMs } = at;
  const isDue = forMs >= options.stepMs;
  switch (item.status) {
    case 'UNCLAIMED': {
      const { claimMs } = options;
      const isClaimed = claimMs !== null && !matches(options.abandonPattern, item);
      if (isClaimed && forMs >= claimMs) return 'SUCCESS';
      return forMs >= options.returnMs ? 'RETURNED' : undefined;
    }
    case 'ONHOLD':
      return isDue ? 'SUCCESS' : undefined;
    case 'SUCCESS': {
      const isRefunded = expected === 'returned' || matches(options.refundPattern, item);
      return isDue && isRefunded ? 'REFUNDED' : undefined;
    }
    default:
      return undefined;
  }
}
