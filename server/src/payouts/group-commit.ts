import { newDigits, newId } from '../core/ids.ts';
import { type Batcher, createBatcher, createTenantBatcher } from '../db/batcher.ts';
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

/** Past it only latency grows. */
const batchSizeMax = 500;
/** While one batch is being flushed, the next one is in the making. */
const slots = 2;
const waitingMax = 10_000;

export function createGroupCommit(db: Database): GroupCommit {
  return createBatcher({
    sizeMax: batchSizeMax,
    slots,
    waitingMax,
    keyOf: ({ payoutId }) => payoutId,
    run: async (commands) => {
      try {
        return await runBatch(db, commands);
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
    sizeMax: batchSizeMax,
    slots,
    waitingMax,
    keyOf: ({ id }) => id,
    run: (payouts) => insertPayouts(db.system, payouts),
  });
  return { findContext: reads.submit, insert: inserts.submit };
}

async function runBatch(
  db: Database,
  commands: readonly CommitCommand[],
): Promise<(string | undefined)[]> {
  const rows = await commitPayoutRows(
    db.system,
    commands.map((command) => ({ ...command, journalId: newId(), pickupCode: newDigits(8) })),
  );
  const bodies: (string | undefined)[] = Array.from({ length: commands.length });
  for (const { ordinal, body } of rows) bodies[ordinal - 1] = body;
  return bodies;
}
