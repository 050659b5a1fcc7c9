import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, one, type RowOf } from '../db/rows.ts';

const policyColumns = {
  account_id: column.uuid,
  version: column.integer,
  content: column.text,
  set_by: column.text,
  reason: column.text,
  set_at: column.instant,
  replaced_at: nullable(column.instant),
  mac: column.bytes,
} as const;
export type PolicyRow = RowOf<typeof policyColumns>;

const names = Object.keys(policyColumns).join(', ');

const inForce = defineQuery({
  name: 'list_approval_policies_in_force',
  text: `
    select ${names} from approval_policies
    where account_id = any ($1) and replaced_at is null and has_rules
    order by account_id`,
  columns: policyColumns,
});

const history = defineQuery({
  name: 'list_approval_policy_versions',
  text: `
    select ${names} from approval_policies
    where account_id = $1 and version < case when $2::integer is null then 2147483647 else $2 end
    order by version desc limit $3`,
  columns: policyColumns,
});

const store = defineQuery({
  name: 'set_approval_policy',
  text: `select set_approval_policy($1, $2, $3, $4, $5, $6, $7) as version`,
  columns: { version: nullable(column.integer) },
});

/** Those with rules. */
export const selectPoliciesInForce = (
  session: Session,
  accountIds: readonly string[],
): Promise<PolicyRow[]> => many(session, inForce, [accountIds]);

/** Versions before one of them; of all, where none is named. */
export type PolicyPage = { before?: number | undefined; count: number };

/** The newest first. */
export const selectPolicyVersions = (
  session: Session,
  accountId: string,
  { before, count }: PolicyPage,
): Promise<PolicyRow[]> => many(session, history, [accountId, before ?? null, count]);

/** False where another process has stored this version. */
export async function storePolicyVersion(
  session: Session,
  policy: Pick<PolicyRow, 'account_id' | 'version' | 'content' | 'set_by' | 'reason' | 'mac'> & {
    hasRules: boolean;
  },
): Promise<boolean> {
  const { version } = await one(session, store, [
    policy.account_id,
    policy.version,
    policy.content,
    policy.hasRules,
    policy.set_by,
    policy.reason,
    policy.mac,
  ]);
  return version !== null;
}
