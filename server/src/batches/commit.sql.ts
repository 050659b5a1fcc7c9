import type { Session, Statement } from '../db/postgres/pool.ts';

const beginText: Statement = {
  name: 'begin_batch_commit',
  text: `select result, detail from begin_batch_commit($1, $2, $3)`,
};

const commitRowsText: Statement = {
  name: 'commit_batch_rows',
  text: `select commit_batch_rows($1, $2, $3, $4) as count`,
};

/** The batch that has waited longest for its rows to become payouts. */
const claimText: Statement = {
  name: 'claim_batch_commit',
  text: `
    with due as (
      select account_id, id from batches
      where status = 'COMMITTING' and (lease_until is null or lease_until < clock_timestamp())
      order by updated_at
      limit 1
      for update skip locked
    )
    update batches b
    set fence = b.fence + 1, lease_until = clock_timestamp() + $1 * interval '1 millisecond'
    from due
    where b.account_id = due.account_id and b.id = due.id
    returning b.account_id, b.id as batch_id, b.fence`,
};

const renewText: Statement = {
  name: 'renew_batch_commit',
  text: `
    update batches set lease_until = clock_timestamp() + $4 * interval '1 millisecond'
    where account_id = $1 and id = $2 and fence = $3 and status = 'COMMITTING'`,
};

/** The next batch comes first next time, so that a large one does not hold up the others. */
const putBackText: Statement = {
  name: 'put_back_batch_commit',
  text: `
    update batches set lease_until = null, updated_at = environment_now()
    where account_id = $1 and id = $2 and fence = $3 and status = 'COMMITTING'`,
};

const findAbandonedText: Statement = {
  name: 'find_abandoned_uploads',
  text: `
    update batches b
    set fence = b.fence + 1, lease_until = clock_timestamp() + interval '1 minute'
    where (b.account_id, b.id) in (
      select account_id, id from batches
      where status = 'RECEIVING' and updated_at < environment_now() - $1 * interval '1 millisecond'
        and (lease_until is null or lease_until < clock_timestamp())
      order by updated_at
      limit 10
      for update skip locked)
    returning b.account_id, b.id as batch_id, b.fence`,
};

export type CommitResult =
  | 'success'
  | 'invalid_rows'
  | 'ex_rate_expired'
  | 'insufficient_funds'
  | 'not_quoted'
  | 'nothing_to_pay'
  | 'not_found';

/**
 * The detail of `invalid_rows` is their number, that of `not_quoted` the status, that of
 * `insufficient_funds` a JSON array of { currency, needed, available } in minor units.
 */
export type BeginRow = { result: CommitResult; detail: string };

/** Moves a quoted batch to COMMITTING and reserves its money: all of it, or nothing and why. */
export async function beginCommit(
  session: Session,
  commit: { accountId: string; batchId: string; mode: 'all' | 'valid' },
): Promise<BeginRow> {
  const values = [commit.accountId, commit.batchId, commit.mode];
  const [row] = await session.rows<BeginRow>(beginText, values);
  if (row === undefined) throw new Error('the commit of a batch answered nothing');
  return row;
}

export type ClaimRow = { account_id: string; batch_id: string; fence: bigint };

const valuesOf = (claim: ClaimRow): unknown[] => [claim.account_id, claim.batch_id, claim.fence];

/** How many rows it went through; 0: the batch is COMMITTED, or another has taken it over. */
export async function commitRows(
  session: Session,
  claim: ClaimRow,
  count: number,
): Promise<number> {
  const [row] = await session.rows<{ count: number }>(commitRowsText, [...valuesOf(claim), count]);
  return row?.count ?? 0;
}

export async function claimCommit(
  session: Session,
  leaseMs: number,
): Promise<ClaimRow | undefined> {
  return (await session.rows<ClaimRow>(claimText, [leaseMs]))[0];
}

export async function renewCommit(
  session: Session,
  claim: ClaimRow,
  leaseMs: number,
): Promise<void> {
  await session.rows(renewText, [...valuesOf(claim), leaseMs]);
}

export async function putBackCommit(session: Session, claim: ClaimRow): Promise<void> {
  await session.rows(putBackText, valuesOf(claim));
}

export async function claimAbandoned(session: Session, ageMs: number): Promise<ClaimRow[]> {
  return session.rows<ClaimRow>(findAbandonedText, [ageMs]);
}
