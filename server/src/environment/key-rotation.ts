import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '../config.ts';
import { createKeyRing, rootContext, wrapKey } from '../core/sealing.ts';
import { findEnvironment, replaceMasterKey } from '../db/environment-record.ts';
import { countWrappedKeys, rewrapUserKeys } from '../users/user-keys.ts';
import type { Foundation } from './foundation.ts';
import { openRootKey } from './key.ts';
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

export type MasterKeyUse = { master_key: string; is_newest: boolean; users: number };

export async function rotateMasterKey(base: Base) {
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
    // Until every process on this machine wraps with it.
    await sleep(2 * refreshMs);
  }
  const masters = decodeKeys(encoded);
  const ring = { list: () => masters };
  const root = await openRootKey(db.system, ring);
  const keys = createKeyRing(ring, root);
  const rewrapped = await rewrapUserKeys({ db, keys });
  await replaceMasterKey(db.system, {
    master_key_id: keys.masterKeyId,
    root_key: wrapKey(ring, root, rootContext),
  });
  // Of users that were created in the meantime.
  const later = await rewrapUserKeys({ db, keys });
  return { result: 'done', users_rewrapped: rewrapped + later, keys: await listMasterKeys(base) };
}

/** The master keys that this process knows or the database needs, and how many users' keys they wrap. */
export async function listMasterKeys({ config, name, db }: Base): Promise<MasterKeyUse[]> {
  const [newest, ...older] = decodeKeys(readEncodedKeys(placeMasterKey(config, name)));
  const counts = await countWrappedKeys(db.system);
  const used = new Map(counts.map(({ master_key: id, users }) => [id, users]));
  const ids = new Set([newest?.id ?? '', ...older.map(({ id }) => id), ...used.keys()]);
  return [...ids].map((id) => ({
    master_key: id,
    is_newest: id === newest?.id,
    users: used.get(id) ?? 0,
  }));
}

/** Removes all but the newest key from the file. @throws ConfigError while data needs an older one. */
export async function removeOldKeys(base: Base) {
  const { config, name, db } = base;
  const source = placeMasterKey(config, name);
  const [newest, ...older] = await listMasterKeys(base);
  const needed = older.filter(({ users }) => users > 0);
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
