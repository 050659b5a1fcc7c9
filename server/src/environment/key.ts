import { existsSync } from 'node:fs';
import { type Config, ConfigError } from '../config.ts';
import type { EnvironmentName } from '../core/access.ts';
import {
  createKeyRing,
  type KeyRing,
  type MasterKeys,
  MissingMasterKey,
  newDataKey,
  wrapKey,
} from '../core/sealing.ts';
import { readKeyClock } from '../db/environment-key-rows.ts';
import { findEnvironment, insertEnvironment } from '../db/environment-record.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { storeDefaultPolicies } from '../operators/policies.ts';
import {
  followKeys,
  holdKeys,
  indexContext,
  type KeyFollower,
  openIndexKey,
  readKeys,
  storeFirstKeys,
} from './environment-keys.ts';
import { createKeyFile, openMasterKeys, placeMasterKey } from './master-keys.ts';

export type OpenedKeys = { readonly keys: KeyRing; readonly follower: KeyFollower };

/**
 * Opens the key ring. The first start records in the database which master key belongs to it. `onUnread`:
 * the keys could not be read again, as while the database is away, or without the newest master key.
 */
export async function openKeyRing(
  db: Database,
  {
    config,
    name,
    onUnread = () => undefined,
  }: { config: Config; name: EnvironmentName; onUnread?: (error: unknown) => void },
): Promise<OpenedKeys> {
  const stored = await findEnvironment(db.system);
  if (stored !== undefined && stored.name !== name) {
    throw new ConfigError(`the database configured for ${name} belongs to ${stored.name}`);
  }
  const source = placeMasterKey(config, name);
  if (source.kind === 'file' && stored === undefined && !existsSync(source.file)) {
    createKeyFile(source.file);
  }
  const nowMs = () => performance.now();
  const masters = openMasterKeys(source, nowMs);
  try {
    if (stored === undefined) await storeKeys(db, masters, name);
    const index = openIndexKey(masters, (await getEnvironment(db.system)).index_key);
    const follower = await followKeys(db.system, masters, { index, nowMs, onUnread });
    const keys = createKeyRing(masters, follower);
    if (stored === undefined) await storeDefaultPolicies({ session: db.system, keys }, name);
    return { keys, follower };
  } catch (cause) {
    if (!(cause instanceof MissingMasterKey)) throw cause;
    throw new ConfigError(
      `the master key of ${name} is not the one of its database: set ${source.variable} or restore ${source.file}`,
      { cause },
    );
  }
}

/** Of several processes that start a new environment, the first one's keys count. */
async function storeKeys(db: Database, masters: MasterKeys, name: EnvironmentName): Promise<void> {
  await db.systemTransaction(async (session) => {
    const master_key_id = masters.list()[0]?.id ?? '';
    const index_key = wrapKey(masters, newDataKey(), indexContext);
    await insertEnvironment(session, { name, master_key_id, index_key });
    const now = await readKeyClock(session);
    await storeFirstKeys(session, masters, { environment: name, now });
  });
}

/** The ring as the database has it now, for a command that ends soon. @throws MissingMasterKey. */
export async function readKeyRing(session: Session, masters: MasterKeys): Promise<KeyRing> {
  const { index_key: wrapped } = await getEnvironment(session);
  const index = openIndexKey(masters, wrapped);
  return createKeyRing(masters, holdKeys(await readKeys(session, masters), index));
}

async function getEnvironment(session: Session) {
  const stored = await findEnvironment(session);
  if (stored === undefined) throw new MissingMasterKey('the database has no environment');
  return stored;
}
