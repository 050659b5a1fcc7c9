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
import { cursorValues, microseconds, startOf, type TimePage } from '../db/time-page.ts';

export type UserKey = { accountId: string; userId: string };

const eraseQuery = defineQuery({
  name: 'erase_user',
  text: 'select result, at from erase_user($1, $2, $3, $4)',
  columns: {
    result: column.oneOf('erased', 'already', 'held', 'open_payouts', 'not_found'),
    at: nullable(column.instant),
  },
});

const completeStatement: Statement = {
  name: 'complete_erasure',
  text: `
    update erasures set completed_at = environment_now()
    where account_id = $1 and user_id = $2 and completed_at is null`,
};

const unfinishedQuery = defineQuery({
  name: 'list_unfinished_erasures',
  text: `
    select account_id, user_id from erasures
    where completed_at is null order by erased_at limit 100`,
  columns: { account_id: column.uuid, user_id: column.uuid },
});

const erasureColumns = {
  account_id: column.uuid,
  user_id: column.uuid,
  erased_at: column.instant,
};
export type ErasureRow = RowOf<typeof erasureColumns>;

const listQuery = defineQuery({
  name: 'list_erasures',
  text: `
    select account_id, user_id, erased_at from erasures
    where erased_at >= $1 order by erased_at`,
  columns: erasureColumns,
});

const intactQuery = defineQuery({
  name: 'list_intact_users',
  text: `
    select u.account_id, u.id as user_id
    from unnest($1::uuid[], $2::uuid[]) e (account_id, user_id)
    join users u on u.account_id = e.account_id and u.id = e.user_id
    where u.erased_at is null`,
  columns: { account_id: column.uuid, user_id: column.uuid },
});

const holdColumns = {
  id: column.uuid,
  account_id: column.uuid,
  user_id: column.uuid,
  reason: column.text,
  placed_by: column.text,
  placed_at: column.instant,
  until: column.instant,
  ended_by: nullable(column.text),
  ended_at: nullable(column.instant),
};
export type HoldRow = RowOf<typeof holdColumns>;

const placeHoldQuery = defineQuery({
  name: 'place_legal_hold',
  text: `
    insert into legal_holds (account_id, id, user_id, reason, placed_by, placed_at, until)
    select $1, $2, $3, $4, $5, environment_now(), $6
    from users where account_id = $1 and id = $3 and erased_at is null
    -- Waits for an erasure that has begun.
    for key share
    returning ${Object.keys(holdColumns).join(', ')}`,
  columns: holdColumns,
});

const endHoldQuery = defineQuery({
  name: 'end_legal_hold',
  text: `
    update legal_holds set ended_by = $2, ended_at = environment_now()
    where id = $1 and ended_at is null and until > (select environment_now())
    returning ${Object.keys(holdColumns).join(', ')}`,
  columns: holdColumns,
});

/** Newest first, along an index of each. */
const defineHoldList = (name: string, condition: string) =>
  defineQuery({
    name,
    text: `
      select ${Object.keys(holdColumns).join(', ')}, ${microseconds('placed_at')} as placed_us
      from legal_holds
      where ${condition} and (placed_at, id) < (${startOf('$1', 'desc')}, $2::uuid)
      order by placed_at desc, id desc limit $3`,
    columns: { ...holdColumns, placed_us: column.bigint },
  });
const holdLists = {
  ofUser: defineHoldList(
    'list_legal_holds_of_user',
    'user_id = $4 and ($5 or ended_at is null and until > (select environment_now()))',
  ),
  inForce: defineHoldList(
    'list_legal_holds_in_force',
    'ended_at is null and until > (select environment_now())',
  ),
  all: defineHoldList('list_legal_holds', 'true'),
};

const holdOfId = defineQuery({
  name: 'find_legal_hold_in_force',
  text: `
    select id from legal_holds
    where id = $1 and ended_at is null and until > (select environment_now())`,
  columns: { id: column.uuid },
});

export async function eraseRow(
  session: Session,
  { accountId, userId }: UserKey,
  by: { actor: string; reason: string },
): Promise<RowOf<typeof eraseQuery.columns>> {
  return one(session, eraseQuery, [accountId, userId, by.actor, by.reason]);
}

export async function completeErasure(session: Session, user: UserKey): Promise<void> {
  await exec(session, completeStatement, [user.accountId, user.userId]);
}

export async function listUnfinished(session: Session): Promise<UserKey[]> {
  const rows = await many(session, unfinishedQuery, []);
  return rows.map((row) => ({ accountId: row.account_id, userId: row.user_id }));
}

/** Those of that time and later. */
export async function listErasures(session: Session, since: Date): Promise<ErasureRow[]> {
  return many(session, listQuery, [since]);
}

/** Those of the users that exist and are not erased. */
export async function listIntact(session: Session, users: readonly UserKey[]): Promise<UserKey[]> {
  const rows = await many(session, intactQuery, [
    users.map(({ accountId }) => accountId),
    users.map(({ userId }) => userId),
  ]);
  return rows.map((row) => ({ accountId: row.account_id, userId: row.user_id }));
}

export async function isHoldInForce(session: Session, id: string): Promise<boolean> {
  return (await maybeOne(session, holdOfId, [id])) !== undefined;
}

/** Undefined where the data of the user was erased. */
export async function insertHold(
  session: Session,
  hold: UserKey & { id: string; reason: string; placedBy: string; until: Date },
): Promise<HoldRow | undefined> {
  const { accountId, id, userId, reason, placedBy, until } = hold;
  return maybeOne(session, placeHoldQuery, [accountId, id, userId, reason, placedBy, until]);
}

export async function endHoldRow(
  session: Session,
  hold: { id: string; endedBy: string },
): Promise<HoldRow | undefined> {
  const rows = await many(session, endHoldQuery, [hold.id, hold.endedBy]);
  return rows[0];
}

export type HoldFilter = { userId: string | undefined; all: boolean };

export async function listHoldRows(
  session: Session,
  { userId, all }: HoldFilter,
  { after, count }: TimePage,
): Promise<(HoldRow & { placed_us: bigint })[]> {
  const page = [...cursorValues(after), count];
  if (userId !== undefined) return many(session, holdLists.ofUser, [...page, userId, all]);
  return many(session, all ? holdLists.all : holdLists.inForce, page);
}
