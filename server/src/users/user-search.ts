import type { Fault } from '../core/errors.ts';
import { listNameTerms } from './name-terms.ts';
import { hashNameTerms, indexEmail, indexInternalId } from './user-indexes.ts';
import {
  findTakenFields,
  findUserByEmail,
  findUserByInternalId,
  listUserRows,
  type UserRowFilter,
} from './users.sql.ts';
import { describeTaken, openUser, type User, type UserContext } from './users.ts';

/** Finds users by what a client knows of them. */

/** One of the first two at least; all that are given must match. */
export type UserLookup = {
  internalUserId?: string | undefined;
  email?: string | undefined;
  firstName?: string | undefined;
};

export async function lookUpUser(
  context: UserContext,
  { internalUserId, email, firstName }: UserLookup,
): Promise<User | undefined> {
  const user = await findUnique(context, { internalUserId, email });
  if (user === undefined) return undefined;
  const { person } = user;
  const matches =
    (email === undefined || isSameText(person.email, email)) &&
    (firstName === undefined || isSameText(person.first_name, firstName));
  return matches ? user : undefined;
}

function isSameText(one: string, other: string): boolean {
  const fold = (text: string): string => text.normalize().toLowerCase();
  return fold(one) === fold(other);
}

/** By the identifier, else by the email; both are unique in the account. */
async function findUnique(
  context: UserContext,
  { internalUserId, email = '' }: Pick<UserLookup, 'internalUserId' | 'email'>,
): Promise<User | undefined> {
  const { session, keys, accountId } = context;
  const row =
    internalUserId === undefined
      ? await findUserByEmail(session, { accountId, emailIndex: indexEmail(keys, email) })
      : await findUserByInternalId(session, {
          accountId,
          internalIdIndex: indexInternalId(context, internalUserId),
        });
  return row === undefined ? undefined : openUser(row, context);
}

export type UserFilter = Omit<UserRowFilter, 'nameHashes'> & {
  internalUserId: string | undefined;
  email: string | undefined;
  /** As `readNameParts` reads them; empty for any name. */
  nameParts: readonly string[];
};

/** The users of an account before the given one, newest first. */
export async function listUsers(
  context: UserContext,
  range: { beforeId: string | undefined; count: number },
  filter: UserFilter,
): Promise<User[]> {
  const { session, accountId } = context;
  const { internalUserId, email, country, status, from, until, nameParts, ids } = filter;
  if (internalUserId === undefined && email === undefined) {
    const nameHashes = hashNameTerms(context, nameParts);
    const rows = await listUserRows(session, { accountId, ...range }, { ...filter, nameHashes });
    return rows.map((row) => openUser(row, context));
  }
  const user = await findUnique(context, { internalUserId, email });
  const matches =
    user !== undefined &&
    (email === undefined || isSameText(user.person.email, email)) &&
    (country === undefined || user.country === country) &&
    (status === undefined || user.status === status) &&
    (from === undefined || user.createdAt >= from) &&
    (until === undefined || user.createdAt < until) &&
    nameParts.every((part) => listNameTerms(user.person).includes(part)) &&
    (ids === undefined || ids.includes(user.id)) &&
    (range.beforeId === undefined || user.id < range.beforeId);
  return matches ? [user] : [];
}

/** Which identifiers of a new or changed user other users of the account have. */
export async function listTakenFaults(
  { session, keys, accountId }: UserContext,
  user: { userId: string; internalUserId: string | undefined; email: string | undefined },
): Promise<Fault[]> {
  const { userId, internalUserId, email } = user;
  const taken = await findTakenFields(session, {
    accountId,
    userId,
    internalIdIndex:
      internalUserId === undefined
        ? undefined
        : indexInternalId({ keys, accountId }, internalUserId),
    emailIndex: email === undefined ? undefined : indexEmail(keys, email),
  });
  const names = [
    ...(taken.internal_user_id ? ['internal_user_id'] : []),
    ...(taken.email ? ['email'] : []),
  ];
  return names.map((name) => describeTaken(name));
}
