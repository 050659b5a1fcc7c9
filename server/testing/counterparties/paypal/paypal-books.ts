import { join } from 'node:path';
import { openJournal } from '../journal.ts';

/**
 * The simulator's books: batches and events, in memory and, with a folder, in an append-only file of
 * JSON lines. What has been answered is on the disk, so that the process may be killed at any moment.
 */

export type ItemStatus =
  | 'PENDING'
  | 'SUCCESS'
  | 'FAILED'
  | 'UNCLAIMED'
  | 'RETURNED'
  | 'ONHOLD'
  | 'BLOCKED'
  | 'REFUNDED'
  | 'REVERSED';

export type BookedItem = {
  readonly id: string;
  readonly transactionId: string;
  readonly recipientType: string;
  readonly receiver: string;
  readonly currency: string;
  /** As ordered, decimal text. */
  readonly value: string;
  readonly senderItemId: string;
  readonly status: ItemStatus;
  /** An error code of PayPal, or "". */
  readonly error: string;
  /** When it got its status. */
  readonly atMs: number;
};

export type BookedBatch = {
  readonly id: string;
  readonly senderBatchId: string;
  readonly emailSubject: string;
  readonly status: 'PENDING' | 'PROCESSING' | 'SUCCESS' | 'DENIED';
  readonly createdAtMs: number;
  readonly atMs: number;
  readonly items: readonly BookedItem[];
};

export type BookedEvent = {
  readonly id: string;
  readonly atMs: number;
  readonly type: string;
  /** The event as it is posted and listed. */
  readonly body: object;
};

export type PaypalBooks = {
  readonly batches: ReadonlyMap<string, BookedBatch>;
  readonly events: readonly BookedEvent[];
  /** Events that the webhook has not accepted yet, oldest first. */
  readonly pending: ReadonlyMap<string, BookedEvent>;
  putBatch(batch: BookedBatch): void;
  addEvent(event: BookedEvent): void;
  setDelivered(eventId: string): void;
  flushed(): Promise<void>;
  close(): Promise<void>;
};

type Entry =
  | { type: 'batch'; batch: BookedBatch }
  | { type: 'event'; event: BookedEvent }
  | { type: 'delivered'; id: string };

export function openPaypalBooks(folder: string | undefined): PaypalBooks {
  const batches = new Map<string, BookedBatch>();
  const events: BookedEvent[] = [];
  const pending = new Map<string, BookedEvent>();
  const apply = (entry: Entry): void => {
    if (entry.type === 'batch') batches.set(entry.batch.id, entry.batch);
    else if (entry.type === 'delivered') pending.delete(entry.id);
    else {
      events.push(entry.event);
      pending.set(entry.event.id, entry.event);
    }
  };
  const journal =
    folder === undefined ? undefined : openJournal<Entry>(join(folder, 'books.jsonl'));
  for (const entry of journal?.entries ?? []) apply(entry);
  const append = (entry: Entry): void => {
    apply(entry);
    journal?.append(entry);
  };
  return {
    batches,
    events,
    pending,
    putBatch: (batch) => append({ type: 'batch', batch }),
    addEvent: (event) => append({ type: 'event', event }),
    setDelivered: (id) => append({ type: 'delivered', id }),
    flushed: async () => journal?.flushed(),
    close: async () => journal?.close(),
  };
}
