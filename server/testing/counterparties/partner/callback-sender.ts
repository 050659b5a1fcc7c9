import type { BookedEvent, PaymentBook } from './payment-book.ts';
import { showEvent } from './payment-lifecycle.ts';
import type { SimulatorLevel } from './simulator-level.ts';
import { isHit, type SimulatorOptions } from './simulator-options.ts';

/** The simulator's callbacks: signed for each attempt, and repeated until they are accepted. */

export type CallbackSender = { wake(): void; stop(): Promise<void> };

export type CallbackSenderOptions = {
  readonly books: PaymentBook;
  readonly getOptions: () => SimulatorOptions;
  readonly level: SimulatorLevel;
  readonly nowMs: () => number;
};

const retryMsMax = 30_000;
const postTimeoutMs = 10_000;

export function createCallbackSender(options: CallbackSenderOptions): CallbackSender {
  const { books, getOptions } = options;
  const busy = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  const deliver = async (event: BookedEvent): Promise<void> => {
    // An event is on the disk before it is sent.
    await books.flushed();
    if (isHit(getOptions().lostShare)) return books.append({ type: 'delivered', event: event.id });
    if (isHit(getOptions().reorderShare)) await pause(getOptions().reorderMs, stopping.signal);
    let waitMs = getOptions().callbackRetryMs;
    while (!stopping.signal.aborted) {
      const { defects } = getOptions();
      const isTaken = await post(event, options, defects.includes('forges_callbacks'));
      if (isTaken || defects.includes('posts_callbacks_once')) {
        if (isHit(getOptions().duplicateShare)) await post(event, options);
        if (isHit(getOptions().forgedShare)) await post(event, options, true);
        return books.append({ type: 'delivered', event: event.id });
      }
      await pause(waitMs, stopping.signal);
      waitMs = Math.min(waitMs * 2, retryMsMax);
    }
  };
  const wake = (): void => {
    for (const event of books.pending.values()) {
      if (busy.has(event.id)) continue;
      const done = deliver(event).finally(() => busy.delete(event.id));
      busy.set(event.id, done);
    }
  };
  return {
    wake,
    stop: async () => {
      stopping.abort();
      await Promise.all(busy.values());
    },
  };
}

async function post(
  event: BookedEvent,
  options: CallbackSenderOptions,
  isForged = false,
): Promise<boolean> {
  const payment = options.books.payments.get(event.reference);
  const url = payment?.order.callback_url ?? '';
  if (payment === undefined || url === '') return true;
  const body = JSON.stringify(showEvent(event, payment, options.getOptions()));
  const call = { url, body, nowMs: options.nowMs() };
  const headers = await options.level.describeCallback(call, isForged);
  const signal = AbortSignal.timeout(postTimeoutMs);
  try {
    const response = await fetch(url, { method: 'POST', headers, body, signal });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, delayMs);
  signal.addEventListener('abort', () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}
