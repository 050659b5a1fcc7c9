import pg from 'pg';

/** What an error of the database means: for its connection, its transaction and its caller. */

/** Whether it is the driver's timeout error. */
export function isUnanswered(error: unknown): error is Error {
  return error instanceof Error && error.message === 'Query read timeout';
}

/**
 * Whether the connection must not be used again after this error. A former primary keeps its
 * connections but accepts no writes, which the new primary does.
 */
export function breaksConnection(error: unknown): error is Error {
  if (!(error instanceof pg.DatabaseError)) return isUnanswered(error);
  if (isPlanOutdated(error)) return true;
  return error.severity === 'FATAL' || error.code === '25006';
}

/**
 * SQLSTATEs after which the transaction can be repeated, because it was rolled back. 26000: the statement
 * before it in a lane, which was to prepare it for both, failed.
 */
const retryableStates = new Set(['40001', '40P01', '26000']);
const transactionTriesMax = 4;

export async function retry<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (tries === transactionTriesMax || !isRetryable(error)) throw error;
    }
  }
}

/**
 * Whether a transaction may be repeated. Just after the sandbox moved its clock, a statement may see the
 * new time before the partition of the new month.
 */
function isRetryable(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  return (
    retryableStates.has(error.code ?? '') ||
    isPlanOutdated(error) ||
    isNameTaken(error) ||
    error.routine === 'ExecFindPartition'
  );
}

/** A migration gave a table a column after this connection had prepared a statement that reads all. */
export function isPlanOutdated(error: pg.DatabaseError): boolean {
  return error.code === '0A000' && error.routine === 'RevalidateCachedQuery';
}

/**
 * PgBouncer remembers a statement whose preparation failed, or was skipped because what precedes it
 * failed. It closes the connection when the name is prepared again, and passes nothing on.
 */
const isNameTaken = (error: pg.DatabaseError): boolean =>
  error.code === '08P01' && error.message === 'prepared statement name is already in use';

/** The SQLSTATE of a database error, or undefined for any other error. */
export function findSqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** The constraint that a database error names (a unique key, a check), or undefined. */
export function findConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.constraint : undefined;
}
