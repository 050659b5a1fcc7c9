import type { MissingCode, MissingDetail } from '../attributes/missing.ts';
import { lacksPrice, type RefusalReason } from '../destinations/quote.ts';
import type { RecipientFault } from '../rails/contract/contract.ts';

/**
 * The obstacles to a payout: by code, with who has to act. Commits and the readiness of a
 * recipient describe it here, so that both say the same.
 */

export const obstacleCodes = [
  'duplicate_transfer',
  'ex_rate_expired',
  'payout_ended',
  'account_frozen',
  'commits_stopped',
  'user_not_active',
  'user_erased',
  'attributes_missing',
  'identity_not_started',
  'identity_in_review',
  'identity_declined',
  'identity_resubmission_requested',
  'recipient_missing',
  'recipient_invalid',
  'amount_refused',
  'not_served',
  'sender_incomplete',
  'payee_no_match',
  'no_balance_in_currency',
  'insufficient_funds',
  'below_minimum',
  'above_maximum',
  'amount_too_small',
  'amount_too_large',
  'currency_not_delivered',
  'rates_unavailable',
  'rail_unavailable',
  'sending_stopped',
  'corridor_frozen',
  'rail_frozen',
  'recovering',
] as const;
export type ObstacleCode = (typeof obstacleCodes)[number];
type UserObstacle = Extract<ObstacleCode, 'user_not_active' | 'user_erased'>;

export const actors = ['client', 'recipient', 'operator', 'payer'] as const;
type Actor = (typeof actors)[number];

export type Obstacle = {
  code: ObstacleCode;
  detail: string;
  missing?: readonly MissingDetail[];
  shortfall?: { minor: bigint; currency: string };
};

/** Who acts, and whether the same request can succeed afterwards. */
export const remedies: Readonly<Record<ObstacleCode, readonly [actor: Actor, retryable: boolean]>> =
  {
    duplicate_transfer: ['client', false],
    ex_rate_expired: ['client', false],
    payout_ended: ['client', false],
    account_frozen: ['operator', true],
    commits_stopped: ['operator', true],
    user_not_active: ['operator', true],
    user_erased: ['client', false],
    attributes_missing: ['client', true],
    identity_not_started: ['recipient', true],
    identity_in_review: ['operator', true],
    identity_declined: ['recipient', true],
    identity_resubmission_requested: ['recipient', true],
    recipient_missing: ['client', true],
    recipient_invalid: ['client', true],
    amount_refused: ['client', false],
    not_served: ['client', false],
    sender_incomplete: ['operator', true],
    payee_no_match: ['client', true],
    no_balance_in_currency: ['client', true],
    insufficient_funds: ['client', true],
    below_minimum: ['client', false],
    above_maximum: ['client', false],
    amount_too_small: ['client', false],
    amount_too_large: ['client', false],
    currency_not_delivered: ['client', false],
    rates_unavailable: ['operator', true],
    rail_unavailable: ['payer', true],
    sending_stopped: ['operator', true],
    corridor_frozen: ['operator', true],
    rail_frozen: ['operator', true],
    recovering: ['operator', true],
  };

/** What an operator has stopped, in words. The first two refuse commits; the others delay payouts. */
export const stopTexts = {
  account_frozen: 'the account is frozen by the operator',
  commits_stopped: 'the operator has stopped commits for a while',
  sending_stopped: 'the operator has stopped sending: a payout would wait',
  corridor_frozen: 'the operator has stopped payouts to this destination: a payout would wait',
  rail_frozen: 'the operator has stopped this payer: a payout would wait',
} as const;
export type StopCode = keyof typeof stopTexts;

/** Of a user who is not ACTIVE. An operator can unlock a user; an erasure (DEACTIVE) is final. */
export function describeUserStatus(status: string): Obstacle & { code: UserObstacle } {
  return status === 'DEACTIVE'
    ? { code: 'user_erased', detail: 'the data of the user was erased' }
    : { code: 'user_not_active', detail: 'the user is locked' };
}

export function describeMissingAttributes(missing: readonly MissingDetail[]): Obstacle {
  const labels = missing.map(({ label }) => label).join(', ');
  const detail = 'required attributes of the destination are missing';
  return {
    code: 'attributes_missing',
    detail: labels === '' ? detail : `${detail}: ${labels}`,
    missing,
  };
}

export function describeUnverified(identity: MissingDetail): Obstacle {
  return {
    code: identity.code as ObstacleCode & MissingCode,
    detail: "the user's identity must be verified before this payout",
    missing: [identity],
  };
}

/** Undefined where the balance covers it. */
export function describeShortfall(debit: {
  neededMinor: bigint;
  balanceMinor: bigint;
  currency: string;
}): Obstacle | undefined {
  const minor = debit.neededMinor - debit.balanceMinor;
  if (minor <= 0n) return undefined;
  return {
    code: 'insufficient_funds',
    detail: 'insufficient funds: the balance is less than amount and fee',
    shortfall: { minor, currency: debit.currency },
  };
}

/** What the rail objects to: details of the recipient together, anything else by itself. */
export function describeRecipientFaults(
  faults: readonly RecipientFault[],
  findAttribute: (field: string) => Pick<MissingDetail, 'token' | 'type' | 'label'> | undefined,
): Obstacle[] {
  const missing: MissingDetail[] = [];
  const others: Obstacle[] = [];
  for (const { field, code, detail } of faults) {
    if (code !== 'missing' && code !== 'invalid') {
      others.push({ code, detail: `${field}: ${detail}` });
      continue;
    }
    const attribute = findAttribute(field);
    missing.push({
      token: '',
      type: '',
      label: field,
      ...attribute,
      field: attribute === undefined ? field : '',
      code: `recipient_${code}`,
      why: detail,
      alternatives: [],
      link: '',
    });
  }
  const [first] = missing;
  if (first === undefined) return others;
  const details = missing.map(({ field, type, why }) => `${field || type}: ${why}`).join('; ');
  return [{ code: first.code as ObstacleCode & MissingCode, detail: details, missing }, ...others];
}

export function describeQuoteRefusal(refusal: { reason: RefusalReason; detail: string }): Obstacle {
  const { reason, detail } = refusal;
  return { code: lacksPrice(reason) ? 'rates_unavailable' : reason, detail };
}
