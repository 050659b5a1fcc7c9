/**
 * Why a rail did not pay, or not for good, in words of ours. Codes and texts of rails vary and may
 * hold people's data; what a client reads in `status_reason` comes from here only.
 */
export const reasonTexts = {
  account_not_found: 'the account does not exist',
  account_closed: 'the account is closed',
  account_blocked: 'the account is blocked',
  account_not_creditable: 'the account cannot be credited',
  invalid_details: 'the details of the destination are not valid',
  name_mismatch: 'the name does not belong to the account',
  recipient_deceased: 'the recipient has died',
  recipient_refused: 'the recipient refused it',
  not_collected: 'not collected in time',
  amount_refused: 'the amount is outside what the payer takes',
  currency_refused: 'the payer does not take the currency for this destination',
  compliance: 'refused by a check of the law',
  duplicate: 'the payer takes it for a duplicate',
  no_funds: "the payer's own funds do not suffice",
  payer_unavailable: 'the payer does not serve the destination at present',
  payer_refused: 'refused by the payer',
  payer_error: 'the payer failed',
  sent_back: 'sent back by the receiving side',
  recalled: 'called back by the sender',
  cancelled: 'cancelled before it was sent',
  replaced: 'the payment was displaced before it was final',
  unreachable: 'the payer cannot be reached',
  busy: 'the payer takes no more at present',
  no_answer: 'the payer gives no clear answer',
  not_understood: 'the payer answered nothing that can be understood',
  not_configured: 'the rail is not configured',
  not_readable: 'the instruction cannot be read',
  daily_limit: 'the limit of the day is reached',
  review: 'it is being reviewed',
  other: 'for a reason that the payer did not say',
} as const;

export type Reason = keyof typeof reasonTexts;

/**
 * Reasons that lie with the recipient or the law, or may. No other payer may be tried then: it would meet
 * the same, or get round a refusal that was meant.
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
  // Banks give no reason where the law forbids them to.
  'other',
]);
