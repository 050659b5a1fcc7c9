import { newDigits, newId } from '../core/ids.ts';
import { type Batcher, createBatcher, createTenantBatcher, held } from '../db/batcher.ts';
import { type Database, findConstraint } from '../db/pool.ts';
import { commitPayoutRows } from './group-commit.sql.ts';
import {
  findQuoteContexts,
  insertPayouts,
  type NewPayout,
  type PayoutRow,
  type QuoteContextQuery,
  type QuoteContextRow,
} from './payouts.sql.ts';
import type { QuoteStore } from './payouts.ts';

/**
 * Commits in groups: those that wait go into the ledger together. Only what is in order is taken,
 * and answered with the text of its answer; undefined says that it was left alone, and that
 * `commitPayout` has to look at it by itself.
 */

export type CommitCommand = {
  accountId: string;
  userId: string;
  payoutId: string;
  /** Stored with the answer, in the same transaction. */
  requestKey: { key: string; fingerprint: Buffer } | undefined;
};

export type GroupCommit = Batcher<CommitCommand, string | undefined>;

export function createGroupCommit(db: Database): GroupCommit {
  return createBatcher({
    accountOf: ({ accountId }) => accountId,
    keyOf: ({ payoutId }) => payoutId,
    run: async (commands, mayWait) => {
      try {
        return await runCommits(db, commands, mayWait);
      } catch (error) {
        // Another process has stored this key: who looks at it alone finds its answer.
        const isKeyTaken = findConstraint(error) === 'idempotency_records_pkey';
        if (commands.length === 1 && isKeyTaken) return [undefined];
        throw error;
      }
    },
  });
}

/** New quotes in groups: read together per account, stored together as they come. */
export function createGroupQuote(db: Database): QuoteStore {
  const reads = createTenantBatcher<QuoteContextQuery, QuoteContextRow | undefined>(
    (accountId, queries) => findQuoteContexts(db.tenant(accountId), accountId, queries),
  );
  const inserts = createBatcher<NewPayout, PayoutRow>({
    accountOf: ({ accountId }) => accountId,
    keyOf: ({ id }) => id,
    run: async (payouts, mayWait) => {
      const rows = await insertPayouts(db.system, payouts, mayWait);
      return rows.map((row) => row ?? held);
    },
  });
  return { findContext: reads.submit, insert: inserts.submit };
}

async function runCommits(
  db: Database,
  commands: readonly CommitCommand[],
  mayWait: boolean,
): Promise<(string | undefined | typeof held)[]> {
  const commits = commands.map((command) => ({
    ...command,
    journalId: newId(),
    pickupCode: newDigits(8),
  }));
  const results: (string | undefined | typeof held)[] = Array.from({ length: commands.length });
  for (const row of await commitPayoutRows(db.system, commits, mayWait)) {
    results[row.ordinal - 1] = row.is_held ? held : row.body;
  }
  return results;
}
