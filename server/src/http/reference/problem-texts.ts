import type { ErrorCode } from '../../core/errors.ts';

/** What each problem means for a client, and what to do about it. Shown on the page of its code. */
export const problemTexts: Readonly<Record<ErrorCode, string>> = {
  invalid_request:
    'A value in the body, a parameter or a header is not valid. `errors` lists every fault: correct all of them and send the request again.',
  unknown_parameter:
    'The query has a parameter that this operation does not have. `errors` names each one, and `detail` lists the allowed ones. It is refused because ignoring a filter would return more than you asked for.',
  malformed_json:
    'The body is not JSON, or JSON that cannot be stored exactly: a repeated key, a number beyond the allowed range, more than 32 levels of nesting, or bytes that are not UTF-8.',
  malformed_http:
    'The request violates HTTP, for example by a missing Host or a wrong Content-Length. Check your HTTP client and any proxy in between.',
  source_and_destination_exclusive:
    'A payout request has both `source_token` and `destination_token`. Leave out one of them.',
  unauthorized:
    'The bearer credential is missing, unknown, expired or revoked. Get a new access token, and check that the credential belongs to this environment.',
  insufficient_scope:
    'The credential is valid, but lacks the scope that this operation needs. Use another credential or ask the operator for the scope.',
  not_found:
    'The resource does not exist, or belongs to another account. Check the token and the environment.',
  unknown_version: 'The first segment of the path is not a version of this API.',
  method_not_allowed:
    'The resource does not support this method. The `Allow` header lists the supported ones.',
  not_acceptable:
    'The `Accept` header excludes every media type of this response. Send `application/json` or leave the header out.',
  request_timeout: 'The request arrived too slowly, and the connection was closed. Send it again.',
  user_exists:
    'The account already has a user with this `internal_user_id` or `email`. Look the user up and use its token.',
  user_not_active: 'The user is locked or deactivated and cannot be paid.',
  duplicate_transfer:
    'A payout with this `client_transfer_id` was already committed; `payout_token` names it. If this is the same transfer, you are done. If not, use another `client_transfer_id`.',
  idempotency_in_progress:
    'The first request with this Idempotency-Key is still being processed. Repeat the same request after the time in `Retry-After` to get its answer.',
  illegal_move:
    'The present state does not allow the operation, for example completing a payout that was rejected.',
  clock_backwards: 'The clock of the sandbox cannot be set back. Use a time after the present one.',
  events_dropped:
    'The events after `after` are older than the retention period and were deleted. Read the present state of your resources, and continue with the `after` given in `errors`.',
  user_erased:
    'The personal data of this user was erased and cannot be read any more. If the request repeats an earlier one with its Idempotency-Key, the first one took effect: do not repeat it with another key.',
  body_too_large: 'The body, or an image in it, exceeds the limit of this operation.',
  uri_too_long: 'The URL exceeds the length limit.',
  unsupported_media_type:
    'The `Content-Type` is not supported by this operation, or the body is compressed or not UTF-8. `detail` names the supported types.',
  expectation_failed: 'The only supported value of the `Expect` header is `100-continue`.',
  idempotency_key_reused:
    'This Idempotency-Key was already used with another method, path or body. Use a new key for every new operation.',
  rate_limited:
    'Too many requests per second. Wait for the time in `Retry-After`, then send more slowly.',
  header_too_large: 'The request header exceeds the size limit.',
  internal_error:
    'An error in the service. Repeat the request with the same Idempotency-Key to find out whether it took effect. Quote `request_id` when you report the error.',
  rates_unavailable:
    'No exchange rate is recent enough for a quote. Nothing was changed. Retry later.',
  recovering:
    'The database was restored to an earlier state. Commits are refused until the operator has matched the payments made since then and two persons have released the recovery. Repeat the commit later with the same `client_transfer_id` and Idempotency-Key.',
  unavailable:
    'The service is starting, stopping or overloaded. Retry after the time in `Retry-After`.',
};

/** The same for the faults in `errors`, each about one value of the request. */
export const faultTexts: Readonly<Record<string, string>> = {
  already_used: 'Another user of the account already has this value.',
  amount_not_a_number: 'An amount must be a decimal number.',
  amount_not_positive: 'An amount must be greater than zero.',
  amount_refused: 'The payer does not pay this amount; the detail names the limit.',
  amount_too_large: 'The amount exceeds what a balance can hold.',
  amount_too_precise: 'The amount has more fraction digits than its currency.',
  amounts_exclusive:
    'Send either `source_amount` or `destination_amount`; the other one is calculated.',
  animated_image: 'The image has several frames. Send a single one.',
  bank_mismatch: 'The bank code and the account number belong to different banks or countries.',
  burn_address: 'Money sent to this address is lost, since no one has its key.',
  check_digit: 'The check digit is wrong: a digit is mistyped, missing or transposed.',
  checksum: 'The checksum of the address is wrong: a character is mistyped.',
  control_characters: 'Text must not contain control characters.',
  currency_mismatch: 'The currency differs from that of the balance.',
  currency_not_delivered: 'This destination does not pay out in this currency.',
  damaged_image: 'The image is incomplete or cannot be decoded.',
  duplicate: 'The value occurs twice and must occur once.',
  events_dropped: 'The events after this one were deleted; the detail names where to continue.',
  expired: 'The date has passed.',
  invalid_base64: 'The text must be padded Base64 without white space.',
  invalid_characters: 'The text contains control characters or malformed Unicode.',
  invalid_cursor: 'A cursor must be copied unchanged from the `Link` header of a page.',
  invalid_header: 'The value of the header does not have the required form.',
  invalid_length: 'The list has too few or too many items.',
  invalid_type: 'The value has the wrong JSON type.',
  invalid_value: 'The value does not have the required form.',
  malformed_json: 'From here on the body is not JSON that can be stored exactly.',
  no_balance_in_currency: 'The account has no balance in the source currency.',
  no_destination:
    'No destination is given or known: send `destination_token`, or an attribute set of a destination.',
  not_a_bic: 'The value must be a SWIFT/BIC.',
  not_a_date: 'The date does not exist in the calendar.',
  not_a_mobile_number: 'The value must be a mobile number of the country.',
  not_served: 'The payer does not serve this country, currency or kind of payment.',
  parameters_exclusive: 'Two query parameters exclude each other. Send one of them.',
  pattern_mismatch: "The value must match the attribute's `validation` in full.",
  pix_key_mismatch:
    'The account number has 14 digits, the form of a CNPJ used as a Pix key. Such a key must be the CNPJ of the recipient: the same value as `IdentificationNumber`.',
  read_only: 'Clients cannot store this attribute. Open the link in its value instead.',
  recipient_invalid: 'The payer does not accept this recipient data; the detail names it.',
  recipient_missing: 'The payer needs recipient data that is not stored; the detail names it.',
  repeated_attribute: 'The attribute occurs twice and must occur once.',
  required: 'The value is required.',
  too_late: 'The clock of the sandbox can be ahead of real time by a limited number of days.',
  too_large: 'The image has more than 10 MiB of Base64, or too many pixels.',
  too_long: 'The value is longer than allowed.',
  too_many_keys: 'Metadata must have at most 50 keys.',
  too_short: 'The value is shorter than required.',
  too_young: 'A user must be at least eighteen years old.',
  trailing_data: 'The file continues after the end of the image.',
  unknown_attr_set: 'The user has no such attribute set for this destination.',
  unknown_attribute: 'The destination has no such attribute.',
  unknown_bank: 'No bank has this code.',
  unknown_country: 'The value must be an ISO 3166-1 alpha-3 country code.',
  unknown_currency: 'The value must be the code of a supported currency.',
  unknown_destination: 'No such destination.',
  unknown_source: 'The account has no such balance.',
  unsupported_image: 'The image must be a PNG or JPEG of a supported kind.',
};
