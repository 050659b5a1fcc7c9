/** What operators may do, by role. */

export const operatorRoles = ['owner', 'operator', 'approver', 'compliance', 'viewer'] as const;
export type OperatorRole = (typeof operatorRoles)[number];

/**
 * - `read`: look at everything but the images of identity documents
 * - `operate`: accounts, their credentials and balances, rails, reconciliation
 * - `decide`: payouts that wait for a person, recoveries
 * - `comply`: identities, sanctions hits, erasure
 * - `administer`: operators, and what needs two people
 */
export const permissions = ['read', 'operate', 'decide', 'comply', 'administer'] as const;
export type Permission = (typeof permissions)[number];

const granted: Readonly<Record<OperatorRole, readonly Permission[]>> = {
  owner: permissions,
  operator: ['read', 'operate'],
  approver: ['read', 'operate', 'decide'],
  compliance: ['read', 'comply', 'decide'],
  viewer: ['read'],
};

export function isPermitted(role: OperatorRole, permission: Permission): boolean {
  return granted[role].includes(permission);
}

/** Roles that have the permission, for messages. */
export function listRolesWith(permission: Permission): OperatorRole[] {
  return operatorRoles.filter((role) => isPermitted(role, permission));
}
