import { readRetryAfterMs } from '../../core/retry-after.ts';
import { isBeforeConnection, parseJson, readText } from '../kit/answers.ts';

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
        retryAfterMs: readRetryAfterMs(headers.get('retry-after'), options.realNowMs()),
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
