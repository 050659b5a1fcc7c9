import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, one, type RowOf } from '../db/rows.ts';

const eventColumns = {
  sequence: column.bigint,
  type: column.text,
  /** The payout, user, batch, … that changed. */
  subject_id: column.uuid,
  payload: column.text,
  created_at: column.instant,
};
export type EventRow = RowOf<typeof eventColumns>;

const selectText = defineQuery({
  name: 'select_events',
  text: `
    select e.sequence, e.type, e.subject_id, e.created_at,
      coalesce(e.payload, json_build_object('payout_token', 'payout_' || q.id,
        'user_token', 'usr_' || q.user_id, 'client_transfer_id', q.client_transfer_id,
        'status', upper(substr(e.type, length('payout.') + 1)), 'status_reason', e.detail)::text
      ) as payload
    from events e
    left join payout_quotes q
      on e.payload is null and q.account_id = e.account_id and q.id = e.subject_id
    where e.account_id = $1 and e.sequence > $2
    order by e.sequence limit $3`,
  columns: eventColumns,
});

const newestText = defineQuery({
  name: 'find_newest_event',
  text: `select event_sequence as newest from accounts where id = $1`,
  columns: { newest: column.bigint },
});

export async function selectEvents(
  session: Session,
  range: { accountId: string; after: bigint; count: number },
): Promise<EventRow[]> {
  return many(session, selectText, [range.accountId, range.after, range.count]);
}

/** The number of the account's last event, kept or not; 0n before the first. */
export async function findNewestSequence(session: Session, accountId: string): Promise<bigint> {
  return (await one(session, newestText, [accountId])).newest;
}
