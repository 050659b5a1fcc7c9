import type { Session } from '../db/postgres/pool.ts';

/** Dry runs: `Prefer: dry-run` (RFC 7240) asks what a request would do, without doing it. */

export const dryRunPreference = 'dry-run';

export function prefersDryRun(header: string | string[] | undefined): boolean {
  const preferences = Array.isArray(header) ? header.join(',') : (header ?? '');
  return preferences
    .split(',')
    .some(
      (preference) => /^[^;=]*/.exec(preference)?.[0].trim().toLowerCase() === dryRunPreference,
    );
}

class DryRunEnd extends Error {}

/** Runs `work` in a transaction that is rolled back in any case. */
export async function runDry<T>(
  transact: (work: (session: Session) => Promise<never>) => Promise<never>,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  let results: [T] | undefined;
  try {
    return await transact(async (session) => {
      results = [await work(session)];
      throw new DryRunEnd();
    });
  } catch (error) {
    if (error instanceof DryRunEnd && results !== undefined) return results[0];
    throw error;
  }
}
