import type { ErrorCode } from '../../core/errors.ts';

/** What each problem means to whoever gets it, and what to do. Plain sentences, shown at its type. */
export const problemTexts: Readonly<Record<ErrorCode, string>> = {
  invalid_request:
    'Something in the body, a parameter or a header is not as it has to be. The list `errors` names every fault at once: correct them all and send the request again.',
  unknown_parameter:
    'The query has a parameter that this operation does not take; `errors` names each one, and `detail` lists those that it takes. It is refused because a filter that is ignored would answer more than you asked for.',
  malformed_json:
    'The body is not JSON, or not JSON that can be kept exactly: the same key twice, a number beyond all bounds, deeper nesting than 32 levels, or bytes that are not UTF-8.',
  malformed_http:
    'The request breaks a rule of HTTP itself, such as having no Host or a wrong Content-Length. A client library or a proxy in between is at fault.',
  source_and_destination_exclusive:
    'A payout request names where the money comes from or where it goes, not both: leave out `source_token` or `destination_token`.',
  unauthorized:
    'There is no bearer credential, it is unknown here, it has expired or was revoked. Get a new access token, and check that the credential belongs to this environment.',
  insufficient_scope:
    'The credential is good, but was not given the scope that this operation needs. Use another one or have the scope added.',
  not_found:
    'Nothing is there, or it belongs to another account, which looks the same on purpose. Check the token and the environment.',
  unknown_version: 'The first segment of the path is no version of this interface.',
  method_not_allowed: 'The address exists, but not with this method. `Allow` lists those it takes.',
  not_acceptable:
    'The `Accept` header rules out every form that this answer has. Send `application/json`, or leave the header out.',
  request_timeout: 'The request came in too slowly and was dropped. Send it again.',
  user_exists:
    'A user with this `internal_user_id` or `email` is in the account already. Look the user up and use its token.',
  user_not_active: 'The user is locked or deactivated, and cannot be paid.',
  duplicate_transfer:
    'A payout with this `client_transfer_id` was committed before; `payout_token` names it. If this is the same transfer, you are done. If not, give it an identifier of its own.',
  idempotency_in_progress:
    'The first request with this Idempotency-Key is still running. Wait as `Retry-After` says and send the same request again: you will get its answer.',
  illegal_move:
    'What you ask for cannot follow from the present state, for example completing a payout that was refused.',
  clock_backwards: "The sandbox's clock only moves forward.",
  events_dropped:
    'Events are kept for a number of months. Those after `after` are gone; begin again with the `after` that the answer names, and read the present state of what you follow.',
  user_erased:
    'The personal data of this user was erased and cannot be read any more. Where the request repeats an earlier one under its Idempotency-Key, the first one took effect: do not repeat it under another key.',
  body_too_large: 'The body, or one image in it, is larger than this operation takes.',
  uri_too_long: 'The address is longer than the service reads.',
  unsupported_media_type: 'Send the body as `application/json` in UTF-8.',
  expectation_failed: 'The only `Expect` that is understood is `100-continue`.',
  idempotency_key_reused:
    'This Idempotency-Key was used for a request with another method, path or body. Make a new key for every new intention.',
  rate_limited:
    'More requests came in a second than are allowed. Wait as `Retry-After` says, then go on more slowly.',
  header_too_large: 'The header is larger than the service reads.',
  internal_error:
    'A defect of the service. Nothing was changed unless a repeated request with the same Idempotency-Key says otherwise. Quote `request_id` when you report it.',
  rates_unavailable:
    'There is no exchange rate that is fresh enough to promise. Try again later; nothing was changed.',
  recovering:
    'The database was restored to an earlier moment. Commits are refused until an operator has matched the payments made since and two persons have released the recovery. Repeat the commit later with the same client_transfer_id and key.',
  unavailable:
    'The service is starting, stopping or has too much to do. Try again as `Retry-After` says.',
};

/** The same for the faults in `errors`, each about one value of the request. */
export const faultTexts: Readonly<Record<string, string>> = {
  already_used: 'Another user of the account has this value.',
  amount_not_a_number: 'An amount is a decimal number.',
  amount_not_positive: 'An amount is more than zero.',
  amount_refused: 'The payer does not carry this amount.',
  amount_too_large: 'The amount is more than a balance can ever hold.',
  amount_too_precise: 'The amount has more fraction digits than its currency.',
  amounts_exclusive: 'Give `source_amount` or `destination_amount`: the other one is computed.',
  animated_image: 'The image has several frames. Send a single picture.',
  bank_mismatch: 'The bank code and the account number belong to different banks or countries.',
  burn_address: 'Nobody can spend what is sent to this address.',
  check_digit: 'The check digit does not fit: a digit is wrong, missing or swapped.',
  checksum: 'The checksum of the address does not fit: a character is mistyped.',
  currency_mismatch: 'The currency contradicts the balance that is named.',
  currency_not_delivered: 'This destination does not pay out in this currency.',
  damaged_image: 'The image breaks off or cannot be decoded.',
  duplicate: 'There are two of what there may be one of.',
  events_dropped: 'The events that would follow are no longer kept.',
  expired: 'The date has passed.',
  invalid_base64: 'The text is not padded Base64 without white space.',
  invalid_characters: 'The text has control characters or broken ones.',
  invalid_cursor: 'A cursor comes from the `Link` of a page, unchanged.',
  invalid_header: 'The value of the header does not have the form that it must have.',
  invalid_length: 'There are too few or too many items.',
  invalid_type: 'The value has another JSON type than it must have.',
  invalid_value: 'The value does not have the form that is described.',
  malformed_json: 'Here the body stops being JSON that can be kept exactly.',
  no_balance_in_currency: 'The account has no balance in the source currency.',
  no_destination: 'There is no destination to take: name one, or an attribute set that has one.',
  not_a_bic: 'This is no SWIFT/BIC.',
  not_a_date: 'There is no such day in the calendar.',
  not_a_mobile_number: 'This is no mobile number of the country.',
  not_served: 'The payer does not serve this country or currency.',
  parameters_exclusive: 'Two parameters of the query exclude each other: give one of them.',
  pattern_mismatch: "The value does not match the attribute's `validation` in full.",
  pix_key_mismatch: 'The PIX key is not of the kind that was named.',
  read_only: 'Clients cannot store this attribute. Follow the link in its value.',
  recipient_invalid: 'The payer cannot pay with this data of the recipient; the detail names it.',
  recipient_missing:
    'The payer needs something of the recipient that is not stored; the detail names it.',
  required: 'The value is missing.',
  too_late: 'The clock of the sandbox stays within a number of days of real time.',
  too_large: 'The image is larger than 10 MiB of Base64, or has too many pixels.',
  too_long: 'The value is longer than it may be.',
  too_many_keys: 'Metadata has at most 50 keys.',
  too_short: 'The value is shorter than it has to be.',
  control_characters: 'A text has control characters, which no name, address or key needs.',
  too_young: 'A user is eighteen years old or more.',
  trailing_data: 'Something follows after the end of the image.',
  unknown_attr_set: 'The user has no such attribute set for this destination.',
  unknown_attribute: 'The destination does not ask for this attribute.',
  unknown_bank: 'No bank has this code.',
  unknown_country: 'This is no alpha-3 code of ISO 3166-1.',
  unknown_currency: 'This currency is not known here.',
  unknown_destination: 'There is no such destination.',
  unknown_source: 'The account has no such balance.',
  unsupported_image: 'The image is neither PNG nor JPEG, or of a kind that is not read.',
};
