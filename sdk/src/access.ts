import { UnexpectedAnswerError } from './errors.ts';
import { nowMs } from './platform.ts';
import { createHeaders, type Fetch, sendOnce } from './transport.ts';

/** An API key, or the client credentials of OAuth 2.0 (RFC 6749 4.4). Keep both out of browsers. */
export type Credential =
  | { readonly apiKey: string }
  | { readonly clientId: string; readonly clientSecret: string; readonly scope?: string };

/** Where bearer tokens come from. The calls that need one retry. */
export type TokenSource = {
  token(): Promise<string>;
  /** After a 401: whether there may be another token than this one. */
  renew(refused: string): boolean;
};

/** A token is renewed so long before it expires. */
const renewalMs = 60_000;

export type TokenEndpoint = {
  readonly baseUrl: string;
  readonly fetch: Fetch;
  readonly timeoutMs: number;
};

/** @throws TypeError for an API key that cannot be sent. */
export function openTokenSource(credential: Credential, endpoint: TokenEndpoint): TokenSource {
  if ('apiKey' in credential) {
    createHeaders({ authorization: credential.apiKey });
    return { token: () => Promise.resolve(credential.apiKey), renew: () => false };
  }
  let held: { token: string; untilMs: number } | undefined;
  // Calls that start together share one request for a token.
  let requested: Promise<string> | undefined;
  const request = async (): Promise<string> => {
    const { access_token: token, expires_in: seconds } = await requestToken(credential, endpoint);
    held = { token, untilMs: nowMs() + seconds * 1000 - renewalMs };
    return token;
  };
  return {
    token: () => {
      if (held !== undefined && nowMs() < held.untilMs) return Promise.resolve(held.token);
      requested ??= request().finally(() => {
        requested = undefined;
      });
      // Each call writes its own key and attempts into its error. Node prints no cause that is inherited.
      return requested.catch((error: Error) => {
        throw Object.create(error, 'cause' in error ? { cause: { value: error.cause } } : {});
      });
    },
    renew: (refused) => {
      if (held?.token === refused) held = undefined;
      return true;
    },
  };
}

type AccessToken = { access_token: string; expires_in: number };

async function requestToken(
  { clientId, clientSecret, scope }: Extract<Credential, { clientId: string }>,
  { baseUrl, fetch, timeoutMs }: TokenEndpoint,
): Promise<AccessToken> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    ...(scope === undefined ? {} : { scope }),
  });
  const answer = await sendOnce(
    fetch,
    {
      method: 'POST',
      url: `${baseUrl}/oauth2/token`,
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: form.toString(),
      mediaTypes: ['application/json'],
    },
    { timeoutMs },
  );
  const { access_token, expires_in } = answer.body as Partial<AccessToken>;
  if (typeof access_token !== 'string' || typeof expires_in !== 'number') {
    throw new UnexpectedAnswerError(200, { retryable: true });
  }
  return { access_token, expires_in };
}
