import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '../config.ts';
import { type MasterKeys, readWrappingId, wrapKey } from '../core/sealing.ts';
import { lockKeys, rewrapKeys, selectKeys } from '../db/environment-key-rows.ts';
import { findEnvironment, replaceMasterKey } from '../db/environment-record.ts';
import type { Session } from '../db/postgres/pool.ts';
import { countWrappedKeys, rewrapUserKeys } from '../users/user-keys.ts';
import { indexContext, openIndexKey, unwrapSecrets, wrapSecrets } from './environment-keys.ts';
import type { Foundation } from './foundation.ts';
import { readKeyRing } from './key.ts';
import {
  decodeKeys,
  placeMasterKey,
  readEncodedKeys,
  refreshMs,
  writeKeyFile,
} from './master-keys.ts';

/**
 * Replaces the master key while the service runs: every key that the old one wraps is wrapped with the
 * new one, a portion at a time. Sealed data stays as it is. A rotation that ended half-way is completed
 * by the next one.
 */

type Base = Pick<Foundation, 'config' | 'name' | 'db'>;

export type MasterKeyUse = {
  master_key: string;
  is_newest: boolean;
  users: number;
  /** Keys of the environment: of its index, and three of each generation. */
  environment_keys: number;
};

/** How long another process on this machine may wrap with the key that was the newest one before. */
const usualTimes = { pauseMs: 2 * refreshMs };

export async function rotateMasterKey(base: Base, times = usualTimes) {
  const { config, name, db } = base;
  const source = placeMasterKey(config, name);
  const stored = await findEnvironment(db.system);
  let encoded = readEncodedKeys(source);
  if (decodeKeys(encoded)[0]?.id === stored?.master_key_id) {
    if (source.kind !== 'file') {
      throw new ConfigError(
        `${source.place} has no newer key: put one before the present key, restart every process, then rotate`,
      );
    }
    encoded = [randomBytes(32).toString('base64'), ...encoded];
    writeKeyFile(source.file, encoded);
    await sleep(times.pauseMs);
  }
  const masters = decodeKeys(encoded);
  const ring = { list: () => masters };
  const keys = await readKeyRing(db.system, ring);
  const rewrapped = await rewrapUserKeys({ db, keys });
  await rewrapEnvironmentKeys(db, ring);
  // Of users that were created in the meantime.
  const later = await rewrapUserKeys({ db, keys });
  return { result: 'done', users_rewrapped: rewrapped + later, keys: await listMasterKeys(base) };
}

/** The index key, and each generation of the others. */
async function rewrapEnvironmentKeys(db: Base['db'], masters: MasterKeys): Promise<void> {
  await db.systemTransaction(async (session) => {
    await lockKeys(session);
    const stored = await findEnvironment(session);
    if (stored === undefined) throw new Error('impossible: the environment was read before');
    const index = openIndexKey(masters, stored.index_key).export();
    for (const row of await selectKeys(session)) {
      if (row.destroyed_at !== null) continue;
      const secrets = unwrapSecrets(masters, row);
      await rewrapKeys(session, wrapSecrets(masters, row.generation, secrets));
    }
    await replaceMasterKey(session, {
      master_key_id: masters.list()[0]?.id ?? '',
      index_key: wrapKey(masters, index, indexContext),
    });
  });
}

/** The master keys that this process knows or the database needs, and how many users' keys they wrap. */
export async function listMasterKeys({ config, name, db }: Base): Promise<MasterKeyUse[]> {
  const [newest, ...older] = decodeKeys(readEncodedKeys(placeMasterKey(config, name)));
  const counts = await countWrappedKeys(db.system);
  const used = new Map(counts.map(({ master_key: id, users }) => [id, users]));
  const wrapping = await listWrappingIds(db.system);
  const known = [newest?.id ?? '', ...older.map(({ id }) => id)];
  return [...new Set([...known, ...used.keys(), ...wrapping])].map((id) => ({
    master_key: id,
    is_newest: id === newest?.id,
    users: used.get(id) ?? 0,
    environment_keys: wrapping.filter((each) => each === id).length,
  }));
}

async function listWrappingIds(session: Session): Promise<string[]> {
  const stored = await findEnvironment(session);
  const generations = (await selectKeys(session)).flatMap((row) =>
    row.destroyed_at === null ? [row.sealing_key, row.authentication_key, row.signing_key] : [],
  );
  return [...(stored === undefined ? [] : [stored.index_key]), ...generations].map(readWrappingId);
}

/** Removes all but the newest key from the file. @throws ConfigError while data needs an older one. */
export async function removeOldKeys(base: Base) {
  const { config, name, db } = base;
  const source = placeMasterKey(config, name);
  const [newest, ...older] = await listMasterKeys(base);
  const needed = older.filter((key) => key.users + key.environment_keys > 0);
  const stored = await findEnvironment(db.system);
  if (needed.length > 0 || stored?.master_key_id !== newest?.master_key) {
    throw new ConfigError('an older master key is still needed: run key rotate to its end first');
  }
  if (source.kind !== 'file') {
    return { result: `nothing needs them: remove them from ${source.place}`, older };
  }
  writeKeyFile(source.file, readEncodedKeys(source).slice(0, 1));
  return { result: 'done', older };
}
