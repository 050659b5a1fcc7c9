import { newDigits, newId } from '../core/ids.ts';
import {
  type Batcher,
  createBatcher,
  createTenantBatcher,
  held,
  type TenantBatcher,
} from '../db/batcher.ts';
import {
  createKeyedBatcher,
  type KeyedAnswer,
  type KeyedBatcher,
  type StoreAnswers,
} from '../db/keyed-batcher.ts';
import type { Database } from '../db/pool.ts';
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
    run: (commands, mayWait) => runCommits(db, commands, mayWait),
  });
}

export type GroupQuote = {
  /** Read together per account. */
  readonly reads: TenantBatcher<QuoteContextQuery, QuoteContextRow | undefined>;
  /** Stored together as they come, with the answers to their keys. */
  readonly inserts: KeyedBatcher<NewPayout, PayoutRow>;
};

export function createGroupQuote(db: Database, storeAnswers: StoreAnswers): GroupQuote {
  return {
    reads: createTenantBatcher((accountId, queries) =>
      findQuoteContexts(db.tenant(accountId), accountId, queries),
    ),
    inserts: createKeyedBatcher({
      db,
      storeAnswers,
      keyOf: ({ id }) => id,
      run: async (session, payouts, mayWait) => {
        const rows = await insertPayouts(session, payouts, mayWait);
        return rows.map((row) => row ?? held);
      },
    }),
  };
}

/** The store of one request within the group; the key is known when nothing can be stored. */
export function openGroupStore(
  group: GroupQuote,
  keyed: KeyedAnswer<PayoutRow> | undefined,
): QuoteStore {
  return {
    findContext: group.reads.submit,
    insert: async (command) => {
      const row = await group.inserts.submit({ command, keyed });
      if (row === undefined) throw new KeyKnown();
      return row;
    },
  };
}

/** The request's key was answered before: nothing was stored. */
export class KeyKnown extends Error {}

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
