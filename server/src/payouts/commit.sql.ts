import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, nullable, one, type RowOf } from '../db/rows.ts';

const commit = defineQuery({
  name: 'commit_payout',
  text: `
    select result, detail, pickup_code, case when pickup_code <> '' then (
      select data_key from users where account_id = $1 and id = $2) end as data_key
    from commit_payout($1, $2, $3, $4)`,
  columns: {
    result: column.oneOf(
      'success',
      'not_found',
      'ended',
      'ex_rate_expired',
      'duplicate',
      'account_frozen',
      'commits_stopped',
      'user_not_active',
      'addtl_attr_req',
      'insufficient_funds',
    ),
    detail: column.text,
    pickup_code: column.text,
    data_key: nullable(column.bytes),
  },
});

export type CommitRow = RowOf<typeof commit.columns>;

export async function commitPayoutRow(
  session: Session,
  payout: { accountId: string; userId: string; payoutId: string; maker?: string | undefined },
): Promise<CommitRow> {
  return one(session, commit, [
    payout.accountId,
    payout.userId,
    payout.payoutId,
    payout.maker ?? null,
  ]);
}
