import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, maybeOne, type RowOf } from '../db/rows.ts';
import { payoutColumns, selectPayoutsAsOf } from './payouts.sql.ts';

/** Payouts as they were. */

const pastColumns = { ...payoutColumns, event_sequence: column.bigint };
export type PastPayoutRow = RowOf<typeof pastColumns>;

const lastSequence = '9223372036854775807';

const selectBefore = defineQuery({
  name: 'find_payout_before',
  text: `
    ${selectPayoutsAsOf(
      `select $3::uuid, $4::timestamptz - interval '1 microsecond', ${lastSequence}`,
    )}
    where p.user_id = $2 and p.status is not null`,
  columns: pastColumns,
});

const selectIsQuotedBefore = defineQuery({
  name: 'find_whether_payout_quoted_before',
  text: `
    select created_at < $4::timestamptz as is_quoted from payout_quotes
    where account_id = $1 and user_id = $2 and id = $3`,
  columns: { is_quoted: column.boolean },
});

/**
 * The time is read here: a Date would cut it to the millisecond. It is not before the events before it,
 * because the clock may have been set back in between.
 */
const selectAfterEvents = defineQuery({
  name: 'list_payouts_after_events',
  text: selectPayoutsAsOf(`
    select e.subject_id, greatest(e.created_at, q.created_at, (
        select max(o.created_at) from events o
        where o.account_id = e.account_id and o.subject_id = e.subject_id and o.sequence < e.sequence
          and o.month between month_of(q.created_at - interval '1 day')
            and month_of(e.created_at + interval '1 day'))),
      e.sequence
    from events e
    join payout_quotes q on q.account_id = e.account_id and q.id = e.subject_id
    where e.account_id = $1 and e.sequence = any ($2::bigint[])`),
  columns: pastColumns,
});

type PayoutTime = { accountId: string; userId: string; payoutId: string; before: Date };

const valuesOf = ({ accountId, userId, payoutId, before }: PayoutTime): unknown[] => [
  accountId,
  userId,
  payoutId,
  before,
];

export async function findPayoutBefore(
  session: Session,
  time: PayoutTime,
): Promise<PastPayoutRow | undefined> {
  return maybeOne(session, selectBefore, valuesOf(time));
}

/** Whether the payout existed then; undefined where the user has no such payout. */
export async function findWhetherQuotedBefore(
  session: Session,
  time: PayoutTime,
): Promise<boolean | undefined> {
  return (await maybeOne(session, selectIsQuotedBefore, valuesOf(time)))?.is_quoted;
}

/** The payouts of these events of an account, each as it was after its event. */
export async function listPayoutsAfterEvents(
  session: Session,
  accountId: string,
  sequences: readonly bigint[],
): Promise<PastPayoutRow[]> {
  return many(session, selectAfterEvents, [accountId, sequences]);
}
