import type { Principal } from '../core/access.ts';
import type { EnvironmentClock } from '../db/environment-clock.ts';
import type { Database } from '../db/postgres/pool.ts';
import { type BearerRow, findAccessToken, findApiKey } from './accounts.sql.ts';
import { type BearerToken, readBearerToken } from './tokens.ts';

/**
 * Who a bearer token is. An answer is kept for a moment (`cacheMs` of the environment's clock), so
 * that ordinary traffic costs a look-up per token and moment, and a revocation or the end of a
 * token is noticed within that moment in every process.
 */

type Known = { principal: Principal | undefined; endsAtMs: number; checkedAtMs: number };

export type Authenticator = {
  /** At once where the answer is known, which for ordinary traffic is nearly always. */
  authenticate(
    token: string,
    remoteAddress: string,
  ): Principal | undefined | Promise<Principal | undefined>;
  /** Forgets everything: what was true before a moved clock may not be true after it. */
  clear(): void;
};

const knownMax = 10_000;

export function createAuthenticator(env: { db: Database; clock: EnvironmentClock }): Authenticator {
  const known = new Map<string, Known>();
  const running = new Map<string, Promise<Principal | undefined>>();

  const look = async (token: BearerToken, address: string): Promise<Known> => {
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
      const asked = running.get(name);
      if (asked !== undefined) return asked;
      const promise = look(token, remoteAddress)
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
