import type { Readable } from 'node:stream';
import {
  AppError,
  type AppErrorOptions,
  type ErrorCode,
  errorCatalog,
  type Fault,
  type FaultCode,
  faultCatalog,
  isErrorCode,
} from '../core/errors.ts';
import { diskFull, isLostConnection } from '../db/postgres/server-faults.ts';

/** A response. A null body is sent without a Content-Type. */
export type Answer = {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Buffer | Readable | null;
  readonly headers?: Readonly<Record<string, string>>;
};

export const jsonType = 'application/json; charset=utf-8';
export const problemType = 'application/problem+json; charset=utf-8';

/** The problem answer (RFC 9457) of an error: 500 without details unless it is an `AppError`. */
export function describeProblem(error: unknown, requestId: string): Answer & { body: string } {
  const { code, detail, options } = readError(error);
  const { status } = errorCatalog[code];
  const shown = chooseCode(code, options.faults ?? []);
  const body = JSON.stringify({
    type: `/problems/${shown}`,
    title: getTitle(shown),
    status,
    detail,
    code: shown,
    request_id: requestId,
    errors: options.faults ?? [],
    ...options.members,
  });
  const headers: Record<string, string> = { ...options.headers };
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="outlay"';
  if (code === 'insufficient_scope') {
    headers['www-authenticate'] = 'Bearer realm="outlay", error="insufficient_scope"';
  }
  const retryAfter = options.retryAfterSeconds ?? (status === 503 ? 1 : undefined);
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter);
  return { status, contentType: problemType, body, headers };
}

/** The code of the only fault says more than that the request is not valid. */
function chooseCode(code: ErrorCode, faults: readonly Fault[]): FaultCode {
  const [only] = faults;
  return code === 'invalid_request' && only !== undefined && faults.length === 1 ? only.code : code;
}

function getTitle(code: FaultCode): string {
  return isErrorCode(code) ? errorCatalog[code].title : faultCatalog[code];
}

function readError(error: unknown): { code: ErrorCode; detail: string; options: AppErrorOptions } {
  if (error instanceof AppError) {
    return { code: error.code, detail: error.message, options: error.options };
  }
  const known = findHttpFault(error);
  if (known !== undefined) return { ...known, options: {} };
  if (findErrorCode(error) === diskFull) {
    return {
      code: 'unavailable',
      detail: 'The database has no disk space left, so nothing can be stored. Retry later.',
      options: { retryAfterSeconds: diskFullRetrySeconds },
    };
  }
  if (isDatabaseUnavailable(error)) {
    return {
      code: 'unavailable',
      detail: 'The database cannot be reached or did not answer in time. Retry the request.',
      options: {},
    };
  }
  return {
    code: 'internal_error',
    detail: 'The request failed. Quote request_id when you report it.',
    options: {},
  };
}

/** A person has to make room first. */
const diskFullRetrySeconds = 10;

export const badUrl = 'The URL must be percent-encoded UTF-8';

/** Errors of Fastify and of Node's HTTP parser, by their codes. */
const httpFaults: Readonly<Record<string, { code: ErrorCode; detail: string }>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: { code: 'body_too_large', detail: 'The body is too large' },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'malformed_http',
    detail: 'The length of the body differs from Content-Length',
  },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'unsupported_media_type',
    detail: 'Malformed Content-Type header',
  },
  FST_ERR_BAD_URL: { code: 'malformed_http', detail: badUrl },
  HPE_HEADER_OVERFLOW: { code: 'header_too_large', detail: 'The request header is too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { code: 'request_timeout', detail: 'The request arrived too slowly' },
};

export function findHttpFault(error: unknown): { code: ErrorCode; detail: string } | undefined {
  const code = findErrorCode(error);
  return code === undefined ? undefined : httpFaults[code];
}

const networkErrorCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
]);

/**
 * SQLSTATEs that do not depend on the request, by class or in full: connection (08), resources
 * (53), operator or restart (57P), system error (58); a read-only server, such as a standby after a
 * failover; a session ended for idling; a statement or a wait for a lock that took too long; a
 * serialization failure or deadlock that persisted over retries.
 */
const unavailableStates = /^(?:08...|53...|57P..|58...|25006|25P03|26000|57014|55P03|40001|40P01)$/;

/** Whether the request failed for a transient reason, with an unknown effect or none. */
function isDatabaseUnavailable(error: unknown): boolean {
  const code = findErrorCode(error);
  if (code !== undefined && (networkErrorCodes.has(code) || unavailableStates.test(code))) {
    return true;
  }
  return isLostConnection(error);
}

function findErrorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
