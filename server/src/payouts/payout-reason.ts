import { z } from 'zod';
import { type Reason, reasonTexts } from '../rails/contract/reasons.ts';
import { notApproved } from './approval-hold.ts';
import { findScheduleReason, scheduleReasonCodes } from './schedule-reasons.ts';

/** Why a payout waits or failed, as a code, and who has to act; `status_reason` is the sentence. */

/** Who has to act for a payout to continue, or for the next one to succeed. */
const actors = ['', 'client', 'recipient', 'operator', 'payer'] as const;
type Actor = (typeof actors)[number];

/** Reasons of payouts on hold or without a payer. The operator decides. */
const openReasons = [
  'outcome_unknown',
  'not_sent',
  'under_review',
  'conflicting_reports',
  'payer_not_configured',
  'overdue',
  'routes_exhausted',
  'sending_stopped',
  'corridor_frozen',
  'rail_frozen',
  'needs_approval',
] as const;
type OpenReason =
  | (typeof openReasons)[number]
  | 'account_frozen'
  | 'user_not_active'
  | 'price_worse';

const endReasons = Object.keys(reasonTexts) as Reason[];
export const payoutReasonCodes = [
  '',
  ...openReasons,
  'decided_by_operator',
  'not_approved',
  ...endReasons,
  ...scheduleReasonCodes.filter((code) => !endReasons.some((reason) => reason === code)),
] as const;
type ReasonCode = (typeof payoutReasonCodes)[number];

/**
 * By kind of exception, the most urgent first. Screening, velocity and parked payouts share the code
 * under_review, because a more exact one could warn a suspect.
 */
const reasonsOfExceptions: readonly [kind: string, reason: OpenReason][] = [
  ['paid_after_refusal', 'conflicting_reports'],
  ['refused_after_payment', 'conflicting_reports'],
  ['return_of_unpaid', 'conflicting_reports'],
  ['amount_differs', 'conflicting_reports'],
  ['report_changed', 'conflicting_reports'],
  ['unknown_outcome', 'outcome_unknown'],
  ['approval', 'needs_approval'],
  ['routes_exhausted', 'routes_exhausted'],
  ['price_worse', 'price_worse'],
  ['not_sent', 'not_sent'],
  ['rail_missing', 'payer_not_configured'],
  ['overdue', 'overdue'],
  ['frozen_sending', 'sending_stopped'],
  ['frozen_account', 'account_frozen'],
  ['frozen_recipient', 'user_not_active'],
  ['frozen_corridor', 'corridor_frozen'],
  ['frozen_rail', 'rail_frozen'],
];

const clientReasons: ReadonlySet<Reason> = new Set<Reason>([
  'invalid_details',
  'name_mismatch',
  'amount_refused',
  'currency_refused',
  'recalled',
  'cancelled',
]);
const recipientReasons: ReadonlySet<Reason> = new Set<Reason>([
  'account_not_found',
  'account_closed',
  'account_blocked',
  'account_not_creditable',
  'recipient_deceased',
  'recipient_refused',
  'not_collected',
  'sent_back',
]);
const operatorReasons: ReadonlySet<Reason> = new Set<Reason>([
  'compliance',
  'not_configured',
  'not_readable',
  'daily_limit',
  'travel_rule_incomplete',
  'travel_rule_pending',
  'review',
]);

const reasonsByText: ReadonlyMap<string, Reason> = new Map(
  endReasons.map((reason) => [reasonTexts[reason], reason]),
);

export const payoutReasonFields = {
  reason_code: z
    .enum(payoutReasonCodes)
    .describe(
      'Why it is HOLD, ERROR or CANCELLED, overdue, or still SCHEDULED; "" where there is nothing to say',
    ),
  actor: z
    .enum(actors)
    .describe('Who has to act for it to continue or, after CANCELLED, for the next one to succeed'),
};

export type PayoutReason = { reason_code: ReasonCode; actor: Actor };

/** `status_reason` of a payout that the operator canceled. */
export const decidedByPerson = 'decided by a person';

const nothing: PayoutReason = { reason_code: '', actor: '' };

export function describePayoutReason(row: {
  status: string;
  status_reason: string;
  open_exceptions: readonly string[];
}): PayoutReason {
  switch (row.status) {
    case 'HOLD':
    case 'ERROR': {
      const known = findOpenReason(row.open_exceptions);
      const otherwise = row.status === 'HOLD' ? 'under_review' : 'routes_exhausted';
      return { reason_code: known ?? otherwise, actor: 'operator' };
    }
    case 'PROCESSING':
    case 'READY_FOR_PICKUP': {
      const known = findOpenReason(row.open_exceptions);
      return known === undefined ? nothing : { reason_code: known, actor: 'operator' };
    }
    case 'SCHEDULED':
      return describeScheduled(row.status_reason) ?? nothing;
    case 'CANCELLED':
      return describeScheduled(row.status_reason) ?? describeEnd(row.status_reason);
    default:
      return nothing;
  }
}

function findOpenReason(kinds: readonly string[]): OpenReason | undefined {
  return reasonsOfExceptions.find(([kind]) => kinds.includes(kind))?.[1];
}

function describeScheduled(statusReason: string): PayoutReason | undefined {
  const known = findScheduleReason(statusReason);
  return known === undefined ? undefined : { reason_code: known.code, actor: known.actor };
}

function describeEnd(statusReason: string): PayoutReason {
  if (statusReason === decidedByPerson) {
    return { reason_code: 'decided_by_operator', actor: 'operator' };
  }
  if (statusReason === notApproved) return { reason_code: 'not_approved', actor: 'operator' };
  const reason = reasonsByText.get(statusReason.replace(/^returned: /, '')) ?? 'other';
  return { reason_code: reason, actor: findActor(reason) };
}

function findActor(reason: Reason): Actor {
  if (clientReasons.has(reason)) return 'client';
  if (recipientReasons.has(reason)) return 'recipient';
  return operatorReasons.has(reason) ? 'operator' : 'payer';
}
