/** Reason codes of payouts: why one waits or was canceled, and what to do about it. */
export type ReasonText = { status: string; cause: string; remedy: string };

const wait = 'Wait: the operator decides. The funds stay reserved, and no second payout is needed.';
const correct = 'Correct the details and create a new payout. The refund is on your balance.';
const askRecipient = 'Ask the recipient for another account, and create a new payout.';
const otherPayer =
  'Create a new payout later or through another payer. The refund is on your balance.';
const contactOperator = 'Contact the operator before you create another payout to this recipient.';

const waitsForEnd =
  'Wait: the payout continues automatically afterwards. No second payout is needed.';
const nothingTaken = 'Nothing was taken from your balance.';
const waitsUntil =
  'The payout is tried again until `runs_until`, and then canceled with this reason. Nothing is taken from your balance before it runs.';

export const reasonTexts: Readonly<Record<string, ReasonText>> = {
  outcome_unknown: {
    status: 'HOLD',
    cause: 'The payer has not confirmed whether it has paid.',
    remedy: `${wait} A second payout could pay twice.`,
  },
  not_sent: {
    status: 'HOLD',
    cause: 'The payout could not be sent to the payer for 24 hours.',
    remedy: wait,
  },
  under_review: {
    status: 'HOLD',
    cause: 'The payout is reviewed before it continues.',
    remedy: wait,
  },
  needs_approval: {
    status: 'HOLD',
    cause: 'The operator requires approval for payouts like this one.',
    remedy: wait,
  },
  conflicting_reports: {
    status: 'HOLD',
    cause: 'Reports of the payer contradict each other.',
    remedy: wait,
  },
  payer_not_configured: {
    status: 'PROCESSING',
    cause: 'The rail of the payer is not configured in this process.',
    remedy: wait,
  },
  overdue: {
    status: 'PROCESSING',
    cause: 'The payer is late: the payout is past its estimated availability.',
    remedy: wait,
  },
  routes_exhausted: {
    status: 'ERROR',
    cause: 'Every payer of the destination refused, or costs more than quoted.',
    remedy: 'Wait: the operator retries the payout or refunds it.',
  },
  price_worse: {
    status: 'ERROR',
    cause: 'The payer charges more than it quoted, and no other payer can take over.',
    remedy: 'Wait: the operator sends the payout anyway or refunds it.',
  },
  account_frozen: {
    status: 'PROCESSING',
    cause: 'The operator has frozen the account. The payout has not been sent.',
    remedy: 'Ask the operator why. The payout continues automatically once the freeze is lifted.',
  },
  sending_stopped: {
    status: 'PROCESSING',
    cause: 'The operator has stopped all sending. The payout has not been sent.',
    remedy: waitsForEnd,
  },
  corridor_frozen: {
    status: 'PROCESSING',
    cause: 'The operator has stopped payouts to this destination. The payout has not been sent.',
    remedy: waitsForEnd,
  },
  rail_frozen: {
    status: 'PROCESSING',
    cause: "The operator has stopped the payer's rail. The payout has not been sent.",
    remedy: waitsForEnd,
  },
  waiting_for_funds: {
    status: 'SCHEDULED',
    cause: 'The time of the payout has come, and the balance does not cover amount and fee.',
    remedy:
      'Fund the balance by what `shortfall` says, before `runs_until`: the payout then runs by itself.',
  },
  price_out_of_bounds: {
    status: 'SCHEDULED',
    cause: 'At the present price the payout exceeds the bounds of its request.',
    remedy: `${waitsUntil} You can cancel it and create another one.`,
  },
  user_not_active: {
    status: 'SCHEDULED',
    cause: 'The operator has frozen payouts to the recipient after the commit.',
    remedy: `Ask the operator to lift the freeze. ${waitsUntil}`,
  },
  attributes_missing: {
    status: 'SCHEDULED',
    cause: 'The destination now requires attributes that the payout lacks.',
    remedy: `Cancel it and create another one with the attributes. ${waitsUntil}`,
  },
  identity_not_verified: {
    status: 'SCHEDULED',
    cause: 'At the present price the recipient must be verified, and is not.',
    remedy: `Have the recipient verified. ${waitsUntil}`,
  },
  recipient_invalid: {
    status: 'SCHEDULED',
    cause: 'The payer no longer accepts the data of the recipient.',
    remedy: `Correct the recipient, or cancel the payout. ${waitsUntil}`,
  },
  rates_unavailable: {
    status: 'SCHEDULED',
    cause: 'There is no recent exchange rate, so the payout cannot be priced.',
    remedy: waitsUntil,
  },
  not_served: {
    status: 'SCHEDULED',
    cause: 'The destination is not offered at the moment.',
    remedy: `${waitsUntil} You can cancel it and use another destination.`,
  },
  funds_did_not_arrive: {
    status: 'CANCELLED',
    cause: 'The balance did not cover the scheduled payout by `runs_until`.',
    remedy: `${nothingTaken} Fund the balance and create a new payout.`,
  },
  cancelled_by_client: {
    status: 'CANCELLED',
    cause: 'You canceled the scheduled payout before it ran.',
    remedy: `${nothingTaken} Its client_transfer_id stays used: a new payout needs another one.`,
  },
  not_approved: {
    status: 'CANCELLED',
    cause:
      'The operator requires approval for payouts like this one, and it was not given in time.',
    remedy: 'The refund is on your balance. Contact the operator before you create a new payout.',
  },
  decided_by_operator: {
    status: 'CANCELLED',
    cause: 'A person at the operator canceled the payout.',
    remedy: 'Contact the operator. The refund is on your balance.',
  },
  account_not_found: {
    status: 'CANCELLED',
    cause: 'The account of the recipient does not exist.',
    remedy: askRecipient,
  },
  account_closed: {
    status: 'CANCELLED',
    cause: 'The account of the recipient is closed.',
    remedy: askRecipient,
  },
  account_blocked: {
    status: 'CANCELLED',
    cause: 'The account of the recipient is blocked.',
    remedy: askRecipient,
  },
  account_not_creditable: {
    status: 'CANCELLED',
    cause: 'The account of the recipient cannot be credited.',
    remedy: askRecipient,
  },
  invalid_details: {
    status: 'CANCELLED',
    cause: 'The payer did not accept the details of the destination.',
    remedy: correct,
  },
  name_mismatch: {
    status: 'CANCELLED',
    cause: 'The name of the recipient differs from that of the account holder.',
    remedy: correct,
  },
  recipient_deceased: {
    status: 'CANCELLED',
    cause: 'The bank reports that the recipient is deceased.',
    remedy: 'Do not pay this recipient again.',
  },
  recipient_refused: {
    status: 'CANCELLED',
    cause: 'The recipient refused the payment.',
    remedy: 'Ask the recipient, and create a new payout if they want it.',
  },
  not_collected: {
    status: 'CANCELLED',
    cause: 'The recipient did not collect the cash in time.',
    remedy: 'Create a new payout when the recipient can collect it. The refund is on your balance.',
  },
  amount_refused: {
    status: 'CANCELLED',
    cause: 'The payer does not accept the amount.',
    remedy: 'Create a new payout with another amount or payer.',
  },
  currency_refused: {
    status: 'CANCELLED',
    cause: 'The payer does not support the currency for this destination.',
    remedy: 'Create a new payout in another currency or through another payer.',
  },
  compliance: {
    status: 'CANCELLED',
    cause: 'A compliance check refused the payout.',
    remedy: contactOperator,
  },
  duplicate: {
    status: 'CANCELLED',
    cause: 'The payer considers the payment a duplicate of an earlier one.',
    remedy: 'Check whether the recipient was paid before you create a new payout.',
  },
  no_funds: {
    status: 'CANCELLED',
    cause: 'The account of the operator at the payer has too little money.',
    remedy: otherPayer,
  },
  payer_unavailable: {
    status: 'CANCELLED',
    cause: 'The payer does not serve the destination at the moment.',
    remedy: otherPayer,
  },
  payer_refused: {
    status: 'CANCELLED',
    cause: 'The payer refused without a specific reason.',
    remedy: otherPayer,
  },
  payer_error: {
    status: 'CANCELLED',
    cause: 'The payer reported an error of its own.',
    remedy: otherPayer,
  },
  sent_back: {
    status: 'CANCELLED',
    cause: 'The receiving institution returned the money without a reason.',
    remedy: askRecipient,
  },
  recalled: {
    status: 'CANCELLED',
    cause: 'The payment was recalled on request.',
    remedy: 'No action needed: the recall succeeded. The refund is on your balance.',
  },
  cancelled: {
    status: 'CANCELLED',
    cause: 'The payout was canceled before it was sent.',
    remedy: 'No action needed: the refund is on your balance.',
  },
  replaced: {
    status: 'CANCELLED',
    cause: 'The chain displaced the transaction before it was final.',
    remedy: otherPayer,
  },
  unreachable: {
    status: 'CANCELLED',
    cause: 'The payer could not be reached.',
    remedy: otherPayer,
  },
  busy: {
    status: 'CANCELLED',
    cause: 'The payer was too busy to accept the payment.',
    remedy: otherPayer,
  },
  no_answer: {
    status: 'CANCELLED',
    cause: 'The payer gave no definite answer; a person found that it had not paid.',
    remedy: otherPayer,
  },
  not_understood: {
    status: 'CANCELLED',
    cause: 'The answer of the payer could not be interpreted; a person found that it had not paid.',
    remedy: otherPayer,
  },
  not_configured: {
    status: 'CANCELLED',
    cause: 'The rail of the payer is not configured, or the payer refuses its credentials.',
    remedy: contactOperator,
  },
  not_readable: {
    status: 'CANCELLED',
    cause: 'The rail could not read the instruction.',
    remedy: contactOperator,
  },
  daily_limit: {
    status: 'CANCELLED',
    cause: 'A daily limit is reached.',
    remedy: 'Create a new payout tomorrow, or ask the operator for a higher limit.',
  },
  travel_rule_incomplete: {
    status: 'ERROR',
    cause: 'The data of sender or recipient no longer meets a travel rule. Nothing was sent.',
    remedy: 'Complete the recipient by `PUT /user/{user_token}`, or ask the operator.',
  },
  travel_rule_pending: {
    status: 'ERROR',
    cause:
      'The institution of the recipient has not accepted the data of sender and recipient in time.',
    remedy: contactOperator,
  },
  review: {
    status: 'CANCELLED',
    cause: 'The payout was under review and was not released.',
    remedy: contactOperator,
  },
  other: {
    status: 'CANCELLED',
    cause: 'The payer gave no reason.',
    remedy: otherPayer,
  },
};
