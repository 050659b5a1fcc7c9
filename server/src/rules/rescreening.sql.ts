import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, nullable, type RowOf } from '../db/rows.ts';
import { openStatusList, unfinishedStatusList } from '../payouts/payout-states.ts';

/** The SQL of screening payouts again while they are in flight. */

const liveColumns = {
  account_id: column.uuid,
  payout_id: column.uuid,
  user_id: column.uuid,
  status: column.text,
  country: column.text,
  attr_set_id: nullable(column.uuid),
  attributes: nullable(column.bytes),
  data_key: column.bytes,
  person: column.bytes,
  user_country: column.text,
  is_outdated: column.boolean,
};
export type LiveRow = RowOf<typeof liveColumns>;

/**
 * A portion of the payouts that have a dispatch, an open exception or an open schedule, in the order of
 * their keys. A payout is outdated if it was not screened under the lists in force, or has a hit and is not
 * stopped yet.
 */
const selectLive = defineQuery({
  name: 'rescreening_select_live',
  text: `
    with live as materialized (
      (select account_id, payout_id from payout_dispatches
      where (account_id, payout_id) > ($1::uuid, $2::uuid)
      order by account_id, payout_id limit $3)
      union
      (select account_id, payout_id from exceptions
      where closed_at is null and payout_id is not null
        and (account_id, payout_id) > ($1::uuid, $2::uuid)
      order by account_id, payout_id limit $3)
      union
      (select account_id, payout_id from payout_schedules
      where due_at is not null and (account_id, payout_id) > ($1::uuid, $2::uuid)
      order by account_id, payout_id limit $3)
      order by account_id, payout_id
      limit $3
    )
    select live.account_id, live.payout_id, p.user_id, p.status, p.country, p.attr_set_id,
      with_version(v.version, v.sealed) as attributes, u.data_key,
      with_version(u.version, u.sealed) as person, u.country as user_country,
      p.status in (${openStatusList})
        and (last.list_fingerprint is distinct from $4 or last.threshold_permille <> $5
          or (p.status = 'PROCESSING' and not last.is_passed))
        as is_outdated
    from live
    join payouts p on p.account_id = live.account_id and p.id = live.payout_id
    join users u on u.account_id = p.account_id and u.id = p.user_id
    left join attribute_set_versions v
      on v.account_id = p.account_id and v.set_id = p.attr_set_id and v.version = p.attr_version
    left join lateral (
      select list_fingerprint, threshold_permille, is_passed from payout_screenings s
      where s.account_id = p.account_id and s.payout_id = p.id
      order by sequence desc limit 1
    ) last on true
    order by live.account_id, live.payout_id`,
  columns: liveColumns,
});

const openException: Statement = {
  name: 'rescreening_open_exception',
  text: `
    with shown as (
      update exceptions set detail = $3
      where account_id = $1 and payout_id = $2 and kind = 'screening' and closed_at is null
        and detail <> $3
    )
    select open_exception(p.account_id, p.id, p.rail, 'screening', $3, p.destination_currency,
      p.destination_amount, environment_now())
    from payouts p
    where p.account_id = $1 and p.id = $2
      and p.status in (${unfinishedStatusList})
      and not exists (
        select from exceptions e
        where e.account_id = p.account_id and e.payout_id = p.id and e.kind = 'screening'
          and e.closed_at is null)`,
};

export type LiveCursor = Pick<LiveRow, 'account_id' | 'payout_id'>;

export function readLivePayouts(
  session: Session,
  query: {
    after: LiveCursor;
    count: number;
    fingerprint: Buffer;
    thresholdPermille: number;
  },
): Promise<LiveRow[]> {
  const { after, count, fingerprint, thresholdPermille } = query;
  const values = [after.account_id, after.payout_id, count, fingerprint, thresholdPermille];
  return many(session, selectLive, values);
}

/** Opens an exception of kind screening for an unfinished payout; one that is open shows the present hits. */
export async function openScreeningException(
  session: Session,
  payout: LiveCursor,
  detail: string,
): Promise<void> {
  await exec(session, openException, [payout.account_id, payout.payout_id, detail]);
}
