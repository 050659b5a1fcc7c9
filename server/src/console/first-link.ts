import { createStagingOwner, firstOwnerName } from '../cli/operator-key.ts';
import type { Config } from '../config.ts';
import type { EnvironmentName } from '../core/access.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Database } from '../db/postgres/pool.ts';
import { formatConsoleLink } from '../operators/console-link.ts';
import { createLink } from '../operators/logins.ts';
import { countOperators, findGenuineOperator } from '../operators/operators.ts';

type Services = { name: EnvironmentName; db: Database; keys: KeyRing };

/**
 * A link to the console for the owner whom staging creates by itself, so that a first trial needs no
 * password. Only where the service listens on this machine alone: elsewhere others read what it prints.
 */
export async function prepareConsoleLink(
  { name, db, keys }: Services,
  { config, baseUrl }: { config: Config; baseUrl: string },
): Promise<string | undefined> {
  if (!['127.0.0.1', '::1', 'localhost'].includes(config.HOST)) return undefined;
  const services = { session: db.system, keys };
  if ((await countOperators(db.system)) === 0) {
    await createStagingOwner({ config, name, db, keys });
  }
  const owner = await findGenuineOperator(services, firstOwnerName);
  if (owner?.role !== 'owner') return undefined;
  const { token } = await createLink(services, owner);
  return formatConsoleLink(baseUrl, token);
}
