import { AppError } from '../core/errors.ts';
import { type KeyRing, rowContext } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { defineProtectedTable, renewMac } from '../db/protected-tables.ts';
import { column } from '../db/rows.ts';
import {
  type PolicyPage,
  type PolicyRow,
  selectPoliciesInForce,
  selectPolicyVersions,
  storePolicyVersion,
} from './approval-policies.sql.ts';
import { type ApprovalRule, type PolicyContent, readPolicyContent } from './approval-rules.ts';

/** The approval policies of accounts: each setting is a new version, and the newest is in force. */

export type PolicyServices = {
  readonly session: Session;
  readonly keys: Pick<KeyRing, 'mac' | 'isMac'>;
};

/** Stands for all accounts: its policy holds besides that of each. */
export const everyAccount = '00000000-0000-0000-0000-000000000000';

export type PolicyVersion = {
  version: number;
  content: string;
  setBy: string;
  reason: string;
  setAt: Date;
  replacedAt: Date | null;
  /** Whether it was changed past the service. */
  isForged: boolean;
};

type Sealed = Pick<PolicyRow, 'account_id' | 'version' | 'content' | 'set_by'>;

/** What the code of a policy covers. */
const describePolicy = (row: Sealed): string =>
  rowContext('approval_policies', row.account_id, row.version, row.content, row.set_by);

const isForged = (keys: PolicyServices['keys'], row: PolicyRow): boolean =>
  !keys.isMac(describePolicy(row), row.mac);

export const protectedApprovalPolicies = defineProtectedTable({
  table: 'approval_policies',
  key: { account_id: 'uuid', version: 'integer' },
  values: ['mac'],
  columns: {
    account_id: column.uuid,
    version: column.integer,
    content: column.text,
    set_by: column.text,
  },
  renew: renewMac(describePolicy),
});

/** Holds every payout: in place of a policy that was not set by an operator. */
const forgedRule: ApprovalRule = {
  name: 'the approval policy was changed past the service',
  when: {},
  approvers: 2,
  expires_hours: 24 * 90,
};

/** The rules for each of the accounts: those of every account first. */
export async function readRulesInForce(
  { session, keys }: PolicyServices,
  accountIds: readonly string[],
): Promise<(accountId: string) => readonly ApprovalRule[]> {
  const rows = await selectPoliciesInForce(session, [everyAccount, ...new Set(accountIds)]);
  const rules = new Map(
    rows.map((row) => [
      row.account_id,
      isForged(keys, row) ? [forgedRule] : readPolicyContent(row.content).rules,
    ]),
  );
  const common = rules.get(everyAccount) ?? [];
  return (accountId) => [...common, ...(rules.get(accountId) ?? [])];
}

/** The newest first. */
export async function listPolicyVersions(
  { session, keys }: PolicyServices,
  accountId: string,
  page: PolicyPage = { count: 100 },
): Promise<PolicyVersion[]> {
  const rows = await selectPolicyVersions(session, accountId, page);
  return rows.map((row) => ({
    version: row.version,
    content: row.content,
    setBy: row.set_by,
    reason: row.reason,
    setAt: row.set_at,
    replacedAt: row.replaced_at,
    isForged: isForged(keys, row),
  }));
}

/**
 * Puts a policy in force; one without rules ends the approvals of the account. Payouts that wait already
 * keep waiting. Returns its version.
 *
 * @throws AppError illegal_move where another one was set at the same moment.
 */
export async function setApprovalPolicy(
  { session, keys }: PolicyServices,
  policy: { accountId: string; content: PolicyContent; by: string; reason: string },
): Promise<number> {
  const [last] = await selectPolicyVersions(session, policy.accountId, { count: 1 });
  const row = {
    account_id: policy.accountId,
    version: (last?.version ?? 0) + 1,
    content: JSON.stringify(policy.content),
    set_by: policy.by,
    reason: policy.reason,
  };
  const stored = {
    ...row,
    hasRules: policy.content.rules.length > 0,
    mac: keys.mac(describePolicy(row)),
  };
  if (await storePolicyVersion(session, stored)) return row.version;
  throw new AppError('illegal_move', 'another policy was set at the same moment');
}
