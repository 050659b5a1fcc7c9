import type { RailHost } from '../contract/contract.ts';
import { parseJson, toText } from '../kit/answers.ts';
import { exchangeHttp } from '../kit/http-exchange.ts';
import { type CachedToken, createTokenCache } from '../kit/token-cache.ts';
import type { PaypalConfig } from './config.ts';
import { type ApiError, errorSchema, tokenSchema } from './messages.ts';

/** Requests to PayPal's REST API with a token of the app (OAuth 2.0, client credentials). */

export type ApiRequest = {
  readonly method: 'GET' | 'POST';
  /** With its query. */
  readonly path: string;
  /** JSON; absent: none. */
  readonly body?: string;
};

export type ApiResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly json: unknown;
      readonly raw: string;
      readonly retryAfterMs: number;
    }
  /** PayPal has certainly not received this request. */
  | { readonly kind: 'not_sent'; readonly why: NoToken }
  /** A time-out, a reset, or an answer that is cut off: it may have received it. */
  | { readonly kind: 'unclear' };

export type Api = {
  call(request: ApiRequest, signal: AbortSignal): Promise<ApiResult>;
  /** The scopes of the app. */
  listScopes(): Promise<readonly string[] | NoToken>;
};

/** PayPal refuses the credentials, or gives no answer. */
export type NoToken = 'no_token' | 'unreachable';

const answerBytesMax = 4_000_000;
/** A token is not used for the last part of its life. */
const tokenReserveMs = 60_000;

type Token = CachedToken & { readonly scope: string };

export function createApi(config: PaypalConfig, host: RailHost): Api {
  const exchange = createExchange(config, host);
  const fetchToken = async (): Promise<Token | NoToken> => {
    const result = await exchange({
      method: 'POST',
      path: '/v1/oauth2/token',
      body: 'grant_type=client_credentials',
      headers: {
        authorization: `Basic ${btoa(`${config.clientId}:${config.clientSecret}`)}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
    });
    const token =
      result.kind === 'answered' && result.status === 200
        ? tokenSchema.safeParse(result.json).data
        : undefined;
    if (token === undefined) {
      const status = result.kind === 'answered' ? result.status : result.kind;
      host.log('warn', 'PayPal issued no access token', { status });
      return isRefusal(status) ? 'no_token' : 'unreachable';
    }
    const untilMs = host.realNowMs() + token.expires_in * 1000 - tokenReserveMs;
    return { value: token.access_token, scope: token.scope, untilMs };
  };
  const tokens = createTokenCache<Token, NoToken>(fetchToken, host.realNowMs);
  const callWith = (token: Token, request: ApiRequest, signal: AbortSignal) =>
    exchange({
      ...request,
      headers: { authorization: `Bearer ${token.value}`, 'content-type': 'application/json' },
      signal,
    });
  return {
    call: async (request, signal) => {
      const token = await tokens.get();
      if (typeof token === 'string') return { kind: 'not_sent', why: token };
      const result = await callWith(token, request, signal);
      if (result.kind !== 'answered' || result.status !== 401) return result;
      // The token was revoked. A request that was refused for it was not carried out.
      tokens.forget(token.value);
      const next = await tokens.get();
      return typeof next === 'string' ? result : await callWith(next, request, signal);
    },
    listScopes: async () => {
      const token = await tokens.get();
      return typeof token === 'string' ? token : token.scope.split(' ');
    },
  };
}

type Exchange = ApiRequest & {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
};

function createExchange({ baseUrl, timeoutSeconds }: PaypalConfig, host: RailHost) {
  return async ({ method, path, body, headers, signal }: Exchange): Promise<ApiResult> => {
    const result = await exchangeHttp(
      {
        method,
        url: baseUrl + path,
        headers: { accept: 'application/json', ...headers },
        body,
        signal,
      },
      { ...host, timeoutMs: timeoutSeconds * 1000, answerBytesMax },
    );
    if (result.kind !== 'answered') {
      host.log('warn', 'PayPal did not answer', { error: result.error });
      return result.kind === 'not_sent'
        ? { kind: 'not_sent', why: 'unreachable' }
        : { kind: 'unclear' };
    }
    const { status, retryAfterMs } = result;
    const raw = toText(result.body);
    return { kind: 'answered', status, json: parseJson(raw), raw, retryAfterMs };
  };
}

/** Whether PayPal refuses the credentials; a rate limit says nothing about them. */
function isRefusal(status: number | string): boolean {
  return typeof status === 'number' && status < 500 && status !== 429;
}

/** PayPal's own description of a refusal; undefined where something else answered. */
export function readError(result: ApiResult): ApiError | undefined {
  if (result.kind !== 'answered' || result.status < 400) return undefined;
  return errorSchema.safeParse(result.json).data;
}

/** For an operator: why a query gave nothing usable. */
export function sayResult(result: ApiResult): string {
  if (result.kind !== 'answered') return 'PayPal gave no answer';
  return result.status === 200
    ? 'the answer does not have the described form'
    : `PayPal answered ${result.status}`;
}

/** Code and status for a log line. */
export function describeResult(result: ApiResult): Record<string, string | number> {
  if (result.kind !== 'answered') return { result: result.kind };
  return { status: result.status, code: readError(result)?.name ?? '' };
}
