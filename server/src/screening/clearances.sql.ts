import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, maybeOne, nullable, type RowOf } from '../db/rows.ts';
import { cursorValues, microseconds, startOf, type TimePage } from '../db/time-page.ts';

/** The SQL of clearances: entries of lists that a person found not to be about a recipient. */

type UserKey = { readonly accountId: string; readonly userId: string };

const columns = {
  id: column.uuid,
  account_id: column.uuid,
  user_id: column.uuid,
  list: column.text,
  entry_id: column.text,
  entry_name: column.text,
  entry_hash: column.text,
  subject_index: column.bytes,
  reason: column.bytes,
  cleared_by: column.text,
  cleared_at: column.instant,
  until: column.instant,
  ended_by: nullable(column.text),
  ended_at: nullable(column.instant),
};
export type ClearanceRow = RowOf<typeof columns>;

const names = Object.keys(columns)
  .map((name) => `c.${name}`)
  .join(', ');

const selectInForce = defineQuery({
  name: 'screening_select_clearances',
  text: `
    select given.ordinal::integer, ${names}
    from unnest($1::uuid[], $2::uuid[]) with ordinality as given (account_id, user_id, ordinal)
    join screening_clearances c
      on c.account_id = given.account_id and c.user_id = given.user_id and c.ended_at is null
    where c.until > (select environment_now())`,
  columns: { ...columns, ordinal: column.integer },
});

const listedColumns = {
  ...columns,
  data_key: column.bytes,
  is_in_time: column.boolean,
  is_entry_same: column.boolean,
  cleared_us: column.bigint,
};
export type ListedClearanceRow = RowOf<typeof listedColumns>;

/** Newest first, with the present content of the entry where it has changed. */
const defineList = (name: string, condition: string) =>
  defineQuery({
    name,
    text: `
      with page as materialized (
        select * from screening_clearances c
        where ${condition} and (c.cleared_at, c.id) < (${startOf('$1', 'desc')}, $2::uuid)
        order by c.cleared_at desc, c.id desc limit $3
      )
      select ${names}, u.data_key, c.until > (select environment_now()) as is_in_time,
        encode(e.content_hash, 'hex') is not distinct from nullif(c.entry_hash, '')
          as is_entry_same, ${microseconds('c.cleared_at')} as cleared_us
      from page c
      cross join lateral (
        select data_key from users where account_id = c.account_id and id = c.user_id
        offset 0
      ) u
      left join lateral (
        select content_hash from screening_entries
        where list = c.list and entry_id = c.entry_id and until_sequence is null
        offset 0
      ) e on true
      order by c.cleared_at desc, c.id desc`,
    columns: listedColumns,
  });
const lists = {
  all: defineList('screening_list_clearances', 'true'),
  inForce: defineList(
    'screening_list_clearances_in_force',
    'c.ended_at is null and c.until > (select environment_now())',
  ),
  ofUser: defineList(
    'screening_list_clearances_of_user',
    `c.account_id = $4 and c.user_id = $5
      and ($6 or (c.ended_at is null and c.until > (select environment_now())))`,
  ),
};

const endOpen: Statement = {
  name: 'screening_replace_clearances',
  text: `
    update screening_clearances set ended_by = $3, ended_at = environment_now()
    where account_id = $1 and user_id = $2 and ended_at is null
      and ($4::text[] is null or list || ' ' || entry_id = any ($4))`,
};

const insertRows: Statement = {
  name: 'screening_insert_clearances',
  text: `
    insert into screening_clearances (account_id, id, user_id, list, entry_id, entry_name,
      entry_hash, subject_index, reason, cleared_by, cleared_at, until)
    select $1, given.id, $2, given.list, given.entry_id, given.entry_name, given.entry_hash,
      $3, $4, $5, environment_now(), $6
    from jsonb_to_recordset($7::jsonb) as given (id uuid, list text, entry_id text,
      entry_name text, entry_hash text)
    order by given.id`,
};

const endOne = defineQuery({
  name: 'screening_end_clearance',
  text: `
    update screening_clearances as c set ended_by = $2, ended_at = environment_now()
    where c.id = $1 and c.ended_at is null
    returning ${names}`,
  columns,
});

const selectNow = defineQuery({
  name: 'screening_select_now',
  text: 'select environment_now() as now',
  columns: { now: column.instant },
});

export function readClearancesInForce(
  session: Session,
  users: readonly UserKey[],
): Promise<(ClearanceRow & { ordinal: number })[]> {
  return many(session, selectInForce, [
    users.map(({ accountId }) => accountId),
    users.map(({ userId }) => userId),
  ]);
}

export type ClearanceFilter = { user: UserKey | undefined; includesEnded: boolean };

export function readClearances(
  session: Session,
  { user, includesEnded }: ClearanceFilter,
  { after, count }: TimePage,
): Promise<ListedClearanceRow[]> {
  const page = [...cursorValues(after), count];
  if (user === undefined) return many(session, includesEnded ? lists.all : lists.inForce, page);
  return many(session, lists.ofUser, [...page, user.accountId, user.userId, includesEnded]);
}

export type NewClearances = UserKey & {
  readonly subjectIndex: Buffer;
  readonly reason: Buffer;
  readonly clearedBy: string;
  readonly until: Date;
  readonly entries: readonly {
    id: string;
    list: string;
    entry_id: string;
    entry_name: string;
    entry_hash: string;
  }[];
};

/** Replaces those of the same entries. */
export async function writeClearances(session: Session, given: NewClearances): Promise<void> {
  const { accountId, userId, subjectIndex, reason, clearedBy, until, entries } = given;
  const replaced = entries.map(({ list, entry_id: entryId }) => `${list} ${entryId}`);
  await exec(session, endOpen, [accountId, userId, clearedBy, replaced]);
  const rows = JSON.stringify(entries);
  const values = [accountId, userId, subjectIndex, reason, clearedBy, until, rows];
  await exec(session, insertRows, values);
}

export async function endClearancesOf(
  session: Session,
  { accountId, userId }: UserKey,
  endedBy: string,
): Promise<void> {
  await exec(session, endOpen, [accountId, userId, endedBy, null]);
}

/** Undefined where there is none in force. */
export function writeEnd(
  session: Session,
  id: string,
  endedBy: string,
): Promise<ClearanceRow | undefined> {
  return maybeOne(session, endOne, [id, endedBy]);
}

export async function readNow(session: Session): Promise<Date> {
  const [row] = await many(session, selectNow);
  if (row === undefined) throw new Error('unreachable: the environment has a time');
  return row.now;
}
