import { expandScopes, type Principal } from '../core/access.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { EnvironmentClock } from '../db/environment-clock.ts';
import type { Database } from '../db/postgres/pool.ts';
import { isAuthenticCredential } from './accounts.ts';
import {
  type BearerRow,
  findAccessToken,
  findApiKey,
  findCredentialRevision,
  type TokenRow,
} from './authentication.sql.ts';
import { describeToken } from './credential-mac.ts';
import { type BearerToken, readBearerToken } from './tokens.ts';

/**
 * Authenticates bearer tokens. A result is cached until the token ends or any credential changes. The
 * database counts those changes, and a process reads the count once in a moment (`cacheMs` of the
 * environment's clock) for all tokens, so that every process notices a revocation within that time.
 */

type Known = { principal: Principal; endsAtMs: number };

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

export function createAuthenticator(env: {
  db: Database;
  clock: EnvironmentClock;
  keys: KeyRing;
}): Authenticator {
  const cache = createCache(env);
  const running = new Map<string, Promise<Principal | undefined>>();

  const isOurs = (accountId: string, row: TokenRow, tokenHash: Buffer): boolean => {
    const { credential_id: credentialId, scopes, token_expires_at: expiresAt } = row;
    const terms = { accountId, tokenHash, credentialId, scopes, expiresAt };
    return env.keys.isMac(describeToken(terms), row.token_mac);
  };

  const lookUp = async (name: string, token: BearerToken, address: string) => {
    const before = cache.revision();
    const session = env.db.tenant(token.accountId);
    const { accountId } = token;
    let row: BearerRow | undefined;
    if (token.kind === 'api_key') {
      row = await findApiKey(session, { ...token, secretHash: token.hash, address });
    } else {
      const found = await findAccessToken(session, { ...token, tokenHash: token.hash, address });
      row = found !== undefined && isOurs(accountId, found, token.hash) ? found : undefined;
    }
    if (row === undefined) return undefined;
    const credential = { ...row, accountId, credentialId: row.credential_id };
    // Inserted or changed by others than this service.
    if (!isAuthenticCredential(env.keys, credential)) return undefined;
    env.clock.observe(row.now);
    const principal: Principal = {
      accountId: token.accountId,
      credentialId: row.credential_id,
      scopes: expandScopes(row.scopes),
      hasApprovalRules: row.has_approval_rules,
    };
    const endsAtMs = row.expires_at?.getTime() ?? Number.POSITIVE_INFINITY;
    // A credential that changed meanwhile may have been read as it was before.
    if (cache.revision() === before) cache.set(name, { principal, endsAtMs });
    return principal;
  };

  const authenticateAnew = async (name: string, token: BearerToken, address: string) => {
    if (!cache.isFresh()) {
      await cache.refresh();
      const cached = cache.find(name);
      if (cached !== undefined) return cached;
    }
    return lookUp(name, token, address);
  };

  return {
    clear: cache.clear,
    authenticate: (text, remoteAddress) => {
      const name = `${text} ${remoteAddress}`;
      const cached = cache.isFresh() ? cache.find(name) : undefined;
      if (cached !== undefined) return cached;
      const token = readBearerToken(text);
      if (token === undefined) return undefined;
      const pending = running.get(name);
      if (pending !== undefined) return pending;
      const promise = authenticateAnew(name, token, remoteAddress).finally(() =>
        running.delete(name),
      );
      running.set(name, promise);
      return promise;
    },
  };
}

/** What was authenticated, as long as the revision of credentials that it was read under is current. */
function createCache({ db, clock }: { db: Database; clock: EnvironmentClock }) {
  const known = new Map<string, Known>();
  let revision: bigint | undefined;
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  let checking: Promise<void> | undefined;
  const check = async (): Promise<void> => {
    const startedAtMs = clock.steadyMs();
    const row = await findCredentialRevision(db.system);
    clock.observe(row.now);
    if (row.revision !== revision) known.clear();
    revision = row.revision;
    checkedAtMs = startedAtMs;
  };
  return {
    revision: () => revision,
    isFresh: () => clock.steadyMs() - checkedAtMs < clock.cacheMs,
    /** Shared by all requests of the moment. */
    refresh: (): Promise<void> => {
      checking ??= check().finally(() => {
        checking = undefined;
      });
      return checking;
    },
    find: (name: string): Principal | undefined => {
      const hit = known.get(name);
      if (hit === undefined || clock.nowMs() < hit.endsAtMs) return hit?.principal;
      known.delete(name);
      return undefined;
    },
    set: (name: string, entry: Known): void => {
      if (known.size >= knownMax) known.delete(known.keys().next().value ?? '');
      known.set(name, entry);
    },
    clear: () => known.clear(),
  };
}
