import { AppError } from '../core/errors.ts';
import { finishReading } from '../core/finish-reading.ts';
import { findRecorded, runInSpan, type Span, type Tracing } from '../tracing/tracing.ts';
import { type Session } from './postgres/connection.ts';
import { findSqlState } from './postgres/errors.ts';
import type { Database } from './postgres/pool.ts';

/**
 * Group commit: waiting commands share one durable transaction. A batch starts as soon as a lane is
 * free, with the commands that have arrived; the next batch gathers meanwhile. There is no timer.
 */

export type Batcher<Command, Result> = {
  /** @throws AppError unavailable when too many wait, or the error of `run` for this command. */
  submit(command: Command): Promise<Result>;
};

/** Result of a command whose account another transaction has locked. */
export const held = Symbol('held');

/** Thrown by `run` when one of the commands, not known which, makes the whole batch fail. */
export class RejectedItem extends Error {}

export type BatcherOptions<Command, Result> = {
  /** Of batches, in traces. */
  name: string;
  db: Database;
  /**
   * Runs a batch in one transaction and returns one result per command, in their order. Unless it
   * `mayWait` for locks, it returns `held` for commands of locked accounts.
   */
  run: (
    session: Session,
    commands: readonly Command[],
    mayWait: boolean,
  ) => Promise<readonly (Result | typeof held)[]>;
  accountOf: (command: Command) => string;
  /** Commands of the same key are never in one batch. */
  keyOf: (command: Command) => string;
};

const sizeMax = 500;
/**
 * Batches in progress in a lane at once: one that runs, and the next one if it is large enough. A small
 * one gains more by growing until the lane is free.
 */
const slots = 2;
const secondBatchMin = 100;
/** After so many runs that wait for a contended account's lock, a run without waiting is tried again. */
const queuedRuns = 16;
const contendedMax = 10_000;
const waitingMax = 10_000;
/** One account must not fill the whole queue. */
const waitingOfAccountMax = 4_000;

type Waiting<Command, Result> = {
  readonly command: Command;
  readonly account: string;
  readonly key: string;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
  /** Of the request that waits for it. */
  readonly span: Span | undefined;
};

export function createBatcher<Command, Result>(
  options: BatcherOptions<Command, Result>,
): Batcher<Command, Result> {
  type Item = Waiting<Command, Result>;
  const lanes = options.db.lanes.map((session) => createLaneQueue(options, session));
  let count = 0;
  return {
    submit: async (command) => {
      const { promise, resolve, reject } = Promise.withResolvers<Result>();
      const account = options.accountOf(command);
      const span = findRecorded(options.db.tracing);
      const item: Item = { command, account, key: options.keyOf(command), resolve, reject, span };
      const lane = lanes[findLane(account, lanes.length)];
      if (lane === undefined || count >= waitingMax || !lane.add(item)) {
        throw new AppError('unavailable', 'Too many requests wait for the database. Retry later.', {
          retryAfterSeconds: 1,
        });
      }
      count += 1;
      try {
        return await promise;
      } finally {
        count -= 1;
      }
    },
  };
}

/** Always the same lane for an account, so that its batches run in order. */
function findLane(account: string, laneCount: number): number {
  return Number.parseInt(account.slice(-4), 16) % laneCount;
}

/** The queue of one lane, and its batches in progress. */
function createLaneQueue<Command, Result>(
  options: BatcherOptions<Command, Result>,
  session: Session,
) {
  type Item = Waiting<Command, Result>;
  const waiting = createWaitingQueue<Item>();
  let running = 0;
  /** Accounts that other processes lock too, with the runs left that wait for their locks. */
  const contended = new Map<string, number>();

  /** Settles the commands that were run; those of locked accounts run separately. */
  const settle = async (batch: readonly Item[], mayWait: boolean): Promise<void> => {
    const runBatch = (commands: readonly Command[]) =>
      options.run(mayWait ? options.db.waiting : session, commands, mayWait);
    const outcomes = await traceBatch(options, batch, () => runItems(runBatch, batch));
    const heldItems: Item[] = [];
    for (const [index, one] of batch.entries()) {
      const outcome = outcomes[index];
      // A run that waits locks every account that exists.
      if (outcome?.kind === 'held' && mayWait) one.reject(new Error('account not found'));
      else if (outcome?.kind === 'held') heldItems.push(one);
      else if (outcome?.kind === 'done') one.resolve(outcome.value);
      else one.reject(outcome?.error);
    }
    if (mayWait) refuseWaiting(waiting, batch, outcomes);
    queueFor(heldItems);
  };

  /** Runs contended accounts separately, so that they do not delay others. */
  const queueFor = (items: readonly Item[]): void => {
    for (const [account, own] of Map.groupBy(items, (item) => item.account)) {
      const left = (contended.get(account) ?? queuedRuns) - 1;
      if (left > 0 && contended.size < contendedMax) contended.set(account, left);
      else contended.delete(account);
      waiting.hold(account);
      void settle(own, true).finally(() => {
        waiting.release(account);
        pump();
      });
    }
  };

  const pump = (): void => {
    while (running === 0 || (running < slots && waiting.size() >= secondBatchMin)) {
      const taken = waiting.take();
      if (taken.length === 0) return;
      const batch = taken.filter(({ account }) => !contended.has(account));
      queueFor(taken.filter(({ account }) => contended.has(account)));
      if (batch.length === 0) continue;
      running += 1;
      void settle(batch, false).finally(() => {
        running -= 1;
        pump();
      });
    }
  };

  let isCalled = false;
  /** Commands of the same turn of the event loop share a batch. */
  const call = (): void => {
    if (isCalled || running >= slots) return;
    isCalled = true;
    void finishReading().then(() => {
      isCalled = false;
      pump();
    });
  };
  return {
    /** False when too many of its account are waiting. */
    add: (item: Item): boolean => {
      if (!waiting.add(item)) return false;
      call();
      return true;
    },
  };
}

/**
 * Rejects the commands queued behind a batch whose lock timed out: they have waited as long already,
 * and another wait for each of their batches would add up to several timeouts.
 */
function refuseWaiting<Command, Result>(
  waiting: ReturnType<typeof createWaitingQueue<Waiting<Command, Result>>>,
  batch: readonly Waiting<Command, Result>[],
  outcomes: readonly Outcome<Result>[],
): void {
  const [first] = batch;
  for (const outcome of outcomes) {
    if (outcome.kind !== 'failed' || findSqlState(outcome.error) !== lockNotAvailable) continue;
    for (const item of waiting.takeAll(first?.account ?? '')) item.reject(outcome.error);
  }
}

/**
 * A batch is part of the trace of its first request, with links to the others. Its statements belong
 * to no request that merely happened to start it.
 */
function traceBatch<T>(
  { name, db: { tracing } }: { name: string; db: { tracing?: Tracing | undefined } },
  batch: readonly { span: Span | undefined }[],
  work: () => Promise<T>,
): Promise<T> {
  if (tracing === undefined) return work();
  const [parent, ...links] = batch.flatMap(({ span }) => span ?? []);
  if (parent === undefined) return tracing.within(undefined, work);
  const attributes = { 'outlay.batch.size': batch.length };
  return runInSpan(tracing, { name: `batch ${name}`, parent, links, attributes }, work);
}

/** The SQLSTATE of a lock timeout. */
const lockNotAvailable = '55P03';

/**
 * A queue that is fair between accounts: each keeps the order of its commands, and goes to the end when
 * some were taken. Accounts on hold are skipped.
 */
function createWaitingQueue<Item extends { account: string; key: string }>() {
  const queues = new Map<string, Item[]>();
  /** Accounts with waiting commands that are not on hold; the next one first. */
  const ready = new Set<string>();
  const holds = new Map<string, number>();
  let count = 0;
  return {
    size: (): number => count,
    /** False when too many of its account are waiting. */
    add: (item: Item): boolean => {
      const queue = queues.get(item.account) ?? [];
      if (queue.length >= waitingOfAccountMax) return false;
      count += 1;
      queue.push(item);
      queues.set(item.account, queue);
      if (!holds.has(item.account)) ready.add(item.account);
      return true;
    },
    take: (): Item[] => {
      const batch: Item[] = [];
      const unfinished: string[] = [];
      for (const account of ready) {
        if (batch.length === sizeMax) break;
        const queue = queues.get(account) ?? [];
        const items = queue.splice(0, countDistinct(queue, sizeMax - batch.length));
        for (const item of items) batch.push(item);
        ready.delete(account);
        if (queue.length === 0) queues.delete(account);
        else unfinished.push(account);
      }
      for (const account of unfinished) ready.add(account);
      count -= batch.length;
      return batch;
    },
    /** Removes all commands of one account. */
    takeAll: (account: string): Item[] => {
      const queue = queues.get(account) ?? [];
      queues.delete(account);
      ready.delete(account);
      count -= queue.length;
      return queue;
    },
    hold: (account: string): void => {
      holds.set(account, (holds.get(account) ?? 0) + 1);
      ready.delete(account);
    },
    release: (account: string): void => {
      const left = (holds.get(account) ?? 1) - 1;
      if (left > 0) holds.set(account, left);
      else {
        holds.delete(account);
        if (queues.has(account)) ready.add(account);
      }
    },
  };
}

/** How many commands from the front can share a batch: at most `most`, with distinct keys. */
function countDistinct(queue: readonly { key: string }[], most: number): number {
  const keys = new Set<string>();
  for (const { key } of queue) {
    if (keys.size === most || keys.has(key)) break;
    keys.add(key);
  }
  return keys.size;
}

type Outcome<Result> =
  | { kind: 'done'; value: Result }
  | { kind: 'held' }
  | { kind: 'failed'; error: unknown };

/** One outcome per item; never throws. */
async function runItems<Command, Result>(
  run: (commands: readonly Command[]) => Promise<readonly (Result | typeof held)[]>,
  items: readonly { command: Command }[],
): Promise<Outcome<Result>[]> {
  try {
    const results = await run(items.map(({ command }) => command));
    return items.map((_, index) => {
      const value = results[index] as Result | typeof held;
      return value === held ? { kind: 'held' } : { kind: 'done', value };
    });
  } catch (error) {
    if (items.length === 1 || !isCausedByItem(error))
      return items.map(() => ({ kind: 'failed', error }));
    // Run one by one, so that only the rejected item fails.
    const outcomes: Outcome<Result>[] = [];
    for (const one of items) outcomes.push(...(await runItems(run, [one])));
    return outcomes;
  }
}

/**
 * Whether an item caused the error (SQLSTATE classes 21 to 23, and P0): the others may succeed without
 * it. A lost connection or a timeout would only be repeated for each item.
 */
function isCausedByItem(error: unknown): boolean {
  return error instanceof RejectedItem || /^(?:2[123]|P0)/.test(findSqlState(error) ?? '');
}

export type TenantBatcher<Command, Result> = {
  submit(accountId: string, command: Command): Promise<Result>;
};

/**
 * Concurrent reads of one account share a statement on that account's session. It begins after each of
 * them was submitted, so that clients read their own writes.
 */
export function createTenantBatcher<Command, Result>(
  run: (accountId: string, commands: readonly Command[]) => Promise<readonly Result[]>,
): TenantBatcher<Command, Result> {
  type Reader = {
    command: Command;
    resolve: (result: Result) => void;
    reject: (e: unknown) => void;
  };
  const waiting = new Map<string, Reader[]>();
  const busy = new Set<string>();
  const pump = async (accountId: string): Promise<void> => {
    if (busy.has(accountId)) return;
    busy.add(accountId);
    for (let all = waiting.get(accountId); all !== undefined; all = waiting.get(accountId)) {
      await finishReading();
      const readers = all.splice(0, sizeMax);
      if (all.length === 0) waiting.delete(accountId);
      try {
        const results = await run(
          accountId,
          readers.map(({ command }) => command),
        );
        for (const [index, reader] of readers.entries()) reader.resolve(results[index] as Result);
      } catch (error) {
        for (const reader of readers) reader.reject(error);
      }
    }
    busy.delete(accountId);
  };
  return {
    submit: (accountId, command) =>
      new Promise((resolve, reject) => {
        const readers = waiting.get(accountId) ?? [];
        readers.push({ command, resolve, reject });
        waiting.set(accountId, readers);
        void pump(accountId);
      }),
  };
}
