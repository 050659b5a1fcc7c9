import type { Database } from '../db/postgres/pool.ts';
import { removeBatch } from './batches.sql.ts';
import {
  type ClaimRow,
  claimAbandoned,
  claimCommit,
  commitRows,
  putBackCommit,
  renewCommit,
} from './commit.sql.ts';

/**
 * The background work on batches. A committed batch is worked off in portions, each a transaction
 * of its own, by whoever holds its lease; a process that died is followed by another after it.
 */

export type CommitterServices = {
  db: Database;
  steadyMs: () => number;
  /** Payouts have become due. */
  wakeDispatch: () => void;
};

const leaseMs = 10_000;
/** A portion holds the account's row, so that it is over before anybody minds. */
const portionRows = 500;
/** After so long another batch may have its turn, and the service may stop. */
const turnMs = 1000;
const abandonedMs = 24 * 3_600_000;

/** Works on one committed batch for a while; answers whether there may be more to do. */
export async function runCommits(services: CommitterServices): Promise<boolean> {
  const { db, steadyMs } = services;
  const claim = await claimCommit(db.system, leaseMs);
  if (claim === undefined) return false;
  const endMs = steadyMs() + turnMs;
  while (steadyMs() < endMs) {
    if (!(await commitPortion(services, claim))) return true;
  }
  await putBackCommit(db.system, claim);
  return true;
}

async function commitPortion(services: CommitterServices, claim: ClaimRow): Promise<boolean> {
  const { system } = services.db;
  const count = await commitRows(system, claim, portionRows);
  if (count === 0) return false;
  services.wakeDispatch();
  await renewCommit(system, claim, leaseMs);
  return true;
}

/** Removes uploads that nobody has gone on with for a day; answers whether there may be more. */
export async function removeAbandoned({ db }: Pick<CommitterServices, 'db'>): Promise<boolean> {
  const claims = await claimAbandoned(db.system, abandonedMs);
  for (const { account_id: accountId, batch_id: batchId, fence } of claims) {
    await removeBatch(db.system, { accountId, batchId, fence });
  }
  return claims.length > 0;
}
