import { z } from 'zod';
import { getCountry } from '../core/country.ts';
import { AppError, type Fault } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import {
  findUserKey,
  type KeyOwner,
  type KeyRing,
  newDataKey,
  openVersioned,
  rowContext,
  sealBytes,
} from '../core/sealing.ts';
import { held } from '../db/batcher.ts';
import { createKeyedBatcher, type KeyedBatcher, type StoreAnswers } from '../db/keyed-batcher.ts';
import { placeByOrdinal } from '../db/ordinals.ts';
import { type Database, findConstraint, type Session } from '../db/postgres/pool.ts';
import { type IndexedData, indexUser } from './user-indexes.ts';
import {
  findUserRow,
  insertUser,
  insertUsers,
  listUserKeys,
  lockUserRow,
  type NewUser,
  type StoredUser,
  type UserRow,
  updateUserRow,
} from './users.sql.ts';

/** Recipients. Personal data is sealed with a key for each user. */

/** The personal part of a user, sealed with the user's key. Absent texts are "". */
const personSchema = z.object({
  first_name: z.string(),
  middle_name: z.string(),
  last_name: z.string(),
  email: z.string(),
  mobile_number: z.string(),
  date_of_birth: z.string(),
  business_name: z.string(),
  address1: z.string(),
  address2: z.string(),
  city: z.string(),
  state_province: z.string(),
  postal_code: z.string(),
  language: z.string(),
  timezone: z.string(),
});
export type Person = z.infer<typeof personSchema>;

/** What is sealed: also what a client chose, of which the identifier is found by a keyed hash. */
const sealedSchema = personSchema.extend({ internal_user_id: z.string(), metadata: z.string() });

const erasedPerson = Object.fromEntries(
  Object.keys(personSchema.shape).map((name) => [name, '']),
) as Person;

export { indexInternalId } from './user-indexes.ts';
export { findAccountOfUser } from './users.sql.ts';

export type User = {
  id: string;
  internalUserId: string;
  status: UserRow['status'];
  kycStatus: UserRow['kyc_status'];
  country: string;
  createdAt: Date;
  metadata: string;
  /** Null unless the personal data was erased. */
  erasedAt: Date | null;
  person: Person;
};

export type UserContext = { session: Session; keys: KeyRing; accountId: string };

/** A user as sent by a client; `metadata` is JSON text. */
export type UserData = Partial<Person> & {
  internal_user_id: string;
  country: string;
  first_name: string;
  last_name: string;
  email: string;
  metadata: string | undefined;
};

/** Creates users in groups; undefined for a user whose id or email is already taken. */
export type UserGroup = KeyedBatcher<NewUser, Date>;

export function createUserGroup(db: Database, storeAnswers: StoreAnswers): UserGroup {
  return createKeyedBatcher<NewUser, Date>({
    name: 'create users',
    db,
    storeAnswers,
    keyOf: ({ id }) => id,
    run: async (session, users, mayWait) => {
      const rows = await insertUsers(session, users, mayWait);
      return placeByOrdinal(users, rows, (row) => row.created_at ?? held);
    },
  });
}

/** A user to be stored, and how it is described afterwards. */
export type PreparedUser = { stored: NewUser; describe(createdAt: Date): User };

export function prepareUser(
  context: { keys: KeyRing; accountId: string },
  data: UserData,
): PreparedUser {
  const { keys, accountId } = context;
  const id = newId();
  const dataKey = newDataKey();
  const person = completePerson(data);
  const stored = store({ accountId, id, data, keys }, { person, dataKey, version: 1 });
  return {
    stored: { ...stored, dataKey: keys.wrap(dataKey, { accountId, userId: id }) },
    describe: (createdAt) => ({
      id,
      internalUserId: data.internal_user_id,
      status: 'ACTIVE',
      kycStatus: 'none',
      country: stored.country,
      createdAt,
      metadata: data.metadata ?? '{}',
      erasedAt: null,
      person,
    }),
  };
}

/** @throws AppError user_exists, naming a field that is already taken; `listTakenFaults` names all. */
export async function createUser(session: Session, user: PreparedUser): Promise<User> {
  const row = await refuseDuplicates(insertUser(session, user.stored));
  return user.describe(row.created_at);
}

/**
 * Changes the given fields and keeps the others.
 *
 * @throws AppError not_found, user_exists.
 */
export async function updateUser(
  context: UserContext,
  userId: string,
  changes: Partial<UserData>,
): Promise<User> {
  const { session, keys, accountId } = context;
  const before = await lockUserRow(session, { accountId, userId });
  if (before === undefined) throw new AppError('not_found', 'User not found');
  const dataKey = keys.unwrap(before.data_key, { accountId, userId });
  const old = openUser(before, context);
  const data: UserData = {
    ...old.person,
    timezone: findChosenTimeZone(old),
    internal_user_id: old.internalUserId,
    country: old.country,
    ...dropUndefined(changes),
    metadata: changes.metadata ?? old.metadata,
  };
  const person = completePerson(data);
  const version = before.version + 1;
  const stored = store({ accountId, id: userId, data, keys }, { person, dataKey, version });
  const row = await refuseDuplicates(updateUserRow(session, { ...stored, version }));
  const { internal_user_id: internalUserId, metadata = '{}' } = data;
  return { ...describe(row), internalUserId, metadata, person };
}

export async function findUser(context: UserContext, userId: string): Promise<User | undefined> {
  const row = await findUserRow(context.session, { accountId: context.accountId, userId });
  return row === undefined ? undefined : openUser(row, context);
}

/** Without the members that its verification events carry. */
export type StoredUserState = Omit<User, 'kycStatus'>;

/** What `user_payload` stores in an event. */
const storedUser = z.object({
  status: z.enum(['ACTIVE', 'LOCKED', 'DEACTIVE']),
  country: z.string(),
  created_at: z.coerce.date(),
  sealed: z.hex(),
});

/** Users as events stored them, in the same order; undefined for those whose data was erased. */
export async function openStoredUsers(
  { session, keys, accountId }: UserContext,
  stored: readonly { userId: string; payload: string }[],
): Promise<(StoredUserState | undefined)[]> {
  if (stored.length === 0) return [];
  const ids = [...new Set(stored.map(({ userId }) => userId))];
  const rows = await listUserKeys(session, accountId, ids);
  const dataKeys = new Map(rows.map((row) => [row.id, row.data_key]));
  return stored.map(({ userId, payload }) => {
    const owner = { accountId, userId };
    const userKey = findUserKey(keys, dataKeys.get(userId) ?? Buffer.alloc(0), owner);
    if (userKey === undefined) return undefined;
    const row = storedUser.parse(JSON.parse(payload));
    const sealed = Buffer.from(row.sealed, 'hex');
    const { internal_user_id, metadata, ...person } = sealedSchema.parse(
      openSealed(userKey, { ...owner, sealed }),
    );
    return {
      id: userId,
      internalUserId: internal_user_id,
      status: row.status,
      country: row.country,
      createdAt: row.created_at,
      metadata,
      erasedAt: null,
      person,
    };
  });
}

/** Opens the personal part of a stored user; `sealed` as `with_version` answers it. */
export function openPerson(userKey: Buffer, owner: KeyOwner & { sealed: Buffer }): Person {
  return personSchema.parse(openSealed(userKey, owner));
}

/** What a stored user is found by. */
export function openIndexed(userKey: Buffer, owner: KeyOwner & { sealed: Buffer }): IndexedData {
  return sealedSchema.parse(openSealed(userKey, owner));
}

function openSealed(userKey: Buffer, owner: KeyOwner & { sealed: Buffer }): unknown {
  const contextOf = (version: number): string => sealContext(owner, version);
  return JSON.parse(openVersioned(userKey, owner.sealed, contextOf).toString());
}

/** Of an erased user every text about the person is "". */
export function openUser(row: UserRow, { keys, accountId }: Omit<UserContext, 'session'>): User {
  const owner = { accountId, userId: row.id };
  if (row.erased_at !== null) {
    return { ...describe(row), internalUserId: '', metadata: '{}', person: erasedPerson };
  }
  const userKey = keys.unwrap(row.data_key, owner);
  const opened = openSealed(userKey, { ...owner, sealed: row.sealed });
  const { internal_user_id: internalUserId, metadata, ...person } = sealedSchema.parse(opened);
  return { ...describe(row), internalUserId, metadata, person };
}

function describe(row: UserRow): Omit<User, 'person' | 'metadata' | 'internalUserId'> {
  return {
    id: row.id,
    status: row.status,
    kycStatus: row.kyc_status,
    country: row.country,
    createdAt: row.created_at,
    erasedAt: row.erased_at,
  };
}

function store(
  user: { accountId: string; id: string; data: UserData; keys: KeyRing },
  secret: { person: Person; dataKey: Buffer; version: number },
): StoredUser {
  const { accountId, id, data } = user;
  const metadata = data.metadata ?? '{}';
  const chosen = { internal_user_id: data.internal_user_id, metadata };
  const plain = Buffer.from(JSON.stringify({ ...secret.person, ...chosen }));
  const context = sealContext({ accountId, userId: id }, secret.version);
  return {
    accountId,
    id,
    ...indexUser(user, data),
    country: data.country,
    sealed: sealBytes(secret.dataKey, plain, context),
  };
}

function sealContext({ accountId, userId }: KeyOwner, version: number): string {
  return rowContext('users.sealed', accountId, userId, version);
}

function completePerson(data: UserData): Person {
  return {
    first_name: data.first_name,
    middle_name: data.middle_name ?? '',
    last_name: data.last_name,
    email: data.email,
    mobile_number: data.mobile_number ?? '',
    date_of_birth: data.date_of_birth ?? '',
    business_name: data.business_name ?? '',
    address1: data.address1 ?? '',
    address2: data.address2 ?? '',
    city: data.city ?? '',
    state_province: data.state_province ?? '',
    postal_code: data.postal_code ?? '',
    // "" means the default, like an absent value.
    language: data.language || 'en',
    timezone: data.timezone || getCountry(data.country).timeZone,
  };
}

/** "" for the default of the country, which another country changes. */
function findChosenTimeZone({ country, person: { timezone } }: User): string {
  return timezone === getCountry(country).timeZone ? '' : timezone;
}

function dropUndefined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(value).filter(([, member]) => member !== undefined),
  ) as Partial<T>;
}

async function refuseDuplicates<Row>(stored: Promise<Row>): Promise<Row> {
  try {
    return await stored;
  } catch (error) {
    const taken = {
      users_internal_user_id: 'internal_user_id',
      users_email: 'email',
    }[findConstraint(error) ?? ''];
    if (taken === undefined) throw error;
    const fault = describeTaken(taken);
    throw new AppError('user_exists', fault.detail, { faults: [fault], cause: error });
  }
}

export function describeTaken(name: string): Fault {
  const detail = `${name} is already used by another user of this account`;
  return { pointer: `/${name}`, code: 'already_used', detail };
}
