import type { Session, Statement } from '../db/postgres/pool.ts';
import {
  column,
  defineQuery,
  exec,
  many,
  maybeOne,
  nullable,
  one,
  type RowOf,
} from '../db/rows.ts';

/** The SQL of screening stored recipients again after a change of the lists. */

const roundColumns = {
  list_fingerprint: column.bytes,
  after_account: column.uuid,
  after_user: column.uuid,
  fence: column.integer,
  screened: column.bigint,
  hits: column.bigint,
  started_at: column.instant,
  finished_at: nullable(column.instant),
};
export type RoundRow = RowOf<typeof roundColumns>;
const names = Object.keys(roundColumns).join(', ');

const insertRound: Statement = {
  name: 'recipient_rescreening_insert_round',
  text: `
    insert into screening_rounds (list_fingerprint, threshold_permille)
    values ($1, $2)
    on conflict (id) do nothing`,
};

/**
 * Claims the next portion, of a new round if the lists or the threshold have changed. Real time, because
 * the clock of a sandbox may jump past a lease.
 */
const claimPortion = defineQuery({
  name: 'recipient_rescreening_claim',
  text: `
    update screening_rounds r set
      list_fingerprint = $1,
      threshold_permille = $2,
      after_account = case when given.is_new then $4::uuid else r.after_account end,
      after_user = case when given.is_new then $4::uuid else r.after_user end,
      screened = case when given.is_new then 0 else r.screened end,
      hits = case when given.is_new then 0 else r.hits end,
      started_at = case when given.is_new then clock_timestamp() else r.started_at end,
      finished_at = null,
      fence = r.fence % 2000000000 + 1,
      lease_until = clock_timestamp() + $3 * interval '1 millisecond'
    from (
      select (list_fingerprint, threshold_permille) is distinct from ($1::bytea, $2::smallint)
        as is_new
      from screening_rounds
      for update skip locked
    ) given
    where given.is_new
      or (r.finished_at is null
        and (r.lease_until is null or r.lease_until < clock_timestamp()))
    returning ${names}`,
  columns: roundColumns,
});

const advance: Statement = {
  name: 'recipient_rescreening_advance',
  text: `
    update screening_rounds set after_account = $2, after_user = $3, screened = screened + $4,
      hits = hits + $5, lease_until = null,
      finished_at = case when $6 then clock_timestamp() end
    where fence = $1`,
};

const recipientColumns = {
  account_id: column.uuid,
  user_id: column.uuid,
  data_key: column.bytes,
  person: column.bytes,
  user_country: column.text,
};
export type RecipientRow = RowOf<typeof recipientColumns>;

/** In the order of their keys, without those whose data was erased. */
const selectRecipients = defineQuery({
  name: 'recipient_rescreening_select',
  text: `
    select account_id, id as user_id, data_key, with_version(version, sealed) as person,
      country as user_country
    from users
    where (account_id, id) > ($1::uuid, $2::uuid) and erased_at is null
    order by account_id, id
    limit $3`,
  columns: recipientColumns,
});

const selectProgress = defineQuery({
  name: 'recipient_rescreening_progress',
  text: `
    select ${names}, (
        select count(*) from users u
        where u.erased_at is null and (u.account_id, u.id) > (r.after_account, r.after_user)
      ) as remaining
    from screening_rounds r`,
  columns: { ...roundColumns, remaining: column.bigint },
});

const waitingColumns = {
  account_id: column.uuid,
  user_id: column.uuid,
  sequence: column.integer,
  entries: column.text,
  screened_at: column.instant,
};
export type WaitingRow = RowOf<typeof waitingColumns>;

/** Oldest first. */
const selectWaiting = defineQuery({
  name: 'recipient_rescreening_waiting',
  text: `
    select s.account_id, s.user_id, s.sequence, s.screened_at, (
        select string_agg((h.hit->>'list') || '/' || (h.hit->>'entryId'), ' ' order by h.place)
        from jsonb_array_elements(s.hits) with ordinality h (hit, place)
      ) as entries
    from screenings s
    join users u on u.account_id = s.account_id and u.id = s.user_id and u.erased_at is null
    where s.state = 'hit'
      and not exists (
        select from screenings later
        where later.account_id = s.account_id and later.user_id = s.user_id
          and later.sequence > s.sequence)
    order by s.screened_at, s.account_id, s.user_id
    limit $1`,
  columns: waitingColumns,
});

const waitingPayoutColumns = {
  account_id: column.uuid,
  payout_id: column.uuid,
  entries: column.text,
  screened_at: column.instant,
};
export type WaitingPayoutRow = RowOf<typeof waitingPayoutColumns>;

/** Scheduled payouts with a hit in their attributes, oldest first; no exception is open for these. */
const selectWaitingPayouts = defineQuery({
  name: 'recipient_rescreening_waiting_payouts',
  text: `
    select x.account_id, x.payout_id, last.screened_at, (
        select string_agg((h.hit->>'list') || '/' || (h.hit->>'entryId'), ' ' order by h.place)
        from jsonb_array_elements(last.hits) with ordinality h (hit, place)
      ) as entries
    from payout_schedules x
    cross join lateral (
      select is_passed, hits, screened_at from payout_screenings s
      where s.account_id = x.account_id and s.payout_id = x.payout_id
      order by sequence desc limit 1
    ) last
    where x.due_at is not null and not last.is_passed and last.hits <> '[]'
    order by last.screened_at, x.account_id, x.payout_id
    limit $1`,
  columns: waitingPayoutColumns,
});

export async function claimRecipients(
  session: Session,
  given: { fingerprint: Buffer; thresholdPermille: number; leaseMs: number; beginning: string },
): Promise<RoundRow | undefined> {
  const { fingerprint, thresholdPermille, leaseMs, beginning } = given;
  await exec(session, insertRound, [fingerprint, thresholdPermille]);
  return maybeOne(session, claimPortion, [fingerprint, thresholdPermille, leaseMs, beginning]);
}

/** No effect where another process has claimed the portion meanwhile. */
export async function advanceRound(
  session: Session,
  given: {
    fence: number;
    last: Pick<RecipientRow, 'account_id' | 'user_id'>;
    screened: number;
    hits: number;
    isFinished: boolean;
  },
): Promise<void> {
  const { fence, last, screened, hits, isFinished } = given;
  const values = [fence, last.account_id, last.user_id, screened, hits, isFinished];
  await exec(session, advance, values);
}

export function readRecipients(
  session: Session,
  after: Pick<RoundRow, 'after_account' | 'after_user'>,
  count: number,
): Promise<RecipientRow[]> {
  return many(session, selectRecipients, [after.after_account, after.after_user, count]);
}

export async function readProgress(
  session: Session,
): Promise<(RoundRow & { remaining: bigint }) | undefined> {
  return maybeOne(session, selectProgress);
}

export function readWaitingPayouts(session: Session, count: number): Promise<WaitingPayoutRow[]> {
  return many(session, selectWaitingPayouts, [count]);
}

const selectMeasure = defineQuery({
  name: 'recipient_rescreening_measure',
  text: `
    select (
        select count(*) from screenings s
        join users u on u.account_id = s.account_id and u.id = s.user_id and u.erased_at is null
        where s.state = 'hit' and not exists (
          select from screenings later
          where later.account_id = s.account_id and later.user_id = s.user_id
            and later.sequence > s.sequence)
      ) as waiting, coalesce((
        select extract(epoch from clock_timestamp() - started_at)::double precision
        from screening_rounds where finished_at is null
      ), 0) as pass_seconds`,
  columns: { waiting: column.bigint, pass_seconds: column.float },
});

export function measureRecipients(session: Session): Promise<RowOf<typeof selectMeasure.columns>> {
  return one(session, selectMeasure);
}

export function readWaiting(session: Session, count: number): Promise<WaitingRow[]> {
  return many(session, selectWaiting, [count]);
}
