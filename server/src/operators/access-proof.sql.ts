import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, type RowOf } from '../db/rows.ts';

/** Proofs read the audit log as far as it is about revocations and policies. */
const proofMsMax = 24 * 3_600_000;

const revived = defineQuery({
  name: 'select_revived_access',
  answerMsMax: proofMsMax,
  text: `
    select 'operator' as kind, o.name
    from operators o
    where o.revoked_at is null and exists (
      select from audit_entries a
      where a.action = 'operator revoke' and a.outcome = 'done'
        and a.object::jsonb ->> 'name' = o.name)
    union all
    select 'credential', c.id::text
    from credentials c
    where c.revoked_at is null and exists (
      select from audit_entries a
      where a.action = 'credential revoke' and a.outcome = 'done'
        and a.object::jsonb ->> 'credential' = c.id::text)
    union all
    select 'policy', p.action
    from policies p
    join lateral (
      select a.state_after::jsonb as state from audit_entries a
      where a.action = 'policy set' and a.outcome = 'done'
        and a.object::jsonb ->> 'action' = p.action
      order by a.sequence desc limit 1
    ) newest on true
    where (newest.state ->> 'persons')::integer <> p.persons
      or (newest.state ->> 'above_usd')::bigint <> p.above_usd
    order by 1, 2 limit 100`,
  columns: { kind: column.oneOf('operator', 'credential', 'policy'), name: column.text },
});

export type RevivedRow = RowOf<typeof revived.columns>;

export const selectRevivedAccess = (session: Session): Promise<RevivedRow[]> =>
  many(session, revived, []);
