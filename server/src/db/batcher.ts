import { AppError } from '../core/errors.ts';
import { finishReading } from '../core/turn.ts';
import { findSqlState, type Session } from './postgres/connection.ts';
import type { Database } from './postgres/pool.ts';

/**
 * Group commit: commands that wait are taken together into one durable transaction. One alone is
 * run at once, with what has already arrived; while a batch is being flushed the next one gathers.
 * There is no timer, so a command never waits for company.
 */

export type Batcher<Command, Result> = {
  /** @throws AppError unavailable when too many wait, and whatever `run` throws for this command. */
  submit(command: Command): Promise<Result>;
};

/** What `run` answers for a command whose account somebody else holds at the moment. */
export const held = Symbol('held');

/** What `run` throws where a command, nobody knows which, keeps the whole batch from being done. */
export class Poisoned extends Error {}

export type BatcherOptions<Command, Result> = {
  db: Database;
  /**
   * Runs a batch in one transaction and answers one result per command, in their order. Unless it
   * `mayWait` for the locks of others, it answers `held` for what would have to.
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
 * Batches that may be under way in a lane at once: one that runs, and the one after it if it has
 * company enough already. A small one gains more by growing until the lane is free.
 */
const slots = 2;
const companyMin = 100;
/** So often a contended account's row is queued for at once; only then not waiting is tried again. */
const queuedRuns = 16;
const contendedMax = 10_000;
const waitingMax = 10_000;
/** One account's crowd must not fill everybody's waiting room. */
const waitingOfAccountMax = 4_000;

type Waiting<Command, Result> = {
  readonly command: Command;
  readonly account: string;
  readonly key: string;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
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
      const item: Item = { command, account, key: options.keyOf(command), resolve, reject };
      const lane = lanes[findLane(account, lanes.length)];
      if (lane === undefined || count >= waitingMax || !lane.add(item)) {
        throw new AppError('unavailable', 'too much is waiting', { retryAfterSeconds: 1 });
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

/** The lane of an account: always the same one, so that its batches follow each other. */
function findLane(account: string, laneCount: number): number {
  return Number.parseInt(account.slice(-4), 16) % laneCount;
}

/** What waits for one lane, and what is under way in it. */
function createLaneQueue<Command, Result>(
  options: BatcherOptions<Command, Result>,
  session: Session,
) {
  type Item = Waiting<Command, Result>;
  const room = createWaitingRoom<Item>();
  let running = 0;
  /** Accounts that others work on, too: how often to queue for them before not waiting is tried. */
  const contended = new Map<string, number>();

  /** Answers what could be run; the accounts that are held go on by themselves, each in its turn. */
  const settle = async (batch: readonly Item[], mayWait: boolean): Promise<void> => {
    const runBatch = (commands: readonly Command[]) =>
      options.run(mayWait ? options.db.waiting : session, commands, mayWait);
    const outcomes = await runItems(runBatch, batch);
    const heldItems: Item[] = [];
    for (const [index, one] of batch.entries()) {
      const outcome = outcomes[index];
      // Who waited and could not have it never will: the account does not exist.
      if (outcome?.kind === 'held' && mayWait) one.reject(new Error('no such account to lock'));
      else if (outcome?.kind === 'held') heldItems.push(one);
      else if (outcome?.kind === 'done') one.resolve(outcome.value);
      else one.reject(outcome?.error);
    }
    if (mayWait) refuseWaiting(room, batch, outcomes);
    queueFor(heldItems);
  };

  /** Aside, so that nobody waits for them who has nothing to do with them. */
  const queueFor = (items: readonly Item[]): void => {
    for (const [account, own] of Map.groupBy(items, (item) => item.account)) {
      const left = (contended.get(account) ?? queuedRuns) - 1;
      if (left > 0 && contended.size < contendedMax) contended.set(account, left);
      else contended.delete(account);
      room.hold(account);
      void settle(own, true).finally(() => {
        room.release(account);
        pump();
      });
    }
  };

  const pump = (): void => {
    while (running === 0 || (running < slots && room.size() >= companyMin)) {
      const taken = room.take();
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
  /** What comes in the same turn of the event loop goes along. */
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
      if (!room.add(item)) return false;
      call();
      return true;
    },
  };
}

/**
 * Requests behind a batch that could not have its account's lock have waited as long already; to
 * begin the wait again for each of their batches would add up to several lock timeouts.
 */
function refuseWaiting<Command, Result>(
  room: ReturnType<typeof createWaitingRoom<Waiting<Command, Result>>>,
  batch: readonly Waiting<Command, Result>[],
  outcomes: readonly Outcome<Result>[],
): void {
  const [first] = batch;
  for (const outcome of outcomes) {
    if (outcome.kind !== 'failed' || findSqlState(outcome.error) !== lockNotAvailable) continue;
    for (const item of room.takeAll(first?.account ?? '')) item.reject(outcome.error);
  }
}

/** The SQLSTATE of a lock timeout. */
const lockNotAvailable = '55P03';

/**
 * Who waits, each account in the order of its arrival. An account whose turn it was goes to the end,
 * so that a crowd of one delays nobody for long; one that is held has no turn.
 */
function createWaitingRoom<Item extends { account: string; key: string }>() {
  const queues = new Map<string, Item[]>();
  /** Accounts with somebody waiting that are not held; the next one first. */
  const ready = new Set<string>();
  const holds = new Map<string, number>();
  let count = 0;
  return {
    /** How many wait, those of held accounts too. */
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
    /** Everything that waits for one account. */
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

/** How many from the front can go together: at most so many, and none with the key of another. */
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

/** One outcome per item, whatever happens. */
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
    if (items.length === 1 || !isOfData(error)) return items.map(() => ({ kind: 'failed', error }));
    // What poisoned the batch is told to its own client only, when it has failed alone.
    const outcomes: Outcome<Result>[] = [];
    for (const one of items) outcomes.push(...(await runItems(run, [one])));
    return outcomes;
  }
}

/**
 * Whether an error lies in what was sent (SQLSTATE classes 21 to 23, and P0): then the others may
 * succeed without it. A lost connection or a timeout would only be met again, once per command.
 */
function isOfData(error: unknown): boolean {
  return error instanceof Poisoned || /^(?:2[123]|P0)/.test(findSqlState(error) ?? '');
}

export type TenantBatcher<Command, Result> = {
  submit(accountId: string, command: Command): Promise<Result>;
};

/**
 * Reads of one account that wait for the same moment share a statement on that account's own
 * session. Each begins after it was asked for, so that everybody reads what they have written.
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
