import { readBounded } from '../../core/bounded-body.ts';
import { readRetryAfterMs } from '../../core/retry-after.ts';
import type { RailHost } from '../contract/contract.ts';
import { isBeforeConnection, nameFailure } from './answers.ts';

/** One request to a counterparty over HTTP and its whole answer. */

export type HttpRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** "" or undefined for none. */
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
};

/**
 * `not_sent`: no connection was made. `unclear`: the request may have been received, and there is no
 * whole answer. `error` names what failed.
 */
export type HttpResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: Headers;
      /** Undefined where it is longer than `answerBytesMax`. */
      readonly body: Buffer | undefined;
      /** Of the Retry-After header; 0 without one. */
      readonly retryAfterMs: number;
    }
  | { readonly kind: 'not_sent' | 'unclear'; readonly error: string };

/** `realNowMs`: a counterparty's clock does not follow the virtual clock of staging. */
export type HttpExchangeOptions = Pick<RailHost, 'fetch' | 'realNowMs'> & {
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
};

export async function exchangeHttp(
  { method, url, headers, body = '', signal }: HttpRequest,
  options: HttpExchangeOptions,
): Promise<HttpResult> {
  const timeout = AbortSignal.timeout(options.timeoutMs);
  try {
    const response = await options.fetch(url, {
      method,
      headers,
      // A redirect would carry credentials and personal data to another host.
      redirect: 'manual',
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      ...(body !== '' && { body }),
    });
    return {
      kind: 'answered',
      status: response.status,
      headers: response.headers,
      body: await readBounded(response, options.answerBytesMax),
      retryAfterMs: readRetryAfterMs(response.headers.get('retry-after'), options.realNowMs()),
    };
  } catch (error) {
    const kind = isBeforeConnection(error) ? 'not_sent' : 'unclear';
    return { kind, error: nameFailure(error) };
  }
}
