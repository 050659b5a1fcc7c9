import type { Session, Statement } from '../db/pool.ts';

const selectText: Statement = {
  name: 'select_events',
  text: `
    select sequence, type, payload, created_at from events
    where account_id = $1 and sequence > $2
    order by sequence limit $3`,
};

export type EventRow = { sequence: bigint; type: string; payload: string; created_at: Date };

export async function selectEvents(
  session: Session,
  range: { accountId: string; after: bigint; count: number },
): Promise<EventRow[]> {
  return session.rows<EventRow>(selectText, [range.accountId, range.after, range.count]);
}
