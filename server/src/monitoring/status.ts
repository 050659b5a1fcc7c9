import { describeSending, type FreezeRow, listFreezes } from '../controls/freezes.ts';
import type { Database } from '../db/postgres/pool.ts';
import { describeRecovery } from '../dispatch/recovery.ts';
import { readListsInForce } from '../screening/screening.ts';
import { countOpenExceptions, countUnfinished } from './gauges.sql.ts';
import { listUnfinishedRows, readTotals, type UnfinishedPayoutRow } from './unfinished.sql.ts';

export {
  findUnfinishedRow as findUnfinished,
  listUnfinishedRows as listUnfinished,
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
  freezes: FreezeRow[];
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
    const stuck = await listUnfinishedRows(session, { isStuck: true }, stuckShown);
    const sending = await describeSending(session);
    const statuses = [...new Set(unfinished.map(({ status }) => status))].toSorted();
    return {
      now: totals.now,
      accounts: totals.accounts,
      batchesCommitting: totals.batches_committing,
      freezes: await listFreezes(session, { withLifted: false }),
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
