/**
 * Why a rail did not pay, or why the money came back. Codes and texts of rails vary and may be
 * personal, so the `status_reason` that a client reads is always one of these.
 */
export const reasonTexts = {
  account_not_found: 'the account does not exist',
  account_closed: 'the account is closed',
  account_blocked: 'the account is blocked',
  account_not_creditable: 'the account cannot be credited',
  invalid_details: 'the details of the destination are not valid',
  name_mismatch: 'the name does not belong to the account',
  recipient_deceased: 'the recipient is deceased',
  recipient_refused: 'refused by the recipient',
  not_collected: 'not collected in time',
  amount_refused: 'the payer does not accept the amount',
  currency_refused: 'the payer does not support the currency for this destination',
  compliance: 'refused by a compliance check',
  duplicate: 'the payer reports a duplicate',
  no_funds: 'the funds of the payer are insufficient',
  payer_unavailable: 'the payer does not serve the destination at the moment',
  payer_refused: 'refused by the payer',
  price_worse: 'the payer asks more than it had quoted',
  payer_error: 'the payer reported an error',
  sent_back: 'returned by the receiving institution',
  recalled: 'recalled by the sender',
  cancelled: 'canceled before it was sent',
  replaced: 'the payment was displaced before it was final',
  unreachable: 'the payer cannot be reached',
  busy: 'the payer is busy',
  no_answer: 'the payer gave no definite answer',
  not_understood: 'the answer of the payer was not understood',
  not_configured: 'the rail is not configured, or the payer refuses its credentials',
  not_readable: 'the instruction cannot be read',
  daily_limit: 'the daily limit is reached',
  travel_rule_incomplete: 'data of sender or recipient that the travel rule asks for is missing',
  travel_rule_pending: 'the data of sender and recipient has not been accepted yet',
  review: 'under review',
  other: 'the payer gave no reason',
} as const;

export type Reason = keyof typeof reasonTexts;

/**
 * Reasons that concern, or may concern, the recipient or the law. There is no failover then: another
 * payer would meet the same, or circumvent a refusal.
 */
export const recipientReasons: ReadonlySet<Reason> = new Set<Reason>([
  'account_not_found',
  'account_closed',
  'account_blocked',
  'account_not_creditable',
  'invalid_details',
  'name_mismatch',
  'recipient_deceased',
  'recipient_refused',
  'not_collected',
  'compliance',
  'recalled',
  'cancelled',
  // Banks give no reason where the law forbids it.
  'other',
]);
