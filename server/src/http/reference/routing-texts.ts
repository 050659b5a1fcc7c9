/** Codes of a payout's routing (`GET .../decision`): rules that exclude a payer, and exceptions. */
export type RoutingText = { cause: string; remedy: string };

const none = 'Nothing: the router has chosen another payer, or the operator decides.';

export const exclusionTexts: Readonly<Record<string, RoutingText>> = {
  tried_before: { cause: 'The payer has refused this payout before.', remedy: none },
  same_rail: {
    cause: 'The rail of this payer has refused the reference of this payout.',
    remedy: none,
  },
  rail_down: { cause: 'The rail of the payer does not answer at the moment.', remedy: none },
  rate_unknown: {
    cause: 'There is no exchange rate for the currency.',
    remedy: 'Retry later, or use another currency.',
  },
  rate_stale: {
    cause: 'The exchange rate is too old for a quote.',
    remedy: 'Retry later, when newer rates have been read.',
  },
  price_stale: {
    cause: "The latest price of the payer's provider is too old for a quote.",
    remedy: 'Retry later: prices are read every minute.',
  },
  price_worse: {
    cause: "The payer's provider asks more than the payout was quoted with.",
    remedy: none,
  },
  below_minimum: {
    cause: "The source amount is below the payer's `min_limit`.",
    remedy: none,
  },
  above_maximum: {
    cause: "The source amount is above the payer's `max_limit`.",
    remedy: none,
  },
  currency_not_delivered: { cause: 'The payer does not pay out in this currency.', remedy: none },
  amount_too_small: {
    cause: 'Converted, the amount is less than the smallest unit of the other currency.',
    remedy: 'Send a larger amount.',
  },
  amount_too_large: { cause: 'The amount exceeds what a balance can hold.', remedy: none },
  over_quoted_cost: { cause: 'The payer costs more than was quoted.', remedy: none },
  needs_verification: {
    cause: 'The payer needs a verified identity, which this recipient does not have.',
    remedy: 'Verify the recipient to widen the choice.',
  },
  details_missing: {
    cause: 'The payer needs details of the recipient that are not stored, or not in its form.',
    remedy: "Store the details that `detail` names, for the recipient's next payout.",
  },
  recipient_refused: {
    cause: 'The rail of the payer does not pay such a recipient or amount; `detail` says why.',
    remedy: none,
  },
  named_another: {
    cause: 'The request names the destination of another payer; this one may take over later.',
    remedy: 'Nothing. Use a destination with `is_dynamic_token` to allow it.',
  },
};

const operator = 'The operator decides. The funds stay reserved until then.';

export const exceptionTexts: Readonly<Record<string, RoutingText>> = {
  review: { cause: 'The payout is reviewed before it continues.', remedy: operator },
  unknown_outcome: {
    cause: 'A rail gave no clear answer for a day; the payout is HOLD and still queried.',
    remedy: `${operator} A second payout could pay twice.`,
  },
  not_sent: {
    cause: 'The payout could not be sent for a day; no attempt is in flight.',
    remedy: operator,
  },
  approval: {
    cause: 'The operator requires approval for payouts like this one.',
    remedy: `${operator} Without an approval the payout is canceled and refunded.`,
  },
  routes_exhausted: {
    cause:
      'Every payer of a dynamic destination refused, costs more than quoted, or needs other details.',
    remedy: operator,
  },
  price_worse: {
    cause: "The payer's provider asks more than quoted, and no other payer can take over.",
    remedy: `${operator} The price of the payout does not change.`,
  },
  refused_after_payment: {
    cause: 'A rail reports as rejected what it had reported as paid.',
    remedy: 'Ask the recipient whether the money is there. The operator decides.',
  },
  paid_after_refusal: {
    cause: 'A rail reports as paid what it had rejected.',
    remedy: 'Do not pay the recipient again before the operator has decided.',
  },
  accepted_after_refusal: {
    cause: 'A rail rejected a payment and later reports that it has it.',
    remedy: 'Do not pay the recipient again before the operator has decided.',
  },
  paid_after_return: {
    cause: 'A rail reports a new payment of what it had returned.',
    remedy: 'Do not pay the recipient again before the operator has decided.',
  },
  amount_differs: { cause: 'A rail paid another amount.', remedy: operator },
  return_of_unpaid: {
    cause: 'Money came back for a payment that was never reported as paid.',
    remedy: operator,
  },
  excess_return: { cause: 'More came back than was paid.', remedy: operator },
  rail_missing: {
    cause: 'The payout has been due for ten minutes, and no process has its rail.',
    remedy: operator,
  },
  overdue: {
    cause: 'The payout has not ended long after its estimated arrival.',
    remedy: 'Wait. The operator asks the payer.',
  },
  unscheduled: {
    cause: 'The payout had not ended and nothing was due for it: a defect that was caught.',
    remedy: operator,
  },
  recovered: {
    cause: 'After a restore, a rail listed a payment that may be that of this payout.',
    remedy: operator,
  },
  report_missing: {
    cause: 'A report of the counterparty, or a part of it, has not come.',
    remedy: operator,
  },
  report_changed: {
    cause: 'A report with a known identifier came again with another content.',
    remedy: operator,
  },
  unmatched: {
    cause: 'A rail reports a payment or money that belongs to no payout.',
    remedy: operator,
  },
  unreadable: { cause: 'An inbound file or message could not be read.', remedy: operator },
  not_understood: {
    cause: 'A part of an inbound file or message has no known meaning.',
    remedy: operator,
  },
};
