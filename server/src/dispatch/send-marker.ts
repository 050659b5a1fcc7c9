import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EnvironmentName } from '../core/access.ts';
import type { Database } from '../db/postgres/pool.ts';
import { advanceSendMarker, readSendMarker } from './recovery.sql.ts';

/**
 * A counter in the database and in a file beside it. It advances at most once a second, before payouts
 * are sent, so that a file ahead of the database shows that the database was restored to an earlier
 * moment.
 */
export type SendMarker = {
  advance(): Promise<void>;
  /** How far the file is ahead of the database; 0 or less if nothing is missing. */
  findLead(): Promise<number>;
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
  const write = (marker: bigint): void => {
    const draft = `${path}.${process.pid}`;
    writeFileSync(draft, `${marker}\n`, { mode: 0o600 });
    renameSync(draft, path);
  };
  return {
    advance: async () => {
      if (steadyMs() - advancedAtMs < intervalMs) return;
      advancedAtMs = steadyMs();
      write(await advanceSendMarker(db.system));
    },
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
