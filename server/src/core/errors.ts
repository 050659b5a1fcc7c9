/**
 * The catalogue of broken rules: a stable code, the HTTP status that `http` answers with, and a
 * title. `http` alone turns a code into an answer.
 */
export const errorCatalogue = {
  invalid_request: { status: 400, title: 'The request is not valid' },
  unknown_parameter: { status: 400, title: 'Unknown query parameter' },
  malformed_json: { status: 400, title: 'The body is not valid JSON' },
  malformed_http: { status: 400, title: 'The request is not well-formed HTTP' },
  source_and_destination_exclusive: {
    status: 400,
    title: 'source_token and destination_token exclude each other',
  },
  unauthorized: { status: 401, title: 'A valid bearer credential is required' },
  insufficient_scope: { status: 403, title: 'The credential lacks the required scope' },
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
  clock_backwards: { status: 409, title: 'The clock cannot be set back' },
  events_dropped: { status: 410, title: 'The events are no longer kept' },
  user_erased: { status: 410, title: 'The data of the user was erased' },
  body_too_large: { status: 413, title: 'The body is too large' },
  uri_too_long: { status: 414, title: 'The URL is too long' },
  unsupported_media_type: { status: 415, title: 'The media type is not supported' },
  expectation_failed: { status: 417, title: 'The expectation is not supported' },
  idempotency_key_reused: { status: 422, title: 'The key was used for another request' },
  rate_limited: { status: 429, title: 'Too many requests' },
  header_too_large: { status: 431, title: 'The header is too large' },
  internal_error: { status: 500, title: 'Internal error' },
  rates_unavailable: { status: 503, title: 'No recent exchange rate' },
  recovering: { status: 503, title: 'The service is recovering after a restore' },
  unavailable: { status: 503, title: 'The service is unavailable' },
} as const;

export type ErrorCode = keyof typeof errorCatalogue;

/** One fault of a request: `pointer` (RFC 6901) into the body, or the name of a parameter or header. */
export type Fault = {
  pointer?: string;
  parameter?: string;
  /** The attribute that a fault is about. */
  token?: string;
  code: string;
  detail: string;
};

export type AppErrorOptions = {
  faults?: Fault[];
  /** Further members of the problem answer, such as the token of the payout that was meant. */
  members?: Record<string, string>;
  retryAfterSeconds?: number;
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
  if (faults.length === 0) return;
  const [first] = faults;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  throw new AppError(code, `${first?.detail}${more}`, { faults });
}

/** For impossible states: a defect of ours, never a client's mistake. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`impossible: ${message}`);
}
