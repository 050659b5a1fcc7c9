import type { faultCatalog } from '../../core/errors.ts';
import { fileFaultTexts } from './file-fault-texts.ts';
import type { CodeText } from './problem-texts.ts';

/** Faults: each about one value of a request, or of one row of a batch. */
export const faultTexts: Readonly<Record<keyof typeof faultCatalog, CodeText>> = {
  ...fileFaultTexts,
  above_maximum: {
    cause: "The source amount is above the payer's `max_limit`.",
    remedy: 'Send less, split the payout, or choose a payer with a higher limit.',
    example: { pointer: '/source_amount', detail: 'The amount must be at most 2500 USD' },
  },
  already_used: {
    cause: 'The value must be unique in the account, and belongs to another user of it.',
    remedy: 'Find that user by `GET /user/lookup`, or correct the value.',
    example: { pointer: '/email', detail: 'email already belongs to another user of the account' },
  },
  amount_not_a_number: {
    cause: 'An amount is not a decimal number.',
    remedy: 'Send a JSON number, not a text: `12.5`, not `"12.5"`.',
    example: { pointer: '/source_amount', detail: 'source_amount must be a decimal number' },
  },
  amount_not_positive: {
    cause: 'An amount is zero or negative.',
    remedy: 'Send an amount greater than zero.',
    example: { pointer: '/source_amount', detail: 'source_amount must be more than zero' },
  },
  amount_refused: {
    cause:
      'The payer has limits for this kind of payment; the detail names the one that is exceeded.',
    remedy: 'Change the amount, or choose another payer.',
    example: { pointer: '/destination_amount', detail: 'amount: at most 99999999.99 USD' },
  },
  amount_too_large: {
    cause: 'The amount exceeds what a balance can hold.',
    remedy: 'Send a smaller amount.',
    example: {
      pointer: '/source_amount',
      detail: 'source_amount is more than 9999999999999.99 USD',
    },
  },
  amount_too_precise: {
    cause: 'The amount has more fraction digits than its currency. It is never rounded.',
    remedy: 'Round it yourself: JPY has no fraction digits, USD two, KWD three, BTC eight.',
    example: {
      pointer: '/source_amount',
      detail: 'source_amount has more than the 2 fraction digits of USD',
    },
  },
  amount_too_small: {
    cause: 'Converted, the amount is less than the smallest unit of the other currency.',
    remedy: 'Send a larger amount.',
    example: { pointer: '/source_amount', detail: '0.01 is less than the smallest unit of BTC' },
  },
  amounts_exclusive: {
    cause: 'The request has both `source_amount` and `destination_amount`.',
    remedy: 'Send one of them; the other one is calculated.',
    example: {
      pointer: '/destination_amount',
      detail: 'source_amount and destination_amount must not both be given',
    },
  },
  bank_mismatch: {
    cause: 'The bank code and the account number belong to different banks or countries.',
    remedy: 'Ask the recipient for both again.',
    example: {
      pointer: '/values/1/value',
      detail: 'The IBAN must belong to the bank of the SWIFT',
    },
  },
  below_minimum: {
    cause: "The source amount is below the payer's `min_limit`.",
    remedy: 'Send more, or choose a payer with a lower limit.',
    example: { pointer: '/source_amount', detail: 'The amount must be at least 5 USD' },
  },
  burn_address: {
    cause: 'The address has no known key, so what arrives there can never be spent.',
    remedy: 'Ask the recipient for the address of their own wallet.',
    example: {
      pointer: '/values/0/value',
      detail: 'The address must belong to a wallet',
    },
  },
  card_number: {
    cause: 'The value is or contains the number of a payment card.',
    remedy:
      'Store the card at the payment provider by your checkout, and send the token that it gives. Card numbers are never stored.',
    example: {
      pointer: '/values/0/value',
      detail: 'A card number is not accepted here: send the token that the payment provider gave',
    },
  },
  check_digit: {
    cause:
      'The number contradicts its own check digit: a digit is mistyped, missing or transposed.',
    remedy: 'Ask the recipient to read the number again.',
    example: { pointer: '/values/0/value', detail: 'The check digits of the IBAN are wrong' },
  },
  checksum: {
    cause: 'The address contradicts its own checksum: a character is mistyped.',
    remedy: 'Copy the address again instead of typing it.',
    example: { pointer: '/values/0/value', detail: 'The checksum of the address is wrong' },
  },
  control_characters: {
    cause: 'A line break, a tab or another control character is in the text.',
    remedy: 'Remove them.',
    example: { pointer: '/city', detail: 'city must not contain control characters' },
  },
  currency_mismatch: {
    cause: 'The request names a balance, and a currency other than that of the balance.',
    remedy: 'Leave the currency out, or name the balance in that currency.',
    example: { pointer: '/source_currency_code', detail: 'The balance is in USD' },
  },
  currency_not_delivered: {
    cause: 'This destination does not pay out in this currency.',
    remedy: "Use one of the currencies in the payer's `exchange_rate`.",
    example: { parameter: 'currency', detail: 'Pix via Banco Sol does not pay out USD' },
  },
  duplicate: {
    cause: 'Two items of the list have the same value. Each value may occur once.',
    remedy: 'Send it once.',
    example: { pointer: '/2/type', detail: 'face must occur once' },
  },
  expired: {
    cause: 'The document or card expired on the given date.',
    remedy: 'Ask the recipient for a document or card that is still valid.',
    example: { pointer: '/values/2/value', detail: 'The date must not have passed' },
  },
  invalid_characters: {
    cause:
      'The text contains control characters, invisible characters, direction marks, a combining mark without a letter, or malformed Unicode.',
    remedy: 'Remove them, and send text in UTF-8.',
    example: { pointer: '/values/0/value', detail: 'The value must not have control characters' },
  },
  invalid_cursor: {
    cause: 'The cursor is not one that this list has given.',
    remedy: 'Follow the `Link` header of a page unchanged.',
    example: {
      parameter: 'cursor',
      detail: 'cursor must be copied unchanged from the Link header of a page',
    },
  },
  invalid_header: {
    cause: 'The value of the header does not have the required form.',
    remedy: 'An Idempotency-Key has 1 to 255 visible ASCII characters.',
    example: {
      parameter: 'Idempotency-Key',
      detail: 'Idempotency-Key must have 1 to 255 visible ASCII characters',
    },
  },
  invalid_length: {
    cause: 'The list has too few or too many items.',
    remedy: 'Send as many as the detail says.',
    example: { pointer: '', detail: 'the body must be an array of three images' },
  },
  invalid_type: {
    cause: 'The value has the wrong JSON type. Types are not converted.',
    remedy: 'Send the type that the detail names: a number without quotes, a text with them.',
    example: { pointer: '/notify_user', detail: 'notify_user must be of type boolean' },
  },
  invalid_value: {
    cause: 'The value does not have the required form, or is none of the allowed ones.',
    remedy: 'The detail names the form or the choices.',
    example: {
      pointer: '/language',
      detail: 'language must be an ISO 639-1 code: two lower-case letters',
    },
  },
  no_balance_in_currency: {
    cause: 'The account has no balance in the source currency.',
    remedy: 'Name a currency of `GET /account/balance`, or ask the operator to open a balance.',
    example: { pointer: '/source_currency_code', detail: 'The account has no balance in EUR' },
  },
  no_destination: {
    cause: 'No destination is given, and this user has not been paid before.',
    remedy: 'Send `destination_token`, or the `attr_set_token` of a destination.',
    example: { pointer: '/attr_set_token', detail: 'destination_token is required' },
  },
  not_a_bic: {
    cause: 'The value does not have the form of a SWIFT/BIC (ISO 9362).',
    remedy: 'Send 8 or 11 characters, such as `DEUTDEFF`.',
    example: { pointer: '/values/1/value', detail: 'SWIFT must be a BIC' },
  },
  not_a_date: {
    cause: 'The calendar has no such day, for example 30 February.',
    remedy: 'Send YYYY-MM-DD.',
    example: { pointer: '/values/2/value', detail: 'The date must exist' },
  },
  not_a_mobile_number: {
    cause: 'The value is not a mobile number of the country.',
    remedy: 'Send the number in the form that `expected_value` of the attribute shows.',
    example: { pointer: '/values/0/value', detail: 'The value must be a mobile number of Kenya' },
  },
  not_served: {
    cause: 'The payer does not serve this country, currency or kind of payment.',
    remedy: 'Choose another payer of `GET /country/{country_code}/cheapest`.',
    example: { pointer: '/destination_token', detail: 'currency: not served' },
  },
  parameters_exclusive: {
    cause: 'The query has two parameters of which only one can apply; the detail names both.',
    remedy: 'Send one of them.',
    example: { parameter: 'page', detail: 'page must not be combined with cursor' },
  },
  pattern_mismatch: {
    cause: "The value does not match the attribute's `validation` in full.",
    remedy: 'Show `expected_value` to the person who enters the value.',
    example: { pointer: '/values/0/value', detail: 'The value must match the pattern' },
  },
  period_open: {
    cause: 'A statement is final, and the last day of the period (UTC) has not ended.',
    remedy: 'Ask for a period that ends yesterday or earlier.',
    example: { parameter: 'to', detail: 'the day 2026-03-31 (UTC) has not ended' },
  },
  payee_no_match: {
    cause: 'The bank reports another name for the account than that of the recipient.',
    remedy:
      'Ask the recipient for name and account, store the correct values, and check again by `POST .../payee-check`.',
    example: {
      pointer: '/destination_token',
      detail: 'BankAccountNumber: the bank says that the account belongs to another name',
    },
  },
  pix_key_mismatch: {
    cause:
      'The account number has the form of a CNPJ (14 digits or capital letters) used as a Pix key, and differs from `IdentificationNumber`.',
    remedy: 'Send the recipient’s own CNPJ for both, or another kind of Pix key.',
    example: {
      pointer: '/values/0/value',
      detail: 'The Pix key must be the CNPJ of the recipient',
    },
  },
  read_only: {
    cause: 'Clients cannot store this attribute.',
    remedy: 'Give the link in its value to the recipient, or upload the images.',
    example: { pointer: '/values/0', detail: 'IDSelfieCollection is read-only' },
  },
  recipient_invalid: {
    cause: 'The payer does not accept this recipient data; the detail names the field.',
    remedy: 'Correct the member of the user, or the attribute, that the detail begins with.',
    example: { pointer: '/destination_token', detail: 'city: must have at most 35 characters' },
  },
  recipient_missing: {
    cause: 'The payer needs recipient data that is not stored; the detail names the field.',
    remedy: 'Store it: members of the user by `PUT /user/{user_token}`, attributes by `POST`.',
    example: { pointer: '/destination_token', detail: 'city: must be given' },
  },
  sender_incomplete: {
    cause: 'A rule asks for data of the sender that the operator has not stored.',
    remedy: 'Ask the operator to complete the data of your account.',
    example: {
      pointer: '/destination_token',
      detail: 'sender: the rule eu_transfers needs data of the sender that is not stored',
    },
  },
  repeated_attribute: {
    cause: 'Two items of `values` have the token of the same attribute.',
    remedy: 'Send each attribute once.',
    example: { pointer: '/values/1/token', detail: 'The attribute must occur once' },
  },
  required: {
    cause: 'The operation needs a value that the request does not have.',
    remedy: 'Send the value that `pointer` or `parameter` names.',
    example: { pointer: '/email', detail: 'email is required' },
  },
  too_early: {
    cause: '`scheduled_for` has passed. A date ends with the day at the destination.',
    remedy: 'Name a later time, or leave it out: the payout then runs when it is committed.',
    example: { pointer: '/scheduled_for', detail: 'scheduled_for has passed' },
  },
  too_late: {
    cause:
      'A payout can be scheduled for at most 365 days ahead, and the clock of the sandbox can be ahead of real time by a limited number of days.',
    remedy: 'Name an earlier time; move the clock by less.',
    example: { pointer: '/scheduled_for', detail: 'scheduled_for must be at most 365 days ahead' },
  },
  too_long: {
    cause: 'The value has more characters than the field takes.',
    remedy: 'Shorten it to the length that the detail names.',
    example: { pointer: '/first_name', detail: 'first_name must have at most 100 characters' },
  },
  too_many_keys: {
    cause: 'Metadata have more than 50 keys.',
    remedy: 'Keep what you search by, and store the rest on your side.',
    example: { pointer: '/metadata', detail: 'metadata must have at most 50 keys' },
  },
  too_short: {
    cause: 'The value has fewer characters than the field needs.',
    remedy: 'Send as much as the detail names.',
    example: { pointer: '/client_transfer_id', detail: 'must have at least 1 character' },
  },
  too_young: {
    cause: 'A user must be at least eighteen years old.',
    remedy: 'Check `date_of_birth`; a minor cannot be paid.',
    example: { pointer: '/date_of_birth', detail: 'The user must be at least 18 years old' },
  },
  unknown_attr_set: {
    cause: 'The user has no such attribute set for this destination and currency.',
    remedy: 'Leave `attr_set_token` out to use the newest complete set.',
    example: { pointer: '/attr_set_token', detail: 'attr_set_token not found' },
  },
  unknown_attribute: {
    cause: 'The destination has no such attribute.',
    remedy: 'Read the attributes again: tokens differ between destinations and currencies.',
    example: { pointer: '/values/0/token', detail: 'The destination has no such attribute' },
  },
  unknown_bank: {
    cause: 'No bank has this code.',
    remedy: 'Ask the recipient for the code of their bank.',
    example: { pointer: '/values/1/value', detail: 'No bank has this code' },
  },
  unknown_country: {
    cause: 'The value is not an ISO 3166-1 alpha-3 country code.',
    remedy: 'Send three letters, such as MEX.',
    example: { pointer: '/country', detail: 'country must be an ISO 3166-1 alpha-3 country code' },
  },
  unknown_currency: {
    cause: 'The value is not the code of a supported currency.',
    remedy:
      'Send an ISO 4217 code, or a ticker that the destination delivers. For a withdrawn currency, send the one that replaced it.',
    example: {
      pointer: '/destination_currency_code',
      detail: 'destination_currency_code must be a currency that the service knows',
    },
  },
  unknown_destination: {
    cause: 'No payer has this destination token.',
    remedy: 'Look destinations up again; check that the token is of this environment.',
    example: { pointer: '/destination_token', detail: 'destination_token not found' },
  },
  unknown_member: {
    cause:
      'The body has a member that this operation does not have and that looks like one that is absent. It is refused because ignoring it could do more than you asked for: with a misspelled `scheduled_for` a payout would be paid now.',
    remedy: 'Correct it, or remove it: the detail names the member that is probably meant.',
    example: {
      pointer: '/schedule_for',
      detail: 'schedule_for is not a member of this request: did you mean scheduled_for?',
    },
  },
  unknown_source: {
    cause: 'The account has no such balance.',
    remedy: 'Use a token of `GET /account/balance`.',
    example: { pointer: '/source_token', detail: 'source_token not found' },
  },
};
