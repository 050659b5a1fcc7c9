import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, maybeOne, nullable, type RowOf } from '../db/rows.ts';
import { payoutStatuses } from '../payouts/payout-states.ts';

/** The SQL of the outbox of notices. */

const channelNames = ['email', 'sms'] as const;
export type ChannelName = (typeof channelNames)[number];

const noticeStates = ['waiting', 'sent', 'failed', 'expired', 'skipped'] as const;
export type NoticeState = (typeof noticeStates)[number];

const claimColumns = {
  account_id: column.uuid,
  id: column.uuid,
  channel: column.oneOf(...channelNames),
  tries: column.integer,
  payout_id: column.uuid,
  user_id: column.uuid,
  /** The state that the payout had reached. */
  payout_status: column.oneOf(...payoutStatuses),
  created_at: column.instant,
  /** The state of the payout now. */
  status: column.oneOf(...payoutStatuses),
  completed_at: nullable(column.instant),
  destination_amount: column.bigint,
  destination_currency: column.text,
  payer_name: column.text,
  pickup_code: column.text,
  estimated_availability: column.instant,
  country: column.text,
  sealed: column.bytes,
  data_key: column.bytes,
  sender_name: column.text,
  brand_color: column.text,
  brand_logo: column.bytes,
  /** An earlier notice says the same, as after a hold that was released. */
  is_repeated: column.boolean,
};
export type ClaimRow = RowOf<typeof claimColumns>;

/** A claim counts as a try. Leases run in real time, due times in the environment's. */
const claimQuery = defineQuery({
  name: 'claim_notices',
  text: `
    with now as materialized (select environment_now() as at), due as (
      select n.account_id, n.id, n.month
      from notices n cross join now
      where n.state = 'waiting' and n.channel = $1 and n.due_at <= now.at
        and n.expires_at > now.at and (n.lease_until is null or n.lease_until < clock_timestamp())
      order by n.due_at
      limit $2
      for update of n skip locked
    ), claimed as (
      update notices n
      set tries = n.tries + 1, lease_until = clock_timestamp() + $3 * interval '1 millisecond'
      from due
      where n.account_id = due.account_id and n.id = due.id and n.month = due.month
      returning n.*
    )
    select c.account_id, c.id, c.channel, c.tries, c.payout_id, c.user_id, c.payout_status,
      c.created_at, p.status, p.completed_at, p.destination_amount, p.destination_currency,
      p.payer_name, p.pickup_code, p.estimated_availability, u.country,
      with_version(u.version, u.sealed) as sealed, u.data_key,
      coalesce(nullif(a.display_name, ''), a.name) as sender_name, a.brand_color, a.brand_logo,
      exists (
        select from notices e
        where e.account_id = c.account_id and e.payout_id = c.payout_id and e.channel = c.channel
          and e.payout_status = c.payout_status and e.state in ('waiting', 'sent')
          and (e.created_at, e.id) < (c.created_at, c.id)) as is_repeated
    from claimed c
    join payouts p on p.account_id = c.account_id and p.id = c.payout_id
    join users u on u.account_id = c.account_id and u.id = c.user_id
    join accounts a on a.id = c.account_id
    order by c.due_at`,
  columns: claimColumns,
});

/** `$6`: the delay of the next try; a notice that would be tried after its expiry is not. */
const finishQuery = defineQuery({
  name: 'finish_notice',
  text: `
    with now as materialized (select environment_now() as at), result as (
      select n.account_id, n.id, n.month, now.at, now.at + $6 * interval '1 millisecond' as due_at,
        case when $5 = 'waiting' and now.at + $6 * interval '1 millisecond' >= n.expires_at
          then 'expired' else $5 end as state
      from notices n cross join now
      where n.account_id = $1 and n.id = $2 and n.month = month_of($3) and n.tries = $4
        and n.state = 'waiting'
      for update of n
    )
    update notices n
    set state = r.state, reason = $7, lease_until = null,
      due_at = case when r.state = 'waiting' then r.due_at else n.due_at end,
      ended_at = case when r.state = 'waiting' then null else r.at end
    from result r
    where n.account_id = r.account_id and n.id = r.id and n.month = r.month
    returning n.state`,
  columns: { state: column.oneOf(...noticeStates) },
});

const releaseStatement: Statement = {
  name: 'release_notice',
  text: `
    update notices set tries = tries - 1, lease_until = null
    where account_id = $1 and id = $2 and month = month_of($3) and tries = $4
      and state = 'waiting'`,
};

const expireStatement: Statement = {
  name: 'expire_notices',
  text: `
    with now as materialized (select environment_now() as at)
    update notices n
    set state = 'expired', lease_until = null, ended_at = now.at,
      reason = case when n.reason = '' then 'not sent in time' else n.reason end
    from now
    where n.state = 'waiting' and n.expires_at <= now.at
      and (n.lease_until is null or n.lease_until < clock_timestamp())`,
};

const setChannelsStatement: Statement = {
  name: 'set_notice_channels',
  text: `select set_notice_channels($1)`,
};

const measureColumns = {
  channel: column.oneOf(...channelNames),
  count: column.integer,
  oldest_seconds: column.float,
};
export type NoticeMeasureRow = RowOf<typeof measureColumns>;

const measureQuery = defineQuery({
  name: 'measure_notices',
  text: `
    select channel, count(*)::integer as count,
      extract(epoch from environment_now() - min(created_at))::float8 as oldest_seconds
    from notices where state = 'waiting'
    group by channel`,
  columns: measureColumns,
});

export async function claimNotices(
  session: Session,
  { channel, count, leaseMs }: { channel: ChannelName; count: number; leaseMs: number },
): Promise<ClaimRow[]> {
  return many(session, claimQuery, [channel, count, leaseMs]);
}

const idsOf = (claim: ClaimRow): unknown[] => [
  claim.account_id,
  claim.id,
  claim.created_at,
  claim.tries,
];

/** Returns the state that was stored; undefined if another process has taken the notice over. */
export async function finishNotice(
  session: Session,
  claim: ClaimRow,
  result: { state: NoticeState; reason: string; delayMs: number },
): Promise<NoticeState | undefined> {
  const { state, reason, delayMs } = result;
  const row = await maybeOne(session, finishQuery, [...idsOf(claim), state, delayMs, reason]);
  return row?.state;
}

/** Gives back a notice that was not tried. */
export async function releaseNotice(session: Session, claim: ClaimRow): Promise<void> {
  await exec(session, releaseStatement, idsOf(claim));
}

/** Ends notices that were not sent in time. */
export async function expireNotices(session: Session): Promise<void> {
  await exec(session, expireStatement);
}

/** From now on notices are written for these channels. */
export async function setChannels(
  session: Session,
  channels: readonly ChannelName[],
): Promise<void> {
  await exec(session, setChannelsStatement, [channels]);
}

/** What waits, by channel. */
export async function measureNotices(session: Session): Promise<NoticeMeasureRow[]> {
  return many(session, measureQuery);
}
