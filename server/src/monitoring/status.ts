import { describeSending, type FreezeRow, readFreezesInForce } from '../controls/freezes.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { formatTimeCursor, type Paged, readTimeCursor, takePage } from '../db/time-page.ts';
import { describeRecovery } from '../dispatch/recovery.ts';
import { readListsInForce } from '../screening/screening.ts';
import { countOpenExceptions, countUnfinished } from './gauges.sql.ts';
import {
  listUnfinishedRows,
  readTotals,
  type UnfinishedFilter,
  type UnfinishedPayoutRow,
} from './unfinished.sql.ts';

export {
  findUnfinishedRow as findUnfinished,
  type UnfinishedPayoutRow,
  unfinishedStatuses,
} from './unfinished.sql.ts';

/** What an operator wants to know first. */

export type RailStatus = {
  rail: string;
  beingSent: number;
  handedOver: number;
  waiting: number;
  oldestSeconds: number;
};

export type Status = {
  now: Date;
  accounts: number;
  batchesCommitting: number;
  /** At most a thousand, those of accounts and recipients last. */
  freezes: FreezeRow[];
  freezesInForce: number;
  recovery: string;
  rails: RailStatus[];
  byStatus: { status: string; count: number }[];
  exceptions: { kind: string; count: number; oldest_seconds: number }[];
  /** The oldest stuck ones, and how many there are. */
  stuck: { matching: number; oldest: UnfinishedPayoutRow[] };
  lists: { list: string; checkedAtMs: number }[];
};

const stuckShown = 5;

/** One snapshot of the database. */
export async function readStatus(db: Database): Promise<Status> {
  const recovery = await describeRecovery({ db });
  return db.systemTransaction(async (session) => {
    const totals = await readTotals(session);
    const unfinished = await countUnfinished(session);
    const stuck = await listUnfinishedRows(
      session,
      { isStuck: true },
      { after: undefined, count: stuckShown },
    );
    const sending = await describeSending(session);
    const inForce = await readFreezesInForce(session);
    const statuses = [...new Set(unfinished.map(({ status }) => status))].toSorted();
    return {
      now: totals.now,
      accounts: totals.accounts,
      batchesCommitting: totals.batches_committing,
      freezes: inForce.freezes,
      freezesInForce: inForce.count,
      recovery: recovery.state,
      rails: sending.map((row) => ({
        rail: row.rail,
        beingSent: row.being_sent,
        handedOver: row.handed_over,
        waiting: row.waiting,
        oldestSeconds: Math.max(
          0,
          ...unfinished.filter(({ rail }) => rail === row.rail).map((one) => one.oldest_seconds),
        ),
      })),
      byStatus: statuses.map((status) => ({
        status,
        count: unfinished
          .filter((row) => row.status === status)
          .reduce((sum, { count }) => sum + count, 0),
      })),
      exceptions: await countOpenExceptions(session),
      stuck: { matching: stuck[0]?.matching ?? 0, oldest: stuck },
      lists: [...(await readListsInForce(session)).versions],
    };
  });
}

/** The oldest first. @throws AppError invalid_request for a cursor of no page. */
export async function listUnfinishedPage(
  session: Session,
  filter: UnfinishedFilter,
  { cursor, count }: { cursor: string | undefined; count: number },
): Promise<Paged<UnfinishedPayoutRow>> {
  const after = readTimeCursor(cursor);
  const found = await listUnfinishedRows(session, filter, { after, count: count + 1 });
  return takePage(found, count, ({ committed_us: us, payout_id: key }) =>
    formatTimeCursor({ us, key }),
  );
}
