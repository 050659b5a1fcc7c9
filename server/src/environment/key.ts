import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Config, ConfigError } from '../config.ts';
import type { EnvironmentName } from '../core/access.ts';
import { createKeyRing, type KeyRing } from '../core/sealing.ts';
import { findEnvironment, insertEnvironment } from '../db/environment-record.ts';
import type { Database } from '../db/postgres/pool.ts';
import { storeDefaultPolicies } from '../operators/policies.ts';

/** The master key of an environment: from a setting, or from a file in the data folder. */

/** Opens the key ring. The first start records in the database which master key belongs to it. */
export async function openKeyRing(
  db: Database,
  { config, name }: { config: Config; name: EnvironmentName },
): Promise<KeyRing> {
  const stored = await findEnvironment(db.system);
  if (stored !== undefined && stored.name !== name) {
    throw new ConfigError(`the database configured for ${name} belongs to ${stored.name}`);
  }
  const { variable, file, given } = placeMasterKey(config, name);
  const encoded = given ?? readKeyFile(file, { mayCreate: stored === undefined, variable });
  const masterKey = Buffer.from(encoded, 'base64');
  if (masterKey.length !== 32) throw new ConfigError(`${file} must hold 32 bytes in Base64`);
  const keys = createKeyRing(masterKey);
  if (stored === undefined) {
    await storeDefaultPolicies({ session: db.system, keys }, name);
    await insertEnvironment(db.system, { name, master_key_id: keys.masterKeyId });
  }
  const agreed = await findEnvironment(db.system);
  if (agreed?.master_key_id !== keys.masterKeyId) {
    throw new ConfigError(
      `the master key of ${name} is not the one of its database: set ${variable} or restore ${file}`,
    );
  }
  return keys;
}

/** Where the master key is. The setting takes precedence over the file. */
export function placeMasterKey(config: Config, name: EnvironmentName) {
  const variable = name === 'live' ? 'OUTLAY_LIVE_MASTER_KEY' : 'OUTLAY_MASTER_KEY';
  return {
    variable,
    file: join(config.OUTLAY_DATA, `${name}.key`),
    given: config[variable],
  } as const;
}

function readKeyFile(file: string, options: { mayCreate: boolean; variable: string }): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    if (!options.mayCreate) {
      throw new ConfigError(
        `the master key is missing: set ${options.variable} or restore ${file}`,
        {
          cause,
        },
      );
    }
  }
  const encoded = randomBytes(32).toString('base64');
  mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
  // The key is on disk before the database records it, because without it all personal data is
  // lost. Of several processes, the first one's key wins.
  const draft = `${file}.${process.pid}`;
  const descriptor = openSync(draft, 'wx', 0o600);
  writeSync(descriptor, `${encoded}\n`);
  fsyncSync(descriptor);
  closeSync(descriptor);
  try {
    linkSync(draft, file);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  unlinkSync(draft);
  const folder = openSync(join(file, '..'), 'r');
  fsyncSync(folder);
  closeSync(folder);
  return readFileSync(file, 'utf8').trim();
}
