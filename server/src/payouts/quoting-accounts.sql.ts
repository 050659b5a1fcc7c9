import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many } from '../db/rows.ts';

const accounts = defineQuery({
  name: 'list_accounts_with_payouts',
  text: `
    select a.id from accounts a
    where a.id >= $1 and exists (
      select from payout_quotes q where q.account_id = a.id and q.created_at >= $2)
    order by a.id limit $3`,
  columns: { id: column.uuid },
});

/** Those with quotes since then, in the order of their ids, beginning with `from`. */
export async function selectQuotingAccounts(
  session: Session,
  page: { from: string; since: Date; count: number },
): Promise<string[]> {
  const rows = await many(session, accounts, [page.from, page.since, page.count]);
  return rows.map(({ id }) => id);
}
