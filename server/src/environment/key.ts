import { existsSync } from 'node:fs';
import { type Config, ConfigError } from '../config.ts';
import type { EnvironmentName } from '../core/access.ts';
import {
  createKeyRing,
  type KeyRing,
  type MasterKeys,
  MissingMasterKey,
  newDataKey,
  rootContext,
  unwrapKey,
  wrapKey,
} from '../core/sealing.ts';
import { findEnvironment, insertEnvironment } from '../db/environment-record.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { storeDefaultPolicies } from '../operators/policies.ts';
import { createKeyFile, openMasterKeys, placeMasterKey } from './master-keys.ts';

/** Opens the key ring. The first start records in the database which master key belongs to it. */
export async function openKeyRing(
  db: Database,
  { config, name }: { config: Config; name: EnvironmentName },
): Promise<KeyRing> {
  const stored = await findEnvironment(db.system);
  if (stored !== undefined && stored.name !== name) {
    throw new ConfigError(`the database configured for ${name} belongs to ${stored.name}`);
  }
  const source = placeMasterKey(config, name);
  if (source.kind === 'file' && stored === undefined && !existsSync(source.file)) {
    createKeyFile(source.file);
  }
  const masters = openMasterKeys(source, () => performance.now());
  if (stored === undefined) {
    const master_key_id = masters.list()[0]?.id ?? '';
    const root_key = wrapKey(masters, newDataKey(), rootContext);
    await insertEnvironment(db.system, { name, master_key_id, root_key });
  }
  try {
    const keys = createKeyRing(masters, await openRootKey(db.system, masters));
    if (stored === undefined) await storeDefaultPolicies({ session: db.system, keys }, name);
    return keys;
  } catch (cause) {
    if (!(cause instanceof MissingMasterKey)) throw cause;
    throw new ConfigError(
      `the master key of ${name} is not the one of its database: set ${source.variable} or restore ${source.file}`,
      { cause },
    );
  }
}

/** @throws MissingMasterKey. */
export async function openRootKey(session: Session, masters: MasterKeys): Promise<Buffer> {
  const stored = await findEnvironment(session);
  if (stored === undefined) throw new MissingMasterKey('the database has no environment');
  return unwrapKey(masters, stored.root_key, rootContext);
}
