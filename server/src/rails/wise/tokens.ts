import type { RailHost } from '../contract/contract.ts';
import { parseExact } from '../kit/answers.ts';
import { exchangeHttp } from '../kit/http-exchange.ts';
import { type CachedToken, createTokenCache } from '../kit/token-cache.ts';
import type { WiseConfig } from './config.ts';
import { tokenSchema } from './protocol.ts';

/** The bearer token: a personal one from the configuration, or a user token renewed by OAuth. */
export type Tokens = {
  /** Undefined where Wise gives no token now. */
  get(): Promise<string | undefined>;
  /** The token was refused. */
  forget(token: string): void;
};

/** A token is renewed this long before it expires (it is valid for 12 hours). */
const marginMs = 10 * 60_000;
const answerBytesMax = 100_000;

export function createTokens(config: WiseConfig, host: RailHost): Tokens {
  const { credentials } = config;
  if ('token' in credentials) {
    return { get: async () => credentials.token, forget: () => undefined };
  }
  const cache = createTokenCache<CachedToken, 'no_token'>(async () => {
    const answer = await requestToken(config, host, credentials);
    if (answer === undefined) return 'no_token';
    const untilMs = host.realNowMs() + Math.max(answer.expires_in * 1000 - marginMs, 0);
    return { value: answer.access_token, untilMs };
  }, host.realNowMs);
  return {
    get: async () => {
      const token = await cache.get();
      return token === 'no_token' ? undefined : token.value;
    },
    forget: cache.forget,
  };
}

/** Grant `refresh_token` of POST /oauth/token; shared by waiting calls, so that none can abort it. */
async function requestToken(
  { baseUrl, timeoutSeconds }: WiseConfig,
  host: RailHost,
  credentials: { clientId: string; clientSecret: string; refreshToken: string },
) {
  const { clientId, clientSecret, refreshToken } = credentials;
  const result = await exchangeHttp(
    {
      method: 'POST',
      url: `${baseUrl}/oauth/token`,
      headers: {
        accept: 'application/json',
        authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: refreshToken,
      }).toString(),
    },
    { ...host, timeoutMs: timeoutSeconds * 1000, answerBytesMax },
  );
  if (result.kind !== 'answered') {
    host.log('warn', 'the token could not be renewed', { error: result.error });
    return undefined;
  }
  const { status, body } = result;
  if (status < 200 || status > 299) {
    host.log('error', 'Wise refused to renew the token', { status });
    return undefined;
  }
  const token = tokenSchema.safeParse(body && parseExact(body));
  if (!token.success) host.log('warn', 'the token could not be renewed', { error: 'ZodError' });
  return token.data;
}
