import pg from 'pg';
import { findRecorded, runInSpan, type Tracing } from '../../tracing/tracing.ts';
import { bindAccount, queryBound, tenantRole } from './bound-query.ts';
import { type Setup, type SetupOptions, setUp } from './connection-setup.ts';
import { parseDatabaseUrl } from './database-url.ts';
import { findSqlState, isPlanOutdated } from './errors.ts';
import { explainUnheld, type IndexKeyHold, IndexKeyUnheld } from './index-key-hold.ts';
import { diskFull } from './server-faults.ts';
import {
  type Edition,
  markStatement,
  type Pooling,
  renewEdition,
  type SettingOptions,
} from './session-settings.ts';

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
export type Connection = Setup & {
  readonly client: pg.Client;
  /** Statements that were sent and not answered yet. */
  unanswered: number;
  /** When the last answer came, or the first statement after it was sent. */
  silentSinceMs: number;
  /** Where statements of a recorded span begin one of their own. */
  readonly tracing?: Tracing | undefined;
  readonly health: ServerHealth;
};

/** What the statements of all connections of an opener have met. */
export type ServerHealth = {
  /** When the server last had no disk space left for a statement, by a clock that never jumps. */
  diskFullAtMs: number | undefined;
};

export type OpenOptions = SettingOptions & { readonly isPipelined?: boolean };

/** Limits for one host to accept a connection, and for all of them together. */
const hostMsMax = 2_500;
export const openMsMax = 5_000;

/** Opens connections to the hosts of a URL, beginning with the one that answered last. */
export type Opener = {
  /** @throws what the last host answered, where none accepts a connection that may write. */
  open(options: OpenOptions, withinMs?: number): Promise<Connection>;
  /** Ends a connection that nothing uses. */
  end(connection: Connection): Promise<void>;
  readonly health: ServerHealth;
};

export type OpenerOptions = {
  readonly tracing?: Tracing | undefined;
  readonly pooling?: Pooling;
  /** Of a process that uses the index key: what its connections hold. */
  readonly indexKey?: IndexKeyHold | undefined;
  /** How the server's views name its connections; `outlay` without it. */
  readonly processName?: string | undefined;
  /** As whom connections work that are opened for `outlay_service`; a reader's, for tenants too. */
  readonly serviceRole?: string;
};

export function createOpener(
  url: string,
  { tracing, pooling = 'session', serviceRole, indexKey, processName }: OpenerOptions = {},
): Opener {
  const { hosts, mustBeWritable } = parseDatabaseUrl(url);
  const edition: Edition = { mark: '' };
  const health: ServerHealth = { diskFullAtMs: undefined };
  let preferred = 0;
  return {
    health,
    end: ({ client }) => client.end(),
    open: async (given, withinMs = openMsMax) => {
      const isNarrowed =
        given.role === 'outlay_service' ||
        (given.role === tenantRole && serviceRole === 'outlay_reader');
      const options =
        isNarrowed && serviceRole !== undefined ? { ...given, role: serviceRole } : given;
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
            pooling,
            edition,
            indexKey,
            processName,
            health,
          });
          preferred = index;
          return connection;
        } catch (error) {
          // Of the server that accepts writes: the others have nothing to add.
          if (error instanceof IndexKeyUnheld) throw error;
          failure = error;
        }
      }
      throw failure;
    },
  };
}

async function openOne(
  connectionString: string,
  options: OpenOptions &
    SetupOptions &
    Pick<Connection, 'tracing' | 'health'> & { processName: string | undefined },
): Promise<Connection> {
  const { timeoutMs, statementMsMax, tracing, health, processName = 'outlay' } = options;
  const client = new pg.Client({
    connectionString,
    types,
    application_name: processName,
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
    const state = await setUp(client, options);
    const silentSinceMs = performance.now();
    return { client, ...state, unanswered: 0, silentSinceMs, tracing, health };
  } catch (error) {
    destroy(client);
    throw error;
  }
}

/** The kernel probes a silent peer after so long, and gives up ten seconds later. */
const keepAliveMs = 5_000;

/** Ends a connection at once; its unanswered statements fail. */
export function destroy(client: pg.Client): void {
  client.connection.stream.destroy();
}

/**
 * Sends a statement. With `accountId`, it is bound to that account; behind a pooler by transaction, the
 * settings of its transaction precede it.
 */
async function send(
  connection: Connection,
  query: pg.QueryConfig & { text: string },
  accountId?: string,
): Promise<pg.QueryResult> {
  const { client, settings, hold } = connection;
  if (settings === undefined) {
    return count(connection, () =>
      accountId === undefined
        ? client.query(query)
        : queryBound(client, { preceding: bindAccount, accountId }, query),
    );
  }
  const { edition, statement: preceding } = settings;
  const { mark } = edition;
  const marked = markStatement(query, edition);
  const isPreceded = accountId !== undefined || isAlone(client);
  try {
    return await count(connection, () =>
      isPreceded
        ? queryBound(
            client,
            { preceding, accountId: accountId ?? '', hold: hold?.statement },
            marked,
          )
        : client.query(marked),
    );
  } catch (error) {
    if (error instanceof pg.DatabaseError && isPlanOutdated(error)) renewEdition(edition, mark);
    throw hold === undefined ? error : explainUnheld(hold, error);
  }
}

/** Counts a statement as unanswered until its answer has come. */
async function count<T>(connection: Connection, ask: () => Promise<T>): Promise<T> {
  if (connection.unanswered === 0) connection.silentSinceMs = performance.now();
  connection.unanswered += 1;
  try {
    return await ask();
  } catch (error) {
    if (findSqlState(error) === diskFull) connection.health.diskFullAtMs = performance.now();
    throw error;
  } finally {
    connection.unanswered -= 1;
    connection.silentSinceMs = performance.now();
  }
}

/** Whether a statement that is sent now is a transaction of its own. */
const isAlone = (client: pg.Client): boolean => client.getTransactionStatus() === 'I';

export async function begin(connection: Connection): Promise<void> {
  await runPlain(connection, connection.settings?.begin ?? 'begin');
}

/**
 * Holds the index key until the end of the transaction that is about to be committed, where the connection
 * does not hold it: at its end, because a transaction chooses its isolation before its first query. What it
 * has written with another key is rolled back.
 */
export async function holdIndexKey(connection: Connection): Promise<void> {
  if (connection.hold !== undefined) await send(connection, connection.hold.statement);
}

/** Runs a command without parameters and returns its command tag. */
export async function runPlain(connection: Connection, text: string): Promise<string> {
  const { client } = connection;
  return (await count(connection, () => client.query(text))).command;
}

/** Whether the same server process still answers, within `withinMs`. */
export async function answers(connection: Connection, withinMs: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  // After a pause of this process, an answer that has arrived is read before the timer decides.
  const timer = setTimeout(() => setImmediate(() => setImmediate(() => resolve(false))), withinMs);
  const answered = send(connection, { text: 'select pg_backend_pid() as process_id' }).then(
    ({ rows: [row] }) =>
      connection.backend === undefined ||
      (row as { process_id: number }).process_id === connection.backend.processId,
    () => false,
  );
  try {
    return await Promise.race([answered, late]);
  } finally {
    clearTimeout(timer);
  }
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
