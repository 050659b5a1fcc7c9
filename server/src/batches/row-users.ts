import type { KeyRing } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { indexInternalId } from '../users/users.ts';
import { type BatchUserRow, findBatchUsers } from './row-context.sql.ts';

/** The users that rows of a portion name, by token or by the client's own identifier. */

export type UserIndex = {
  byId: ReadonlyMap<string, BatchUserRow>;
  byInternalId: ReadonlyMap<string, BatchUserRow>;
};

type NamedUser = {
  readonly userId: string | undefined;
  readonly internalUserId: string | undefined;
};

export const isText = (text: string | undefined): text is string => text !== undefined;

export async function readUsers(
  owner: { session: Session; accountId: string; keys: KeyRing },
  drafts: readonly NamedUser[],
): Promise<UserIndex> {
  const named = new Map(
    drafts
      .map(({ internalUserId }) => internalUserId)
      .filter(isText)
      .map((id) => [indexInternalId(owner, id).toString('hex'), id]),
  );
  const rows = await findBatchUsers(owner.session, {
    accountId: owner.accountId,
    ids: drafts.map(({ userId }) => userId).filter(isText),
    internalIds: [...named.keys()].map((index) => Buffer.from(index, 'hex')),
  });
  return {
    byId: new Map(rows.map((row) => [row.id, row])),
    byInternalId: new Map(
      rows.map((row) => [named.get(row.internal_id_index.toString('hex')) ?? '', row]),
    ),
  };
}
