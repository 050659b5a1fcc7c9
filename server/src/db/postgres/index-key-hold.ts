import pg from 'pg';
import { z } from 'zod';
import { AppError } from '../../core/errors.ts';

/**
 * Every connection of a process holds the index key: as long as one of them is open, no rotation replaces
 * it. A connection that is opened afterwards finds another generation than the process began with, and is
 * refused. So no transaction runs while the key is replaced, and none of a process that still has the old
 * key runs later: a session lock ends with its connection, whatever the process believes, and a server
 * that takes over for a failed one has no connections at first.
 *
 * Behind a pooler by transaction, sessions hold nothing. There each transaction holds the key, and compares
 * the generation, by itself (`hold_index_key` of the database).
 */
export type IndexKeyHold = {
  /** What the first connection found; undefined before it. */
  generation: number | undefined;
  /** Called each time a connection finds another generation. */
  readonly onReplaced: () => void;
};

/** The process cannot use the database with the key that it has, or not yet. */
export class IndexKeyUnheld extends AppError {}

/** The advisory lock, as `pg_locks` shows it too: by the two numbers of its name. */
const lockName = `hashtext('outlay index key'), 0`;

const generation = `coalesce((select index_generation from environment), 1)`;

/** The lock first: each statement sees what was committed before it. */
export const holdInSession = `
  select pg_try_advisory_lock_shared(${lockName}) as is_held;
  select ${generation} as generation`;

export const readGeneration = `select ${generation} as generation`;

const heldAnswer = z.object({ rows: z.tuple([z.object({ is_held: z.boolean() })]) });
const generationAnswer = z.object({ rows: z.tuple([z.object({ generation: z.int() })]) });

/** Reads the answers to `holdInSession`. @throws IndexKeyUnheld. */
export function checkHeld(hold: IndexKeyHold, answers: readonly unknown[]): void {
  const [held, found] = answers.slice(-2);
  if (!heldAnswer.parse(held).rows[0].is_held) throw refuseBusy();
  checkGeneration(hold, found);
}

/** The generation of the process, from then on. @throws IndexKeyUnheld where it was another. */
export function checkGeneration(hold: IndexKeyHold, answer: unknown): number {
  const [found] = generationAnswer.parse(answer).rows;
  hold.generation ??= found.generation;
  if (hold.generation === found.generation) return found.generation;
  throw refuseReplaced(hold);
}

function refuseBusy(cause?: unknown): IndexKeyUnheld {
  return new IndexKeyUnheld('unavailable', 'The index key is being replaced. Retry later.', {
    retryAfterSeconds: 5,
    cause,
  });
}

function refuseReplaced(hold: IndexKeyHold, cause?: unknown): IndexKeyUnheld {
  hold.onReplaced();
  return new IndexKeyUnheld(
    'unavailable',
    'The index key was replaced after this process began. It must be started again.',
    { retryAfterSeconds: 5, cause },
  );
}

/** What each transaction behind a pooler does to hold the key. */
export type TransactionHold = {
  readonly of: IndexKeyHold;
  readonly statement: { readonly name: string; readonly text: string };
};

export function describeHold(of: IndexKeyHold, number: number): TransactionHold {
  const statement = {
    name: `hold_index_key_${number}`,
    text: `select hold_index_key(${number})`,
  };
  return { of, statement };
}

/** The error as it is thrown, where the hold raised it; any other one as it is. */
export function explainUnheld({ of }: TransactionHold, error: unknown): unknown {
  const code = error instanceof pg.DatabaseError ? error.code : undefined;
  if (code === 'OI001') return refuseBusy(error);
  return code === 'OI002' ? refuseReplaced(of, error) : error;
}
