import pg from 'pg';
import { z } from 'zod';
import { findRecorded, runInSpan, type Tracing } from '../../tracing/tracing.ts';
import { bindAccount, queryBound, tenantRole } from './bound-query.ts';
import { parseDatabaseUrl } from './database-url.ts';

/** Opens and uses connections to the database, for pools and lanes. */

/** A statement with the name under which each connection prepares it once. */
export type Statement = {
  readonly name: string;
  readonly text: string;
  /** For statements that read whole tables; the default is half a minute. */
  readonly answerMsMax?: number;
};

export type QueryAnswer = {
  /** Integers of 64 bits decode as bigint, timestamptz as Date, bytea as Buffer. */
  readonly rows: Record<string, unknown>[];
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
  /** Rows returned or changed. */
  readonly rowCount: number | null;
};

/** Where statements run. `db/rows.ts` reads their rows. */
export type Session = {
  query(statement: Statement, values?: readonly unknown[]): Promise<QueryAnswer>;
};

export function createSession(query: Session['query']): Session {
  return { query };
}

/**
 * Every statement uses an index whatever its parameters are, so one generic plan suffices. Planning
 * costs several times as much as running most of them, and so do parallel workers, which a plan for an
 * unknown limit would use.
 */
const planning = `set plan_cache_mode = force_generic_plan; set jit = off;
  set enable_seqscan = off; set max_parallel_workers_per_gather = 0`;

/**
 * A statement waits for a row for five seconds at most. The timeout applies to each lock, and waiting
 * for a row takes two: the tuple lock of the queue, then the transaction that holds the row.
 */
const rowMsMax = 5_000;
const lockMsMax = rowMsMax / 2;

/**
 * How long a plan is kept: one made while a table was small may choose an index that reads all rows of
 * an account later.
 */
const planMsMax = 5_000;
const plannedAtMs = new WeakMap<Connection, number>();

/** Whether the plans of the connection have expired; the caller then sends `discardPlans`. */
export function arePlansOld(connection: Connection): boolean {
  const nowMs = performance.now();
  if (nowMs - (plannedAtMs.get(connection) ?? Number.NEGATIVE_INFINITY) < planMsMax) return false;
  plannedAtMs.set(connection, nowMs);
  return true;
}

/** Collects statistics of new tables: a plan without any may be as bad as an old one. */
export const analyzeNewTables: Statement = {
  name: 'analyze_new_tables',
  text: 'select analyze_new_tables()',
};

export const discardPlans: Statement = { name: '', text: 'discard plans' };

const decodeBigint = (text: string): bigint => BigInt(text);
const types: pg.CustomTypesConfig = {
  getTypeParser: (id: number, format?: string): unknown =>
    id === pg.types.builtins.INT8 && format !== 'binary'
      ? decodeBigint
      : pg.types.getTypeParser(id, format === 'binary' ? 'binary' : 'text'),
};

/** Statement timeouts at the server, for requests and for background work. */
export const requestMsMax = 8_000;
export const backgroundMsMax = 30_000;
/** The client gives up so long after the statement timeout of the server. */
const answerMarginMs = 5_000;

/**
 * A connection that its pool may use. `unanswered` and `silentSinceMs` (of a clock that never jumps)
 * are what a search for dead connections goes by.
 */
export type Connection = {
  readonly client: pg.Client;
  /** The process that serves it, as `pg_stat_activity` names it. */
  readonly backend: { processId: number; startedAt: string };
  /** Statements that were sent and not answered yet. */
  unanswered: number;
  /** When the last answer came, or the first statement after it was sent. */
  silentSinceMs: number;
  /** Where statements of a recorded span begin one of their own. */
  readonly tracing?: Tracing | undefined;
};

export type OpenOptions = {
  /**
   * How long a single statement may take at the server. Without it, as for migrations, nothing is
   * bounded and the planner decides freely.
   */
  statementMsMax?: number;
  /** As whom the statements run; the role of the URL without it. */
  role?: string;
  isPipelined?: boolean;
};

/** Limits for one host to accept a connection, and for all of them together. */
const hostMsMax = 2_500;
export const openMsMax = 5_000;

/** Opens connections to the hosts of a URL, beginning with the one that answered last. */
export type Opener = {
  /** @throws what the last host answered, where none accepts a connection that may write. */
  open(options: OpenOptions, withinMs?: number): Promise<Connection>;
};

export function createOpener(url: string, tracing?: Tracing): Opener {
  const { hosts, mustBeWritable } = parseDatabaseUrl(url);
  let preferred = 0;
  return {
    open: async (options, withinMs = openMsMax) => {
      const endMs = performance.now() + withinMs;
      const first = preferred;
      let failure: unknown;
      for (const offset of hosts.keys()) {
        const index = (first + offset) % hosts.length;
        const leftMs = endMs - performance.now();
        if (leftMs <= 0) break;
        const timeoutMs = hosts.length === 1 ? leftMs : Math.min(leftMs, hostMsMax);
        try {
          const connection = await openOne(hosts[index] ?? '', {
            ...options,
            timeoutMs,
            mustBeWritable,
            tracing,
          });
          preferred = index;
          return connection;
        } catch (error) {
          failure = error;
        }
      }
      throw failure;
    },
  };
}

/** A server that accepts no writes: a standby, or a primary that was stepped down. */
export class ReadOnlyServer extends Error {
  readonly code = '25006';
  constructor() {
    super('the database server accepts no writes: it is a standby, or set to read only');
  }
}

async function openOne(
  connectionString: string,
  options: OpenOptions & {
    timeoutMs: number;
    mustBeWritable: boolean;
    tracing: Tracing | undefined;
  },
): Promise<Connection> {
  const { timeoutMs, statementMsMax, tracing } = options;
  const client = new pg.Client({
    connectionString,
    types,
    application_name: 'outlay',
    connectionTimeoutMillis: Math.ceil(timeoutMs),
    ...(statementMsMax === undefined ? {} : { query_timeout: statementMsMax + answerMarginMs }),
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    pipeline: options.isPipelined === true,
  });
  // The user of the connection gets the error; without a listener it would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const backend = await setUp(client, options);
    return { client, backend, unanswered: 0, silentSinceMs: performance.now(), tracing };
  } catch (error) {
    destroy(client);
    throw error;
  }
}

/** The kernel probes a silent peer after so long, and gives up ten seconds later. */
const keepAliveMs = 5_000;

/**
 * Settings are sent as statements, because poolers reject them in the startup packet.
 * `synchronous_commit` is raised if the server would acknowledge commits before writing them. The TCP
 * settings make the server detect a lost client and release its locks.
 */
function describeSetup({ statementMsMax }: OpenOptions): string {
  const bounds =
    statementMsMax === undefined
      ? ''
      : `${planning}; set lock_timeout = ${lockMsMax}; set statement_timeout = ${statementMsMax};
         set idle_in_transaction_session_timeout = 10000;`;
  return `${bounds}
    set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3;
    set tcp_user_timeout = 15000;
    select set_config('synchronous_commit', 'on', false)
    where current_setting('synchronous_commit') in ('off', 'local', 'remote_write');
    select pg_backend_pid() as process_id,
      (select extract(epoch from backend_start)::text from pg_stat_activity where pid = pg_backend_pid()) as started_at,
      pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as is_read_only`;
}

const setupRow = z.object({
  process_id: z.int(),
  started_at: z.string().nullable(),
  is_read_only: z.boolean(),
});

async function setUp(
  client: pg.Client,
  options: OpenOptions & { timeoutMs: number; mustBeWritable: boolean },
): Promise<Connection['backend']> {
  const query = { text: describeSetup(options), query_timeout: Math.ceil(options.timeoutMs) };
  // Of several statements the driver returns a list of results, which its types do not say.
  const results: unknown = await client.query(query);
  const last: unknown = Array.isArray(results) ? results.at(-1) : results;
  const { rows } = z.object({ rows: z.tuple([setupRow]) }).parse(last);
  const [row] = rows;
  if (row.is_read_only && options.mustBeWritable) throw new ReadOnlyServer();
  if (options.role !== undefined) await client.query(`set role ${options.role}`);
  if (options.role === tenantRole) await client.query({ ...bindAccount, values: [''] });
  return { processId: row.process_id, startedAt: row.started_at ?? '' };
}

/** Ends a connection at once; its unanswered statements fail. */
export function destroy(client: pg.Client): void {
  client.connection.stream.destroy();
}

/**
 * Sends a statement and counts it as unanswered until its answer has come. With `accountId`, it is bound
 * to that account.
 */
async function send(
  connection: Connection,
  query: pg.QueryConfig,
  accountId?: string,
): Promise<pg.QueryResult> {
  if (connection.unanswered === 0) connection.silentSinceMs = performance.now();
  connection.unanswered += 1;
  try {
    return accountId === undefined
      ? await connection.client.query(query)
      : await queryBound(connection.client, accountId, query);
  } finally {
    connection.unanswered -= 1;
    connection.silentSinceMs = performance.now();
  }
}

/** Runs a command without parameters and returns its command tag. */
export async function runPlain(connection: Connection, text: string): Promise<string> {
  return (await send(connection, { text })).command;
}

/** Whether the same server process still answers, within `withinMs`. */
export async function answers(connection: Connection, withinMs: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  // After a pause of this process, an answer that has arrived is read before the timer decides.
  const timer = setTimeout(() => setImmediate(() => setImmediate(() => resolve(false))), withinMs);
  const answered = send(connection, { text: 'select pg_backend_pid() as process_id' }).then(
    ({ rows: [row] }) =>
      (row as { process_id: number }).process_id === connection.backend.processId,
    () => false,
  );
  try {
    return await Promise.race([answered, late]);
  } finally {
    clearTimeout(timer);
  }
}

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

export const run = (
  connection: Connection,
  statement: Statement,
  values: readonly unknown[] = [],
): Promise<QueryAnswer> => runAs(connection, undefined, { statement, values });

/** Runs a statement for an account, to which its transaction is bound. */
export const runBound = (
  connection: Connection,
  accountId: string,
  command: { readonly statement: Statement; readonly values?: readonly unknown[] | undefined },
): Promise<QueryAnswer> => runAs(connection, accountId, command);

async function runAs(
  connection: Connection,
  accountId: string | undefined,
  {
    statement,
    values = [],
  }: { readonly statement: Statement; readonly values?: readonly unknown[] | undefined },
): Promise<QueryAnswer> {
  const { name, text, answerMsMax: query_timeout } = statement;
  const { tracing } = connection;
  const query = {
    name,
    text,
    values: values as unknown[],
    ...(query_timeout === undefined ? {} : { query_timeout }),
  };
  if (tracing === undefined || name === '' || findRecorded(tracing) === undefined) {
    return send(connection, query, accountId);
  }
  return runInSpan(tracing, { name, kind: 'client', attributes: ofDatabase }, () =>
    send(connection, query, accountId),
  );
}

const ofDatabase = { 'db.system.name': 'postgresql' };

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
    error.routine === 'ExecFindPartition'
  );
}

/** A migration gave a table a column after this connection had prepared a statement that reads all. */
function isPlanOutdated(error: pg.DatabaseError): boolean {
  return error.code === '0A000' && error.routine === 'RevalidateCachedQuery';
}

/** The SQLSTATE of a database error, or undefined for any other error. */
export function findSqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** The constraint that a database error names (a unique key, a check), or undefined. */
export function findConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.constraint : undefined;
}
