import pg from 'pg';

/** How connections to the database are set up and used; `pool.ts` and `lane.ts` share them out. */

/** A statement with the name under which each connection prepares it once. */
export type Statement = {
  readonly name: string;
  readonly text: string;
  /** For the few that read everything; the others have half a minute. */
  readonly answerMsMax?: number;
};

export type Session = {
  /** Integers of 64 bits decode as bigint, timestamptz as Date, bytea as Buffer. */
  rows<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
};

export type ConnectionOptions = {
  url: string;
  /** Told of the loss of an idle connection; the next statement opens a new one. */
  onConnectionLost?: (error: Error) => void;
};

/**
 * Every statement finds its rows through an index whatever its parameters are, so that one plan
 * serves all of them; planning anew costs several times what most of them cost to run, and so does
 * starting helpers, which a plan for an unknown limit wants. Nobody waits for a lock for longer than
 * a client would.
 */
export const planning = `set plan_cache_mode = force_generic_plan; set jit = off;
  set enable_seqscan = off; set max_parallel_workers_per_gather = 0; set lock_timeout = 5000`;

/**
 * A plan is kept for so long: one that was made while a table was small may choose an index by which
 * it reads all of an account's rows once there are many.
 */
const planMsMax = 5_000;
const plannedAtMs = new WeakMap<pg.ClientBase, number>();

/** Whether the client's plans are due to be made anew; the caller then sends `discardPlans`. */
export function arePlansOld(client: pg.ClientBase): boolean {
  const nowMs = performance.now();
  if (nowMs - (plannedAtMs.get(client) ?? Number.NEGATIVE_INFINITY) < planMsMax) return false;
  plannedAtMs.set(client, nowMs);
  return true;
}

/** Statistics for tables that have none yet: a plan without any may be as bad as an old one. */
export const analyzeNewTables: Statement = {
  name: 'analyze_new_tables',
  text: 'select analyze_new_tables()',
};

export const discardPlans = 'discard plans';

const decodeBigint = (text: string): bigint => BigInt(text);
const types: pg.CustomTypesConfig = {
  getTypeParser: (id: number, format?: string): unknown =>
    id === pg.types.builtins.INT8 && format !== 'binary'
      ? decodeBigint
      : pg.types.getTypeParser(id, format === 'binary' ? 'binary' : 'text'),
};

const statementMsMax = 30_000;
/**
 * The server ends a statement by itself before that. Where no answer has come by then, none will: a
 * network that swallows what is sent would otherwise keep the commits of an account waiting for ever.
 */
const answerMsMax = statementMsMax + 5_000;

export function describeConnection(url: string): pg.ClientConfig {
  return {
    connectionString: url,
    types,
    application_name: 'outlay',
    connectionTimeoutMillis: 10_000,
    statement_timeout: statementMsMax,
    query_timeout: answerMsMax,
    keepAlive: true,
    idle_in_transaction_session_timeout: 30_000,
  };
}

/** The driver's way to say that no answer has come. */
export function isUnanswered(error: unknown): error is Error {
  return error instanceof Error && error.message === 'Query read timeout';
}

/** Whether nobody must use the connection again after this error. */
export function breaksConnection(error: unknown): error is Error {
  return (error instanceof pg.DatabaseError && error.severity === 'FATAL') || isUnanswered(error);
}

export async function run<Row>(
  client: pg.ClientBase,
  statement: Statement,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const { name, text, answerMsMax: query_timeout } = statement;
  const result = await client.query({
    name,
    text,
    values: values as unknown[],
    ...(query_timeout === undefined ? {} : { query_timeout }),
  });
  return result.rows as Row[];
}

/**
 * SQLSTATEs after which the same transaction may simply be run again: it left nothing behind. The
 * last one: the statement before it in a lane, which had prepared it for both, failed.
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
 * Whether a transaction may be run again. Where the clock of the sandbox has just jumped, a statement
 * may see the new time an instant before it hears of the new month's partition.
 */
function isRetryable(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  return retryableStates.has(error.code ?? '') || error.routine === 'ExecFindPartition';
}

/** The SQLSTATE of a database error, or undefined for any other error. */
export function findSqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** The constraint that a database error names (a unique key, a check), or undefined. */
export function findConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.constraint : undefined;
}
