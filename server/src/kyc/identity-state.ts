import { type IdentityState, readIdentityCode } from '../attributes/missing.ts';
import { type KeyRing, openBytes } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, maybeOne, nullable } from '../db/rows.ts';
import { reasonContext } from './decisions.ts';
import { sessionStatuses, type UserId } from './kyc.sql.ts';

const stateQuery = defineQuery({
  name: 'kyc_find_identity_state',
  text: `
    select s.status, d.id as decision_id, d.reason, u.data_key
    from users u
    left join lateral (
      select id, status, submission from verification_sessions
      where account_id = u.account_id and user_id = u.id
      order by id desc limit 1
    ) s on true
    left join lateral (
      select id, reason from verification_decisions
      where account_id = u.account_id and session_id = s.id and submission = s.submission
        and is_effective and s.status in ('Declined', 'Resubmission requested')
      order by id desc limit 1
    ) d on true
    where u.account_id = $1 and u.id = $2`,
  columns: {
    status: nullable(column.oneOf(...sessionStatuses)),
    decision_id: nullable(column.uuid),
    reason: nullable(column.bytes),
    data_key: column.bytes,
  },
});

/** How far the verification of a user who is not approved is, with the reviewer's last reason. */
export async function findIdentityState(
  { session, keys }: { session: Session; keys: KeyRing },
  user: UserId,
): Promise<IdentityState> {
  const row = await maybeOne(session, stateQuery, [user.accountId, user.userId]);
  const code = readIdentityCode(row?.status ?? undefined);
  if (row === undefined || row.reason === null || row.decision_id === null) {
    return { code, reason: '' };
  }
  const userKey = keys.unwrap(row.data_key, user);
  return {
    code,
    reason: openBytes(userKey, row.reason, reasonContext(row.decision_id)).toString(),
  };
}
