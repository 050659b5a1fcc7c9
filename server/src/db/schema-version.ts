import { AppError } from '../core/errors.ts';
import { readMigrations } from './migrate.ts';
import type { Session } from './postgres/pool.ts';
import { column, defineQuery, one } from './rows.ts';

/**
 * Detects that a newer release has migrated the database beyond what this one works with. A migration
 * says beside which older schemas it works; processes of those continue, so that releases can be replaced
 * one process at a time. Older ones take no more work from then on.
 */

export type SchemaVersion = {
  isOutdated(): boolean;
  /** Reads the version; never throws. Returns whether this release is too old for the database. */
  check(): Promise<boolean>;
  stop(): void;
};

const selectVersion = defineQuery({
  name: 'select_schema_version',
  text: 'select coalesce(max(works_beside), 0) as works_beside from migrations',
  columns: { works_beside: column.integer },
});

const checkEveryMs = 1_000;

export async function watchSchemaVersion(
  session: Session,
  onOutdated: () => void,
): Promise<SchemaVersion> {
  const known = (await readMigrations()).at(-1)?.version ?? 0;
  let isOutdated = false;
  let checking: Promise<boolean> | undefined;
  const readVersion = async (): Promise<boolean> => {
    try {
      const { works_beside: oldest } = await one(session, selectVersion);
      if (!isOutdated && oldest > known) {
        isOutdated = true;
        onOutdated();
      }
    } catch {
      // Those who need the database handle its failures.
    }
    return isOutdated;
  };
  const check = (): Promise<boolean> => {
    checking ??= readVersion().finally(() => {
      checking = undefined;
    });
    return checking;
  };
  const timer = setInterval(() => void check(), checkEveryMs);
  timer.unref();
  return { isOutdated: () => isOutdated, check, stop: () => clearInterval(timer) };
}

export function createOutdatedError(): AppError {
  return new AppError(
    'unavailable',
    'A newer release has migrated the database. This process must be replaced by that release.',
    { retryAfterSeconds: 2 },
  );
}
