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
  'brand:write',
  'kyc:write',
  'kyc:decide',
  'sandbox:write',
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

/** Who calls: one credential of one client account, or an operator. */
export type Principal = {
  /** "" of an operator who acts for no account. */
  readonly accountId: string;
  /** Of an operator, the id of the session or, for a key, of the operator. */
  readonly credentialId: string;
  readonly scopes: ReadonlySet<string>;
  /** Whether payouts of the account are judged by rules that persons must approve. */
  readonly hasApprovalRules?: boolean;
  readonly operator?: {
    readonly id: string;
    readonly name: string;
    readonly role: string;
    /** Whether the role may change anything for an account. */
    readonly mayWrite: boolean;
    /** The key or session, as the audit log names it. */
    readonly credential?: string;
  };
};

/** Who asked for a payout, by id: the person where one is known, else the credential. */
export function getMaker({ operator, credentialId }: Principal): string {
  return operator?.id ?? credentialId;
}

/** The two worlds that share nothing: for tests with a simulated network, and for money. */
export type EnvironmentName = 'staging' | 'live';

/** The labels that a path may begin with; all behave alike. */
export const versions = ['v0.1.0', 'v0.1.1', 'v0.1.2', 'v0.1.3', 'v0.1.4'] as const;
export type Version = (typeof versions)[number];
export const newestVersion: Version = 'v0.1.4';
