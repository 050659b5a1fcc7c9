import type { Principal } from '../core/access.ts';
import type { EnvironmentClock } from '../db/environment-clock.ts';
import type { Database } from '../db/postgres/pool.ts';
import { type BearerRow, findAccessToken, findApiKey } from './accounts.sql.ts';
import { type BearerToken, readBearerToken } from './tokens.ts';

/**
 * Authenticates bearer tokens. Results are cached for a moment (`cacheMs` of the environment's
 * clock): each token costs one look-up per moment, and every process notices a revocation or the
 * end of a token within that time.
 */

type Known = { principal: Principal | undefined; endsAtMs: number; checkedAtMs: number };

export type Authenticator = {
  /** Synchronous if the result is cached. */
  authenticate(
    token: string,
    remoteAddress: string,
  ): Principal | undefined | Promise<Principal | undefined>;
  /** Empties the cache, as is necessary after the clock was moved. */
  clear(): void;
};

const knownMax = 10_000;

export function createAuthenticator(env: { db: Database; clock: EnvironmentClock }): Authenticator {
  const known = new Map<string, Known>();
  const running = new Map<string, Promise<Principal | undefined>>();

  const lookUp = async (token: BearerToken, address: string): Promise<Known> => {
    const session = env.db.tenant(token.accountId);
    const row: BearerRow | undefined =
      token.kind === 'api_key'
        ? await findApiKey(session, { ...token, secretHash: token.hash, address })
        : await findAccessToken(session, { ...token, tokenHash: token.hash, address });
    if (row === undefined) return { principal: undefined, endsAtMs: 0, checkedAtMs: 0 };
    env.clock.observe(row.now);
    return {
      principal: {
        accountId: token.accountId,
        credentialId: row.credential_id,
        scopes: new Set(row.scopes),
      },
      endsAtMs: row.expires_at?.getTime() ?? Number.POSITIVE_INFINITY,
      checkedAtMs: env.clock.steadyMs(),
    };
  };

  return {
    clear: () => known.clear(),
    authenticate: (text, remoteAddress) => {
      const name = `${text} ${remoteAddress}`;
      const hit = known.get(name);
      if (hit !== undefined && env.clock.steadyMs() - hit.checkedAtMs < env.clock.cacheMs) {
        return env.clock.nowMs() < hit.endsAtMs ? hit.principal : undefined;
      }
      const token = readBearerToken(text);
      if (token === undefined) return undefined;
      const pending = running.get(name);
      if (pending !== undefined) return pending;
      const promise = lookUp(token, remoteAddress)
        .then((found) => {
          known.delete(name);
          if (found.principal === undefined) return undefined;
          if (known.size >= knownMax) known.delete(known.keys().next().value ?? '');
          known.set(name, found);
          return found.principal;
        })
        .finally(() => running.delete(name));
      running.set(name, promise);
      return promise;
    },
  };
}
