import type { Database } from '../db/postgres/pool.ts';
import { findTracePlaces } from '../tracing/trace-contexts.ts';
import { runInSpan } from '../tracing/tracing.ts';
import { removeBatch } from './batches.sql.ts';
import {
  type ClaimRow,
  claimAbandoned,
  claimCommit,
  commitRows,
  putBackCommit,
} from './commit.sql.ts';

/**
 * Background work on batches. The process with the lease turns a committed batch into payouts in
 * portions, each a transaction of its own; after a crash another process takes the lease over.
 */

export type CommitterServices = {
  db: Database;
  steadyMs: () => number;
  /** Called when payouts have become due. */
  wakeDispatch: () => void;
};

const leaseMs = 10_000;
/** A portion locks the account's row, so it must be short. */
const portionRows = 500;
/** After this time another batch is claimed, and the service may stop. */
const turnMs = 1000;
const abandonedMs = 24 * 3_600_000;

/** Works on one committed batch for a while. @returns Whether there may be more to do. */
export async function runCommits(services: CommitterServices): Promise<boolean> {
  const { db, steadyMs } = services;
  const claim = await claimCommit(db.system, leaseMs);
  if (claim === undefined) return false;
  const endMs = steadyMs() + turnMs;
  await traceTurn(db, claim, async () => {
    while (steadyMs() < endMs) {
      if (!(await commitPortion(services, claim))) return;
    }
    await putBackCommit(db.system, claim);
  });
  return true;
}

/** In the trace of the request that committed the batch. */
async function traceTurn(
  { system, tracing }: Database,
  { account_id: accountId, batch_id: subjectId }: ClaimRow,
  work: () => Promise<void>,
): Promise<void> {
  const [place] = await findTracePlaces(system, tracing, [{ accountId, subjectId }]);
  if (tracing === undefined || place === undefined) return work();
  return runInSpan(
    tracing,
    { name: 'create payouts of a batch', kind: 'consumer', ...place },
    work,
  );
}

async function commitPortion(services: CommitterServices, claim: ClaimRow): Promise<boolean> {
  const { system } = services.db;
  const count = await commitRows(system, claim, { count: portionRows, leaseMs });
  if (count > 0) services.wakeDispatch();
  return count > 0;
}

/** Removes uploads that were not resumed for a day. @returns Whether there may be more. */
export async function removeAbandoned({ db }: Pick<CommitterServices, 'db'>): Promise<boolean> {
  const claims = await claimAbandoned(db.system, abandonedMs);
  for (const { account_id: accountId, batch_id: batchId, fence } of claims) {
    await removeBatch(db.system, { accountId, batchId, fence });
  }
  return claims.length > 0;
}
