import { parseExact } from '../kit/answers.ts';
import { type Exchange, type ExchangeOptions, notUnderstood, receive } from './exchange.ts';
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
  return async ({ method, path, body, expiresS, signal }) => {
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
    const received = await receive({ method, url, headers, body, signal }, options);
    if (received.kind !== 'received') return received;
    const { status, raw, retryAfterMs } = received;
    const time = received.headers.get(timeHeader) ?? '';
    if (!/^\d{1,11}$/.test(time)) {
      const fault = `the answer of status ${status} must have Outlay-Time, seconds since 1970`;
      return { kind: 'unclear', reason: 'not_understood', detail: fault, retryAfterMs };
    }
    const json = parseExact(raw);
    if (json === undefined)
      return {
        ...notUnderstood('the answer must be JSON in UTF-8, with no member twice in one object'),
        retryAfterMs,
      };
    return { kind: 'answered', status, json, raw, createdS: Number(time), retryAfterMs };
  };
}
