import { findCurrency } from '../core/currency.ts';
import { canonicalizeJson, parseExactObject } from '../core/exact-json.ts';
import { convert } from '../core/rate.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import type { MidRates } from '../fx/rate-book.ts';
import {
  type ApprovalHold,
  holdForApproval,
  isWaitingForApproval,
} from '../payouts/approval-hold.ts';
import { openMetadata } from '../payouts/payout-metadata.ts';
import type { PayoutName } from '../payouts/payout-name.ts';
import { readRulesInForce } from './approval-policies.ts';
import {
  type ApprovalRule,
  type ConvertAmount,
  matchRules,
  type PayoutFacts,
} from './approval-rules.ts';
import { expireOneApproval, type FactRow, selectPayoutsToApprove } from './approvals.sql.ts';

export { findNextExpiry } from './approvals.sql.ts';

/** Which payouts wait for the approval of persons, by the policies in force. */

export type ApprovalServices = {
  readonly session: Session;
  readonly keys: KeyRing;
  readonly rates: MidRates;
};

/** In the order of the payouts: what each has to wait for; undefined lets it pass. */
export async function judgeApprovals(
  services: ApprovalServices,
  payouts: readonly PayoutName[],
): Promise<(ApprovalHold | undefined)[]> {
  const rulesOf = await readRulesInForce(
    services,
    payouts.map(({ accountId }) => accountId),
  );
  const judged = payouts.filter(({ accountId }) => rulesOf(accountId).length > 0);
  if (judged.length === 0) return payouts.map(() => undefined);
  const rows = await selectPayoutsToApprove(services.session, judged);
  const convertAmount = createConverter(services.rates);
  const holds = new Map(
    rows.map((row) => {
      const facts = readFacts(services.keys, row);
      return [
        row.payout_id,
        describeHold(matchRules(rulesOf(row.account_id), facts, convertAmount)),
      ];
    }),
  );
  return payouts.map(({ payoutId }) => holds.get(payoutId));
}

/**
 * Holds a payout that the caller's transaction has committed, where the rules ask for it. Whether it
 * waits for approval now: also one that an earlier commit has held.
 */
export async function applyApprovals(
  services: ApprovalServices,
  payout: PayoutName,
): Promise<boolean> {
  const [hold] = await judgeApprovals(services, [payout]);
  if (hold === undefined) return isWaitingForApproval(services.session, payout);
  return holdForApproval(services.session, { ...payout, fence: undefined }, hold);
}

/** Cancels payouts that were not approved in time. */
export async function expireApprovals(session: Session): Promise<void> {
  while (await expireOneApproval(session)) continue;
}

/** The strictest of the rules together; undefined without one. */
function describeHold(rules: readonly ApprovalRule[]): ApprovalHold | undefined {
  if (rules.length === 0) return undefined;
  const names = rules.map(({ name }) => name);
  return {
    detail:
      names.slice(0, 5).join(', ') + (names.length > 5 ? `, and ${names.length - 5} more` : ''),
    approvers: Math.max(...rules.map(({ approvers }) => approvers)),
    seconds: Math.min(...rules.map(({ expires_hours: hours }) => hours)) * 3600,
  };
}

export function readFacts(keys: KeyRing, row: FactRow): PayoutFacts {
  const owner = {
    accountId: row.account_id,
    userId: row.user_id,
    payoutId: row.payout_id,
    dataKey: row.data_key,
  };
  const metadata = parseExactObject(openMetadata(keys, owner, row.metadata));
  return {
    amountMinor: row.source_amount,
    sourceCurrency: row.source_currency,
    balance: row.source_token,
    destinationCurrency: row.destination_currency,
    country: row.country,
    deliveryType: row.delivery_type,
    rail: row.rail,
    creator: row.created_by ?? undefined,
    isNewRecipient: row.is_new_recipient,
    metadata: Object.fromEntries(
      Object.entries(metadata).map(([key, value]) => [
        key,
        typeof value === 'string' ? value : canonicalizeJson(value),
      ]),
    ),
  };
}

export function createConverter(rates: MidRates): ConvertAmount {
  return (minor, from, to) => {
    const source = findCurrency(from);
    const target = findCurrency(to);
    const found = rates.find(from, to);
    if (source === undefined || target === undefined || !found.ok) return undefined;
    return convert(minor, { from: source, to: target, rate: found.rate }, 'ceil');
  };
}
