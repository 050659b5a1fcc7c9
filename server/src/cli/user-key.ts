import { AppError } from '../core/errors.ts';
import { findAccountOfUser } from '../users/users.ts';
import type { CommandContext } from './context.ts';

/** @throws AppError not_found. */
export async function getUserKey({ db, name }: CommandContext, userId: string) {
  const accountId = await findAccountOfUser(db.system, userId);
  if (accountId === undefined) throw new AppError('not_found', `user not found in ${name}`);
  return { accountId, userId };
}
