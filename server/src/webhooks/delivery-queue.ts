import type { TracePlace } from '../tracing/trace-contexts.ts';
import type { RetryRow } from './deliveries.sql.ts';
import type { Message } from './messages.ts';

/**
 * The deliveries of one endpoint that a process has in memory. Events of one object form a chain:
 * only its head is sent, so that the object's events arrive in order, and a failed head holds back its
 * own chain only.
 */

export type QueuedDelivery = {
  readonly isReplay: boolean;
  readonly sequence: bigint;
  readonly subjectId: string;
  /** Undefined for a stored one, whose event is read when it is sent. */
  readonly message: Message | undefined;
  /** Of the payout that the event is about; of a stored one it is looked up when it is sent. */
  readonly place: TracePlace | undefined;
  /** Failed tries so far. */
  tries: number;
  firstAtMs: number;
  dueAtMs: number;
  /** Whether webhook_retries has it. */
  isStored: boolean;
};

/** In the order of their sequences, replayed or not. */
type Chain = { readonly items: QueuedDelivery[]; state: 'ready' | 'sending' | 'delayed' };

export class DeliveryQueue {
  readonly #chains = new Map<string, Chain>();
  /** Chains whose head may be sent; a Set keeps the order in which they became ready. */
  readonly #ready = new Set<Chain>();
  readonly #delayed = new Set<Chain>();
  /** Chains of which something is to be stored, because their head is delayed. */
  readonly #changed = new Set<Chain>();
  #stored = 0;
  #size = 0;

  /** In memory, the ones being sent included. */
  get size(): number {
    return this.#size;
  }

  /** Of these, those that webhook_retries has. */
  get storedCount(): number {
    return this.#stored;
  }

  /** Returns false if it has the delivery already: two replays have an event in common. */
  add(item: QueuedDelivery, nowMs: number): boolean {
    const chain = this.#chainOf(item);
    const { items } = chain;
    const firstPlace = chain.state === 'sending' ? 1 : 0;
    let place = items.length;
    while (place > firstPlace && (items[place - 1]?.sequence ?? 0n) > item.sequence) place -= 1;
    // A sequence occurs twice at most: replayed and not.
    if (items.slice(Math.max(0, place - 2), place).some((known) => isSame(known, item)))
      return false;
    items.splice(place, 0, item);
    this.#size += 1;
    if (item.isStored) this.#stored += 1;
    if (place === 0) this.#place(chain, nowMs);
    else if (chain.state === 'delayed') this.#changed.add(chain);
    return true;
  }

  /** Makes delayed heads ready whose time has come. */
  wake(nowMs: number): void {
    for (const chain of this.#delayed) if (dueOf(chain) <= nowMs) this.#place(chain, nowMs);
  }

  /** Takes a head that is ready. */
  take(): QueuedDelivery | undefined {
    for (const chain of this.#ready) return this.#send(chain);
    return undefined;
  }

  /** Takes the head that is due first, even if its time has not come: for a probe. */
  takeFirst(): QueuedDelivery | undefined {
    const [first] = [...this.#delayed, ...this.#ready].toSorted((a, b) => dueOf(a) - dueOf(b));
    return first === undefined ? undefined : this.#send(first);
  }

  /** The head was delivered or abandoned. */
  remove(item: QueuedDelivery, nowMs: number): void {
    const chain = this.#chainOf(item);
    chain.items.shift();
    this.#size -= 1;
    if (item.isStored) this.#stored -= 1;
    if (chain.items.length === 0) this.#chains.delete(item.subjectId);
    this.#place(chain, nowMs);
  }

  /** The head failed: its chain waits until its due time. */
  delay(item: QueuedDelivery, nowMs: number): void {
    const chain = this.#chainOf(item);
    this.#place(chain, nowMs);
    this.#changed.add(chain);
  }

  /** The head was not sent after all. */
  putBack(item: QueuedDelivery, nowMs: number): void {
    this.#place(this.#chainOf(item), nowMs);
  }

  /** Heads that failed since the last call, and what waits behind them and is not stored yet. */
  takeUnstored(): QueuedDelivery[] {
    const found = [...this.#changed].flatMap(({ items, state }) =>
      state === 'delayed' ? items.filter((item, place) => place === 0 || !item.isStored) : [],
    );
    this.#changed.clear();
    for (const item of found) this.markStored(item);
    return found;
  }

  markStored(item: QueuedDelivery): void {
    if (item.isStored) return;
    item.isStored = true;
    this.#stored += 1;
  }

  /** When the first stored delivery is due; undefined if none is stored. */
  nextDueMs(): number | undefined {
    const dueTimes = [...this.#ready, ...this.#delayed]
      .filter(({ items }) => items[0]?.isStored)
      .map(dueOf);
    return dueTimes.length === 0 ? undefined : Math.min(...dueTimes);
  }

  #chainOf(item: QueuedDelivery): Chain {
    const chain = this.#chains.get(item.subjectId) ?? { items: [], state: 'ready' };
    this.#chains.set(item.subjectId, chain);
    return chain;
  }

  #place(chain: Chain, nowMs: number): void {
    this.#ready.delete(chain);
    this.#delayed.delete(chain);
    const [head] = chain.items;
    if (head === undefined) return;
    chain.state = head.dueAtMs > nowMs ? 'delayed' : 'ready';
    (chain.state === 'ready' ? this.#ready : this.#delayed).add(chain);
  }

  #send(chain: Chain): QueuedDelivery | undefined {
    this.#ready.delete(chain);
    this.#delayed.delete(chain);
    chain.state = 'sending';
    return chain.items[0];
  }
}

const isSame = (one: QueuedDelivery, other: QueuedDelivery): boolean =>
  one.sequence === other.sequence && one.isReplay === other.isReplay;

const dueOf = ({ items: [head] }: Chain): number => head?.dueAtMs ?? Number.POSITIVE_INFINITY;

export function openRetry(row: RetryRow): QueuedDelivery {
  return {
    isReplay: row.is_replay,
    sequence: row.sequence,
    subjectId: row.subject_id,
    message: undefined,
    place: undefined,
    tries: row.tries,
    firstAtMs: row.first_at.getTime(),
    dueAtMs: row.due_at.getTime(),
    isStored: true,
  };
}

export function storeRetry(item: QueuedDelivery): RetryRow {
  return {
    is_replay: item.isReplay,
    sequence: item.sequence,
    subject_id: item.subjectId,
    tries: item.tries,
    first_at: new Date(item.firstAtMs),
    due_at: new Date(item.dueAtMs),
  };
}

/** Due at once, with another 14 days: under new terms, or after a resume. */
export function startAgain(nowMs: number): (row: RetryRow) => RetryRow {
  const at = new Date(nowMs);
  return (row) => ({ ...row, first_at: at, due_at: at });
}
