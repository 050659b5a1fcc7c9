import type { Client } from './client.ts';
import { OutlayError, ProblemError } from './errors.ts';
import type { components } from './generated/api.ts';
import type { ArgumentsOf } from './methods.ts';
import { sleep } from './platform.ts';

/** Events that take effect once in your own database. */

export type Event = components['schemas']['Event'];

/** Your database, and in it the sequence of the last event that was applied: 0 before the first. */
export type EventStore<Transaction> = {
  /** Runs the work in one transaction: everything that it writes is stored, or nothing. */
  transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  /**
   * Locks the position until the transaction ends (`select … for update`). Drivers of databases read a
   * `bigint` as text: convert it with `Number`.
   */
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
 * Applies an event and stores its sequence in the same transaction, no matter which delivers it: the log or
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
    const position = await readPosition(store, transaction);
    if (sequence <= position) return 'repeated';
    if (position !== findPrevious(event)) throw new EventGapError(position + 1, sequence);
    await apply(event, transaction);
    await store.writePosition(transaction, sequence);
    return 'applied';
  });
}

/** @throws TypeError for anything but a number: a text would look like a gap before the next event. */
async function readPosition<Transaction>(
  store: EventStore<Transaction>,
  transaction: Transaction,
): Promise<number> {
  const position = await store.readPosition(transaction);
  if (Number.isSafeInteger(position)) return position;
  throw new TypeError('readPosition must return a whole number: convert a bigint with Number()');
}

/** The sequence of the event before this one. Those that a restored database lost are left out. */
function findPrevious(event: { readonly sequence: number }): number {
  const { type, data } = event as Partial<Event>;
  return type === 'account.restored' && data !== undefined && 'last_sequence' in data
    ? data.last_sequence
    : event.sequence - 1;
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
  client: Pick<Client, 'listEvents'>,
  { store, apply, signal, pollMs }: FollowOptions<Transaction>,
): Promise<never> {
  const after = await store.transaction((transaction) => readPosition(store, transaction));
  for await (const event of tailEvents(client, { after, signal, pollMs })) {
    await applyOnce(store, event, apply);
  }
  throw new Error('unreachable: the log of events has no end');
}

export type TailOptions = {
  /** The sequence of the last event that is already known. Default: 0, from the oldest event on. */
  readonly after?: number;
  /** Only these types; `payout.*` for all types that begin with `payout.`. Default: all. */
  readonly type?: ArgumentsOf<'listEvents'>['type'] | undefined;
  /** Ends it by throwing the signal's reason. */
  readonly signal: AbortSignal;
  readonly pollMs?: number | undefined;
};

/**
 * Yields the log of events as it grows. Store what you have seen yourself, or use `followEvents`.
 * @throws ProblemError `events_dropped` if the log no longer reaches back so far.
 */
export async function* tailEvents(
  client: Pick<Client, 'listEvents'>,
  { after: start = 0, type, signal, pollMs = 1_000 }: TailOptions,
): AsyncGenerator<Event, never> {
  const options = { signal, timeoutMs: waitSeconds * 2_000 };
  const filter = type === undefined || type.length === 0 ? {} : { type };
  let after = start;
  for (;;) {
    const events = await client.listEvents({ after, ...filter, wait: waitSeconds }, options);
    for (const event of events) {
      signal.throwIfAborted();
      yield event;
      after = event.sequence;
    }
    if (events.length === 0) await sleep(pollMs, signal);
  }
}

/** The sequence of the newest event; 0 for none. It asks about twice as often as the number has bits. */
export async function findLastSequence(
  client: Pick<Client, 'listEvents'>,
  signal?: AbortSignal,
): Promise<number> {
  const hasLater = async (after: number): Promise<boolean> => {
    try {
      return (await client.listEvents({ after }, { signal })).length > 0;
    } catch (error) {
      if (error instanceof ProblemError && error.code === 'events_dropped') return true;
      throw error;
    }
  };
  let [known, limit] = [0, 1];
  // Whatever numbers the log skips, it ends where nothing is later.
  if (!(await hasLater(0))) return 0;
  while (await hasLater(limit)) [known, limit] = [limit, limit * 2];
  while (limit - known > 1) {
    const middle = Math.floor((known + limit) / 2);
    if (await hasLater(middle)) known = middle;
    else limit = middle;
  }
  return limit;
}
