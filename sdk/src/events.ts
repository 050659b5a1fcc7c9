import type { Client } from './client.ts';
import { OutlayError } from './errors.ts';
import type { components } from './generated/api.ts';
import { operationTable } from './generated/operations.ts';
import { sleep } from './platform.ts';

/** Events that take effect once in your own database. */

export type Event = components['schemas']['Event'];

/** Your database, and in it the sequence of the last event that was applied: 0 before the first. */
export type EventStore<Transaction> = {
  /** Runs the work in one transaction: everything that it writes is stored, or nothing. */
  transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  /** Locks the position until the transaction ends (`select … for update`). */
  readPosition(transaction: Transaction): Promise<number>;
  writePosition(transaction: Transaction, position: number): Promise<void>;
};

/** What an event does in your database, in the transaction that stores the position. */
export type Apply<Transaction, Applied> = (
  event: Applied,
  transaction: Transaction,
) => Promise<void>;

/** An event is missing between the last one and this one: read the log from `expected` on. */
export class EventGapError extends OutlayError {
  override readonly name: string = 'EventGapError';
  readonly expected: number;
  readonly received: number;
  constructor(expected: number, received: number) {
    super(`Event ${expected} is missing before event ${received}`);
    this.expected = expected;
    this.received = received;
  }
}

/**
 * Applies an event and stores its sequence in the same transaction, whoever delivers it: the log or
 * a webhook without a filter. A repeated event changes nothing.
 * @throws EventGapError if an event before it was not applied.
 */
export async function applyOnce<Transaction, Applied extends { readonly sequence: number }>(
  store: EventStore<Transaction>,
  event: Applied,
  apply: Apply<Transaction, Applied>,
): Promise<'applied' | 'repeated'> {
  const { sequence } = event;
  if (!Number.isSafeInteger(sequence)) throw new TypeError('The sequence must be a whole number');
  return store.transaction(async (transaction) => {
    const position = await store.readPosition(transaction);
    if (sequence <= position) return 'repeated';
    if (sequence !== position + 1) throw new EventGapError(position + 1, sequence);
    await apply(event, transaction);
    await store.writePosition(transaction, sequence);
    return 'applied';
  });
}

export type FollowOptions<Transaction> = {
  readonly store: EventStore<Transaction>;
  readonly apply: Apply<Transaction, Event>;
  /** Ends it: the promise is rejected with the signal's reason. */
  readonly signal: AbortSignal;
  /** The pause before the log is read again when it has nothing new. Default: one second. */
  readonly pollMs?: number;
};

/** Seconds for which the service may hold an answer that has no event yet. */
const waitSeconds = 20;

/**
 * Applies the log of events from the stored position on, until the signal ends it.
 * @throws EventGapError; ProblemError `events_dropped` if the log no longer reaches back so far; what
 * `apply` throws.
 */
export async function followEvents<Transaction>(
  client: Client,
  { store, apply, signal, pollMs = 1_000 }: FollowOptions<Transaction>,
): Promise<never> {
  const wait = operationTable.listEvents.takesWait ? { wait: waitSeconds } : {};
  const options = { signal, timeoutMs: waitSeconds * 2_000 };
  let after = await store.transaction((transaction) => store.readPosition(transaction));
  for (;;) {
    const events = await client.listEvents({ after, ...wait }, options);
    for (const event of events) {
      signal.throwIfAborted();
      await applyOnce(store, event, apply);
      after = event.sequence;
    }
    if (events.length === 0) await sleep(pollMs, signal);
  }
}
