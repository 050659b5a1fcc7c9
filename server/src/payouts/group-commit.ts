import { assert } from '../core/errors.ts';
import { formatToken } from '../core/ids.ts';
import { openPickupCode } from '../core/pickup-code.ts';
import type { KeyRing } from '../core/sealing.ts';
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
import { placeByOrdinal } from '../db/ordinals.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { commitPayoutRows } from './group-commit.sql.ts';
import { type PayoutRow } from './payouts.sql.ts';
import type { QuoteStore } from './payouts.ts';
import {
  findQuoteContexts,
  insertPayouts,
  type NewPayout,
  type QuoteContextQuery,
  type QuoteContextRow,
  quoteRefused,
} from './quotes.sql.ts';
import { findRecipientOfQuote } from './recipient-check.sql.ts';
import type { FindRecipient } from './recipient-check.ts';

/**
 * Commits in groups: waiting commits are posted to the ledger together. The result is the text of the
 * answer; undefined: the payout was not committed, and `commitPayout` must handle it alone.
 */

export type CommitCommand = {
  accountId: string;
  userId: string;
  payoutId: string;
  /** Stored with the answer, in the same transaction. */
  requestKey: { key: string; fingerprint: Buffer } | undefined;
  /** Of the request, where it is traced; stored for those who send the payout. */
  traceparent?: string | undefined;
  /** Who commits: see `getMaker`. */
  maker?: string | undefined;
};

export type GroupCommit = Batcher<CommitCommand, string | undefined>;

export function createGroupCommit(db: Database, keys: KeyRing): GroupCommit {
  return createBatcher({
    name: 'commit payouts',
    db,
    accountOf: ({ accountId }) => accountId,
    keyOf: ({ payoutId }) => payoutId,
    run: (session, commands, mayWait) => runCommits({ session, keys }, commands, mayWait),
  });
}

export type GroupQuote = {
  /** Read together for each account. */
  readonly reads: TenantBatcher<QuoteContextQuery, QuoteContextRow | undefined>;
  /** Stored together, with the answers to their idempotency keys. */
  readonly inserts: KeyedBatcher<NewPayout, PayoutRow>;
  readonly findRecipient: FindRecipient;
};

export function createGroupQuote(db: Database, storeAnswers: StoreAnswers): GroupQuote {
  return {
    findRecipient: (accountId, query) =>
      findRecipientOfQuote(db.tenant(accountId), accountId, query),
    reads: createTenantBatcher((accountId, queries) =>
      findQuoteContexts(db.tenant(accountId), accountId, queries),
    ),
    inserts: createKeyedBatcher({
      name: 'create payouts',
      db,
      storeAnswers,
      keyOf: ({ id }) => id,
      run: async (session, payouts, mayWait) => {
        const rows = await insertPayouts(session, payouts, mayWait);
        // A refused one is handled alone, where it gets its answer.
        return rows.map((row) => (row === quoteRefused ? undefined : (row ?? held)));
      },
    }),
  };
}

/** The store of one request within the group. @throws KeyKnown. */
export function openGroupStore(
  group: GroupQuote,
  keyed: KeyedAnswer<PayoutRow> | undefined,
): QuoteStore {
  return {
    findContext: group.reads.submit,
    findRecipient: group.findRecipient,
    insert: async (command) => {
      const row = await group.inserts.submit({ command, keyed });
      if (row === undefined) throw new KeyKnown();
      return row;
    },
  };
}

/** The idempotency key has an answer already: nothing was stored. */
export class KeyKnown extends Error {}

async function runCommits(
  { session, keys }: { session: Session; keys: KeyRing },
  commands: readonly CommitCommand[],
  mayWait: boolean,
): Promise<(string | undefined | typeof held)[]> {
  const commits = commands.map(
    ({ accountId, userId, payoutId, requestKey, traceparent, maker }) => ({
      accountId,
      userId,
      payoutId,
      traceparent,
      maker,
      keyed:
        requestKey === undefined
          ? undefined
          : { ...requestKey, answer: writeSuccess(payoutId, pickupPlace) },
    }),
  );
  const rows = await commitPayoutRows(session, commits, mayWait);
  return placeByOrdinal(commands, rows, ({ ordinal, result, pickup_code: stored, data_key }) => {
    if (result === 'held') return held;
    if (result !== 'committed') return undefined;
    const command = commands[ordinal - 1];
    assert(command !== undefined, 'an ordinal is of a command');
    const code = openPickupCode(keys, { ...command, stored, dataKey: data_key });
    return writeSuccess(command.payoutId, code);
  });
}

/** The database replaces it with the pickup code as it is stored; a replay opens it. */
const pickupPlace = '%';

/** The text of the answer to a successful commit. */
function writeSuccess(payoutId: string, pickupCode: string): string {
  const payoutToken = formatToken('payout', payoutId);
  return `{"payout_token":"${payoutToken}","status":"success","pickup_code":"${pickupCode}","errors":""}`;
}
