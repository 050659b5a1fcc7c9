import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, one, type RowOf } from '../db/rows.ts';

const eventColumns = {
  sequence: column.bigint,
  type: column.text,
  subject_id: column.uuid,
  /** Its place among the events of its object, from 1. */
  object_sequence: column.bigint,
  /** Null for a payout. */
  payload: nullable(column.text),
  detail: column.text,
  created_at: column.instant,
};
export type EventRow = RowOf<typeof eventColumns>;

/**
 * Events of a payout are counted, those of other objects have their number. A day more on both sides: the
 * clock may have been set back over the border of a month.
 */
const defineSelect = (name: string, where: string, from = 'events e') =>
  defineQuery({
    name,
    text: `
    select e.sequence, e.type, e.subject_id, e.payload, e.detail, e.created_at,
      case when e.type like 'payout.%' then (
        select count(*) from events o
        where o.account_id = e.account_id and o.subject_id = e.subject_id
          and o.month between month_of(q.created_at - interval '1 day')
            and month_of(e.created_at + interval '1 day')
          and o.sequence <= e.sequence)
      else e.detail::bigint end as object_sequence
    from ${from}
    left join payout_quotes q
      on e.type like 'payout.%' and q.account_id = e.account_id and q.id = e.subject_id
    where e.account_id = $1 and e.sequence > $2 ${where}
    order by e.sequence limit $3`,
    columns: eventColumns,
  });

const frequentTypes = ['payout.pending', 'payout.processing', 'payout.completed'];

const notFrequent = `type not in (${frequentTypes.map((type) => `'${type}'`).join(', ')})`;

/** One for each index. */
export const eventLists = {
  all: defineSelect('select_events', ''),
  ofObject: defineSelect(
    'select_events_of_object',
    'and e.subject_id = $4 and ($5::text[] is null or e.type = any($5))',
  ),
  ofFrequentTypes: defineSelect('select_events_of_frequent_types', 'and e.type = any($4)'),
  /** A page of each type, by the index, and of these the first. */
  ofRareTypes: defineSelect(
    'select_events_of_rare_types',
    '',
    `unnest($4::text[]) r (type)
    cross join lateral (
      select o.* from events o
      where o.account_id = $1 and o.sequence > $2 and o.type = r.type and o.${notFrequent}
      order by o.sequence limit $3) e`,
  ),
};

const newestText = defineQuery({
  name: 'find_newest_event',
  text: `select event_sequence as newest from accounts where id = $1`,
  columns: { newest: column.bigint },
});

/** One descent for each account, whether or not anything was written. */
const changedText = defineQuery({
  name: 'list_changed_accounts',
  text: `
    select a.id as account_id, a.event_sequence as newest
    from unnest($1::uuid[], $2::bigint[]) r (account_id, known)
    join accounts a on a.id = r.account_id and a.event_sequence > r.known`,
  columns: { account_id: column.uuid, newest: column.bigint },
});

export async function selectEvents(
  session: Session,
  range: { accountId: string; after: bigint; count: number },
): Promise<EventRow[]> {
  return many(session, eventLists.all, [range.accountId, range.after, range.count]);
}

/** One of them at least. */
export type EventFilter = {
  readonly objectId: string | undefined;
  readonly types: readonly string[] | undefined;
};

export async function selectFilteredEvents(
  session: Session,
  range: { accountId: string; after: bigint; count: number },
  { objectId, types }: EventFilter,
): Promise<EventRow[]> {
  const values = [range.accountId, range.after, range.count];
  if (objectId !== undefined) {
    return many(session, eventLists.ofObject, [...values, objectId, types ?? null]);
  }
  const isFrequent = types?.some((type) => frequentTypes.includes(type)) === true;
  const list = eventLists[isFrequent ? 'ofFrequentTypes' : 'ofRareTypes'];
  return many(session, list, [...values, types]);
}

/** The number of the account's last event, kept or not; 0n before the first. */
export async function findNewestSequence(session: Session, accountId: string): Promise<bigint> {
  return (await one(session, newestText, [accountId])).newest;
}

/** The accounts that have events after the given ones, with their newest. */
export async function selectChangedAccounts(
  session: Session,
  positions: readonly { accountId: string; after: bigint }[],
): Promise<{ account_id: string; newest: bigint }[]> {
  return many(session, changedText, [
    positions.map(({ accountId }) => accountId),
    positions.map(({ after }) => after),
  ]);
}
