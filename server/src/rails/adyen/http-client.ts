import type { RailHost } from '../contract/contract.ts';
import { parseJson, toText } from '../kit/answers.ts';
import { exchangeHttp } from '../kit/http-exchange.ts';

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
  | { readonly kind: 'not_sent'; readonly error?: string }
  | { readonly kind: 'unclear'; readonly error?: string };

export type ApiClient = (request: ApiRequest) => Promise<ApiResult>;

export type ApiClientOptions = Pick<RailHost, 'fetch' | 'realNowMs'> & {
  readonly apiKey: string;
  readonly timeoutMs: number;
};

/** A page of a hundred transfers with their events is the longest; a report may be longer. */
const answerBytesMax = 16 * 1024 * 1024;

export function createApiClient(options: ApiClientOptions): ApiClient {
  return async ({ method, url, body = '', idempotencyKey, signal }) => {
    const result = await exchangeHttp(
      {
        method,
        url,
        headers: {
          accept: 'application/json, text/csv',
          'x-api-key': options.apiKey,
          ...(body !== '' && { 'content-type': 'application/json' }),
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        },
        body,
        signal,
      },
      { ...options, answerBytesMax },
    );
    if (result.kind !== 'answered') return { kind: result.kind, error: result.error };
    const { status, headers, retryAfterMs } = result;
    const text = toText(result.body);
    return {
      kind: 'answered',
      status,
      json: parseJson(text),
      text,
      storedKey: headers.get('idempotency-key') ?? '',
      isTransient: headers.get('transient-error')?.toLowerCase() === 'true',
      retryAfterMs,
      dateMs: readDate(headers.get('date')),
    };
  };
}

function readDate(value: string | null): number | undefined {
  const dateMs = Date.parse(value ?? '');
  return Number.isFinite(dateMs) ? dateMs : undefined;
}
