import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, maybeOne, nullable, one, type RowOf } from '../db/rows.ts';

const columns = {
  id: column.uuid,
  status: column.oneOf('ACTIVE', 'LOCKED', 'DEACTIVE'),
  country: column.text,
  kyc_status: column.oneOf('none', 'pending', 'approved', 'declined'),
  data_key: column.bytes,
  version: column.integer,
  /** As `with_version` answers it. */
  sealed: column.bytes,
  created_at: column.instant,
  erased_at: nullable(column.instant),
};
export type UserRow = RowOf<typeof columns>;
const plainNames = Object.keys(columns).join(', ');
const names = plainNames.replace('sealed', 'with_version(version, sealed) as sealed');

const insertText = defineQuery({
  name: 'insert_user',
  text: `
    with own as materialized (
      -- Every writer locks the account's row first, so that two of them cannot deadlock.
      select id from accounts where id = $1 for update
    ), made as (
      insert into users as u (account_id, id, internal_id_index, email_index, country, data_key,
        sealed, created_at, updated_at)
      select own.id, $2, $3, $4, $5, $6, $7, now.at, now.at
      from own, (select environment_now() as at) now
      returning u.id, u.account_id, u.created_at, user_payload(u) as payload
    ), named as (
      insert into user_names (account_id, term_hash, user_id)
      select account_id, hash, id from made, unnest($8::bytea[]) n (hash)
    )
    select created_at
    from made, write_event(account_id, 'user.created', id, payload, created_at)`,
  columns: { created_at: column.instant },
});

const insertManyText = defineQuery({
  name: 'create_users',
  text: `
    select ordinal, created_at
    from create_users($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
  columns: { ordinal: column.integer, created_at: nullable(column.instant) },
});

const updateText = defineQuery({
  name: 'update_user',
  text: `
    with changed as (
      update users u set internal_id_index = $3, email_index = $4, country = $5, version = $8,
        sealed = $6, updated_at = environment_now()
      where account_id = $1 and id = $2
      returning ${names}, account_id, updated_at, user_payload(u) as payload
    ), removed as (
      delete from user_names n using changed c
      where n.account_id = $1 and n.user_id = c.id and n.term_hash <> all ($7::bytea[])
    ), named as (
      insert into user_names (account_id, term_hash, user_id)
      select $1, hash, c.id from changed c, unnest($7::bytea[]) n (hash)
      on conflict do nothing
    )
    select ${plainNames}
    from changed, write_event(account_id, 'user.updated', id, payload, updated_at)`,
  columns,
});

const findText = defineQuery({
  name: 'find_user',
  text: `select ${names} from users where account_id = $1 and id = $2`,
  columns,
});

const findForUpdateText = defineQuery({
  name: 'find_user_for_update',
  text: `
    with own (own_account) as materialized (select id from accounts where id = $1 for update)
    select ${names} from users, own where account_id = own_account and id = $2 for update of users`,
  columns,
});

const findByInternalIdText = defineQuery({
  name: 'find_user_by_internal_id',
  text: `select ${names} from users where account_id = $1 and internal_id_index = $2`,
  columns,
});

/** Greater than every identifier: where a list begins. */
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** One expression holds the filters, lest the planner expect few rows and sort. */
const filters = `
  case when ($4::text is null or country = $4) and ($5::text is null or status = $5)
    and ($6::timestamptz is null or created_at >= $6)
    and ($7::timestamptz is null or created_at < $7) then true else false end`;

/** Newest first. */
function defineList(name: string, where: string, order = 'id desc') {
  return defineQuery({
    name,
    text: `
      select ${names} from users
      where account_id = $1 ${where} and ${filters}
      order by ${order} limit $3`,
    columns,
  });
}

/** Along the rarest of the terms; each is counted up to ten thousand recipients. */
export const userListOfName = defineQuery({
  name: 'list_users_of_name',
  text: `
    with rarest as materialized (
      select t.hash from unnest($8::bytea[]) t (hash)
      order by (
        select count(*) from (
          select from user_names n where n.account_id = $1 and n.term_hash = t.hash
          order by n.user_id limit case cardinality($8::bytea[]) when 1 then 0 else 10000 end
        ) c
      ) limit 1
    )
    select ${names}
    from user_names n
    join users u on u.account_id = n.account_id and u.id = n.user_id
    where n.account_id = $1 and n.term_hash = (select hash from rarest) and n.user_id < $2
      and case when exists (
        select from unnest($8::bytea[]) t (hash)
        where not exists (
          select from user_names m
          where m.account_id = $1 and m.term_hash = t.hash and m.user_id = n.user_id)
      ) then false else true end
      and ${filters}
    order by n.user_id desc limit $3`,
  columns,
});

/** One for each index. */
export const userLists = {
  all: defineList('list_users', 'and id < $2'),
  /**
   * As a range of one value: in an account with one country the planner leaves an equal value out of the
   * order, and walks all recipients in search of another country.
   */
  ofCountry: defineList(
    'list_users_of_country',
    'and country between $4 and $4 and (country, id) < ($4, $2)',
    'country desc, id desc',
  ),
  inactive: defineList('list_inactive_users', `and id < $2 and status = $5 and status <> 'ACTIVE'`),
  ofTime: defineList(
    'list_users_of_time',
    // By `case`: row-level security lets no `coalesce` into the index.
    `and created_at >= case when $6::timestamptz is null then '-infinity'::timestamptz else $6 end
      and created_at < case when $7::timestamptz is null then 'infinity'::timestamptz else $7 end
      and (created_at, id) < (case when $2 = '${lastId}'::uuid then 'infinity'::timestamptz
        else (select l.created_at from users l where l.account_id = $1 and l.id = $2) end, $2)`,
    'created_at desc, id desc',
  ),
};

/** With $8 the recipients, and $9 the terms of a name that they must all have. */
export const userListOfTokens = defineList(
  'list_users_of_tokens',
  `and id = any ($8::uuid[]) and id < $2 and not exists (
      select from unnest($9::bytea[]) t (hash)
      where not exists (
        select from user_names m
        where m.account_id = $1 and m.user_id = users.id and m.term_hash = t.hash))`,
);

const findByEmailText = defineQuery({
  name: 'find_user_by_email',
  text: `select ${names} from users where account_id = $1 and email_index = $2`,
  columns,
});

export type StoredUser = {
  accountId: string;
  id: string;
  internalIdIndex: Buffer;
  emailIndex: Buffer;
  country: string;
  sealed: Buffer;
  /** Under which it is found by name. */
  nameHashes: readonly Buffer[];
};

export type NewUser = StoredUser & { dataKey: Buffer };

/** Null if the account is locked; no row if an identifier is already taken. */
export async function insertUsers(
  session: Session,
  users: readonly NewUser[],
  mayWait: boolean,
): Promise<{ ordinal: number; created_at: Date | null }[]> {
  const list = <T>(read: (user: NewUser) => T): T[] => users.map(read);
  return many(session, insertManyText, [
    list(({ accountId }) => accountId),
    list(({ id }) => id),
    list(({ internalIdIndex }) => internalIdIndex),
    list(({ emailIndex }) => emailIndex),
    list(({ country }) => country),
    list(({ dataKey }) => dataKey),
    list(({ sealed }) => sealed),
    users.flatMap(({ id, nameHashes }) => nameHashes.map(() => id)),
    users.flatMap(({ nameHashes }) => nameHashes),
    mayWait,
  ]);
}

/** @throws the database's error with the constraint users_internal_user_id or users_email. */
export async function insertUser(session: Session, user: NewUser): Promise<{ created_at: Date }> {
  return one(session, insertText, [
    user.accountId,
    user.id,
    user.internalIdIndex,
    user.emailIndex,
    user.country,
    user.dataKey,
    user.sealed,
    user.nameHashes,
  ]);
}

/** @throws the database's error with the constraint users_internal_user_id or users_email. */
export async function updateUserRow(
  session: Session,
  user: StoredUser & { version: number },
): Promise<UserRow> {
  return one(session, updateText, [
    user.accountId,
    user.id,
    user.internalIdIndex,
    user.emailIndex,
    user.country,
    user.sealed,
    user.nameHashes,
    user.version,
  ]);
}

const listKeysText = defineQuery({
  name: 'list_user_keys',
  text: `select id, data_key from users where account_id = $1 and id = any ($2::uuid[])`,
  columns: { id: column.uuid, data_key: column.bytes },
});

export async function listUserKeys(
  session: Session,
  accountId: string,
  userIds: readonly string[],
): Promise<{ id: string; data_key: Buffer }[]> {
  return many(session, listKeysText, [accountId, userIds]);
}

type UserId = { accountId: string; userId: string };

export async function findUserRow(session: Session, id: UserId): Promise<UserRow | undefined> {
  return maybeOne(session, findText, [id.accountId, id.userId]);
}

/** Locks the account's row and then the user's, as every writer does. */
export async function lockUserRow(session: Session, id: UserId): Promise<UserRow | undefined> {
  return maybeOne(session, findForUpdateText, [id.accountId, id.userId]);
}

export async function findUserByInternalId(
  session: Session,
  id: { accountId: string; internalIdIndex: Buffer },
): Promise<UserRow | undefined> {
  return maybeOne(session, findByInternalIdText, [id.accountId, id.internalIdIndex]);
}

export async function findUserByEmail(
  session: Session,
  id: { accountId: string; emailIndex: Buffer },
): Promise<UserRow | undefined> {
  return maybeOne(session, findByEmailText, [id.accountId, id.emailIndex]);
}

const findTakenText = defineQuery({
  name: 'find_taken_fields_of_user',
  text: `
    select
      exists (select from users where account_id = $1 and internal_id_index = $3 and id <> $2)
        as internal_user_id,
      exists (select from users where account_id = $1 and email_index = $4 and id <> $2) as email`,
  columns: { internal_user_id: column.boolean, email: column.boolean },
});

/** Whether another user of the account has these. */
export async function findTakenFields(
  session: Session,
  user: UserId & { internalIdIndex: Buffer | undefined; emailIndex: Buffer | undefined },
): Promise<{ internal_user_id: boolean; email: boolean }> {
  const { accountId, userId, internalIdIndex = null, emailIndex = null } = user;
  return one(session, findTakenText, [accountId, userId, internalIdIndex, emailIndex]);
}

const findAccountText = defineQuery({
  name: 'find_account_of_user',
  text: `
    select a.id as account_id from accounts a
    where exists (select from users u where u.account_id = a.id and u.id = $1)`,
  columns: { account_id: column.uuid },
});

/** For operators, who name a user by its token alone. */
export async function findAccountOfUser(
  session: Session,
  userId: string,
): Promise<string | undefined> {
  return (await maybeOne(session, findAccountText, [userId]))?.account_id;
}

/** An undefined filter matches every user. */
export type UserRowFilter = {
  country: string | undefined;
  status: string | undefined;
  /** When it was created: from (inclusive) until (exclusive). */
  from: Date | undefined;
  until: Date | undefined;
  /** Of terms, different from each other, that its name must all have; empty for any name. */
  nameHashes: readonly Buffer[];
  /** Of the recipients; undefined for all. */
  ids: readonly string[] | undefined;
};

export async function listUserRows(
  session: Session,
  range: { accountId: string; beforeId: string | undefined; count: number },
  filter: UserRowFilter,
): Promise<UserRow[]> {
  const { accountId, beforeId = lastId, count } = range;
  const { country = null, status = null, from = null, until = null } = filter;
  const values = [accountId, beforeId, count, country, status, from, until];
  const { nameHashes, ids } = filter;
  if (ids !== undefined) return many(session, userListOfTokens, [...values, ids, nameHashes]);
  return nameHashes.length === 0
    ? many(session, chooseList(filter), values)
    : many(session, userListOfName, [...values, nameHashes]);
}

function chooseList({ country, status, from, until }: UserRowFilter) {
  if (from !== undefined || until !== undefined) return userLists.ofTime;
  if (status !== undefined && status !== 'ACTIVE') return userLists.inactive;
  return country === undefined ? userLists.all : userLists.ofCountry;
}
