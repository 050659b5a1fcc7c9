import type { Session, Statement } from '../db/postgres/pool.ts';

/** The SQL of decisions about payouts that were found on a list when they could not be stopped. */

const findText: Statement = {
  name: 'screening_find_asked_payout',
  text: `
    select p.user_id, p.status, exists (
      select from exceptions e
      where e.account_id = p.account_id and e.payout_id = p.id and e.kind = 'screening'
        and e.closed_at is null) as is_asked
    from payouts p
    where p.account_id = $1 and p.id = $2`,
};

/** Of a payout that is held, only its release or its refund is an answer. */
const closeText: Statement = {
  name: 'screening_close_exception',
  text: `
    update exceptions e set closed_at = environment_now(), resolution = $3
    from payouts p
    where e.account_id = $1 and e.payout_id = $2 and e.kind = 'screening' and e.closed_at is null
      and p.account_id = e.account_id and p.id = e.payout_id
      and p.status not in ('HOLD', 'ERROR')
    returning e.id`,
};

export async function findAskedPayout(
  session: Session,
  accountId: string,
  payoutId: string,
): Promise<{ user_id: string; status: string; is_asked: boolean } | undefined> {
  const [row] = await session.rows<{ user_id: string; status: string; is_asked: boolean }>(
    findText,
    [accountId, payoutId],
  );
  return row;
}

/** False where there was none to close any more. */
export async function closeScreeningException(
  session: Session,
  { accountId, payoutId }: { accountId: string; payoutId: string },
  resolution: string,
): Promise<boolean> {
  return (await session.rows(closeText, [accountId, payoutId, resolution])).length > 0;
}
