import { AppError } from '../core/errors.ts';

/**
 * Group commit: commands that wait are taken together into one durable transaction. One alone is
 * run at once; while a batch is being flushed the next one gathers. There is no timer, so a command
 * never waits for company.
 */

export type Batcher<Command, Result> = {
  /** @throws AppError unavailable when too many wait, and whatever `run` throws for this command. */
  submit(command: Command): Promise<Result>;
};

export type BatcherOptions<Command, Result> = {
  /** Runs a batch in one transaction and answers one result per command, in their order. */
  run: (commands: readonly Command[]) => Promise<readonly Result[]>;
  /** Commands of the same key are never in one batch, nor out of their order. */
  keyOf: (command: Command) => string;
  sizeMax: number;
  /** Batches that may be under way at once. */
  slots: number;
  waitingMax: number;
};

type Waiting<Command, Result> = {
  readonly command: Command;
  readonly key: string;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
};

export function createBatcher<Command, Result>(
  options: BatcherOptions<Command, Result>,
): Batcher<Command, Result> {
  let waiting: Waiting<Command, Result>[] = [];
  let running = 0;
  const runningKeys = new Set<string>();

  const take = (): Waiting<Command, Result>[] => {
    const batch: Waiting<Command, Result>[] = [];
    const left: Waiting<Command, Result>[] = [];
    for (const one of waiting) {
      if (batch.length >= options.sizeMax || runningKeys.has(one.key)) left.push(one);
      else {
        batch.push(one);
        runningKeys.add(one.key);
      }
    }
    waiting = left;
    return batch;
  };

  const runOne = async (one: Waiting<Command, Result>): Promise<void> => {
    try {
      const [result] = await options.run([one.command]);
      one.resolve(result as Result);
    } catch (error) {
      one.reject(error);
    }
  };

  const runBatch = async (batch: readonly Waiting<Command, Result>[]): Promise<void> => {
    const [first] = batch;
    if (batch.length === 1 && first !== undefined) return runOne(first);
    let results: readonly Result[];
    try {
      results = await options.run(batch.map(({ command }) => command));
    } catch {
      // What poisoned it is told to its own client only, when it has failed alone.
      for (const one of batch) await runOne(one);
      return;
    }
    for (const [index, one] of batch.entries()) one.resolve(results[index] as Result);
  };

  const pump = (): void => {
    while (running < options.slots) {
      const batch = take();
      if (batch.length === 0) return;
      running += 1;
      void runBatch(batch).finally(() => {
        running -= 1;
        for (const { key } of batch) runningKeys.delete(key);
        pump();
      });
    }
  };

  return {
    submit: (command) =>
      new Promise((resolve, reject) => {
        if (waiting.length >= options.waitingMax) {
          reject(new AppError('unavailable', 'too much is waiting', { retryAfterSeconds: 1 }));
          return;
        }
        waiting.push({ command, key: options.keyOf(command), resolve, reject });
        pump();
      }),
  };
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
  const batchers = new Map<string, { batcher: Batcher<Command, Result>; open: number }>();
  return {
    submit: async (accountId, command) => {
      let own = batchers.get(accountId);
      if (own === undefined) {
        let turn = 0;
        const batcher = createBatcher<Command, Result>({
          run: (commands) => run(accountId, commands),
          keyOf: () => String((turn += 1)),
          sizeMax: readsMax,
          slots: readSlots,
          waitingMax: readsWaitingMax,
        });
        own = { batcher, open: 0 };
        batchers.set(accountId, own);
      }
      own.open += 1;
      try {
        return await own.batcher.submit(command);
      } finally {
        own.open -= 1;
        if (own.open === 0) batchers.delete(accountId);
      }
    },
  };
}

const readsMax = 200;
const readSlots = 2;
const readsWaitingMax = 10_000;
