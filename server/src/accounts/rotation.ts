import { scopes as allScopes, type EnvironmentName } from '../core/access.ts';
import { AppError } from '../core/errors.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, maybeOne, one } from '../db/rows.ts';
import { createApiKey, createClient } from './accounts.ts';

/** Replaces the secret of a credential in one step. */

const replaced = defineQuery({
  name: 'find_replaced_credential',
  text: `
    select kind, scopes, allowed_addresses::text[] as allowed_addresses from credentials
    where account_id = $1 and id = $2 and revoked_at is null
      and (expires_at is null or expires_at > (select environment_now()))
    for update`,
  columns: {
    kind: column.oneOf('client', 'api_key'),
    scopes: column.texts,
    allowed_addresses: column.texts,
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
 * Creates a credential with the kind, scopes, addresses and budgets of another one, which expires after
 * the overlap. The secret is shown once. In one transaction.
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
  const made = { keys, accountId, scopes, allowedAddresses: old.allowed_addresses };
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
