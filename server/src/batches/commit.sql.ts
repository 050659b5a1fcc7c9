import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, maybeOne, one, type RowOf } from '../db/rows.ts';

const beginColumns = {
  result: column.oneOf(
    'success',
    'account_frozen',
    'commits_stopped',
    'invalid_rows',
    'ex_rate_expired',
    'insufficient_funds',
    'not_quoted',
    'quote_changed',
    'other_quote',
    'nothing_to_pay',
    'not_found',
  ),
  detail: column.text,
};

const beginQuery = defineQuery({
  name: 'begin_batch_commit',
  text: `select result, detail from begin_batch_commit($1, $2, $3, $4, $5)`,
  columns: beginColumns,
});

const commitRowsQuery = defineQuery({
  name: 'commit_batch_rows',
  text: `select commit_batch_rows($1, $2, $3, $4, $5) as count`,
  columns: { count: column.integer },
});

const claimColumns = { account_id: column.uuid, batch_id: column.uuid, fence: column.bigint };
export type ClaimRow = RowOf<typeof claimColumns>;

/** The batch that has waited longest for its rows to become payouts. */
const claimQuery = defineQuery({
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
  columns: claimColumns,
});

/** Puts the batch behind the others, so that a large one does not delay them. */
const putBackStatement: Statement = {
  name: 'put_back_batch_commit',
  text: `
    update batches set lease_until = null, updated_at = environment_now()
    where account_id = $1 and id = $2 and fence = $3 and status = 'COMMITTING'`,
};

const claimAbandonedQuery = defineQuery({
  name: 'find_abandoned_uploads',
  text: `
    update batches b
    set fence = b.fence + 1, lease_until = clock_timestamp() + interval '1 minute'
    where (b.account_id, b.id) in (
      select account_id, id from batches
      where status = 'RECEIVING' and updated_at < (select environment_now()) - $1 * interval '1 millisecond'
        and (lease_until is null or lease_until < clock_timestamp())
      order by updated_at
      limit 10
      for update skip locked)
    returning b.account_id, b.id as batch_id, b.fence`,
  columns: claimColumns,
});

/**
 * The detail of `invalid_rows` is their number, that of `not_quoted` the status, that of `quote_changed`
 * and `other_quote` the number of the quote, that of `insufficient_funds` a JSON array of { currency, needed, available } in minor units.
 */
export type BeginRow = RowOf<typeof beginColumns>;

export type BatchCommit = {
  accountId: string;
  batchId: string;
  mode: 'all' | 'valid';
  /** The only quote that may be committed. */
  quoteNumber?: number | undefined;
  maker?: string;
};

/** Moves a quoted batch to COMMITTING and reserves all of its money, or says why it did not. */
export async function beginCommit(session: Session, commit: BatchCommit): Promise<BeginRow> {
  return one(session, beginQuery, [
    commit.accountId,
    commit.batchId,
    commit.mode,
    commit.quoteNumber ?? null,
    commit.maker ?? null,
  ]);
}

const valuesOf = (claim: ClaimRow): unknown[] => [claim.account_id, claim.batch_id, claim.fence];

/**
 * Renews the lease with the rows. @returns The number of rows processed; 0: the batch is COMMITTED, or
 * another process has taken it over.
 */
export async function commitRows(
  session: Session,
  claim: ClaimRow,
  { count, leaseMs }: { count: number; leaseMs: number },
): Promise<number> {
  return (await one(session, commitRowsQuery, [...valuesOf(claim), count, leaseMs])).count;
}

export async function claimCommit(
  session: Session,
  leaseMs: number,
): Promise<ClaimRow | undefined> {
  return maybeOne(session, claimQuery, [leaseMs]);
}

export async function putBackCommit(session: Session, claim: ClaimRow): Promise<void> {
  await exec(session, putBackStatement, valuesOf(claim));
}

export async function claimAbandoned(session: Session, ageMs: number): Promise<ClaimRow[]> {
  return many(session, claimAbandonedQuery, [ageMs]);
}
