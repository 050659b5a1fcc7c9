import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EnvironmentName } from '../core/access.ts';
import type { Database } from '../db/postgres/pool.ts';
import { advanceSendMarker, raiseSendMarker, readSendMarker } from './recovery.sql.ts';

/**
 * A counter in the database and in a file beside it. It advances at most once a second, before payouts
 * are sent, so that a file ahead of the database shows that the database was restored to an earlier
 * moment.
 */
export type SendMarker = {
  /** @throws Error where the file is ahead of the database, or cannot be written. */
  advance(): Promise<void>;
  /** Advances where that failed the last time. It comes before a claim, which would be in vain. */
  retryAdvance(): Promise<void>;
  isFailing(): boolean;
  /** How far the file is ahead of the database; 0 or less if nothing is missing. */
  findLead(): Promise<number>;
  /** As `findLead`; writes the value of the database to the file where it is not behind. */
  follow(): Promise<number>;
  /** Advances the database to the file, when a recovery has begun because of it. */
  raise(): Promise<void>;
  /** Writes the value of the database to the file, after a recovery. */
  reset(): Promise<void>;
};

const intervalMs = 1000;

export function createSendMarker(options: {
  db: Database;
  environmentName: EnvironmentName;
  dataDirectory: string;
  steadyMs: () => number;
}): SendMarker {
  const { db, environmentName, dataDirectory, steadyMs } = options;
  const path = join(dataDirectory, `${environmentName}.marker`);
  let advancedAtMs = Number.NEGATIVE_INFINITY;
  let isFailing = false;
  const write = (marker: bigint): void => {
    const draft = `${path}.${process.pid}`;
    writeFileSync(draft, `${marker}\n`, { mode: 0o600 });
    renameSync(draft, path);
  };
  const advance = async (): Promise<void> => {
    // The file first: another process may advance both in between.
    const file = readFile(path);
    const stored = await advanceSendMarker(db.system, file);
    if (stored === undefined) {
      throw new Error('the marker file is ahead: the database was restored while this process ran');
    }
    write(stored);
  };
  const advanceWhenDue = async (): Promise<void> => {
    if (steadyMs() - advancedAtMs < intervalMs) return;
    try {
      await advance();
      advancedAtMs = steadyMs();
      isFailing = false;
    } catch (error) {
      isFailing = true;
      throw error;
    }
  };
  return {
    advance: advanceWhenDue,
    retryAdvance: async () => {
      if (isFailing) await advanceWhenDue();
    },
    isFailing: () => isFailing,
    follow: async () => {
      // The file first: another process may advance both in between.
      const file = readFile(path);
      const stored = await readSendMarker(db.system);
      if (stored > file) write(stored);
      return Number(file - stored);
    },
    raise: async () => raiseSendMarker(db.system, readFile(path)),
    findLead: async () => Number(readFile(path) - (await readSendMarker(db.system))),
    reset: async () => write(await readSendMarker(db.system)),
  };
}

function readFile(path: string): bigint {
  try {
    const text = readFileSync(path, 'utf8').trim();
    return /^\d{1,18}$/.test(text) ? BigInt(text) : 0n;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0n;
    throw error;
  }
}
