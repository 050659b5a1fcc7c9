import { readBounded } from '../../core/bounded-body.ts';
import { parseExactBytes } from '../../core/exact-json.ts';
import { readRetryAfterMs } from '../../core/retry-after.ts';
import { isBeforeConnection } from '../kit/answers.ts';
import { answerBytesMax, type Exchange, type ExchangeOptions, notUnderstood } from './exchange.ts';
import { authorize, expiresHeader, type LightKey, timeHeader } from './light-authentication.ts';

/** One request of the light level and its unsigned answer. */

export type LightExchangeOptions = Pick<
  ExchangeOptions,
  'baseUrl' | 'fetch' | 'timeoutMs' | 'realNowMs'
> & {
  /** Undefined where the client certificate of `fetch` is the authentication. */
  readonly key: LightKey | undefined;
};

export function createLightExchange(options: LightExchangeOptions): Exchange {
  return async ({ method, path, body, expiresS, signal: given }) => {
    const url = options.baseUrl + path;
    const message = {
      role: 'request',
      method,
      path: new URL(url).pathname,
      body: Buffer.from(body),
      expiresS,
    } as const;
    const headers: Record<string, string> = {
      accept: 'application/json',
      'accept-encoding': 'identity',
      [expiresHeader]: String(expiresS),
      ...(options.key === undefined ? {} : { authorization: authorize(message, options.key) }),
      ...(body === '' ? {} : { 'content-type': 'application/json' }),
    };
    const signal = AbortSignal.any([given, AbortSignal.timeout(options.timeoutMs)]);
    const sent = { method, headers, redirect: 'manual', signal } as const;
    let response: Response;
    let raw: Buffer | undefined;
    try {
      response = await options.fetch(url, { ...sent, ...(body === '' ? {} : { body }) });
      raw = await readBounded(response, answerBytesMax);
    } catch (error) {
      if (isBeforeConnection(error)) return { kind: 'not_sent' };
      return { kind: 'unclear', reason: 'no_answer', detail: 'no complete answer came' };
    }
    if (raw === undefined) return notUnderstood('the answer is too long');
    const retryAfterMs = readRetryAfterMs(response.headers.get('retry-after'), options.realNowMs());
    const time = response.headers.get(timeHeader) ?? '';
    const { status } = response;
    if (!/^\d{1,11}$/.test(time)) {
      const fault = `the answer of status ${status} must have Outlay-Time, seconds since 1970`;
      return { kind: 'unclear', reason: 'not_understood', detail: fault, retryAfterMs };
    }
    try {
      const json = parseExactBytes(raw);
      return { kind: 'answered', status, json, raw, createdS: Number(time), retryAfterMs };
    } catch {
      return { ...notUnderstood('the answer is not JSON'), retryAfterMs };
    }
  };
}
