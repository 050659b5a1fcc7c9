import type { Session, Statement } from '../db/postgres/pool.ts';
import { exec } from '../db/rows.ts';
import type { PayeeVersions } from './payee-result.ts';

/** An answer about newer versions is never replaced by one about older ones. */
const storePayeeText: Statement = {
  name: 'store_payee_check',
  text: `
    insert into payee_checks as c (account_id, set_id, user_id, attr_version, user_version, rail,
      sealed, checked_at)
    values ($1, $2, $3, $4, $5, $6, $7, environment_now())
    on conflict (account_id, set_id) do update set attr_version = excluded.attr_version,
      user_version = excluded.user_version, rail = excluded.rail, sealed = excluded.sealed,
      checked_at = excluded.checked_at
    where c.attr_version <= excluded.attr_version and c.user_version <= excluded.user_version`,
};

export async function storePayee(
  session: Session,
  versions: PayeeVersions,
  { rail, sealed }: { rail: string; sealed: Buffer },
): Promise<void> {
  const { accountId, setId, userId, attrVersion, userVersion } = versions;
  const values = [accountId, setId, userId, attrVersion, userVersion, rail, sealed];
  await exec(session, storePayeeText, values);
}
