import { join } from 'node:path';
import { ConfigError } from '../config.ts';
import { type ErasureServices, reapplyErasures } from '../erasure/erasure.ts';
import { TombstoneError } from '../erasure/tombstones.ts';
import { placeErasures } from './folders.ts';
import type { Foundation } from './foundation.ts';

type Base = Pick<Foundation, 'config' | 'name' | 'db' | 'keys'>;

/** What erases users, and where erasures are noted outside of the database. */
export function openErasures({ config, name, db, keys }: Base): ErasureServices {
  const tombstones = {
    file: join(placeErasures(config), `${name}.jsonl`),
    environment: name,
    keys,
  };
  return { db, keys, tombstones };
}

/**
 * Erases again what a restore brought back; before the service opens.
 *
 * @throws ConfigError where the list of erasures cannot be trusted.
 */
export async function restoreErasures(base: Base & Pick<Foundation, 'log'>): Promise<void> {
  try {
    const waiting = await reapplyErasures(openErasures(base));
    if (waiting > 0)
      base.log.warn({ count: waiting }, 'erased users wait for their payouts to end');
  } catch (error) {
    if (!(error instanceof TombstoneError)) throw error;
    throw new ConfigError(`${base.name}: ${error.message}`, { cause: error });
  }
}
