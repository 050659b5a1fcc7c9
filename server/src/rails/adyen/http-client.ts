import { parseJson, readText } from '../kit/answers.ts';

/** One request to Adyen and its answer. */

export type ApiRequest = {
  readonly method: 'GET' | 'POST';
  /** The whole address. */
  readonly url: string;
  /** JSON; "" for none. */
  readonly body?: string;
  /** At most 64 characters. */
  readonly idempotencyKey?: string;
  readonly signal: AbortSignal;
};

/**
 * `not_sent`: no connection was made. `unclear`: the request may have been received, and there is no
 * whole answer.
 */
export type ApiResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** Undefined where the body is not JSON. */
      readonly json: unknown;
      readonly text: string;
      /** The answer is stored under this key, and is what a repeated request gets; "" without one. */
      readonly storedKey: string;
      /** The header `transient-error`: the request may be repeated with the same key. */
      readonly isTransient: boolean;
      readonly retryAfterMs: number;
      /** Of the header Date, milliseconds; undefined without one. */
      readonly dateMs: number | undefined;
    }
  | { readonly kind: 'not_sent' }
  | { readonly kind: 'unclear' };

export type ApiClient = (request: ApiRequest) => Promise<ApiResult>;

export type ApiClientOptions = {
  readonly apiKey: string;
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
  readonly realNowMs: () => number;
};

/** A page of a hundred transfers with their events is the longest; a report may be longer. */
const answerBytesMax = 16 * 1024 * 1024;

export function createApiClient(options: ApiClientOptions): ApiClient {
  return async ({ method, url, body = '', idempotencyKey, signal }) => {
    try {
      const response = await options.fetch(url, {
        method,
        headers: {
          accept: 'application/json, text/csv',
          'x-api-key': options.apiKey,
          ...(body !== '' && { 'content-type': 'application/json' }),
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        },
        // A redirect would carry the key to another host.
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]),
        ...(body !== '' && { body }),
      });
      const text = await readText(response, answerBytesMax);
      const { headers, status } = response;
      return {
        kind: 'answered',
        status,
        json: parseJson(text),
        text,
        storedKey: headers.get('idempotency-key') ?? '',
        isTransient: headers.get('transient-error')?.toLowerCase() === 'true',
        retryAfterMs: readRetryAfter(headers.get('retry-after'), options.realNowMs()),
        dateMs: readDate(headers.get('date')),
      };
    } catch (error) {
      return { kind: isBeforeConnection(error) ? 'not_sent' : 'unclear' };
    }
  };
}

function readDate(value: string | null): number | undefined {
  const dateMs = Date.parse(value ?? '');
  return Number.isFinite(dateMs) ? dateMs : undefined;
}

/** RFC 9110, section 10.2.3: seconds, or a date. */
function readRetryAfter(value: string | null, nowMs: number): number {
  if (value === null) return 0;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  return Math.max(0, (readDate(value) ?? nowMs) - nowMs);
}

const connectionFaults: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const nameFaults: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'EAI_AGAIN']);

/** Whether it failed before a byte of the request could leave, on every address of the host. */
function isBeforeConnection(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const faults: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
  return faults.length > 0 && faults.every(isConnectionFault);
}

function isConnectionFault(fault: unknown): boolean {
  if (!(fault instanceof Error) || !('code' in fault)) return false;
  const syscall = 'syscall' in fault ? fault.syscall : undefined;
  if (nameFaults.has(fault.code)) return syscall === 'getaddrinfo';
  return connectionFaults.has(fault.code) && (syscall === undefined || syscall === 'connect');
}
