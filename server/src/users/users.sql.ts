import type { Session, Statement } from '../db/postgres/pool.ts';

const columns = `users.id, internal_user_id, status, country, kyc_status, data_key, sealed, metadata,
  users.created_at`;

const insertText: Statement = {
  name: 'insert_user',
  text: `
    with own as materialized (
      -- The account's row first, as every writer does: two of them cannot wait in a circle.
      select id from accounts where id = $1 for update
    ), made as (
      insert into users (account_id, id, internal_user_id, email_index, country, data_key, sealed,
        metadata, created_at, updated_at)
      select own.id, $2, $3, $4, $5, $6, $7, $8, now.at, now.at
      from own, (select environment_now() as at) now
      returning ${columns}, account_id
    )
    select made.*, write_event(account_id, 'user.created', id,
      json_build_object('user_token', 'usr_' || id, 'status', status)::text, created_at) as event
    from made`,
};

const insertManyText: Statement = {
  name: 'create_users',
  text: `
    select ordinal, created_at, is_held from create_users($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
};

const updateText: Statement = {
  name: 'update_user',
  text: `
    with changed as (
      update users set internal_user_id = $3, email_index = $4, country = $5, sealed = $6,
        metadata = $7, updated_at = environment_now()
      where account_id = $1 and id = $2
      returning ${columns}, account_id, updated_at
    )
    select changed.*, write_event(account_id, 'user.updated', id,
      json_build_object('user_token', 'usr_' || id, 'status', status)::text, updated_at) as event
    from changed`,
};

const findText: Statement = {
  name: 'find_user',
  text: `select ${columns} from users where account_id = $1 and id = $2`,
};

const findForUpdateText: Statement = {
  name: 'find_user_for_update',
  text: `
    with own as materialized (select id from accounts where id = $1 for update)
    select ${columns} from users, own where account_id = own.id and users.id = $2 for update of users`,
};

const findByInternalIdText: Statement = {
  name: 'find_user_by_internal_id',
  text: `select ${columns} from users where account_id = $1 and internal_user_id = $2`,
};

/** Newest first. The filters are one expression, so that the planner does not expect few rows and sort. */
const listText: Statement = {
  name: 'list_users',
  text: `
    select ${columns} from users
    where account_id = $1 and id < $2
      and case when ($4::text is null or country = $4) and ($5::text is null or status = $5)
        then true else false end
    order by id desc limit $3`,
};

const findByEmailText: Statement = {
  name: 'find_user_by_email',
  text: `select ${columns} from users where account_id = $1 and email_index = $2`,
};

export type UserRow = {
  id: string;
  internal_user_id: string;
  status: 'ACTIVE' | 'LOCKED' | 'DEACTIVE';
  country: string;
  kyc_status: 'none' | 'pending' | 'approved' | 'declined';
  data_key: Buffer;
  sealed: Buffer;
  metadata: string;
  created_at: Date;
};

export type StoredUser = {
  accountId: string;
  id: string;
  internalUserId: string;
  emailIndex: Buffer;
  country: string;
  sealed: Buffer;
  metadata: string;
};

export type NewUser = StoredUser & { dataKey: Buffer };

/** Those that were made, and those whose account somebody holds; the others are taken already. */
export async function insertUsers(
  session: Session,
  users: readonly NewUser[],
  mayWait: boolean,
): Promise<{ ordinal: number; created_at: Date; is_held: boolean }[]> {
  const column = <T>(read: (user: NewUser) => T): T[] => users.map(read);
  return session.rows(insertManyText, [
    column(({ accountId }) => accountId),
    column(({ id }) => id),
    column(({ internalUserId }) => internalUserId),
    column(({ emailIndex }) => emailIndex),
    column(({ country }) => country),
    column(({ dataKey }) => dataKey),
    column(({ sealed }) => sealed),
    column(({ metadata }) => metadata),
    mayWait,
  ]);
}

/** @throws the database's error with the constraint users_internal_user_id or users_email. */
export async function insertUser(session: Session, user: NewUser): Promise<UserRow> {
  const [row] = await session.rows<UserRow>(insertText, [
    user.accountId,
    user.id,
    user.internalUserId,
    user.emailIndex,
    user.country,
    user.dataKey,
    user.sealed,
    user.metadata,
  ]);
  if (row === undefined) throw new Error('an inserted user has no row');
  return row;
}

/** @throws the database's error with the constraint users_internal_user_id or users_email. */
export async function updateUserRow(session: Session, user: StoredUser): Promise<UserRow> {
  const [row] = await session.rows<UserRow>(updateText, [
    user.accountId,
    user.id,
    user.internalUserId,
    user.emailIndex,
    user.country,
    user.sealed,
    user.metadata,
  ]);
  if (row === undefined) throw new Error('an updated user has no row');
  return row;
}

type UserId = { accountId: string; userId: string };

export async function findUserRow(session: Session, id: UserId): Promise<UserRow | undefined> {
  const [row] = await session.rows<UserRow>(findText, [id.accountId, id.userId]);
  return row;
}

/** Locks the account's row and then the user's, in the order that every writer keeps. */
export async function lockUserRow(session: Session, id: UserId): Promise<UserRow | undefined> {
  const [row] = await session.rows<UserRow>(findForUpdateText, [id.accountId, id.userId]);
  return row;
}

export async function findUserByInternalId(
  session: Session,
  id: { accountId: string; internalUserId: string },
): Promise<UserRow | undefined> {
  const values = [id.accountId, id.internalUserId];
  const [row] = await session.rows<UserRow>(findByInternalIdText, values);
  return row;
}

export async function findUserByEmail(
  session: Session,
  id: { accountId: string; emailIndex: Buffer },
): Promise<UserRow | undefined> {
  const [row] = await session.rows<UserRow>(findByEmailText, [id.accountId, id.emailIndex]);
  return row;
}

const findAccountText: Statement = {
  name: 'find_account_of_user',
  text: `
    select a.id as account_id from accounts a
    where exists (select from users u where u.account_id = a.id and u.id = $1)`,
};

/** Of an operator, who knows a user by the token alone. */
export async function findAccountOfUser(
  session: Session,
  userId: string,
): Promise<string | undefined> {
  const [row] = await session.rows<{ account_id: string }>(findAccountText, [userId]);
  return row?.account_id;
}

/** Behind every identifier: where a list begins. */
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export async function listUserRows(
  session: Session,
  range: {
    accountId: string;
    beforeId: string | undefined;
    count: number;
    country: string | undefined;
    status: string | undefined;
  },
): Promise<UserRow[]> {
  const { accountId, beforeId = lastId, count, country, status } = range;
  return session.rows<UserRow>(listText, [
    accountId,
    beforeId,
    count,
    country ?? null,
    status ?? null,
  ]);
}
