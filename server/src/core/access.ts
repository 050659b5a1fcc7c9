/** What a credential may be allowed to do. */
export const scopes = [
  'balance:read',
  'users:read',
  'users:write',
  'destinations:read',
  'payouts:read',
  'payouts:create',
  'payouts:commit',
  'payouts:propose',
  'payouts:confirm',
  'webhooks:write',
  'kyc:write',
  'kyc:decide',
] as const;
export type Scope = (typeof scopes)[number];

/**
 * What a credential gets that names no scopes. Deciding about identities is for the operator's own
 * reviewers, never for a client by default.
 */
export const defaultScopes: readonly Scope[] = scopes.filter((scope) => scope !== 'kyc:decide');

/** With those that a granted scope includes: who may commit may confirm proposals. */
export function expandScopes(granted: readonly string[]): ReadonlySet<string> {
  return new Set(granted.includes('payouts:commit') ? [...granted, 'payouts:confirm'] : granted);
}

/** Who calls: one credential of one client account. */
export type Principal = {
  readonly accountId: string;
  readonly credentialId: string;
  readonly scopes: ReadonlySet<string>;
};

/** The two worlds that share nothing: for tests with a simulated network, and for money. */
export type EnvironmentName = 'staging' | 'live';

/** The labels that a path may begin with; all behave alike. */
export const versions = ['v0.1.0', 'v0.1.1', 'v0.1.2', 'v0.1.3', 'v0.1.4'] as const;
export type Version = (typeof versions)[number];
export const newestVersion: Version = 'v0.1.4';
