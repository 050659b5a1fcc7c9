import { findUserKey } from '../core/sealing.ts';
import { type AttributeValues, openValues } from './attribute-values.ts';
import { listVersions } from './attributes.sql.ts';
import { type AttributeContext } from './attributes.ts';

/** A version of a set; its values are undefined where the data of the user was erased. */
export type StoredVersion = {
  setId: string;
  version: number;
  userId: string;
  destinationToken: string;
  currency: string;
  isComplete: boolean;
  storedAt: Date;
  values: AttributeValues | undefined;
};

/** The given versions of sets of an account, in any order. */
export async function openVersions(
  { session, keys, accountId }: AttributeContext,
  versions: readonly { setId: string; version: number }[],
): Promise<StoredVersion[]> {
  if (versions.length === 0) return [];
  const rows = await listVersions(session, accountId, versions);
  return rows.map((row) => {
    const owner = { accountId, userId: row.user_id };
    const userKey = findUserKey(keys, row.data_key, owner);
    return {
      setId: row.set_id,
      version: row.version,
      userId: row.user_id,
      destinationToken: row.destination_token,
      currency: row.currency,
      isComplete: row.is_complete,
      storedAt: row.stored_at,
      values: userKey && openValues(userKey, row.sealed, { ...owner, setId: row.set_id }),
    };
  });
}
