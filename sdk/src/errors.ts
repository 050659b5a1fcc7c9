import type { components } from './generated/api.ts';

/** One fault of a request: where it is (`pointer`, `parameter` or `token`), its code and a sentence. */
export type Fault = components['schemas']['Fault'];

/** The answer of the service to a request that it refused (RFC 9457). */
export type Problem = components['schemas']['Problem'];

type Advice = {
  readonly retryable?: boolean;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
};

/** Every error that a call can end with, except the reason of your own `AbortSignal`. */
export class OutlayError extends Error {
  override readonly name: string = 'OutlayError';
  /** Whether the same request can succeed later without a change. */
  readonly retryable: boolean = false;
  /** How long the service asked to wait. */
  readonly retryAfterMs: number | undefined;
  /** How many requests were sent. */
  attempts = 1;
  /** Of a writing call: send it again with this key, and it takes effect once at most. */
  idempotencyKey: string | undefined;
  /** Of a writing call: one of its requests may have taken effect, whatever the last answer says. */
  outcomeUnknown = false;

  constructor(message: string, { retryable = false, retryAfterMs, cause }: Advice = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No answer arrived, or only a part. A writing call may have taken effect: repeat it with its key. */
export class ConnectionError extends OutlayError {
  override readonly name: string = 'ConnectionError';
}

/** No answer arrived within `timeoutMs`. */
export class TimeoutError extends ConnectionError {
  override readonly name: string = 'TimeoutError';
}

/** An answer that is not the service's own, such as the error page of a proxy. */
export class UnexpectedAnswerError extends OutlayError {
  override readonly name: string = 'UnexpectedAnswerError';
  readonly status: number;
  constructor(status: number, advice: Advice, mediaType?: string) {
    const kind = mediaType === undefined ? '' : ` and ${mediaType || 'no'} content`;
    super(`Unexpected answer with status ${status}${kind}`, advice);
    this.status = status;
  }
}

/** The service refused the request. The subclasses follow its HTTP status. */
export class ProblemError extends OutlayError {
  override readonly name: string = 'ProblemError';
  readonly status: number;
  /** Stable, for programs. */
  readonly code: string;
  readonly detail: string;
  /** Every fault that was found; empty where `detail` says all. */
  readonly faults: readonly Fault[];
  /** Quote it when you report the problem. */
  readonly requestId: string;
  readonly problem: Problem;
  constructor(problem: Problem, advice: Advice) {
    super(`${problem.code}: ${problem.detail}`, advice);
    this.problem = problem;
    this.status = problem.status;
    this.code = problem.code;
    this.detail = problem.detail;
    this.faults = problem.errors;
    this.requestId = problem.request_id;
  }
}

/** 400, 406, 413, 415, 422: the request must be changed; `faults` says where. */
export class InvalidRequestError extends ProblemError {
  override readonly name: string = 'InvalidRequestError';
}

/** 401, or a refusal of the token endpoint (RFC 6749): the credential is not valid. */
export class AuthenticationError extends ProblemError {
  override readonly name: string = 'AuthenticationError';
}

/** 403: the credential lacks a scope. */
export class PermissionError extends ProblemError {
  override readonly name: string = 'PermissionError';
}

/** 404. */
export class NotFoundError extends ProblemError {
  override readonly name: string = 'NotFoundError';
}

/** 409: the present state does not allow the request. */
export class ConflictError extends ProblemError {
  override readonly name: string = 'ConflictError';
}

/** 429. */
export class RateLimitError extends ProblemError {
  override readonly name: string = 'RateLimitError';
}

/** 500 and above. */
export class ServiceError extends ProblemError {
  override readonly name: string = 'ServiceError';
}

const classes: Readonly<Record<number, typeof ProblemError>> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  406: InvalidRequestError,
  409: ConflictError,
  413: InvalidRequestError,
  415: InvalidRequestError,
  422: InvalidRequestError,
  429: RateLimitError,
};

const retryableStatuses = new Set([408, 429, 500, 502, 503, 504]);

type Refusal = { status: number; body: unknown; retryAfterMs: number | undefined };

/** The error of an answer whose status is not 200. */
export function createRefusal({ status, body, retryAfterMs }: Refusal): OutlayError {
  const problem = readProblem(body, status);
  // A quote that is above the limit by itself has nothing to wait for.
  const isHopeless = problem?.code === 'open_quotes_exceeded' && retryAfterMs === undefined;
  const isRetryable =
    (retryableStatuses.has(status) && !isHopeless) || problem?.code === 'idempotency_in_progress';
  const advice = { retryable: isRetryable, retryAfterMs };
  if (problem === undefined) return new UnexpectedAnswerError(status, advice);
  const Chosen = classes[status] ?? (status >= 500 ? ServiceError : ProblemError);
  return new Chosen(problem, advice);
}

/** Refusals that come before the key is looked up: they say nothing about an earlier request. */
const blindStatuses = new Set([401, 403, 408, 429]);

/** Whether a writing call may have taken effect after this error of its last request. */
export function isOutcomeUnknown(error: OutlayError, wasUnknown: boolean): boolean {
  if (!(error instanceof ProblemError) || error.status >= 500) return true;
  if (error.code === 'idempotency_in_progress') return true;
  return wasUnknown && blindStatuses.has(error.status);
}

/** Undefined for a body that is no problem. The token endpoint has the form of RFC 6749. */
function readProblem(body: unknown, status: number): Problem | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  if ('code' in body && 'detail' in body)
    return { errors: [], ...body, status } as unknown as Problem;
  if (!('error' in body)) return undefined;
  const { error, error_description: detail = '' } = body as Record<string, string>;
  return {
    type: 'about:blank',
    title: 'The access token was refused',
    status,
    code: error as Problem['code'],
    detail,
    request_id: '',
    errors: [],
  };
}
