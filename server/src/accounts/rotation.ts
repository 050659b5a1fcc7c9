import { scopes as allScopes, type EnvironmentName } from '../core/access.ts';
import { AppError } from '../core/errors.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, maybeOne, nullable, one } from '../db/rows.ts';
import { createApiKey, createClient } from './accounts.ts';

/** Replaces the secret of a credential in one step. */

const replaced = defineQuery({
  name: 'find_replaced_credential',
  text: `
    select c.kind, c.scopes, c.allowed_addresses::text[] as allowed_addresses,
      ceil(extract(epoch from whole.expires_at - whole.created_at) / 86400)::integer
        as lifetime_days
    from credentials c
    -- The end of one that was replaced before is that of its overlap.
    join credentials whole on whole.account_id = c.account_id
      and whole.id = coalesce(c.replaced_by, c.id)
    where c.account_id = $1 and c.id = $2 and c.revoked_at is null
      and (c.expires_at is null or c.expires_at > (select environment_now()))
    for update of c`,
  columns: {
    kind: column.oneOf('client', 'api_key'),
    scopes: column.texts,
    allowed_addresses: column.texts,
    /** Null: it does not expire. */
    lifetime_days: nullable(column.integer),
  },
});

const replace = defineQuery({
  name: 'replace_credential',
  text: `select replace_credential($1, $2, $3, $4) as expires_at`,
  columns: { expires_at: column.instant },
});

export type Rotation = {
  keys: KeyRing;
  accountId: string;
  credentialId: string;
  /** How long the old secret stays valid. */
  overlapSeconds: number;
  environmentName: EnvironmentName;
};

/**
 * Creates a credential with the kind, scopes, addresses, budgets and lifetime of another one, which expires
 * after the overlap. The secret is shown once. In one transaction.
 *
 * @throws AppError not_found: there is no such credential, or it is no longer valid.
 */
export async function rotateCredential(session: Session, rotation: Rotation) {
  const { keys, accountId, credentialId, overlapSeconds, environmentName } = rotation;
  const old = await maybeOne(session, replaced, [accountId, credentialId]);
  if (old === undefined) {
    throw new AppError('not_found', 'credential not found, expired or revoked');
  }
  const scopes = allScopes.filter((scope) => old.scopes.includes(scope));
  const made = {
    keys,
    accountId,
    scopes,
    allowedAddresses: old.allowed_addresses,
    expiresDays: old.lifetime_days ?? undefined,
  };
  const created =
    old.kind === 'client'
      ? await createClient(session, made)
      : await createApiKey(session, { ...made, environmentName });
  const id = created.credential_id;
  const { expires_at: oldExpiresAt } = await one(session, replace, [
    accountId,
    credentialId,
    id,
    overlapSeconds,
  ]);
  return { ...created, replaces: credentialId, old_expires_at: oldExpiresAt };
}
