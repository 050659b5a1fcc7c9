import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, maybeOne, type RowOf } from '../db/rows.ts';

/** The SQL of decisions about payouts with a hit that could not be stopped. */

const payoutColumns = { user_id: column.uuid, status: column.text, has_exception: column.boolean };

const findQuery = defineQuery({
  name: 'screening_find_payout_exception',
  text: `
    select p.user_id, p.status, exists (
      select from exceptions e
      where e.account_id = p.account_id and e.payout_id = p.id and e.kind = 'screening'
        and e.closed_at is null) as has_exception
    from payouts p
    where p.account_id = $1 and p.id = $2`,
  columns: payoutColumns,
});

/** Only a release or refund decides about a held payout. */
const closeStatement: Statement = {
  name: 'screening_close_exception',
  text: `
    update exceptions e set closed_at = environment_now(), resolution = $3
    from payouts p
    where e.account_id = $1 and e.payout_id = $2 and e.kind = 'screening' and e.closed_at is null
      and p.account_id = e.account_id and p.id = e.payout_id
      and p.status not in ('HOLD', 'ERROR')`,
};

export async function findPayoutException(
  session: Session,
  accountId: string,
  payoutId: string,
): Promise<RowOf<typeof payoutColumns> | undefined> {
  return maybeOne(session, findQuery, [accountId, payoutId]);
}

export async function closeScreeningException(
  session: Session,
  { accountId, payoutId }: { accountId: string; payoutId: string },
  resolution: string,
): Promise<void> {
  await exec(session, closeStatement, [accountId, payoutId, resolution]);
}
