import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../core/errors.ts';
import type { Database } from '../db/postgres/pool.ts';
import { createEventPages, type EventPages } from './event-pages.ts';
import { selectChangedAccounts } from './events.sql.ts';
import { type EventRow, readEvents } from './events.ts';

/**
 * Lets readers wait for events. While any reader of the process waits, one statement a moment asks for
 * all accounts whether something was written, by whatever process; a reader holds no connection. Readers
 * at the same place of an account share what is read.
 */

export type Position = { accountId: string; after: bigint };

export type EventFeed = {
  /**
   * The events after a position, as soon as there are any; none after `waitMs`, or when the feed stops.
   *
   * @throws AppError events_dropped if events in between were deleted.
   */
  next(position: Position, waitMs: number): Promise<readonly EventRow[]>;
  /**
   * Takes a place among the account's readers, of which there is a bounded number. Returns what gives it
   * back.
   *
   * @throws AppError rate_limited, unavailable once the feed stops.
   */
  enter(accountId: string): () => void;
  /** For readers that are behind. */
  readonly pages: EventPages;
  isStopping(): boolean;
  /** Ends every wait. Resolves when the last reader has left. */
  stop(): Promise<void>;
};

export type FeedOptions = {
  db: Pick<Database, 'system' | 'tenant'>;
  /** For each account. */
  readersMax: number;
  onError: (error: unknown) => void;
  /** Waits between two statements; without it, for as long as it is asked to. */
  pause?: (pauseMs: number) => Promise<unknown>;
};

/** The longest time from a commit to the reading of its event. */
const tickMs = 100;
const errorWaitMs = 1_000;
/** Of one reading. It bounds what is kept for a reader that is slow to take it. */
export const pageCount = 50;
/** Places that are read at the same time. */
const readsMax = 4;

type Outcome = readonly EventRow[] | Error;
type Place = Position & { readonly waiters: Set<(outcome: Outcome) => void> };
type Places = Map<string, Place>;

export function createEventFeed(options: FeedOptions): EventFeed {
  const { db, readersMax, onError, pause = sleep } = options;
  const places: Places = new Map();
  const readers = createReaders(readersMax);
  const pages = createEventPages();
  let isStopping = false;
  let running: Promise<void> | undefined;
  const run = async (): Promise<void> => {
    while (places.size > 0) {
      const startedMs = performance.now();
      const waitMs = await readPlaces(db, places).then(
        (hasMore) => (hasMore ? 0 : tickMs),
        (error: unknown) => {
          // The readers keep waiting.
          onError(error);
          return errorWaitMs;
        },
      );
      await pause(Math.max(1, waitMs - (performance.now() - startedMs)));
    }
    running = undefined;
  };
  return {
    next: async (position, waitMs) => {
      if (isStopping) return [];
      const waiting = waitAt(places, position, waitMs);
      running ??= run();
      return waiting;
    },
    enter: readers.enter,
    pages,
    isStopping: () => isStopping,
    stop: async () => {
      isStopping = true;
      pages.end();
      for (const [key, place] of places) settle(places, [key, place], []);
      await readers.close();
      await running;
    },
  };
}

function waitAt(places: Places, position: Position, waitMs: number): Promise<readonly EventRow[]> {
  const key = `${position.accountId} ${position.after}`;
  const place = places.get(key) ?? { ...position, waiters: new Set() };
  places.set(key, place);
  return new Promise((resolve, reject) => {
    const end = (outcome: Outcome): void => {
      clearTimeout(timer);
      place.waiters.delete(end);
      if (place.waiters.size === 0 && places.get(key) === place) places.delete(key);
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    };
    const timer = setTimeout(end, waitMs, []);
    place.waiters.add(end);
  });
}

function settle(places: Places, [key, place]: [string, Place], outcome: Outcome): void {
  places.delete(key);
  for (const end of place.waiters) end(outcome);
}

/** Reads the places of accounts that have new events. Answers true if a reader has more to read. */
async function readPlaces(db: FeedOptions['db'], places: Places): Promise<boolean> {
  const known = new Map<string, bigint>();
  for (const { accountId, after } of places.values()) {
    const lowest = known.get(accountId);
    if (lowest === undefined || after < lowest) known.set(accountId, after);
  }
  const changed = await selectChangedAccounts(
    db.system,
    [...known].map(([accountId, after]) => ({ accountId, after })),
  );
  const newest = new Map(changed.map((row) => [row.account_id, row.newest]));
  const due = [...places].filter(
    ([, { accountId, after }]) => after < (newest.get(accountId) ?? 0n),
  );
  let hasMore = false;
  const readNext = async (): Promise<void> => {
    for (let one = due.pop(); one !== undefined; one = due.pop()) {
      const outcome = await readPlace(db, one[1]);
      if (outcome instanceof Error || outcome.length > 0) settle(places, one, outcome);
      if (!(outcome instanceof Error) && outcome.length === pageCount) hasMore = true;
    }
  };
  await Promise.all(Array.from({ length: readsMax }, readNext));
  return hasMore;
}

async function readPlace(db: FeedOptions['db'], { accountId, after }: Place): Promise<Outcome> {
  try {
    return await readEvents(db.tenant(accountId), { accountId, after, count: pageCount });
  } catch (error) {
    if (error instanceof AppError && error.code === 'events_dropped') return error;
    throw error;
  }
}

/** Counts the readers of each account. */
function createReaders(readersMax: number) {
  const counts = new Map<string, number>();
  const emptied = Promise.withResolvers<void>();
  let isClosed = false;
  const leave = (accountId: string): void => {
    const left = (counts.get(accountId) ?? 1) - 1;
    if (left === 0) counts.delete(accountId);
    else counts.set(accountId, left);
    if (isClosed && counts.size === 0) emptied.resolve();
  };
  return {
    enter: (accountId: string): (() => void) => {
      if (isClosed) throw new AppError('unavailable', 'The service is stopping');
      const count = counts.get(accountId) ?? 0;
      if (count >= readersMax) {
        const detail = `At most ${readersMax} readers of an account may wait for events`;
        throw new AppError('rate_limited', detail, { retryAfterSeconds: 1 });
      }
      counts.set(accountId, count + 1);
      return () => leave(accountId);
    },
    close: async (): Promise<void> => {
      isClosed = true;
      if (counts.size > 0) await emptied.promise;
    },
  };
}
