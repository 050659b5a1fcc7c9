import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Pages of old events, for readers that catch up. Thousands of readers without a cursor may be at as many places
 * of long histories: their pages are made one after the other, in turns of the accounts, and after each the
 * process is left alone for as long as it took, so that all other requests are answered whatever is read here.
 * Readers that come to a place soon after another one get the page that was made for it.
 */

export type EventPage = {
  /** The frames are as they are sent, and shared by all who get the page. */
  readonly frames: Buffer;
  /** The sequence of its last event, whether it is among the frames or not. */
  readonly last: bigint;
  /** It is full, so that more events may follow. */
  readonly isComplete: boolean;
};

export type EventPages = {
  /**
   * `key` names the place in the history of the account, and all that a page depends on besides.
   *
   * @returns undefined where the pages end before it is made.
   * @throws what `make` throws.
   */
  get(
    accountId: string,
    key: string,
    make: () => Promise<EventPage>,
  ): Promise<EventPage | undefined>;
  /** Nothing is made from now on, and whoever waits stops waiting. */
  end(): void;
};

export type EventPagesOptions = {
  /** Waits after a page; without it, for as long as it is asked to. */
  pause?: (pauseMs: number) => Promise<unknown>;
  nowMs?: () => number;
};

/** The frames that are kept for the next readers take no more. */
const keptBytesMax = 8 * 1024 * 1024;
/** An event may be emptied at the request of a person whom it is about. */
const keptMsMax = 2_000;

type Kept = { readonly page: EventPage; readonly untilMs: number };
type Turn = () => Promise<void>;

export function createEventPages(options: EventPagesOptions = {}): EventPages {
  const { pause = sleep, nowMs = () => performance.now() } = options;
  /** The oldest first. */
  const kept = new Map<string, Kept>();
  let keptBytes = 0;
  const pending = new Map<string, Promise<EventPage | undefined>>();
  let hasEnded = false;
  /** The account whose turn is next first. */
  const waiting = new Map<string, Turn[]>();
  let isRunning = false;

  const takeTurn = (): Turn | undefined => {
    for (const [accountId, turns] of waiting) {
      waiting.delete(accountId);
      const turn = turns.shift();
      if (turns.length > 0) waiting.set(accountId, turns);
      return turn;
    }
    return undefined;
  };
  const run = async (): Promise<void> => {
    isRunning = true;
    for (let turn = takeTurn(); turn !== undefined; turn = takeTurn()) {
      const startedMs = nowMs();
      await turn();
      if (!hasEnded) await pause(nowMs() - startedMs);
    }
    isRunning = false;
  };
  const drop = (key: string): void => {
    keptBytes -= kept.get(key)?.page.frames.length ?? 0;
    kept.delete(key);
  };
  const keep = (key: string, page: EventPage): void => {
    // A page with room at its end is another one after the next event.
    if (!page.isComplete) return;
    kept.set(key, { page, untilMs: nowMs() + keptMsMax });
    keptBytes += page.frames.length;
    for (const [oldest, { untilMs }] of kept) {
      if (keptBytes <= keptBytesMax && untilMs >= nowMs()) break;
      drop(oldest);
    }
  };
  return {
    get: async (accountId, key, make) => {
      const known = kept.get(key);
      if (known !== undefined && known.untilMs >= nowMs()) return known.page;
      if (known !== undefined) drop(key);
      const coming = pending.get(key);
      if (coming !== undefined) return coming;
      const { promise, resolve, reject } = Promise.withResolvers<EventPage | undefined>();
      pending.set(key, promise);
      const turn = async (): Promise<void> => {
        try {
          const page = hasEnded ? undefined : await make();
          if (page !== undefined) keep(key, page);
          resolve(page);
        } catch (error) {
          reject(error);
        } finally {
          pending.delete(key);
        }
      };
      waiting.set(accountId, [...(waiting.get(accountId) ?? []), turn]);
      if (!isRunning) void run();
      return promise;
    },
    end: () => {
      hasEnded = true;
    },
  };
}
