import type { Session, Statement } from '../db/postgres/pool.ts';

const selectText: Statement = {
  name: 'select_events',
  text: `
    select e.sequence, e.type, e.created_at,
      coalesce(e.payload, json_build_object('payout_token', 'payout_' || q.id,
        'user_token', 'usr_' || q.user_id, 'client_transfer_id', q.client_transfer_id,
        'status', upper(substr(e.type, length('payout.') + 1)), 'status_reason', e.detail)::text
      ) as payload
    from events e
    left join payout_quotes q
      on e.payload is null and q.account_id = e.account_id and q.id = e.subject_id
    where e.account_id = $1 and e.sequence > $2
    order by e.sequence limit $3`,
};

const newestText: Statement = {
  name: 'find_newest_event',
  text: `select event_sequence as newest from accounts where id = $1`,
};

export type EventRow = { sequence: bigint; type: string; payload: string; created_at: Date };

export async function selectEvents(
  session: Session,
  range: { accountId: string; after: bigint; count: number },
): Promise<EventRow[]> {
  return session.rows<EventRow>(selectText, [range.accountId, range.after, range.count]);
}

/** The number of the account's last event, kept or not; 0n without any. */
export async function findNewestSequence(session: Session, accountId: string): Promise<bigint> {
  const [row] = await session.rows<{ newest: bigint }>(newestText, [accountId]);
  return row?.newest ?? 0n;
}
