/**
 * The catalog of broken rules: a stable code, the HTTP status that `http` answers with, and a
 * title. `http` alone turns a code into an answer.
 */
export const errorCatalog = {
  invalid_request: { status: 400, title: 'The request is not valid' },
  unknown_parameter: { status: 400, title: 'Unknown query parameter' },
  dry_run_unsupported: { status: 400, title: 'The operation has no dry run' },
  malformed_json: { status: 400, title: 'The body is not valid JSON' },
  malformed_http: { status: 400, title: 'The request is not well-formed HTTP' },
  source_and_destination_exclusive: {
    status: 400,
    title: 'source_token and destination_token exclude each other',
  },
  unauthorized: { status: 401, title: 'A valid bearer credential is required' },
  login_failed: { status: 401, title: 'The login failed' },
  insufficient_scope: { status: 403, title: 'The credential lacks the required scope' },
  role_not_permitted: { status: 403, title: 'The role of the operator does not permit this' },
  second_factor_required: { status: 403, title: 'A second factor must be set up' },
  cross_site_request: { status: 403, title: 'The request does not come from the console' },
  not_found: { status: 404, title: 'Not found' },
  unknown_version: { status: 404, title: 'Unknown version of the API' },
  method_not_allowed: { status: 405, title: 'The method is not allowed' },
  not_acceptable: { status: 406, title: 'No acceptable media type' },
  request_timeout: { status: 408, title: 'The request did not arrive in time' },
  user_exists: { status: 409, title: 'The user already exists' },
  user_not_active: { status: 409, title: 'The user is not active' },
  duplicate_transfer: { status: 409, title: 'The transfer is already committed' },
  idempotency_in_progress: { status: 409, title: 'The first request with this key is in progress' },
  illegal_move: { status: 409, title: 'The present state does not allow this' },
  payout_changed: { status: 409, title: 'The payout has changed' },
  own_payout: { status: 409, title: 'Another person must approve the payout' },
  budget_exceeded: { status: 409, title: 'The budget of the credential does not allow this' },
  proposal_ended: { status: 409, title: 'The proposal is no longer open' },
  proposal_refused: { status: 409, title: 'The payout cannot be committed now' },
  terms_changed: { status: 409, title: 'The terms changed after the proposal' },
  legal_hold: { status: 409, title: 'A legal hold keeps the data of the user' },
  payouts_open: { status: 409, title: 'Payouts of the user have not ended' },
  clock_backwards: { status: 409, title: 'The clock cannot be set back' },
  events_dropped: { status: 410, title: 'The events are no longer kept' },
  user_erased: { status: 410, title: 'The data of the user was erased' },
  body_too_large: { status: 413, title: 'The body is too large' },
  uri_too_long: { status: 414, title: 'The URL is too long' },
  unsupported_media_type: { status: 415, title: 'The media type is not supported' },
  expectation_failed: { status: 417, title: 'The expectation is not supported' },
  idempotency_key_reused: { status: 422, title: 'The key was used for another request' },
  open_quotes_exceeded: { status: 429, title: 'The account has too many open quotes' },
  rate_limited: { status: 429, title: 'Too many requests' },
  header_too_large: { status: 431, title: 'The header is too large' },
  internal_error: { status: 500, title: 'Internal error' },
  rates_unavailable: { status: 503, title: 'No recent exchange rate' },
  recovering: { status: 503, title: 'The service is recovering after a restore' },
  unavailable: { status: 503, title: 'The service is unavailable' },
} as const;

export type ErrorCode = keyof typeof errorCatalog;

/**
 * Faults of one value of a request, or of one row of a batch. The code of a problem can stand for a
 * fault too.
 */
export const faultCatalog = {
  above_maximum: 'The amount is above the maximum of the payer',
  addtl_attr_req: 'The destination needs more of the recipient',
  already_used: 'Another user has this value',
  amount_not_a_number: 'The amount is not a number',
  amount_not_positive: 'The amount is not greater than zero',
  amount_refused: 'The payer does not pay this amount',
  amount_too_large: 'The amount is too large',
  amount_too_precise: 'The amount has too many fraction digits',
  amount_too_small: 'The amount is too small',
  amounts_exclusive: 'Two amounts exclude each other',
  animated_image: 'The image has several frames',
  bank_mismatch: 'Bank and account number do not belong together',
  below_minimum: 'The amount is below the minimum of the payer',
  burn_address: 'Funds sent to this address are lost',
  card_number: 'A card number is not accepted',
  cell_count: 'The row has another number of cells than the header',
  check_digit: 'The check digit is wrong',
  checksum: 'The checksum of the address is wrong',
  control_characters: 'The text has control characters',
  currency_mismatch: 'The currency is not that of the balance',
  currency_not_delivered: 'The destination does not deliver the currency',
  damaged_image: 'The image is damaged',
  duplicate: 'The value occurs twice',
  empty_file: 'The file has no rows',
  expired: 'The date has passed',
  image_too_large: 'The image is too large to decode',
  invalid_base64: 'The text is not Base64',
  invalid_characters: 'The text has characters that are not allowed',
  invalid_cursor: 'The cursor is not valid',
  invalid_encoding: 'The value is not UTF-8',
  invalid_header: 'The header is not valid',
  invalid_length: 'The list has the wrong length',
  invalid_type: 'The value has the wrong type',
  invalid_value: 'The value is not valid',
  malformed_csv: 'The file is not valid CSV',
  missing_column: 'The file lacks a column',
  no_balance_in_currency: 'There is no balance in the currency',
  no_destination: 'No destination is known',
  not_a_bic: 'The value is not a BIC',
  not_a_date: 'The date does not exist',
  not_a_mobile_number: 'The number is not a mobile number',
  not_served: 'The payer does not serve this',
  parameters_exclusive: 'Two parameters exclude each other',
  pattern_mismatch: 'The value does not match the pattern of the attribute',
  payee_no_match: 'The account belongs to another name',
  period_open: 'The period has not ended',
  pix_key_mismatch: 'The Pix key is not that of the recipient',
  read_only: 'The attribute is read-only',
  recipient_invalid: 'The payer does not accept the recipient data',
  recipient_missing: 'The payer needs more recipient data',
  repeated_attribute: 'The attribute occurs twice',
  repeated_column: 'The column occurs twice',
  repeated_in_file: 'The identifier occurs twice in the file',
  required: 'A required value is missing',
  row_too_long: 'The row is too long',
  sender_incomplete: 'Data of the sender is missing',
  too_late: 'The time is too late',
  too_early: 'The time has passed',
  too_large: 'The image is too large',
  too_long: 'The value is too long',
  too_many_keys: 'The metadata have too many keys',
  too_short: 'The value is too short',
  too_young: 'The user is not of age',
  trailing_data: 'The file continues after the image',
  unknown_attr_set: 'Unknown attribute set',
  unknown_attribute: 'Unknown attribute',
  unknown_bank: 'Unknown bank',
  unknown_country: 'Unknown country',
  unknown_currency: 'Unknown currency',
  unknown_destination: 'Unknown destination',
  unknown_member: 'The request has no such member',
  unknown_source: 'Unknown balance',
  unknown_user: 'Unknown user',
  unsupported_image: 'The kind of image is not supported',
  user_mismatch: 'Two identifiers name different users',
} as const;

export type FaultCode = keyof typeof faultCatalog | ErrorCode;

/** Every code of a problem answer and of its faults. */
export const codes = [
  ...new Set([...Object.keys(errorCatalog), ...Object.keys(faultCatalog)]),
].toSorted() as FaultCode[];

/** One fault of a request: `pointer` (RFC 6901) into the body, or the name of a parameter or header. */
export type Fault = {
  pointer?: string;
  parameter?: string;
  /** The attribute that a fault is about. */
  token?: string;
  code: FaultCode;
  detail: string;
};

export type AppErrorOptions = {
  faults?: Fault[];
  /** Further members of the problem answer, such as the token of the payout that was meant. */
  members?: Record<string, string>;
  retryAfterSeconds?: number;
  /** Headers of the answer in lower case, such as those with which a client can try again. */
  headers?: Readonly<Record<string, string>>;
  cause?: unknown;
};

/** A broken rule. Its detail is shown to the client and holds no data of a person. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly options: AppErrorOptions;

  constructor(code: ErrorCode, detail: string, options: AppErrorOptions = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.options = options;
  }
}

/** Throws all the faults of a request at once; returns when there are none. */
export function throwFaults(faults: Fault[], code: ErrorCode = 'invalid_request'): void {
  if (faults.length > 0) throw describeFaults(faults, code);
}

/**
 * The results of all readers; throws the faults of those that fail together.
 *
 * @throws AppError invalid_request, and what a reader throws otherwise.
 */
export function readTogether<T extends readonly unknown[]>(
  ...readers: { [K in keyof T]: () => T[K] }
): T {
  const faults: Fault[] = [];
  const results = readers.map((read: () => unknown) => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'invalid_request') throw error;
      faults.push(...(error.options.faults ?? []));
      return undefined;
    }
  });
  throwFaults(faults);
  return results as unknown as T;
}

export function isErrorCode(code: FaultCode): code is ErrorCode {
  return code in errorCatalog;
}

/** The error of at least one fault. */
export function describeFaults(faults: Fault[], code: ErrorCode = 'invalid_request'): AppError {
  const [first] = faults;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  return new AppError(code, `${first?.detail}${more}`, { faults });
}

/** For impossible states: a defect of ours, never a client's mistake. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`impossible: ${message}`);
}
