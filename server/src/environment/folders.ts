import { join } from 'node:path';
import { type Config, ConfigError, type Role } from '../config.ts';
import { requireWritable } from '../db/make-folder.ts';

/** Folders that settings name, beside that of the data, which the databases make. */

export function placeCheckpoints(config: Config): string {
  return config.OUTLAY_CHECKPOINTS ?? join(config.OUTLAY_DATA, 'checkpoints');
}

export function placeErasures(config: Config): string {
  return config.OUTLAY_ERASURES ?? join(config.OUTLAY_DATA, 'erasures');
}

/**
 * At the start, not when the first checkpoint or erasure is written hours later.
 *
 * @throws ConfigError that names the setting.
 */
export function requireFolders(config: Config, role: Role): void {
  // Only background work signs.
  if (role !== 'serve') requireFolder('OUTLAY_CHECKPOINTS', config.OUTLAY_CHECKPOINTS);
  requireFolder('OUTLAY_ERASURES', config.OUTLAY_ERASURES);
}

function requireFolder(setting: string, folder: string | undefined): void {
  if (folder === undefined) return;
  try {
    requireWritable(folder);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigError(`${setting} must be a folder that the service can write to: ${reason}`, {
      cause,
    });
  }
}
