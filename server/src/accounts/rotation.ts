import type { EnvironmentName } from '../core/access.ts';
import { AppError } from '../core/errors.ts';
import { hashSecret, newId, newSecret } from '../core/ids.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, maybeOne } from '../db/rows.ts';
import { formatApiKey, formatClientId } from './tokens.ts';

/** Replaces the secret of a credential in one step. */

const rotate = defineQuery({
  name: 'rotate_credential',
  text: `
    select kind, expires_at from rotate_credential($1, $2, $3, $4, $5, $6)`,
  columns: { kind: column.oneOf('client', 'api_key'), expires_at: column.instant },
});

export type Rotation = {
  accountId: string;
  credentialId: string;
  /** How long the old secret stays valid. */
  overlapSeconds: number;
  environmentName: EnvironmentName;
};

/**
 * Creates a credential with the kind, scopes, addresses and budgets of another one, which expires after
 * the overlap. The secret is shown once.
 *
 * @throws AppError not_found: there is no such credential, or it is not valid any more.
 */
export async function rotateCredential(session: Session, rotation: Rotation) {
  const { accountId, credentialId, overlapSeconds, environmentName } = rotation;
  const id = newId();
  const name = { accountId, credentialId: id };
  const clientSecret = newSecret();
  const apiKey = formatApiKey(environmentName === 'live' ? 'live' : 'test', name);
  const hashes = [hashSecret(clientSecret), hashSecret(apiKey)];
  const values = [accountId, credentialId, id, ...hashes, overlapSeconds];
  const row = await maybeOne(session, rotate, values);
  if (row === undefined) {
    throw new AppError('not_found', 'credential not found, expired or revoked');
  }
  const created =
    row.kind === 'client'
      ? { client_id: formatClientId(name), client_secret: clientSecret }
      : { api_key: apiKey };
  return { credential_id: id, ...created, replaces: credentialId, old_expires_at: row.expires_at };
}
