/**
 * An access token that the calls of a process share: one request fetches it for all that wait for it,
 * and it is used until it expires or is refused. A failure is a text, and is not kept.
 */
export type TokenCache<Token extends CachedToken, Failure extends string> = {
  get(): Promise<Token | Failure>;
  /** The counterparty refused the token. */
  forget(value: string): void;
};

export type CachedToken = {
  readonly value: string;
  /** Real time, milliseconds. */
  readonly untilMs: number;
};

export function createTokenCache<Token extends CachedToken, Failure extends string>(
  fetchToken: () => Promise<Token | Failure>,
  realNowMs: () => number,
): TokenCache<Token, Failure> {
  let current: Token | undefined;
  let fetching: Promise<Token | Failure> | undefined;
  const renew = async (): Promise<Token | Failure> => {
    const token = await fetchToken();
    if (typeof token !== 'string') current = token;
    return token;
  };
  return {
    get: async () => {
      if (current !== undefined && current.untilMs > realNowMs()) return current;
      fetching ??= renew().finally(() => {
        fetching = undefined;
      });
      return fetching;
    },
    forget: (value) => {
      if (current?.value === value) current = undefined;
    },
  };
}
