import { AppError } from '../core/errors.ts';
import { readMigrations } from './migrate.ts';
import type { Session, Statement } from './postgres/pool.ts';

/**
 * Notices that a newer release has migrated the database. Its functions and columns may differ from
 * what this release calls, so that this process takes no more work from then on.
 */

export type SchemaVersion = {
  isOutdated(): boolean;
  /** Looks now; does not throw. Answers whether this release is too old for the database. */
  check(): Promise<boolean>;
  stop(): void;
};

const selectVersion: Statement = {
  name: 'select_schema_version',
  text: 'select coalesce(max(version), 0) as version from migrations',
};

const checkEveryMs = 1_000;

export async function watchSchemaVersion(
  session: Session,
  onOutdated: () => void,
): Promise<SchemaVersion> {
  const known = (await readMigrations()).at(-1)?.version ?? 0;
  let isOutdated = false;
  let checking: Promise<boolean> | undefined;
  const look = async (): Promise<boolean> => {
    try {
      const [row] = await session.rows<{ version: number }>(selectVersion);
      if (!isOutdated && (row?.version ?? 0) > known) {
        isOutdated = true;
        onOutdated();
      }
    } catch {
      // A database that does not answer is found out by whoever needs it.
    }
    return isOutdated;
  };
  const check = (): Promise<boolean> => {
    checking ??= look().finally(() => {
      checking = undefined;
    });
    return checking;
  };
  const timer = setInterval(() => void check(), checkEveryMs);
  timer.unref();
  return { isOutdated: () => isOutdated, check, stop: () => clearInterval(timer) };
}

/** What clients and load balancers are told by a process that is too old for its database. */
export function createOutdatedError(): AppError {
  return new AppError(
    'unavailable',
    'A newer release has migrated the database. This process must be replaced by that release.',
    { retryAfterSeconds: 2 },
  );
}
