import { parseExactJson } from '../../core/exact-json.ts';
import type { RailHost } from '../contract/contract.ts';
import { readText } from '../kit/answers.ts';
import type { WiseConfig } from './config.ts';
import { tokenSchema } from './protocol.ts';

/** The bearer token: a personal one from the configuration, or a user token renewed by OAuth. */
export type Tokens = {
  /** Undefined where Wise gives no token now. */
  get(signal: AbortSignal): Promise<string | undefined>;
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
  let current: { token: string; untilMs: number } | undefined;
  let renewal: Promise<string | undefined> | undefined;
  const renew = async (): Promise<string | undefined> => {
    const answer = await requestToken(config, host, credentials);
    if (answer === undefined) return undefined;
    const untilMs = host.realNowMs() + Math.max(answer.expires_in * 1000 - marginMs, 0);
    current = { token: answer.access_token, untilMs };
    return current.token;
  };
  return {
    get: async () => {
      if (current !== undefined && current.untilMs > host.realNowMs()) return current.token;
      renewal ??= renew().finally(() => {
        renewal = undefined;
      });
      return renewal;
    },
    forget: (token) => {
      if (current?.token === token) current = undefined;
    },
  };
}

/** Grant `refresh_token` of POST /oauth/token; shared by waiting calls, so that none can abort it. */
async function requestToken(
  { baseUrl, timeoutSeconds }: WiseConfig,
  host: RailHost,
  credentials: { clientId: string; clientSecret: string; refreshToken: string },
) {
  const { clientId, clientSecret, refreshToken } = credentials;
  try {
    const response = await host.fetch(`${baseUrl}/oauth/token`, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: refreshToken,
      }).toString(),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutSeconds * 1000),
    });
    const text = await readText(response, answerBytesMax);
    if (response.ok) return tokenSchema.parse(parseExactJson(text));
    host.log('error', 'Wise refused to renew the token', { status: response.status });
  } catch (error) {
    const name = error instanceof Error ? error.name : typeof error;
    host.log('warn', 'the token could not be renewed', { error: name });
  }
  return undefined;
}
