/** Obstacles to a payout: the `code` of a refused commit, of a readiness, of a detail. */
export type ObstacleText = { cause: string; remedy: string };

const quoteAgain = 'Create a new payout with another amount, currency or payer.';
const store = 'Store what `missing` lists, then commit again before the quote expires.';

export const obstacleTexts: Readonly<Record<string, ObstacleText>> = {
  duplicate_transfer: {
    cause: 'Another payout with this `client_transfer_id` was committed; `errors` names it.',
    remedy:
      'If this is the same transfer, you are done: follow that payout. If not, create a new payout with another `client_transfer_id`.',
  },
  ex_rate_expired: {
    cause: 'The quote has expired.',
    remedy: 'Create a new payout and commit it in time.',
  },
  payout_ended: {
    cause: 'The payout was committed before and has ended; it can no longer be paid.',
    remedy: 'Read its `reason_code`, correct the cause, and create a new payout.',
  },
  account_frozen: {
    cause: 'The operator has frozen the account: nothing is committed or sent for it.',
    remedy: 'Ask the operator why. Quotes and reads still work; repeat the commit afterwards.',
  },
  commits_stopped: {
    cause: 'The operator has stopped commits for a while, for instance for maintenance.',
    remedy: 'Repeat the commit later with the same `client_transfer_id`.',
  },
  user_not_active: {
    cause: 'The user is locked: the operator has frozen payouts to this recipient.',
    remedy: 'Ask the operator why; commit again once the user is ACTIVE.',
  },
  user_erased: {
    cause: 'The data of the user was erased, which is final. Nothing can be paid to this user.',
    remedy:
      'If the person is to be paid again, create a new user, store the attributes, and create a new payout.',
  },
  attributes_missing: {
    cause: 'The destination needs attributes that are missing.',
    remedy: store,
  },
  value_missing: { cause: 'This attribute has no value, or none that is valid.', remedy: store },
  identity_not_started: {
    cause: 'The recipient must verify their identity and has not begun.',
    remedy: 'Give the recipient the `link`, or upload the images yourself.',
  },
  identity_in_review: {
    cause: 'The images of the recipient are under review.',
    remedy: 'Wait for the event `verification.approved`, then commit again.',
  },
  identity_declined: {
    cause: 'The identity of the recipient was declined; `why` gives the reason.',
    remedy: 'Let the recipient try again with other documents.',
  },
  identity_resubmission_requested: {
    cause: 'The reviewer asks for other images; `why` gives the reason.',
    remedy: 'Let the recipient send new images through the `link`.',
  },
  recipient_missing: {
    cause: 'The payer needs data of the recipient that is not stored.',
    remedy: 'Store it by `PUT /user/{user_token}`, then commit again.',
  },
  recipient_invalid: {
    cause: 'The payer does not accept data of the recipient.',
    remedy: 'Correct it by `PUT /user/{user_token}`, then commit again.',
  },
  amount_refused: { cause: 'The payer does not pay this amount.', remedy: quoteAgain },
  not_served: {
    cause: 'The payer does not serve this country, currency or kind of payment.',
    remedy: quoteAgain,
  },
  sender_incomplete: {
    cause: 'A rule asks for data of the sender that the operator has not stored.',
    remedy: 'Ask the operator to complete the data of your account, then commit again.',
  },
  payee_no_match: {
    cause: 'The bank reports another name for the account than that of the recipient.',
    remedy:
      'Ask the recipient for name and account, store the correct values, and check again by `POST .../payee-check`.',
  },
  no_balance_in_currency: {
    cause: 'The account has no balance in the source currency.',
    remedy: 'Name the currency of a balance, or ask the operator to open one.',
  },
  insufficient_funds: {
    cause: 'The balance is less than amount and fee; `shortfall` says by how much.',
    remedy: 'Fund the balance, then commit again before the quote expires.',
  },
  below_minimum: { cause: "The amount is below the payer's minimum.", remedy: quoteAgain },
  above_maximum: { cause: "The amount is above the payer's maximum.", remedy: quoteAgain },
  amount_too_small: {
    cause: 'Converted, the amount is less than the smallest unit of the other currency.',
    remedy: quoteAgain,
  },
  amount_too_large: { cause: 'The amount exceeds what a balance can hold.', remedy: quoteAgain },
  currency_not_delivered: {
    cause: 'The destination does not pay out in this currency.',
    remedy: quoteAgain,
  },
  rates_unavailable: {
    cause: 'No exchange rate is recent enough.',
    remedy: 'Retry later, when newer rates have been read.',
  },
  rail_unavailable: {
    cause: 'The rail of the payer does not answer at the moment.',
    remedy: 'Retry later, or choose another payer.',
  },
  sending_stopped: {
    cause: 'The operator has stopped all sending. A committed payout waits and is sent afterwards.',
    remedy: 'Commit and wait, or wait with the commit.',
  },
  corridor_frozen: {
    cause: 'The operator has stopped payouts of this country, delivery type or currency.',
    remedy: 'Commit and wait, or wait with the commit.',
  },
  rail_frozen: {
    cause: 'The operator has stopped the rail of this payer.',
    remedy: 'Commit and wait, or choose another payer.',
  },
  invalid_rows: {
    cause: 'The batch has invalid rows, and the request asks for all rows.',
    remedy: 'Correct the rows in a new upload, or commit with `mode` `valid`.',
  },
  nothing_to_pay: {
    cause: 'The batch has no valid row that is not committed already.',
    remedy: 'Nothing, if its payouts were committed before; else correct the rows.',
  },
  not_quoted: {
    cause: 'The batch has no quote, or was committed or canceled.',
    remedy: 'Read the batch; quote it if it is a DRAFT.',
  },
  quote_changed: {
    cause:
      'The commit names a quote (`quote_number`), and the batch was quoted again since, maybe at other prices, or was committed with another quote.',
    remedy: 'Read the batch, and commit the quote that it has if its prices are acceptable.',
  },
  recovering: {
    cause: 'The database was restored, and commits are refused until the recovery is released.',
    remedy: 'Repeat the commit later with the same `client_transfer_id`.',
  },
};
