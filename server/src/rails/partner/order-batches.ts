import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Semaphore } from '../../core/semaphore.ts';
import type { CallContext, RailHost } from '../contract/contract.ts';
import { type BatchReading, readBatch } from './batch-answers.ts';
import {
  beginOrder,
  findExpiryS,
  type NewOrder,
  type SendingParts,
  type SentOrder,
} from './order-sending.ts';
import { findPaymentRecord } from './records.ts';

/**
 * Orders that are due at the same time, in one request. An order waits for nothing but a free request,
 * as it would by itself: those that begin in one turn of the event loop, and those that came while every
 * request was taken, leave together.
 */

export type OrderBatches = {
  /** `alone`: the order is to leave by itself. */
  submit(order: NewOrder, context: CallContext): Promise<SentOrder | { readonly kind: 'alone' }>;
  /** The partner's statement about a batch, at most a second old, so that its orders share a request. */
  query(batch: string): Promise<BatchReading>;
};

export type BatchLimits = {
  /** Fewer leave by themselves. */
  readonly ordersMin: number;
  readonly ordersMax: number;
  readonly bytesMax: number;
};

export type BatchParts = SendingParts & {
  readonly limits: BatchLimits;
  readonly slots: Semaphore;
  readonly log: RailHost['log'];
};

type Waiting = NewOrder & {
  readonly signal: AbortSignal;
  resolve(sent: SentOrder | { readonly kind: 'alone' }): void;
  reject(error: unknown): void;
};

/** How old a statement about a batch may be; the orders of one batch are queried within moments. */
const statementMs = 1000;

/** How long orders leave by themselves after the partner has refused a batch for its size. */
const aloneMs = 600_000;

export function createOrderBatches(parts: BatchParts): OrderBatches {
  const { slots, realNowMs, limits, log } = parts;
  const waiting: Waiting[] = [];
  const statements = new Map<string, { askedMs: number; reading: Promise<BatchReading> }>();
  let aloneUntilMs = 0;
  const depart = async (): Promise<void> => {
    const taken = takeOrders(waiting, limits);
    if (taken.length === 0) return;
    try {
      const orders = await selectTogether(parts, taken);
      if (orders.length === 0 || !(await leaveTogether(parts, orders))) return;
      log('error', 'the partner refused a batch for its size', { orders: orders.length });
      aloneUntilMs = realNowMs() + aloneMs;
    } catch (error) {
      for (const { reject } of taken) reject(error);
    }
  };
  return {
    submit: async (order, { signal }) => {
      if (realNowMs() < aloneUntilMs) return { kind: 'alone' };
      const { promise, resolve, reject } =
        Promise.withResolvers<Awaited<ReturnType<OrderBatches['submit']>>>();
      waiting.push({ ...order, signal, resolve, reject });
      await nextTurn();
      // It finds the queue empty where another request has taken this order with it.
      await slots.run(depart);
      return await promise;
    },
    query: async (batch) => {
      const nowMs = realNowMs();
      for (const [key, { askedMs }] of statements) {
        if (nowMs - askedMs > statementMs) statements.delete(key);
      }
      const known = statements.get(batch);
      if (known !== undefined) return await known.reading;
      const reading = slots.run(() => queryBatch(parts, batch));
      statements.set(batch, { askedMs: nowMs, reading });
      return await reading;
    },
  };
}

/** The orders at the head of the queue that fit into one request, at least one. */
function takeOrders(waiting: Waiting[], { ordersMax, bytesMax }: BatchLimits): Waiting[] {
  const envelopeBytes = 100;
  let bytes = envelopeBytes;
  let count = 0;
  for (const { body } of waiting) {
    bytes += Buffer.byteLength(body) + 1;
    if (count === ordersMax || (count > 0 && bytes > bytesMax)) break;
    count += 1;
  }
  const taken = waiting.splice(0, count);
  const isAwaited = ({ signal, resolve }: Waiting): boolean => {
    if (signal.aborted) resolve({ kind: 'aborted' });
    return !signal.aborted;
  };
  return taken.filter(isAwaited);
}

/**
 * An order that was in a batch before without a result leaves by itself, so that one order which the
 * partner cannot read does not keep back those beside it.
 */
async function selectTogether(
  { store, limits }: BatchParts,
  taken: readonly Waiting[],
): Promise<readonly Waiting[]> {
  const records = await Promise.all(
    taken.map(({ instruction }) => findPaymentRecord(store, instruction.reference)),
  );
  const together = taken.filter((_, index) => records[index]?.value.batch === undefined);
  const leaving = together.length < limits.ordersMin ? [] : together;
  for (const order of taken) {
    if (!leaving.includes(order)) order.resolve({ kind: 'alone' });
  }
  return leaving;
}

/** Returns whether the partner refused the batch for its size. */
async function leaveTogether(parts: BatchParts, orders: readonly Waiting[]): Promise<boolean> {
  const batch = randomUUID().replaceAll('-', '');
  const untilS = findExpiryS(parts);
  const leaving = { untilS, batch };
  const begun = await Promise.all(
    orders.map(async (order) => {
      try {
        const result = await beginOrder(parts.store, order, leaving);
        if (result.kind === 'begun') return [{ order, sending: result.sending }];
        order.resolve(result);
      } catch (error) {
        order.reject(error);
      }
      return [];
    }),
  );
  const members = begun.flat();
  if (members.length === 0) return false;
  const result = await parts.exchange({
    method: 'PUT',
    path: `/batches/${batch}`,
    // The text of each order is the one that was stored, as when it leaves by itself.
    body: `{"batch":"${batch}","orders":[${members.map(({ sending }) => sending.body).join(',')}]}`,
    expiresS: untilS,
    signal: abortWithAll(members.map(({ order }) => order.signal)),
  });
  const read = readBatch(result, batch);
  let isTooLarge = false;
  for (const { order, sending } of members) {
    const reading = read(order.instruction);
    isTooLarge ||= reading.kind === 'refused' && reading.code === 'batch_too_large';
    order.resolve({ kind: 'sent', sending, reading });
  }
  return isTooLarge;
}

async function queryBatch(parts: SendingParts, batch: string): Promise<BatchReading> {
  const result = await parts.exchange({
    method: 'GET',
    path: `/batches/${batch}`,
    body: '',
    expiresS: findExpiryS(parts),
    // The time limit of a request ends it; several calls may wait for it.
    signal: new AbortController().signal,
  });
  return readBatch(result, batch);
}

/** Aborted when all of the signals are: as long as one answer is awaited, the request goes on. */
function abortWithAll(signals: readonly AbortSignal[]): AbortSignal {
  const controller = new AbortController();
  let left = signals.length;
  const count = (): void => {
    left -= 1;
    if (left === 0) controller.abort();
  };
  for (const signal of signals) {
    if (signal.aborted) count();
    // A function of its own, because several orders may have one signal.
    else signal.addEventListener('abort', () => count(), { once: true });
  }
  return controller.signal;
}
