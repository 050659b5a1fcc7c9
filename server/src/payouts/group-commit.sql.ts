import { plainArray, textArray } from '../db/arrays.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, type RowOf } from '../db/rows.ts';

const commit = defineQuery({
  name: 'commit_payouts',
  text: `
    select ordinal, result, pickup_code, case when pickup_code <> '' then (
      select data_key from users
      where account_id = ($1::uuid[])[ordinal] and id = ($2::uuid[])[ordinal]) end as data_key
    from commit_payouts($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
  columns: {
    ordinal: column.integer,
    result: column.text,
    pickup_code: column.text,
    data_key: nullable(column.bytes),
  },
});

export type GroupedCommit = {
  accountId: string;
  userId: string;
  payoutId: string;
  /** The stored answer has % in place of the pickup code. */
  keyed: { key: string; fingerprint: Buffer; answer: string } | undefined;
  traceparent: string | undefined;
  /** Who commits: see `getMaker`. */
  maker: string | undefined;
};

/** By ordinal, from 1: `committed`, `held`, or the result of `judge_commits`. */
export async function commitPayoutRows(
  session: Session,
  commits: readonly GroupedCommit[],
  mayWait: boolean,
): Promise<RowOf<typeof commit.columns>[]> {
  return many(session, commit, [
    plainArray(commits.map(({ accountId }) => accountId)),
    plainArray(commits.map(({ userId }) => userId)),
    plainArray(commits.map(({ payoutId }) => payoutId)),
    textArray(commits.map(({ keyed }) => keyed?.key)),
    commits.map(({ keyed }) => keyed?.fingerprint ?? null),
    textArray(commits.map(({ keyed }) => keyed?.answer)),
    mayWait,
    commits.some(({ traceparent }) => traceparent !== undefined)
      ? textArray(commits.map(({ traceparent }) => traceparent))
      : null,
    plainArray(commits.map(({ maker }) => maker ?? null)),
  ]);
}
