import type { Readable } from 'node:stream';
import { AppError, type AppErrorOptions, type ErrorCode, errorCatalogue } from '../core/errors.ts';

/** A whole answer. A null body is sent without a Content-Type. */
export type Answer = {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Buffer | Readable | null;
  readonly headers?: Readonly<Record<string, string>>;
};

export const jsonType = 'application/json; charset=utf-8';
export const problemType = 'application/problem+json; charset=utf-8';

/** The problem answer (RFC 9457) of an error. Whatever is no `AppError` becomes a bare 500. */
export function describeProblem(error: unknown, requestId: string): Answer & { body: string } {
  const { code, detail, options } = readError(error);
  const { status, title } = errorCatalogue[code];
  const body = JSON.stringify({
    type: `/problems/${code}`,
    title,
    status,
    detail,
    code,
    request_id: requestId,
    errors: options.faults ?? [],
    ...options.members,
  });
  const headers: Record<string, string> = {};
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="outlay"';
  if (code === 'insufficient_scope') {
    headers['www-authenticate'] = 'Bearer realm="outlay", error="insufficient_scope"';
  }
  const retryAfter = options.retryAfterSeconds ?? (status === 503 ? 1 : undefined);
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter);
  return { status, contentType: problemType, body, headers };
}

function readError(error: unknown): { code: ErrorCode; detail: string; options: AppErrorOptions } {
  if (error instanceof AppError) {
    return { code: error.code, detail: error.message, options: error.options };
  }
  const known = findHttpFault(error);
  if (known !== undefined) return { ...known, options: {} };
  if (isDatabaseAway(error)) {
    return {
      code: 'unavailable',
      detail: 'the database cannot be reached, or did not answer: ask again',
      options: {},
    };
  }
  return {
    code: 'internal_error',
    detail: 'the request failed; quote the request_id when you ask about it',
    options: {},
  };
}

/** The HTTP framework's and the parser's own refusals, by their error codes. */
const httpFaults: Readonly<Record<string, { code: ErrorCode; detail: string }>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: { code: 'body_too_large', detail: 'the body is too large' },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'malformed_http',
    detail: 'the body is not as long as Content-Length says',
  },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'unsupported_media_type',
    detail: 'the Content-Type cannot be read',
  },
  FST_ERR_BAD_URL: { code: 'malformed_http', detail: 'the address cannot be decoded' },
  HPE_HEADER_OVERFLOW: { code: 'header_too_large', detail: 'the header is too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { code: 'request_timeout', detail: 'the request came too slowly' },
};

export function findHttpFault(error: unknown): { code: ErrorCode; detail: string } | undefined {
  const code = findErrorCode(error);
  return code === undefined ? undefined : httpFaults[code];
}

const networkAwayCodes = new Set([
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
 * SQLSTATEs that say nothing of the request, by class or whole: the connection (08), resources (53),
 * an operator or a restart (57P), a system error (58); a server that only reads, as a standby after
 * a failover does; a session that was ended for idling; a statement, or the wait for a lock, that
 * took too long; a serialization failure or deadlock that trying again did not get past.
 */
const databaseAwayStates =
  /^(?:08...|53...|57P..|58...|25006|25P03|26000|57014|55P03|40001|40P01)$/;

/** What the driver says, without a code, of a connection that is gone or cannot be had. */
const driverMessages =
  /^(?:Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed)/;

/** Whether the outcome is unknown, or nothing was done, for a reason that passes: ask again. */
function isDatabaseAway(error: unknown): boolean {
  const code = findErrorCode(error);
  if (code !== undefined && (networkAwayCodes.has(code) || databaseAwayStates.test(code))) {
    return true;
  }
  return error instanceof Error && driverMessages.test(error.message);
}

function findErrorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
