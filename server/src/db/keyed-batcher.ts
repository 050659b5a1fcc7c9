import { type Batcher, createBatcher, held, RejectedItem } from './batcher.ts';
import type { Database, Session } from './postgres/pool.ts';

/** A batcher whose commands may have an idempotency key; the answer is stored with the effect. */

/** The key of a request, and the form in which its answer is stored for replays. */
export type KeyedAnswer<Result> = {
  readonly key: string;
  readonly fingerprint: Buffer;
  readonly seal: (result: Result) => SealedAnswer;
};

/** `userId`: under whose key it is sealed, if it contains personal data. */
export type SealedAnswer = { readonly body: Buffer; readonly userId?: string | undefined };

/** Stores all answers, or none and returns false if a key is known. */
export type StoreAnswers = (
  session: Session,
  records: readonly (SealedAnswer & { accountId: string; key: string; fingerprint: Buffer })[],
) => Promise<boolean>;

export type KeyedCommand<Command, Result> = {
  readonly command: Command;
  readonly keyed: KeyedAnswer<Result> | undefined;
};

/** Undefined: not done here; the request must be handled alone. */
export type KeyedBatcher<Command, Result> = Batcher<
  KeyedCommand<Command, Result>,
  Result | undefined
>;

export function createKeyedBatcher<Command extends { accountId: string }, Result>(options: {
  name: string;
  db: Database;
  storeAnswers: StoreAnswers;
  keyOf: (command: Command) => string;
  run: (
    session: Session,
    commands: readonly Command[],
    mayWait: boolean,
  ) => Promise<readonly (Result | undefined | typeof held)[]>;
}): KeyedBatcher<Command, Result> {
  const { name, db, storeAnswers, keyOf, run } = options;
  return createBatcher<KeyedCommand<Command, Result>, Result | undefined>({
    name,
    db,
    accountOf: ({ command }) => command.accountId,
    keyOf: ({ command }) => keyOf(command),
    run: async (session, items, mayWait) => {
      const commands = items.map(({ command }) => command);
      if (items.every(({ keyed }) => keyed === undefined)) return run(session, commands, mayWait);
      try {
        const transacting = mayWait ? db.waiting : db;
        return await transacting.systemTransaction(async (transaction) => {
          const results = await run(transaction, commands, mayWait);
          const records = items.flatMap(({ command, keyed }, index) => {
            const result = results[index];
            if (keyed === undefined || result === undefined || result === held) return [];
            const { key, fingerprint, seal } = keyed;
            return [{ accountId: command.accountId, key, fingerprint, ...seal(result) }];
          });
          // Rolls the transaction back.
          if (records.length > 0 && !(await storeAnswers(transaction, records)))
            throw new RejectedItem();
          return results;
        });
      } catch (error) {
        // The key was stored meanwhile: handled alone, the request finds that answer.
        if (items.length === 1 && error instanceof RejectedItem) return [undefined];
        throw error;
      }
    },
  });
}
